// Ids of events on their way to a window on the device (see arrivals.py); ID_T is their type. No kernel synchronises.
#include "lists.cuh"

// Answer the host with the largest of src[n] and dst[n], negative ones being larger than all others, and write both to out uint32[2 * n], one
// behind the other, if it is not null. Thread per place, grid-stride; an atomic per warp that has a larger one than was there, and one per
// block. largest[0] and *done are 0 before and afterwards.
extern "C" __global__ void check_ids(const ID_T* src, const ID_T* dst, long long n, uint32_t* out,
                                     unsigned long long* largest, uint32_t* done, unsigned long long* answer,
                                     unsigned long long number) {
    unsigned long long most = 0;
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count()) {
        const ID_T u = src[i], v = dst[i];
        most = max(most, max((unsigned long long)u, (unsigned long long)v));
        if (!out) continue;
        out[i] = uint32_t(u);
        out[n + i] = uint32_t(v);
    }
    for (int d = 16; d; d >>= 1) most = max(most, __shfl_xor_sync(~0u, most, d));
    if ((threadIdx.x & 31) == 0 && most > fresh(*largest)) atomicMax(largest, most);
    if (!is_last_block(done)) return;
    answer[1] = fresh(*largest);
    *largest = 0;
    answer_call(answer, number);
}

// Write src[n] and dst[n], all of which are ids of vertices, to out uint32[2 * n], one behind the other. Thread per place, grid-stride.
extern "C" __global__ void take_ids(const ID_T* src, const ID_T* dst, long long n, uint32_t* out) {
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count()) {
        out[i] = uint32_t(src[i]);
        out[n + i] = uint32_t(dst[i]);
    }
}
