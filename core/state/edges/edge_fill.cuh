// What kernels that fill hash tables of edges and rows by source share: places in the tables, memory handed out. Tables and
// counters have all bits set at first, so that one memset makes them ready.
#pragma once
#include "edge_hash.cuh"
#include "grid_barrier.cuh"

constexpr uint32_t ALL_LANES = 0xFFFFFFFFu;

// The slot of `key`, which is put into the table if it is not there; one compare-and-swap per probe.
__device__ __forceinline__ uint32_t slot_for_key(unsigned long long* table, uint32_t capacity, unsigned long long key) {
    uint32_t at = home_of_key(key, capacity);
    for (;;) {
        const unsigned long long held = atomicCAS(table + at, NO_KEY, key);
        if (held == NO_KEY || held == key) return at;
        if (++at == capacity) at = 0;
    }
}

// The slot of source u, which is put into the table of `slots` sources if it is not there.
__device__ __forceinline__ uint32_t slot_for_source(uint32_t* source, uint32_t slots, uint32_t u) {
    uint32_t at = __umulhi(u * uint32_t(SOURCE_FACTOR), slots);
    for (;;) {
        const uint32_t held = atomicCAS(source + at, EMPTY, u);
        if (held == EMPTY || held == u) return at;
        if (++at == slots) at = 0;
    }
}

// The slot of source u, which is in the table.
__device__ __forceinline__ uint32_t slot_of_source(const uint32_t* source, uint32_t slots, uint32_t u) {
    uint32_t at = __umulhi(u * uint32_t(SOURCE_FACTOR), slots);
    while (source[at] != u) {
        if (++at == slots) at = 0;
    }
    return at;
}

// Warp: each lane with `length` takes as many words behind one another; returns where those of the lane begin. One atomic
// per warp. *taken is one less than the words that are taken.
__device__ __forceinline__ uint32_t take_words(uint32_t* taken, uint32_t length) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t end = length;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t below = __shfl_up_sync(ALL_LANES, end, step);
        if (lane >= step) end += below;
    }
    uint32_t base = 0;
    if (lane == 31 && end) base = atomicAdd(taken, end) + 1u;
    return __shfl_sync(ALL_LANES, base, 31) + end - length;
}
