// Where the edges of planned vertices go: their new blocks, and the numbering of all edges that move, vertex after vertex and slot after
// slot; moves.cuh moves them in chunks of that numbering.
#pragma once
#include "plan.cuh"

// Edges and vertices that move: those of the blocks before this one, and all.
struct Moves {
    long long edges_before, edges;
    uint32_t rows_before, rows;
};

// Block, behind a barrier of the grid: sum what all blocks have planned.
__device__ __forceinline__ void count_moves(const Update& c, Moves& moves) {
    __shared__ Moves sums[CHANGE_WARPS];
    Moves mine = {0, 0, 0, 0};
    for (uint32_t b = threadIdx.x; b < gridDim.x; b += CHANGE_BLOCK) {
        const long long edges = c.block_moved[b];
        const uint32_t rows = c.block_rows[b];
        mine.edges += edges;
        mine.rows += rows;
        if (b < blockIdx.x) {
            mine.edges_before += edges;
            mine.rows_before += rows;
        }
    }
    for (int s = 16; s > 0; s /= 2) {
        mine.edges_before += __shfl_xor_sync(0xFFFFFFFFu, mine.edges_before, s);
        mine.edges += __shfl_xor_sync(0xFFFFFFFFu, mine.edges, s);
        mine.rows_before += __shfl_xor_sync(0xFFFFFFFFu, mine.rows_before, s);
        mine.rows += __shfl_xor_sync(0xFFFFFFFFu, mine.rows, s);
    }
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x) return;
    moves = {0, 0, 0, 0};
    for (uint32_t w = 0; w < CHANGE_WARPS; ++w) {
        moves.edges_before += sums[w].edges_before;
        moves.edges += sums[w].edges;
        moves.rows_before += sums[w].rows_before;
        moves.rows += sums[w].rows;
    }
}

// What is left of the free blocks, and where the needed ones are: per class the height of the stack, what is taken of it, and
// the first carved block. The last one carved ends at ``end``.
struct Handout {
    long long top[CLASSES], taken[CLASSES], carved[CLASSES], need[CLASSES], end;
};

// Block: take needed blocks from the free stacks, carve the rest. All blocks work out the same; the counters stay.
__device__ __forceinline__ void hand_out(const Graph& g, const Update& c, Handout& blocks) {
    const uint32_t k = threadIdx.x;
    if (k < CLASSES) {
        blocks.need[k] = counts_of(c)[NEED + k];
        blocks.top[k] = g.counters[FREE + k];
        blocks.taken[k] = min(blocks.need[k], blocks.top[k]);
    }
    __syncthreads();
    if (k < CLASSES) {
        long long at = g.counters[USED];
        for (uint32_t j = 0; j < k; ++j) at += (blocks.need[j] - blocks.taken[j]) << j;
        blocks.carved[k] = at;
        if (k == CLASSES - 1) blocks.end = at + ((blocks.need[k] - blocks.taken[k]) << k);
    }
    __syncthreads();
}

// By how many slots the adjacency of a head of this block, which begins there, is moved, besides its changes.
__device__ __forceinline__ long long delta_of(const Graph& g, const Update& c, const Handout& blocks,
                                              const Tickets& tickets, uint32_t head, long long begin) {
    const uint32_t k = c.target[head];
    if (!is_class(k)) return 0;
    const long long ticket = tickets.before[NEED + k] + c.ticket[head], taken = blocks.taken[k];
    const long long place =
        ticket < taken ? (long long)g.stacks[g.stack_begin[k] + blocks.top[k] - 1 - ticket] << MIN_CLASS
                       : blocks.carved[k] + ((ticket - taken) << k);
    return place - begin;
}

// Block, thread per change: how many of all moving edges lie before it, and the chunks whose first change it is. A thread reads AT_ONCE
// changes before it writes.
__device__ __forceinline__ void place_changes(const Update& c, const Share& mine, const Moves& moves, uint32_t total) {
    const long long chunks = (moves.edges + MOVE_CHUNK - 1) / MOVE_CHUNK;
    for (long long k = thread_id(); k < chunks; k += thread_count()) c.chunk_read[k] = 0;
    for (long long base = mine.first + threadIdx.x; base < mine.last; base += AT_ONCE * CHANGE_BLOCK) {
        long long place[AT_ONCE], before[AT_ONCE];
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const long long r = base + q * CHANGE_BLOCK;
            before[q] = -1;
            if (r >= mine.last) continue;
            place[q] = moves.edges_before + c.moved[r];
            if (r > 0) before[q] = moves.edges_before + c.moved[r - 1];
            if (r > 0 && r == mine.first) before[q] -= c.block_moved[blockIdx.x - 1];
        }
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const long long r = base + q * CHANGE_BLOCK;
            if (r >= mine.last) continue;
            c.place[r] = place[q];
            long long k = (before[q] + MOVE_CHUNK) / MOVE_CHUNK;
            for (; k * MOVE_CHUNK <= place[q]; ++k) c.chunk_change[k] = uint32_t(r);
            if (r + 1 == total)
                for (; k <= chunks; ++k) c.chunk_change[k] = total;
        }
    }
}

// Block, thread per head: where its edges go, and the chunks that begin among them.
__device__ __forceinline__ void place_vertices(const Graph& g, const Update& c, const Share& mine,
                                               const Handout& blocks, const Tickets& tickets, const Moves& moves) {
    for (uint32_t i = threadIdx.x; i < tickets.heads; i += CHANGE_BLOCK) {
        const uint32_t r = c.heads[mine.first + i], u = source(c.changed_key[r]);
        const long long begin = g.begin[u], end = g.end[u], slot = c.changed_slot[r];
        const long long first = c.target[r] == KEEP ? slot : begin, delta = delta_of(g, c, blocks, tickets, r, begin);
        c.delta[r] = delta;
        if (first == end) continue;
        const uint32_t row = moves.rows_before + c.row[r];
        const long long start = moves.edges_before + c.moved[r] - (slot - first), stop = start + (end - first);
        c.row_start[row] = start;
        c.row_from[row] = first - start;
        c.row_to[row] = first - start + delta;
        c.row_head[row] = r;
        for (long long k = (start + MOVE_CHUNK - 1) / MOVE_CHUNK; k * MOVE_CHUNK < stop; ++k) c.chunk_row[k] = row;
    }
    if (thread_id() || !moves.rows) return;
    c.row_start[moves.rows] = moves.edges;
    c.chunk_row[(moves.edges + MOVE_CHUNK - 1) / MOVE_CHUNK] = moves.rows - 1;
}
