// The last pass of Afforest: all arcs of the vertices that are not left out.
#pragma once
#include "rounds.cuh"
#include "union_find.cuh"

constexpr int TILE = 8;  // lanes that share a vertex
constexpr uint32_t WIDE = 256;  // neighbours above which the warp does

__device__ __forceinline__ uint32_t arcs_of(const View& g, const View& h, int both, uint32_t v) {
    return degree(g, v) + (both ? degree(h, v) : 0);
}

// Unite v with its neighbours; those that have its own parent are in its set already. LANES lanes call it.
template <int LANES>
__device__ __forceinline__ void unite_all(const View& g, const View& h, int both, uint32_t v, int lane,
                                          uint32_t* parent) {
    uint32_t own = fresh(parent[v]);
    const auto each = [&](uint32_t w, long long) {
        if (parent[w] == own) return;
        unite(parent, v, w);
        own = fresh(parent[v]);
    };
    for_neighbors<LANES>(g, v, lane, each);
    if (both) for_neighbors<LANES>(h, v, lane, each);
}

// Unite the vertices [low, high), but those that left_out(v) names, with all their neighbours: a tile for each of those that a warp has found and
// that have any, or the warp. All threads of the grid call it.
template <class LeftOut>
__device__ __forceinline__ void unite_rest(const View& g, const View& h, int both, uint32_t low, uint32_t high,
                                           uint32_t* parent, LeftOut&& left_out) {
    const uint32_t lane = threadIdx.x & 31;
    for (unsigned long long base = low + wide_thread_id() - lane; base < high; base += thread_count()) {
        const uint32_t mine = uint32_t(base) + lane;
        uint32_t left = __ballot_sync(WARP, base + lane < high && !left_out(mine) && arcs_of(g, h, both, mine) > 0);
        while (left) {
            uint32_t own = left;
            for (uint32_t i = 0; i < 32 / TILE; ++i) {
                if (i < lane / TILE) own &= own - 1;  // 0 stays 0
                left &= left - 1;
            }
            const uint32_t v = uint32_t(base) + __ffs(own) - 1;  // if any
            const bool wide = own && arcs_of(g, h, both, v) > WIDE;
            if (own && !wide) unite_all<TILE>(g, h, both, v, lane % TILE, parent);
            for (uint32_t rest = __ballot_sync(WARP, wide && lane % TILE == 0); rest; rest &= rest - 1) {
                unite_all<32>(g, h, both, __shfl_sync(WARP, v, __ffs(rest) - 1), lane, parent);
            }
        }
    }
}
