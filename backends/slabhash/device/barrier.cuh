// A grid-wide barrier in two halves, between which a block may do what depends on no other block. All blocks are resident.
#pragma once
#include "grid_barrier.cuh"
#include "tile.cuh"

static_assert(ARRIVED % 2 == 0 && REJECTED == ARRIVED + 1 && ENDED % 2 == 0 && EPILOGUE == ENDED + 1,
              "grid_wait() loads a barrier and the word behind it at once");

// The first half: the block is here. The bit BARRIER_FLAG of the counter `at` flips with each barrier; the rest is zero
// between barriers, however many blocks there are.
__device__ __forceinline__ uint32_t grid_arrive(const View& g, int at, bool all) {
    uint32_t before = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        if (all) fence();
        before = add_to_word(g.counters + at, blockIdx.x == 0 ? BARRIER_FLAG - (gridDim.x - 1) : 1u);
    }
    return before;
}

// The second half: wait until all blocks are here. Returns in all threads whether the word behind the counter is `word`,
// as one thread of the block sees it then: whatever a block has stored there comes with the news that all are here. With
// `all` everything that blocks have written is visible then, else only what they have done by atomics whose results they
// have waited for.
__device__ __forceinline__ bool grid_wait(const View& g, int at, bool all, uint32_t before, uint32_t word) {
    bool same = false;
    if (threadIdx.x == 0) {
        uint64_t now = load_pair(g.counters + at);
        while (!((before ^ uint32_t(now)) & BARRIER_FLAG)) now = load_pair(g.counters + at);
        if (all) fence();
        same = uint32_t(now >> 32) == word;
    }
    return __syncthreads_or(same);
}

// Both halves.
__device__ __forceinline__ void grid_barrier(const View& g) {
    grid_wait(g, ARRIVED, true, grid_arrive(g, ARRIVED, true), 0);
}
