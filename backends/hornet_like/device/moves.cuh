// Moves of sorted.cu: the edges that were there go to their places between the changes, in place or into another block. Who
// moves an adjacency depends on what is to be moved of it: a tile of TILE threads, a warp, a block, or, in waves of MOVE_PART edges
// per block, the whole grid.
#pragma once
#include "plan.cuh"

// The adjacency of a head as a mover sees it.
struct Row {
    uint32_t head, run;
    long long delta, first, end;  // old slots [first, end) move
};

__device__ __forceinline__ Row row_of(const Graph& g, const Update& c, const Handout& blocks, uint32_t head) {
    const uint32_t u = source(c.changed_key[head]);
    Row row = {head, c.run[head], delta_of(g, c, blocks, head, u), first_moved(g, c, head, u), g.end[u]};
    if (c.target[head] == NONE) row.first = row.end;
    return row;
}

// GROUP threads: move the slots [lo, hi), at most GROUP * ITEMS of them; all are read before one is written.
template <int GROUP, class Sync>
__device__ __forceinline__ void move_chunk(const Graph& g, const Update& c, const Row& row, long long lo, long long hi,
                                           uint32_t lane, Sync&& sync) {
    uint32_t dst[ITEMS];
#if WEIGHT_BITS
    bits_t weight[ITEMS];
#endif
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const long long e = lo + GROUP * k + lane;
        if (e < hi) dst[k] = g.dst[e];
#if WEIGHT_BITS
        if (e < hi) weight[k] = g.weight[e];
#endif
    }
    const uint32_t low = lower_bound(c.changed_slot, row.head, row.head + row.run, lo);
    const uint32_t high = lower_bound(c.changed_slot, low, row.head + row.run, hi);
    sync();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const long long e = lo + GROUP * k + lane;
        if (e >= hi) continue;
        const uint32_t below = lower_bound(c.changed_slot, low, high, e + !c.deleting);
        if (c.deleting && below < high && c.changed_slot[below] == e) continue;
        const long long shift = below - row.head, to = e + row.delta + (c.deleting ? -shift : shift);
        g.dst[to] = dst[k];
#if WEIGHT_BITS
        g.weight[to] = weight[k];
#endif
    }
}

// GROUP threads: move all of a row, chunk by chunk.
template <int GROUP, class Sync>
__device__ __forceinline__ void move_row(const Graph& g, const Update& c, const Row& row, uint32_t lane, Sync&& sync) {
    constexpr int CHUNK = GROUP * ITEMS;
    if (lane == 0) c.delta[row.head] = row.delta;
    if (c.deleting)
        for (long long lo = row.first; lo < row.end; lo += CHUNK)
            move_chunk<GROUP>(g, c, row, lo, min(row.end, lo + CHUNK), lane, sync);
    else
        for (long long hi = row.end; hi > row.first; hi -= CHUNK)
            move_chunk<GROUP>(g, c, row, max(row.first, hi - CHUNK), hi, lane, sync);
}

// Grid: the parts of long rows, one per block and wave, listed in the order in which a row moves: a part is written behind the
// barrier of its wave, over what parts of this or an earlier wave have read.
__device__ __forceinline__ void move_long(const Graph& g, const Update& c, const Handout& blocks, uint32_t& laps) {
    const long long parts = c.counts[PARTS];
    for (long long wave = 0; wave < parts; wave += gridDim.x) {
        const bool works = wave + blockIdx.x < parts;
        const uint64_t part = works ? c.parts[wave + blockIdx.x] : 0;
        const uint32_t k = uint32_t(part);
        Row row = {};
        long long lo = 0, hi = 0;
        if (works) {
            row = row_of(g, c, blocks, uint32_t(part >> 32));
            if (c.deleting) {
                lo = row.first + (long long)k * MOVE_PART;
                hi = min(row.end, lo + MOVE_PART);
            } else {
                hi = row.end - (long long)k * MOVE_PART;
                lo = max(row.first, hi - MOVE_PART);
            }
            if (k == 0 && threadIdx.x == 0) c.delta[row.head] = row.delta;
        }
        move_chunk<CHANGE_BLOCK>(g, c, row, lo, hi, threadIdx.x, [&] { grid_barrier(c.laps, laps); });
    }
}

// Grid: all other rows.
__device__ __forceinline__ void move_rest(const Graph& g, const Update& c, const Handout& blocks, uint32_t total) {
    const long long by_block = c.counts[BLOCK_MOVES], by_warp = c.counts[WARPS];
    for (long long p = blockIdx.x; p < by_block; p += gridDim.x)
        move_row<CHANGE_BLOCK>(g, c, row_of(g, c, blocks, c.blocks[p]), threadIdx.x, [] { __syncthreads(); });
    for (long long p = thread_id() / 32; p < by_warp; p += thread_count() / 32)
        move_row<32>(g, c, row_of(g, c, blocks, c.warps[p]), threadIdx.x % 32, [] { __syncwarp(); });
    for (long long r = thread_id() / TILE; r < total; r += thread_count() / TILE) {
        if (c.target[r] == IDLE) continue;
        const Row row = row_of(g, c, blocks, r);
        if (row.end - row.first <= TILE_MOST)
            move_row<TILE>(g, c, row, threadIdx.x % TILE, [] { __syncwarp(tile_mask<TILE>()); });
    }
}
