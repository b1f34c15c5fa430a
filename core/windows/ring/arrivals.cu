// Ids of events on their way to a window on the device (see arrivals.py); ID_T is their type. No kernel synchronises.
#include "suricate.cuh"

// The largest of src[n] and dst[n], negative ones being larger than all others, and of found[0], into found[0]. Thread per place, grid-stride;
// an atomic per warp that has a larger one than was there.
extern "C" __global__ void largest_id(const ID_T* src, const ID_T* dst, long long n, unsigned long long* found) {
    unsigned long long most = 0;
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count())
        most = max(most, max((unsigned long long)src[i], (unsigned long long)dst[i]));
    for (int d = 16; d; d >>= 1) most = max(most, __shfl_xor_sync(~0u, most, d));
    if ((threadIdx.x & 31) == 0 && most > *(volatile unsigned long long*)found) atomicMax(found, most);
}

// Write src[n] and dst[n], all of which are ids of vertices, to out uint32[2 * n], one behind the other, and 0 to found[0]. Thread per place,
// grid-stride.
extern "C" __global__ void take_ids(const ID_T* src, const ID_T* dst, long long n, uint32_t* out,
                                    unsigned long long* found) {
    if (wide_thread_id() == 0) found[0] = 0;
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count()) {
        out[i] = uint32_t(src[i]);
        out[n + i] = uint32_t(dst[i]);
    }
}
