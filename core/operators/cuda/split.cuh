// Heavy vertices of pulls: a list of at most `capacity` of them, whose buckets are split across all tiles of the grid in the next launch,
// or behind a grid-wide barrier.
#pragma once
#include "operators.cuh"

#ifndef SYMMETRIC
#define SYMMETRIC 0
#endif

// What a vertex reduces of its neighbours: a value, and with SYMMETRIC whether one of them wakes it.
struct Reduced {
    out_t value;
#if IS_MODE
    uint32_t count;  // of a heavy vertex: how many neighbours have that value
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

// The parts of a list, in one block of memory. *total, 0 at first, packs the number of entries (above) and that of their buckets (the
// lowest HEAVY_BITS bits), so that one atomic gives an entry its place; entries that do not fit are counted, not kept.
struct Heavy {
    long long* base;  // buckets of all entries before it
    Reduced* sum;  // what was reduced so far
    uint32_t* vertex;
    uint32_t* place;  // its place among the vertices that are served
    uint32_t* left;  // its buckets that are not done
    unsigned long long* total;
    uint32_t capacity;
};
#define HEAVY_BITS 38

// The list in `memory` of HEAVY_BYTES per entry, aligned to 16.
__device__ __forceinline__ Heavy heavy_in(unsigned char* memory, unsigned long long* total, uint32_t capacity) {
    static_assert(sizeof(Reduced) <= 16 && HEAVY_BYTES == 40, "the host allocates the memory for it");
    const size_t n = capacity;
    return {(long long*)(memory + 16 * n),
            (Reduced*)memory,
            (uint32_t*)(memory + 24 * n),
            (uint32_t*)(memory + 28 * n),
            (uint32_t*)(memory + 32 * n),
            total,
            capacity};
}

template <class T> __device__ __forceinline__ T read_fresh(const T* p) { return *(const volatile T*)p; }

// List x, which has `parts` buckets, unless the list is full, as far as this thread knows or in fact; return whether it is listed.
__device__ __forceinline__ bool list_heavy(const Heavy& heavy, uint32_t x, uint32_t place, uint32_t parts) {
    if (read_fresh(heavy.total) >> HEAVY_BITS >= heavy.capacity) return false;
    const unsigned long long before = atomicAdd(heavy.total, 1ull << HEAVY_BITS | parts);
    const unsigned long long k = before >> HEAVY_BITS;
    if (k >= heavy.capacity) return false;
    heavy.base[k] = (long long)(before & ((1ull << HEAVY_BITS) - 1));
    heavy.sum[k] = nothing_reduced();
    heavy.vertex[k] = x;
    heavy.place[k] = place;
    heavy.left[k] = parts;
    return true;
}

// The buckets of all entries in equal runs, by all warps of the blocks `block` of `blocks`: calls f(k, x, first, end) in all threads of
// a warp for buckets [first, end) of vertex x, entry k. parts(x) is the number of its buckets, `packed` the final *heavy.total.
template <class P, class F>
__device__ __forceinline__ void for_split_runs(unsigned long long packed, const Heavy& heavy, uint32_t block,
                                               uint32_t blocks, P&& parts, F&& f) {
    const uint32_t number = min(packed >> HEAVY_BITS, (unsigned long long)heavy.capacity);
    if (number == 0) return;
    const uint32_t last = number - 1, of_block = blockDim.x / 32;
    const long long all = heavy.base[last] + parts(heavy.vertex[last]), warps = (long long)blocks * of_block,
                    share = (all + warps - 1) / warps;
    long long item = ((long long)block * of_block + threadIdx.x / 32) * share;
    const long long stop = min(all, item + share);
    if (item >= stop) return;
    uint32_t k = 0;  // the last entry whose buckets begin at or before `item`
    for (uint32_t high = last; k < high;) {
        const uint32_t middle = k + (high - k + 1) / 2;
        if (heavy.base[middle] <= item) k = middle;
        else high = middle - 1;
    }
    for (; item < stop && k < number; ++k) {
        const uint32_t x = heavy.vertex[k];
        const long long base = heavy.base[k], end = min(stop, base + (long long)parts(x));
        if (item < end) f(k, x, uint32_t(item - base), uint32_t(end - base));
        item = max(item, end);
    }
}
