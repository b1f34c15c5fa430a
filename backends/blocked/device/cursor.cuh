// Cursor of blocked: the CUDA twin of cursor.py. Segments are blocks of 2^shift slots.
// View: uint32_t head, degree (per vertex); link, owner (per block); dst and weight_t weight (per slot); counters;
// shift; blocks: length of the arrays per block.
#pragma once
#include "chain.cuh"

#define SCAN_LANES 8  // threads that share a block
#define BUCKET_SLOTS 2048  // slots per bucket; splits hubs into parts of about equal work

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return g.degree[u]; }

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) {
    return (g.degree[u] + BUCKET_SLOTS - 1) / BUCKET_SLOTS;
}

__device__ __forceinline__ weight_t weight(const View& g, long long slot) { return g.weight[slot]; }

// LANES threads stride over [lo, hi): consecutive lanes read consecutive slots.
template <int LANES, class F>
__device__ __forceinline__ void for_range(const View& g, long long lo, long long hi, int lane, F&& f) {
    long long i = lo + lane;
    for (; i + 3 * LANES < hi; i += 4 * LANES) {  // four loads in flight
        uint32_t v0 = g.dst[i], v1 = g.dst[i + LANES], v2 = g.dst[i + 2 * LANES], v3 = g.dst[i + 3 * LANES];
        f(v0, i);
        f(v1, i + LANES);
        f(v2, i + 2 * LANES);
        f(v3, i + 3 * LANES);
    }
    for (; i < hi; i += LANES) f(g.dst[i], i);
}

// Edges number `from` to `to` of the chain of u.
template <int LANES, class F>
__device__ __forceinline__ void for_part(const View& g, uint32_t u, uint32_t from, uint32_t to, int lane, F&& f) {
    uint32_t block = g.head[u];
    for (uint32_t at = 0; at < to;) {
        const uint32_t left = (to - at - 1 >> g.shift) + 1;
        uint32_t next = EMPTY;
        const uint32_t count = run_of_blocks<LANES>(g, block, left, lane, next);
        const long long base = ((long long)block << g.shift) - at;
        const uint32_t end = count >= left ? to : at + (count << g.shift);
        if (end > from) for_range<LANES>(g, base + max(at, from), base + end, lane, f);
        at = end;
        block = next;
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
    for (uint32_t block = g.head[u]; block != EMPTY; block = g.link[block]) {
        const long long lo = (long long)block << g.shift;
        for (long long i = lo; i < lo + (1ll << g.shift); ++i)
            if (g.dst[i] == v) return i;
    }
    return -1;
}

__device__ __forceinline__ long long segments(const View& g) { return g.counters[USED]; }

__device__ __forceinline__ uint32_t segment_owner(const View& g, long long s) { return g.owner[s]; }

template <class F>
__device__ __forceinline__ void for_segment(const View& g, long long s, int lane, F&& f) {
    const long long end = (s + 1) << g.shift;
    for (long long i = (s << g.shift) + lane; i < end; i += SCAN_LANES) {
        const uint32_t v = g.dst[i];
        if (v < TOMBSTONE) f(v, i);
    }
}
