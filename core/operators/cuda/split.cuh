// Heavy vertices of pulls and of maps of edges: a list of some of them, whose buckets are split across all warps of the grid in the next
// launch, or behind a grid-wide barrier (see heavy.cuh), and what is reduced of each.
#pragma once
#include "heavy.cuh"

#ifndef SYMMETRIC
#define SYMMETRIC 0
#endif
#ifndef HAS_TABLES  // whether heavy vertices add up votes in device memory, see vote_tables.cuh
#define HAS_TABLES 0
#endif

// What a vertex reduces of its neighbours: a value, and with SYMMETRIC whether one of them activates it.
struct Reduced {
    out_t value;
#if IS_MODE
    uint32_t count;  // of a heavy vertex: how many neighbours have that value
#endif
#if IS_VOTE
    uint32_t lock;  // of a heavy vertex: whether a thread changes it
    total_t total;  // of the label that `value` is
#endif
#if SYMMETRIC
    uint32_t activated;
#endif
};

__device__ __forceinline__ Reduced nothing_reduced() {
    Reduced nothing = {};
    nothing.value = identity();
    return nothing;
}

__device__ __forceinline__ Reduced joined_parts(Reduced a, const Reduced& b) {
    a.value = combine(a.value, b.value);
#if SYMMETRIC
    a.activated |= b.activated;
#endif
    return a;
}

// A list and what is reduced of its entries, in one block of memory. Entries that do not fit are counted, not kept.
struct Heavy {
    HeavyList list;
    Reduced* sum;  // what was reduced so far
    uint32_t* place;  // its place among the vertices that are served
    uint32_t* left;  // its buckets that are not done
#if HAS_TABLES
    VoteTables tables;
#endif
};

// The list in `memory` of HEAVY_BYTES per entry, aligned to 16.
__device__ __forceinline__ Heavy heavy_in(unsigned char* memory, unsigned long long* total, uint32_t capacity) {
    static_assert(sizeof(Reduced) <= 16 && HEAVY_BYTES == 40, "the host allocates the memory for it");
    const size_t n = capacity;
    return {{(uint32_t*)(memory + 24 * n), (long long*)(memory + 16 * n), total, capacity, HEAVY_SHIFT},
            (Reduced*)memory,
            (uint32_t*)(memory + 28 * n),
            (uint32_t*)(memory + 32 * n)};
}

template <class T> __device__ __forceinline__ T read_fresh(const T* p) { return *(const volatile T*)p; }

// List x, which has `parts` buckets, unless the list is full, as far as this thread knows or in fact; return whether it is listed.
__device__ __forceinline__ bool list_heavy(const Heavy& heavy, uint32_t x, uint32_t place, uint32_t parts) {
    if (!has_space(heavy.list)) return false;
    const unsigned long long before = atomicAdd(heavy.list.total, packed_entry(heavy.list, parts));
    if (!keep_heavy(heavy.list, before, x)) return false;
    const unsigned long long k = before >> HEAVY_SHIFT;
    heavy.sum[k] = nothing_reduced();
    heavy.place[k] = place;
    heavy.left[k] = parts;
    return true;
}

// The buckets of all entries in equal runs, by all warps of the blocks `block` of `blocks`: see for_heavy_runs().
template <class P, class F>
__device__ __forceinline__ void for_split_runs(unsigned long long packed, const Heavy& heavy, uint32_t block,
                                               uint32_t blocks, P&& parts, F&& f) {
    const long long worker = (long long)(threadIdx.x / 32) * blocks + block,
                    workers = (long long)blockDim.x / 32 * blocks;
    for_heavy_runs(packed, heavy.list, worker, workers, 1, parts, f);
}
