// What the kernels of blocked share. The struct Graph and all constants come from layout.py.
//
// What a mirror on the host must take over is marked, a byte per block and vertex, where there is one.
#pragma once
#include "batch.cuh"
#include "chain.cuh"

__device__ __forceinline__ void touch(const Graph& g, uint32_t block) {
    if (g.block_mark) g.block_mark[block] = 1;
}

__device__ __forceinline__ void touch_vertex(const Graph& g, uint32_t u) {
    if (g.vertex_mark) g.vertex_mark[u] = 1;
}

__device__ __forceinline__ long long capacity(const Graph& g) { return 1ll << g.shift; }

// Number of entries of the vertex of entry i that change the graph; `before`: those of vertices ahead of it.
__device__ __forceinline__ uint32_t changes_of(const LocatedBatch& b, uint32_t i, int& before) {
    before = rank_before(b, run_begin(b, i));
    return b.rank[run_end(b, i) - 1] - before;
}

__device__ __forceinline__ void free_block(const Graph& g, uint32_t block, unsigned long long at) {
    g.free[at] = block;
    g.owner[block] = EMPTY;
    touch(g, block);
}
