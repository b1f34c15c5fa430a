// Who rebalances a segment larger than a page: all warps of a block, or of the grid. Both wait for each other and add up numbers in the
// same way. The grid's barriers are on the word Work::laps, which nobody resets, as only the device knows how many there are.
#pragma once
#include "grid_barrier.cuh"
#include "leaves.cuh"

constexpr int WARPS = THREADS / 32;

// A number per warp, added up: of the warps before the calling one, and of all.
struct Sums {
    long long before, all;
};

struct BlockTeam {
    long long* shared;  // [WARPS]

    __device__ __forceinline__ long long warps() const { return WARPS; }
    __device__ __forceinline__ long long warp() const { return threadIdx.x / 32; }
    __device__ __forceinline__ void sync() { __syncthreads(); }
    __device__ __forceinline__ bool is_first() const { return threadIdx.x == 0; }

    __device__ __forceinline__ Sums add_up(uint32_t number) {
        if (lane_id() == 0) shared[warp()] = number;
        __syncthreads();
        Sums sums = {0, 0};
        for (int w = 0; w < WARPS; ++w) {
            if (w < warp()) sums.before += shared[w];
            sums.all += shared[w];
        }
        __syncthreads();
        return sums;
    }
};

struct GridTeam {
    uint32_t* word;
    long long* sums;  // [2][gridDim.x], which take turns
    long long* shared;  // [WARPS]
    uint32_t laps, turn;

    __device__ __forceinline__ long long warps() const { return (long long)gridDim.x * WARPS; }
    __device__ __forceinline__ long long warp() const { return (long long)blockIdx.x * WARPS + threadIdx.x / 32; }
    __device__ __forceinline__ void sync() { grid_barrier(word, laps); }
    __device__ __forceinline__ bool is_first() const { return thread_id() == 0; }

    __device__ __forceinline__ Sums add_up(uint32_t number) {
        const uint32_t lane = lane_id();
        long long* const blocks = sums + turn * gridDim.x;
        turn ^= 1;
        if (lane == 0) shared[threadIdx.x / 32] = number;
        __syncthreads();
        if (threadIdx.x == 0) {
            long long total = 0;
            for (int w = 0; w < WARPS; ++w) total += shared[w];
            blocks[blockIdx.x] = total;
        }
        sync();
        Sums result = {0, 0};
        for (uint32_t block = lane; block < gridDim.x; block += 32) {  // each warp for itself
            const long long total = blocks[block];
            if (block < blockIdx.x) result.before += total;
            result.all += total;
        }
        for (int step = 16; step > 0; step /= 2) {
            result.before += __shfl_xor_sync(ALL, result.before, step);
            result.all += __shfl_xor_sync(ALL, result.all, step);
        }
        for (uint32_t w = 0; w < threadIdx.x / 32; ++w) result.before += shared[w];
        __syncthreads();
        return result;
    }
};
