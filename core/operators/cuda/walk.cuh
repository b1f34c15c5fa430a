// Walking the edges of a vertex in one view, or in two. OVER says which, and what functions take for u and v:
//   OVER_OUT   g is the out-view: u is the vertex, v its neighbour
//   OVER_IN    g is the in-view: v is the vertex, u its neighbour
//   OVER_BOTH  g and h are the in-view and the out-view: v is the vertex, u its neighbour; self-loops of h are left out
// In edge_map u is always the vertex and v its neighbour, and over both directions g is the out-view.
#pragma once
#include "operators.cuh"

#if OVER == OVER_BOTH
#define VIEWS View g, View h
#define WALK const View &g, const View &h
#define WALKED g, h
#else
#define VIEWS View g
#define WALK const View& g
#define WALKED g
#endif

__device__ __forceinline__ uint32_t degree_of(WALK, uint32_t x) {
#if OVER == OVER_BOTH
    return degree(g, x) + degree(h, x);
#else
    return degree(g, x);
#endif
}

__device__ __forceinline__ uint32_t buckets_of_vertex(WALK, uint32_t x) {
#if OVER == OVER_BOTH
    return buckets(g, x) + buckets(h, x);
#else
    return buckets(g, x);
#endif
}

// Call f(neighbour, weight) for the neighbours of x that LANES threads share.
template <int LANES, class F> __device__ __forceinline__ void walk_neighbors(WALK, uint32_t x, int lane, F&& f) {
    for_neighbors<LANES>(g, x, lane, [&](uint32_t y, long long slot) { f(y, WEIGHT(g, slot)); });
#if OVER == OVER_BOTH
    for_neighbors<LANES>(h, x, lane, [&](uint32_t y, long long slot) {
        if (y != x) f(y, WEIGHT(h, slot));
    });
#endif
}

// The same for one bucket of x, which BUCKET_LANES threads share; the buckets of h follow those of g.
template <class F>
__device__ __forceinline__ void walk_bucket(WALK, uint32_t x, uint32_t k, int lane, F&& f) {
#if OVER == OVER_BOTH
    const uint32_t before = buckets(g, x);
    if (k >= before) {
        for_bucket<BUCKET_LANES>(h, x, k - before, lane, [&](uint32_t y, long long slot) {
            if (y != x) f(y, WEIGHT(h, slot));
        });
        return;
    }
#endif
    for_bucket<BUCKET_LANES>(g, x, k, lane, [&](uint32_t y, long long slot) { f(y, WEIGHT(g, slot)); });
}
