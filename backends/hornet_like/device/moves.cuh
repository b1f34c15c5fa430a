// Moves of sorted.cu: the edges that were there go to their places between the changes, in place or into another block. All edges that
// move are cut into chunks of MOVE_CHUNK, whichever vertices they belong to; a block reads a whole chunk before it writes one of its
// edges. In place, an insertion moves edges up, so its chunks are moved from the last to the first, and a deletion the other way
// round: a chunk is written when those that it is written over have been read, which are chunks that began before it.
#pragma once
#include "place.cuh"

constexpr uint32_t WARP_ITEMS = 32 * MOVE_ITEMS;

// What is known of a chunk before it is read.
struct ChunkMarks {
    uint32_t changes[MOVE_CHUNK];  // 1 + the last change before this edge, or 0 if it is the same as of the edge before
    uint32_t starts[MOVE_CHUNK / 32];  // bits: the first edge of a vertex
    uint32_t first_change, first_row;
};

struct ChunkMemory {
    ChunkMarks marks[2];  // of the chunk that is moved, and of the block's next one
    uint32_t last_change[CHANGE_WARPS], rows[CHANGE_WARPS];
    long long wait_first, wait_last;  // chunks that must have been read
};

__device__ __forceinline__ void clear_marks(ChunkMarks& m) {
    for (uint32_t i = threadIdx.x; i < MOVE_CHUNK; i += CHANGE_BLOCK) m.changes[i] = 0;
    if (threadIdx.x < MOVE_CHUNK / 32) m.starts[threadIdx.x] = 0;
}

// Block, when they are cleared: mark changes and vertices of chunk k, which has ``count`` edges.
__device__ __forceinline__ void mark_chunk(const Update& c, ChunkMarks& m, long long k, uint32_t count,
                                           uint32_t total) {
    const long long begin = k * MOVE_CHUNK;
    const uint32_t first = c.chunk_change[k], last = c.chunk_change[k + 1];
    const uint32_t first_row = c.chunk_row[k], last_row = c.chunk_row[k + 1];
    if (threadIdx.x == 0) {
        m.first_change = first;
        m.first_row = first_row;
    }
    for (uint32_t r = first + threadIdx.x; r < last; r += CHANGE_BLOCK) {
        const long long place = c.place[r];
        if (place - begin < count && (r + 1 == total || c.place[r + 1] != place)) m.changes[place - begin] = r + 1;
    }
    for (uint32_t row = first_row + 1 + threadIdx.x; row <= last_row; row += CHANGE_BLOCK) {
        const long long at = c.row_start[row] - begin;
        if (at < count) atomicOr(&m.starts[at / 32], 1u << (at % 32));
    }
}

// One thread, for the edge with which a chunk meets the one before it (in the order in which they are moved): which chunks hold the
// edges that this one is written over. ``shift`` changes of its vertex lie before it.
__device__ __forceinline__ void find_neighbours(const Update& c, ChunkMemory& m, long long k, long long edge,
                                                uint32_t row, uint32_t shift) {
    if (c.row_to[row] != c.row_from[row]) return;  // moves into another block
    if (c.deleting) {
        m.wait_first = max(c.row_start[row], edge - shift) / MOVE_CHUNK;
        m.wait_last = k - 1;
    } else {
        m.wait_first = k + 1;
        m.wait_last = min(c.row_start[row + 1] - 1, edge + shift) / MOVE_CHUNK;
    }
}

// Edges of chunk k.
__device__ __forceinline__ uint32_t chunk_size(const Moves& moves, long long k) {
    return uint32_t(min((long long)MOVE_CHUNK, moves.edges - k * MOVE_CHUNK));
}

// Block: move chunk k by its marks, m.marks[side]; while its neighbours are read, mark chunk ``next``, unless that is -1.
__device__ __forceinline__ void move_chunk(const Graph& g, const Update& c, ChunkMemory& m, const Moves& moves,
                                           long long k, int side, long long next, uint32_t total) {
    const ChunkMarks& marks = m.marks[side];
    const uint32_t count = chunk_size(moves, k);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, up_to_lane = 0xFFFFFFFFu >> (31 - lane);
    const long long begin = k * MOVE_CHUNK;
    clear_marks(m.marks[1 - side]);
    if (threadIdx.x == 0) {
        m.wait_first = 0;
        m.wait_last = -1;
    }
    uint32_t change[MOVE_ITEMS], row[MOVE_ITEMS], last_change = 0, rows = 0;
#pragma unroll
    for (int q = 0; q < MOVE_ITEMS; ++q) {
        uint32_t last = marks.changes[warp * WARP_ITEMS + 32 * q + lane];
        for (int s = 1; s < 32; s *= 2) {
            const uint32_t below = __shfl_up_sync(0xFFFFFFFFu, last, s);
            if (lane >= s) last = max(last, below);
        }
        change[q] = max(last, last_change);
        last_change = __shfl_sync(0xFFFFFFFFu, change[q], 31);
        const uint32_t starts = marks.starts[warp * MOVE_ITEMS + q];
        row[q] = rows + __popc(starts & up_to_lane);
        rows += __popc(starts);
    }
    if (lane == 0) {
        m.last_change[warp] = last_change;
        m.rows[warp] = rows;
    }
    __syncthreads();
    uint32_t changes_before = marks.first_change, rows_before = marks.first_row;
    for (uint32_t w = 0; w < warp; ++w) {
        changes_before = max(changes_before, m.last_change[w]);
        rows_before += m.rows[w];
    }
    uint32_t dst[MOVE_ITEMS];
    long long to[MOVE_ITEMS];
    bits_t weight[MOVE_ITEMS];
#pragma unroll
    for (int q = 0; q < MOVE_ITEMS; ++q) {
        const uint32_t i = warp * WARP_ITEMS + 32 * q + lane;
        to[q] = -1;
        if (i >= count) continue;
        const uint32_t r = rows_before + row[q], shift = max(changes_before, change[q]) - c.row_head[r];
        const long long edge = begin + i, from = c.row_from[r] + edge;
        dst[q] = g.dst[from];
        if (WEIGHT_BITS) weight[q] = g.weight[from];
        if (!c.deleting || !marks.changes[i]) to[q] = c.row_to[r] + edge + (c.deleting ? -(long long)shift : shift);
        if (c.deleting ? i == 0 && k > 0 && edge > c.row_start[r]
                       : i == MOVE_CHUNK - 1 && edge + 1 < c.row_start[r + 1])
            find_neighbours(c, m, k, edge, r, shift);
    }
    __syncthreads();
    if (threadIdx.x == 0) add_release(&c.chunk_read[k], 1u);
    if (next >= 0) mark_chunk(c, m.marks[1 - side], next, chunk_size(moves, next), total);
    for (long long j = m.wait_first + threadIdx.x; j <= m.wait_last; j += CHANGE_BLOCK)
        while (!load_acquire(&c.chunk_read[j])) {}
    __syncthreads();
#pragma unroll
    for (int q = 0; q < MOVE_ITEMS; ++q) {
        if (to[q] < 0) continue;
        g.dst[to[q]] = dst[q];
        if (WEIGHT_BITS) g.weight[to[q]] = weight[q];
    }
}

// Grid: all chunks, each behind those that it may wait for, of which every block moves some: so none waits for itself.
__device__ __forceinline__ void move_edges(const Graph& g, const Update& c, const Moves& moves, uint32_t total) {
    __shared__ ChunkMemory memory;
    const long long chunks = (moves.edges + MOVE_CHUNK - 1) / MOVE_CHUNK;
    long long turn = blockIdx.x;
    if (turn >= chunks) return;
    const auto chunk_of = [&](long long turn) { return c.deleting ? turn : chunks - 1 - turn; };
    clear_marks(memory.marks[0]);
    __syncthreads();
    mark_chunk(c, memory.marks[0], chunk_of(turn), chunk_size(moves, chunk_of(turn)), total);
    __syncthreads();
    for (int side = 0; turn < chunks; side = 1 - side, turn += gridDim.x) {
        const long long next = turn + gridDim.x < chunks ? chunk_of(turn + gridDim.x) : -1;
        move_chunk(g, c, memory, moves, chunk_of(turn), side, next, total);
    }
}
