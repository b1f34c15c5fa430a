// The rows of an edge set by source: the CUDA twin of edge_rows.py, which lists the arrays of the View. A slot is the place
// of an arc in the arrays of the set. The scan in address order reads the arc list itself, 32 entries to a segment.
#pragma once
#include "edge_hash.cuh"

#define SCAN_LANES 32

// Where the row of u begins in g.rows, or -1: there lies its length, and behind it the places of its arcs.
__device__ __forceinline__ long long row_of(const View& g, uint32_t u) {
    uint32_t at = __umulhi(u * uint32_t(SOURCE_FACTOR), uint32_t(g.slots));
    for (uint32_t held = g.source[at]; held != EMPTY; held = g.source[at]) {
        if (held == u) return g.row[at];
        if (++at == uint32_t(g.slots)) at = 0;
    }
    return -1;
}

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) {
    const long long row = row_of(g, u);
    return row < 0 ? 0 : g.rows[row];
}

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) {
    return (degree(g, u) + EDGE_ROWS_BUCKET - 1) / EDGE_ROWS_BUCKET;
}

__device__ __forceinline__ weight_t weight(const View& g, long long slot) {
    return reinterpret_cast<const weight_t*>(g.weight)[slot];
}

// LANES threads stride over the places that g.rows has from lo to hi.
template <int LANES, class F>
__device__ __forceinline__ void for_places(const View& g, long long lo, long long hi, int lane, F&& f) {
    for (long long i = lo + lane; i < hi; i += LANES) {
        const uint32_t place = g.rows[i];
        f(g.dst[place], (long long)place);
    }
}

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t k, int lane, F&& f) {
    const long long row = row_of(g, u);
    if (row < 0) return;
    const long long lo = row + 1 + (long long)k * EDGE_ROWS_BUCKET, hi = row + 1 + g.rows[row];
    for_places<LANES>(g, lo, min(hi, lo + EDGE_ROWS_BUCKET), lane, f);
}

template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    const long long row = row_of(g, u);
    if (row >= 0) for_places<LANES>(g, row + 1, row + 1 + g.rows[row], lane, f);
}

// A slot with the destination and the weight of edge (u, v), or -1. Both arcs of an undirected edge are found in the slot of
// the arc from the smaller id.
__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) {
    const EdgeTable table = {g.key, g.entry, g.weight, uint32_t(g.capacity), uint32_t(g.directed)};
    return place_of(table, u, v);
}

__device__ __forceinline__ long long segments(const View& g) { return (g.size + 31) / 32; }

template <class F>
__device__ __forceinline__ void for_segment(const View& g, long long s, int lane, F&& f) {
    const long long i = 32 * s + lane;
    if (i < g.size && (!g.filtered || g.status[i] == g.wanted)) f(g.dst[i], i);
}

__device__ __forceinline__ uint32_t slot_owner(const View& g, long long slot) { return g.src[slot]; }
