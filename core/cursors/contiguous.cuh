// Cursor over stores that keep each adjacency in one contiguous range without holes: the CUDA twin of contiguous.py.
// View: long long* begin, *end (per vertex); uint32_t* dst; weight_t* weight (per slot); long long ascending.
#pragma once
#include "ranges.cuh"

#define SCAN_LANES 0              // slots do not know their owner: no scan in address order
#define LANES_ALONE 1
#define CONTIGUOUS_BUCKET \
    128  // slots per bucket: hubs are split into parts of equal work, a few loads of each lane of a warp

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return uint32_t(g.end[u] - g.begin[u]); }

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) {
    return (degree(g, u) + CONTIGUOUS_BUCKET - 1) / CONTIGUOUS_BUCKET;
}

__device__ __forceinline__ weight_t weight(const View& g, long long slot) { return g.weight[slot]; }

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t k, int lane, F&& f) {
    long long lo = g.begin[u] + (long long)k * CONTIGUOUS_BUCKET, hi = g.end[u];
    for_range<LANES>(g, lo, min(hi, lo + CONTIGUOUS_BUCKET), lane, f);
}

template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    for_range<LANES>(g, g.begin[u], g.end[u], lane, f);
}

#define STOPS_EARLY 1

// Call f(neighbour, slot) in rounds, in the order of the slots, until it returns true in some of the LANES threads, where rows ascend: no
// neighbour of a later round is less. All threads of the tile call it together, each with the same u.
template <int LANES, class F>
__device__ __forceinline__ void for_neighbors_until(const View& g, uint32_t u, int lane, F&& f) {
    constexpr int AT_ONCE = LANES == 32 ? 1 : 4;
    const long long hi = g.end[u];
    for (long long lo = g.begin[u]; lo < hi; lo += AT_ONCE * LANES) {
        uint32_t v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long i = lo + k * LANES + lane;
            v[k] = i < hi ? g.dst[i] : EMPTY;
        }
        bool stops = false;
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long i = lo + k * LANES + lane;
            if (i < hi && f(v[k], i)) stops = true;
        }
        if (LANES > 1) stops = __any_sync(tile_mask<LANES>(), stops);
        if (stops && g.ascending) return;
    }
}

// Slot of edge (u, v) or -1; binary search where adjacencies are ascending.
__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) {
    long long lo = g.begin[u], hi = g.end[u];
    if (!g.ascending) {
        for (long long i = lo; i < hi; ++i)
            if (g.dst[i] == v) return i;
        return -1;
    }
    while (lo < hi) {
        long long mid = (lo + hi) >> 1;
        if (g.dst[mid] < v) lo = mid + 1;
        else hi = mid;
    }
    return lo < g.end[u] && g.dst[lo] == v ? lo : -1;
}
