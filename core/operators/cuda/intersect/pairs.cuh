// Pairs of vertices, whose common neighbours intersect looks for: the smaller side of each, lists of pairs that are too much work
// for one tile, and equal runs of what is listed.
// name is a function of the second cursor, RightView its view: those of the first one if there is one view.
#pragma once
#include "heavy.cuh"
#include "intersect.cuh"

// u, v: uint32[size]; status: uint8[size] or null; `begin`: position of the first pair among those of the call. A pair counts if its status is `wanted`, its ids are in range, and, with `once`,
// u is below v.
__device__ __forceinline__ bool is_counted(const Pairs& pairs, uint32_t num_vertices, long long i) {
    if (i >= pairs.size || (pairs.status && pairs.status[i] != pairs.wanted)) return false;
    const uint32_t u = pairs.u[i], v = pairs.v[i];
    return u < num_vertices && v < num_vertices && !(pairs.once && u >= v);
}

struct Sides {
    uint32_t u, v, left, right;  // the vertices and their degrees, 0 of a pair that does not count
    __device__ bool left_is_smaller() const { return left <= right; }
    __device__ uint32_t smaller() const { return min(left, right); }
};

__device__ __forceinline__ Sides sides_of(const LeftView& g, const RightView& h, const Pairs& pairs,
                                          uint32_t num_vertices, long long i) {
    if (!is_counted(pairs, num_vertices, i)) return {0, 0, 0, 0};
    const uint32_t u = pairs.u[i], v = pairs.v[i];
    return {u, v, degree(g, u), degree(h, v)};
}

// A list of at most `capacity` pairs with their numbers of parts: see heavy.cuh.
__device__ __forceinline__ HeavyList list_of(const PairList& list) {
    return {list.entry, list.base, list.total, list.capacity, HEAVY_SHIFT};
}

// Note pair i with this many parts, if there is space; return whether there was.
__device__ __forceinline__ bool note_pair(const PairList& list, long long i, uint32_t parts) {
    const HeavyList heavy = list_of(list);
    return list.capacity > 0 && i < EMPTY && has_space(heavy) && add_heavy(heavy, uint32_t(i), parts);
}

// The parts of all listed pairs in equal runs of at least `least`, the `worker`-th of `workers` of them: f(pair, first, end) for
// each pair of the run. parts_of(pair) is the number it was listed with.
template <class Parts, class F>
__device__ __forceinline__ void for_pair_runs(const PairList& list, long long worker, long long workers,
                                              long long least, Parts&& parts_of, F&& f) {
    for_heavy_runs(*list.total, list_of(list), worker, workers, least, parts_of,
                   [&](uint32_t, uint32_t pair, uint32_t first, uint32_t end) { f(pair, first, end); });
}
