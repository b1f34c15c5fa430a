// Cursor of blocked: the CUDA twin of cursor.py. Segments are blocks of 2^shift slots.
// View: uint32_t head (the complement of the first block), degree, run (per vertex); link, owner (per block); dst and weight_t weight (per slot); counters;
// shift; blocks: length of the arrays per block.
#pragma once
#include "chain.cuh"
#include "ranges.cuh"

#define SCAN_LANES BLOCK_LANES  // threads that share a block; the view says how many
#define BUCKET_SLOTS (64 * SCAN_LANES)  // slots per bucket; splits hubs into parts of about equal work

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return g.degree[u]; }

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) {
    return (g.degree[u] + BUCKET_SLOTS - 1) / BUCKET_SLOTS;
}

__device__ __forceinline__ weight_t weight(const View& g, long long slot) { return g.weight[slot]; }

// Edges number `from` to `to` of the chain of u: the blocks of its run are one range, the others are walked.
template <int LANES, class F>
__device__ __forceinline__ void for_part(const View& g, uint32_t u, uint32_t from, uint32_t to, int lane, F&& f) {
    uint32_t block = ~g.head[u], count = g.run[u];
    for (uint64_t at = 0; at < to;) {
        const uint32_t left = uint32_t((to - at - 1) >> g.shift) + 1;
        uint32_t next = EMPTY;
        if (!count) count = run_of_blocks<LANES>(g, block, left, lane, next);
        else if (count < left) next = g.link[block + count - 1];
        const long long base = ((long long)block << g.shift) - at;
        const uint64_t end = min(uint64_t(to), at + (uint64_t(count) << g.shift));
        if (end > from) for_range<LANES>(g, base + max(at, uint64_t(from)), base + end, lane, f);
        at = end;
        block = next;
        count = 0;
    }
}

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t k, int lane, F&& f) {
    const uint32_t from = k * BUCKET_SLOTS;
    for_part<LANES>(g, u, from, from + min(g.degree[u] - from, uint32_t(BUCKET_SLOTS)), lane, f);
}

template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    for_part<LANES>(g, u, 0, g.degree[u], lane, f);
}

// Slot of edge (u, v), or -1; by one thread. Unused slots match no id.
__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) {
    for (uint32_t block = ~g.head[u]; block != EMPTY; block = g.link[block]) {
        const long long lo = (long long)block << g.shift;
        for (long long i = lo; i < lo + (1ll << g.shift); ++i)
            if (g.dst[i] == v) return i;
    }
    return -1;
}

__device__ __forceinline__ long long segments(const View& g) { return g.counters[USED]; }

__device__ __forceinline__ uint32_t segment_owner(const View& g, long long s) { return g.owner[s]; }

// Four slots at a time; those without an edge are behind the others.
template <class F>
__device__ __forceinline__ void for_segment(const View& g, long long s, int lane, F&& f) {
    const long long base = s << g.shift, end = base + (1ll << g.shift);
    if (g.shift < 2) {
        for (long long i = base; i < end; ++i) {
            const uint32_t v = g.dst[i];
            if (lane == 0 && v < TOMBSTONE) f(v, i);
        }
        return;
    }
    for (long long i = base + 4 * lane; i < end; i += 4 * SCAN_LANES) {
        const uint4 quad = __ldg(reinterpret_cast<const uint4*>(g.dst + i));
        if (quad.x < TOMBSTONE) f(quad.x, i);
        if (quad.y < TOMBSTONE) f(quad.y, i + 1);
        if (quad.z < TOMBSTONE) f(quad.z, i + 2);
        if (quad.w < TOMBSTONE) f(quad.w, i + 3);
    }
}
