// The CUDA twin of keys_cursor.py.
#pragma once
#include "suricate.cuh"

#define SCAN_LANES 0  // a slot does not lie in a segment

__device__ __forceinline__ long long bound(const View& g, uint64_t key) {
    long long lo = 0, hi = g.size;
    while (lo < hi) {
        long long mid = (lo + hi) >> 1;
        if (g.keys[mid] < key) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

__device__ __forceinline__ long long range_begin(const View& g, uint32_t u) { return bound(g, uint64_t(u) << 32); }
__device__ __forceinline__ long long range_end(const View& g, uint32_t u) { return bound(g, (uint64_t(u) + 1) << 32); }

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) {
    return uint32_t(range_end(g, u) - range_begin(g, u));
}

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) { return degree(g, u) > 0; }

__device__ __forceinline__ weight_t weight(const View& g, long long slot) { return g.weight[slot]; }

template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    const long long end = range_end(g, u);
    for (long long i = range_begin(g, u) + lane; i < end; i += LANES) f(uint32_t(g.keys[i]), i);
}

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t, int lane, F&& f) {
    for_neighbors<LANES>(g, u, lane, f);
}

__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) {
    const uint64_t key = (uint64_t(u) << 32) | v;
    const long long slot = bound(g, key);
    return slot < g.size && g.keys[slot] == key ? slot : -1;
}
