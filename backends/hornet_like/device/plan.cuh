// Plans and blocks of sorted.cu: what becomes of each vertex that a batch changes, which block it takes, and which of its edges
// move. A vertex stands for the first of its changes, its head, in the list of all changes. The edges that move, vertex after vertex
// and slot after slot, are numbered through; moves.cuh moves them in chunks of that numbering. The structs Graph and Update come from
// layout.py.
#pragma once
#include "blocks.cuh"
#include "changes.cuh"

struct Arguments {
    Update u;
    Graph g;
};

constexpr uint32_t NO_HEAD = 0xFFFFFFFFu;

// Changes of a block, in order over the blocks.
struct Share {
    uint32_t first, last;
};

__device__ __forceinline__ Share changes_of_block(uint32_t total) {
    const long long rounds = (total + (long long)thread_count() - 1) / thread_count(), share = rounds * CHANGE_BLOCK;
    return {
        uint32_t(min((long long)total, blockIdx.x * share)), uint32_t(min((long long)total, (blockIdx.x + 1) * share))};
}

// Blocks that the vertices of a thread block take and free, by class, and how many earlier thread blocks do.
struct Tickets {
    uint32_t need[CLASSES], freed[CLASSES];
    unsigned long long need_before[CLASSES], freed_before[CLASSES];
};

// First old slot that moves: in place nothing below the first change does.
__device__ __forceinline__ long long first_moved(const Graph& g, const Update& c, uint32_t head, uint32_t u) {
    return c.target[head] == KEEP ? c.changed_slot[head] : g.begin[u];
}

// Thread per head: the class that its vertex migrates to (or KEEP, NONE), its tickets among those of the block, the number of its
// changes. Returns how many of its edges move; a vertex that loses all of them "moves" them nowhere.
__device__ __forceinline__ long long plan_vertex(const Graph& g, const Update& c, Tickets& tickets, uint32_t r,
                                                 uint32_t total) {
    const uint32_t u = source(c.changed_key[r]);
    const uint32_t run = gallop_up(c.changed_key, r, total, c.changed_key[r] | 0xFFFFFFFFull) - r;
    const long long end = g.end[u], degree = end - g.begin[u];
    const uint8_t k = g.klass[u], target = c.deleting ? shrunk(degree - run, k, c.may_shrink) : grown(degree + run, k);
    c.run[r] = run;
    c.target[r] = target;
    if (target < CLASSES) c.ticket[r] = atomicAdd(&tickets.need[target], 1u);
    if (target != KEEP && k != NONE) c.freed[r] = atomicAdd(&tickets.freed[k], 1u);
    return end - first_moved(g, c, r, u);
}

// Block: plan its vertices; for each of its changes the head, and how many edges of the block's vertices up to its own move. Atomics: of
// the block in shared memory, and one per class that it takes or frees.
__device__ __forceinline__ void plan_changes(const Graph& g, const Update& c, const Share& mine, Tickets& tickets,
                                             uint32_t total) {
    __shared__ long long sums[CHANGE_WARPS];
    __shared__ uint32_t rows[CHANGE_WARPS], heads[CHANGE_WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, up_to_lane = 0xFFFFFFFFu >> (31 - lane);
    if (threadIdx.x < CLASSES) tickets.need[threadIdx.x] = tickets.freed[threadIdx.x] = 0;
    __syncthreads();
    long long moved_before = 0;
    uint32_t rows_before = 0, head_before = 0;
    if (mine.first < mine.last)
        head_before = gallop_down(c.changed_key, mine.first, c.changed_key[mine.first] & 0xFFFFFFFF00000000ull);
    for (uint32_t base = mine.first; base < mine.last; base += CHANGE_BLOCK) {
        const uint32_t r = base + threadIdx.x;
        const bool is_head = r < mine.last && (r == 0 || source(c.changed_key[r - 1]) != source(c.changed_key[r]));
        const long long moves = is_head ? plan_vertex(g, c, tickets, r, total) : 0;
        const uint32_t head_lanes = __ballot_sync(0xFFFFFFFFu, is_head),
                       row_lanes = __ballot_sync(0xFFFFFFFFu, moves > 0);
        long long sum = moves;
        for (int s = 1; s < 32; s *= 2) {
            const long long below = __shfl_up_sync(0xFFFFFFFFu, sum, s);
            if (lane >= s) sum += below;
        }
        if (lane == 31) {
            sums[warp] = sum;
            rows[warp] = __popc(row_lanes);
            heads[warp] = head_lanes ? r - __clz(head_lanes) : NO_HEAD;
        }
        __syncthreads();
        uint32_t row = rows_before + __popc(row_lanes & up_to_lane) - 1, head = head_before;
        sum += moved_before;
        for (uint32_t w = 0; w < CHANGE_WARPS; ++w) {
            if (w < warp) {
                sum += sums[w];
                row += rows[w];
                if (heads[w] != NO_HEAD) head = heads[w];
            }
            moved_before += sums[w];
            rows_before += rows[w];
            if (heads[w] != NO_HEAD) head_before = heads[w];
        }
        if (head_lanes & up_to_lane) head = r - lane + 31 - __clz(head_lanes & up_to_lane);
        if (r < mine.last) {
            c.head[r] = head;
            c.moved[r] = sum;
        }
        if (moves > 0) c.row[r] = row;
        __syncthreads();
    }
    const uint32_t k = threadIdx.x;
    if (k == 0) {
        c.block_moved[blockIdx.x] = moved_before;
        c.block_rows[blockIdx.x] = rows_before;
    }
    if (k < CLASSES && tickets.need[k])
        tickets.need_before[k] =
            atomicAdd((unsigned long long*)&c.counts[NEED + k], (unsigned long long)tickets.need[k]);
    if (k < CLASSES && tickets.freed[k])
        tickets.freed_before[k] =
            atomicAdd((unsigned long long*)&c.counts[FREED + k], (unsigned long long)tickets.freed[k]);
}

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
        blocks.need[k] = c.counts[NEED + k];
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

// By how many slots the adjacency of a head of this block is moved, besides its changes.
__device__ __forceinline__ long long delta_of(const Graph& g, const Update& c, const Handout& blocks,
                                              const Tickets& tickets, uint32_t head, uint32_t u) {
    const uint32_t k = c.target[head];
    if (k >= CLASSES) return 0;
    const long long ticket = tickets.need_before[k] + c.ticket[head], taken = blocks.taken[k];
    const long long place =
        ticket < taken ? (long long)g.stacks[g.stack_begin[k] + blocks.top[k] - 1 - ticket] << MIN_CLASS
                       : blocks.carved[k] + ((ticket - taken) << k);
    return place - g.begin[u];
}

// Block, thread per change: how many of all moving edges lie before it, and the chunks whose first change it is; for a head, where its
// edges go, and the chunks that begin among them.
__device__ __forceinline__ void place_changes(const Graph& g, const Update& c, const Share& mine, const Handout& blocks,
                                              const Tickets& tickets, const Moves& moves, uint32_t total) {
    const long long chunks = (moves.edges + MOVE_CHUNK - 1) / MOVE_CHUNK;
    for (long long k = thread_id(); k < chunks; k += thread_count()) c.chunk_read[k] = 0;
    for (uint32_t r = mine.first + threadIdx.x; r < mine.last; r += CHANGE_BLOCK) {
        const uint32_t u = source(c.changed_key[r]);
        const long long end = g.end[u], moved = moves.edges_before + c.moved[r];
        const long long place = moved - (end - c.changed_slot[r]);
        c.place[r] = place;
        long long before = -1;
        if (r > 0) {
            const long long moved_before = moves.edges_before + (r > mine.first ? c.moved[r - 1] : 0);
            before = moved_before - (g.end[source(c.changed_key[r - 1])] - c.changed_slot[r - 1]);
        }
        for (long long k = (before + MOVE_CHUNK) / MOVE_CHUNK; k * MOVE_CHUNK <= place; ++k) c.chunk_change[k] = r;
        if (r + 1 == total)
            for (long long k = (place + MOVE_CHUNK) / MOVE_CHUNK; k <= chunks; ++k) c.chunk_change[k] = total;
        if (c.head[r] != r) continue;
        const long long delta = delta_of(g, c, blocks, tickets, r, u), first = first_moved(g, c, r, u);
        c.delta[r] = delta;
        if (first == end) continue;
        const uint32_t row = moves.rows_before + c.row[r];
        const long long start = moved - (end - first);
        c.row_start[row] = start;
        c.row_from[row] = first - start;
        c.row_to[row] = first - start + delta;
        c.row_head[row] = r;
        for (long long k = (start + MOVE_CHUNK - 1) / MOVE_CHUNK; k * MOVE_CHUNK < moved; ++k) c.chunk_row[k] = row;
    }
    if (thread_id() || !moves.rows) return;
    c.row_start[moves.rows] = moves.edges;
    c.chunk_row[chunks] = moves.rows - 1;
}
