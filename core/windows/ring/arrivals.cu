// Ids of events on their way to a window on the device (see arrivals.py); ID_T is their type. No kernel synchronises.
#include "suricate.cuh"

// The largest of ids[n], negative ones being larger than all others, into found[0]. Thread per id, grid-stride; an atomic per warp that has a
// larger one than was there.
extern "C" __global__ void largest_id(const ID_T* ids, long long n, unsigned long long* found) {
    unsigned long long most = 0;
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count()) most = max(most, (unsigned long long)ids[i]);
    for (int d = 16; d; d >>= 1) most = max(most, __shfl_xor_sync(~0u, most, d));
    if ((threadIdx.x & 31) == 0 && most > *(volatile unsigned long long*)found) atomicMax(found, most);
}

// Write ids[n], all of which are ids of vertices, to out uint32[n]. Thread per id, grid-stride.
extern "C" __global__ void take_ids(const ID_T* ids, long long n, uint32_t* out) {
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count()) out[i] = uint32_t(ids[i]);
}
