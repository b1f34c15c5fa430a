// A directed graph as the kernels of core numbers walk it: the row of a vertex is that of its out-edges and that of its in-edges, so two arcs
// between the same vertices are two neighbours, and a self-loop is two. Included behind the cursor, whose functions these overload.
#pragma once
#define BOTH_WAYS

using OneWay = View;
struct BothWays {
    OneWay out, into;
};
#define View BothWays

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return degree(g.out, u) + degree(g.into, u); }

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) {
    return buckets(g.out, u) + buckets(g.into, u);
}

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t k, int lane, F&& f) {
    const uint32_t first = buckets(g.out, u);
    if (k < first) for_bucket<LANES>(g.out, u, k, lane, f);
    else for_bucket<LANES>(g.into, u, k - first, lane, f);
}

template <int LANES, class F> __device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane,
                                                                            F&& f) {
    for_neighbors<LANES>(g.out, u, lane, f);
    for_neighbors<LANES>(g.into, u, lane, f);
}

__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) { return find(g.out, u, v); }
