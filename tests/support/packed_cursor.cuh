// The CUDA twin of packed_cursor.py: segments of SEGMENT slots, each slot with an owner of its own.
#pragma once
#include "suricate.cuh"

#define SCAN_LANES SEGMENT

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return uint32_t(g.count[u]); }
__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) { return g.count[u] > 0; }
__device__ __forceinline__ weight_t weight(const View& g, long long slot) { return g.weight[slot]; }

template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    for (long long i = g.begin[u] + lane; i < g.end[u]; i += LANES)
        if (g.dst[i] < TOMBSTONE) f(g.dst[i], i);
}

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t, int lane, F&& f) {
    for_neighbors<LANES>(g, u, lane, f);
}

__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) {
    for (long long i = g.begin[u]; i < g.end[u]; ++i)
        if (g.dst[i] == v) return i;
    return -1;
}

__device__ __forceinline__ long long segments(const View& g) { return g.segments; }
__device__ __forceinline__ uint32_t slot_owner(const View& g, long long slot) { return g.src[slot]; }

template <class F>
__device__ __forceinline__ void for_segment(const View& g, long long s, int lane, F&& f) {
    long long i = s * SEGMENT + lane;
    if (g.dst[i] < TOMBSTONE) f(g.dst[i], i);
}

__device__ __forceinline__ long long updated_segments(const View& g) { return g.num_touched; }
__device__ __forceinline__ long long updated_segment(const View& g, long long i) { return g.touched[i]; }

template <class F>
__device__ __forceinline__ void for_updated(const View& g, long long s, int lane, F&& f) {
    for_segment(g, s, lane, [&](uint32_t v, long long slot) {
        if (g.fresh[slot]) f(v, slot);
    });
}
