// Sums over the threads of a block of THREADS.
#pragma once
#include "suricate.cuh"

constexpr uint32_t ALL = 0xFFFFFFFFu;

// What the threads of the block below the calling one give, and in ``total`` all of them. Two barriers of the block.
template <uint32_t THREADS>
__device__ __forceinline__ long long sum_below(long long value, long long& total) {
    __shared__ long long sums[THREADS / 32];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    long long sum = value, before = 0;
    for (int s = 1; s < 32; s *= 2) {
        const long long below = __shfl_up_sync(ALL, sum, s);
        if (lane >= s) sum += below;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    total = 0;
    for (uint32_t w = 0; w < THREADS / 32; ++w) {
        before += w < warp ? sums[w] : 0;
        total += sums[w];
    }
    __syncthreads();
    return before + sum - value;
}
