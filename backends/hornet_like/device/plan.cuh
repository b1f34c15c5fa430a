// Plans of sorted.cu: what becomes of each vertex that a batch changes, and which of its edges move. A vertex stands for the first of its
// changes, its head, in the list of all changes. The structs Graph and Update come from layout.py.
#pragma once
#include "blocks.cuh"
#include "changes.cuh"

struct Arguments {
    Update u;
    Graph g;
};

// Changes of a block, in order over the blocks.
struct Share {
    uint32_t first, last;
};

__device__ __forceinline__ Share changes_of_block(uint32_t total) {
    const long long rounds = (total + (long long)thread_count() - 1) / thread_count(), share = rounds * CHANGE_BLOCK;
    return {
        uint32_t(min((long long)total, blockIdx.x * share)), uint32_t(min((long long)total, (blockIdx.x + 1) * share))};
}

// Heads of a thread block; blocks that their vertices take and free, by class, and how many earlier thread blocks do.
struct Tickets {
    uint32_t heads, own[COUNTS];
    long long before[COUNTS];
};

constexpr uint32_t PLAN_TILE = AT_ONCE * CHANGE_BLOCK;  // changes that a block plans at a time

static_assert(PLAN_TILE == 64 * 32, "bits of a tile are 64 words");

struct PlanMemory {
    uint32_t heads[PLAN_TILE / 32];  // bits: changes of the tile that are heads
    uint32_t run_end, last_head;  // of the vertex of the tile's last change
    long long moves[CHANGE_WARPS];
    uint32_t rows[CHANGE_WARPS], counts[CHANGE_WARPS];
};

// What the block's changes up to a place among them have: edges and vertices that move, and heads; and the last head.
struct Planned {
    long long moves;
    uint32_t rows, heads, head;
};

// Warp: first index above ``at`` whose key is above ``bound`` (a[at] <= bound), or n. In each step it reads 32 keys.
__device__ __forceinline__ uint32_t run_end_by_warp(const uint64_t* a, uint32_t at, uint32_t n, uint64_t bound) {
    const uint32_t lane = threadIdx.x % 32;
    uint64_t lo = uint64_t(at) + 1, step = 1;
    bool rises = true;
    while (true) {
        const uint64_t probe = lo + (lane + 1) * step - 1;
        const uint32_t count = __popc(__ballot_sync(0xFFFFFFFFu, probe < n && a[probe] <= bound));
        lo += count * step;
        rises = rises && count == 32;
        if (!rises && step == 1) return uint32_t(lo);
        step = rises ? step * 32 : step / 32;
    }
}

// Warp: the same downwards: first index of the run up to ``at`` whose keys are not below ``bound`` (a[at] >= bound).
__device__ __forceinline__ uint32_t run_begin_by_warp(const uint64_t* a, uint32_t at, uint64_t bound) {
    const long long lane = threadIdx.x % 32;
    long long hi = at, step = 1;
    bool falls = true;
    while (true) {
        const long long probe = hi - (lane + 1) * step;
        const uint32_t count = __popc(__ballot_sync(0xFFFFFFFFu, probe >= 0 && a[probe] >= bound));
        hi -= count * step;
        falls = falls && count == 32;
        if (!falls && step == 1) return uint32_t(hi);
        step = falls ? step * 32 : step / 32;
    }
}

// Thread per head: the class that its vertex migrates to (or KEEP, NONE), its tickets among those of the block, the number of its
// changes. Returns how many of its edges move, in place those from its first change on, which has ``left`` edges above it; a vertex that
// loses all of them "moves" them nowhere.
__device__ __forceinline__ long long plan_vertex(const Update& c, Tickets& tickets, uint32_t r, uint32_t run, uint8_t k,
                                                 uint32_t degree, uint32_t left) {
    const long long before = degree;
    const uint8_t target = c.deleting ? shrunk(before - run, k, c.may_shrink) : grown(before + run, k);
    c.run[r] = run;
    c.target[r] = target;
    if (is_class(target)) c.ticket[r] = atomicAdd(&tickets.own[NEED + target], 1u);
    if (target != KEEP && k != NONE) c.freed[r] = atomicAdd(&tickets.own[FREED + k], 1u);
    return target == KEEP ? left : degree;
}

// Warp: the heads nearest below its changes of the tile from ``base`` on and above them, if they are not its own.
struct Neighbours {
    uint32_t below, above;
};

__device__ __forceinline__ Neighbours neighbours_of_warp(const PlanMemory& m, uint32_t base, uint32_t head) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t low = __ballot_sync(0xFFFFFFFFu, m.heads[lane] != 0),
                   words = uint64_t(__ballot_sync(0xFFFFFFFFu, m.heads[32 + lane] != 0)) << 32 | low;
    const uint64_t lower = words & ((1ull << AT_ONCE * warp) - 1),
                   upper = words >> AT_ONCE * warp >> AT_ONCE;  // by 64 in all for the last warp
    Neighbours found = {head, m.run_end};
    if (lower) {
        const uint32_t i = 63 - __clzll(lower);
        found.below = base + 32 * i + 31 - __clz(m.heads[i]);
    }
    if (upper) {
        const uint32_t i = AT_ONCE * (warp + 1) + 63 - __clzll(upper & -upper);
        found.above = base + 32 * i + __ffs(m.heads[i]) - 1;
    }
    return found;
}

// Block, a warp per 32 * AT_ONCE changes: plan the vertices whose heads are in the tile [base, last). Lists them, and writes for each
// change its head, and how many edges that move lie before it among those of the block. ``so_far`` is what the block's earlier tiles
// have. Atomics: tickets in shared memory.
__device__ __forceinline__ void plan_tile(const Graph& g, const Update& c, PlanMemory& m, Tickets& tickets,
                                          const Share& mine, uint32_t base, uint32_t total, Planned& so_far) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, up_to_lane = 0xFFFFFFFFu >> (31 - lane);
    const uint32_t first = base + warp * 32 * AT_ONCE, last = min(base + PLAN_TILE, mine.last);
    uint32_t vertex[AT_ONCE], head_lanes[AT_ONCE], left[AT_ONCE], degree[AT_ONCE];
    uint8_t klass[AT_ONCE];
#pragma unroll
    for (int q = 0; q < AT_ONCE; ++q) {
        const uint32_t r = first + 32 * q + lane;
        vertex[q] = r < last ? source(c.changed_key[r]) : 0;
        const bool is_head = r < last && (r == 0 || source(c.changed_key[r - 1]) != vertex[q]);
        head_lanes[q] = __ballot_sync(0xFFFFFFFFu, is_head);
        if (lane == 0) m.heads[warp * AT_ONCE + q] = head_lanes[q];
    }
#pragma unroll
    for (int q = 0; q < AT_ONCE; ++q) {
        left[q] = degree[q] = klass[q] = 0;
        const uint32_t r = first + 32 * q + lane, u = vertex[q];
        if (r >= last) continue;
        const long long end = g.end[u];
        left[q] = uint32_t(end - c.changed_slot[r]);
        if (!(head_lanes[q] >> lane & 1)) continue;
        degree[q] = uint32_t(end - g.begin[u]);
        klass[q] = g.klass[u];
    }
    if (warp == CHANGE_WARPS - 1) {
        const uint32_t end = run_end_by_warp(c.changed_key, last - 1, total, c.changed_key[last - 1] | 0xFFFFFFFFull);
        if (lane == 0) m.run_end = end;
    }
    __syncthreads();
    const Neighbours other = neighbours_of_warp(m, base, so_far.head);
    uint32_t sum[AT_ONCE], row_lanes[AT_ONCE], rows = 0, heads = 0, above = other.above;
#pragma unroll
    for (int q = AT_ONCE - 1; q >= 0; --q) {
        const uint32_t at = first + 32 * q, later = head_lanes[q] & (0xFFFFFFFEu << lane);
        sum[q] = 0;
        if (head_lanes[q] >> lane & 1) {
            const uint32_t end = later ? at + __ffs(later) - 1 : above;
            sum[q] = plan_vertex(c, tickets, at + lane, end - (at + lane), klass[q], degree[q], left[q]);
        }
        if (head_lanes[q]) above = at + __ffs(head_lanes[q]) - 1;
        row_lanes[q] = __ballot_sync(0xFFFFFFFFu, sum[q] > 0);
        rows += __popc(row_lanes[q]);
        heads += __popc(head_lanes[q]);
    }
    long long moves[AT_ONCE], moved = 0;
#pragma unroll
    for (int q = 0; q < AT_ONCE; ++q) {
        moves[q] = sum[q];
        for (int s = 1; s < 32; s *= 2) {
            const long long below = __shfl_up_sync(0xFFFFFFFFu, moves[q], s);
            if (lane >= s) moves[q] += below;
        }
        moves[q] += moved;
        moved = __shfl_sync(0xFFFFFFFFu, moves[q], 31);
    }
    if (lane == 0) {
        m.moves[warp] = moved;
        m.rows[warp] = rows;
        m.counts[warp] = heads;
    }
    __syncthreads();
    Planned at = so_far;
    for (uint32_t w = 0; w < CHANGE_WARPS; ++w) {
        if (w == warp) at = so_far;
        so_far.moves += m.moves[w];
        so_far.rows += m.rows[w];
        so_far.heads += m.counts[w];
    }
    at.head = other.below;
#pragma unroll
    for (int q = 0; q < AT_ONCE; ++q) {
        const uint32_t r = first + 32 * q + lane, heads_here = head_lanes[q] & up_to_lane;
        const bool is_head = head_lanes[q] >> lane & 1;
        if (r < last) {
            c.head[r] = heads_here ? r - lane + 31 - __clz(heads_here) : at.head;
            c.moved[r] = at.moves + moves[q] - left[q];
        }
        if (row_lanes[q] >> lane & 1) c.row[r] = at.rows + __popc(row_lanes[q] & up_to_lane) - 1;
        if (is_head) c.heads[mine.first + at.heads + __popc(heads_here) - 1] = r;
        at.rows += __popc(row_lanes[q]);
        at.heads += __popc(head_lanes[q]);
        if (head_lanes[q]) at.head = r - lane + 31 - __clz(head_lanes[q]);
    }
    if (threadIdx.x == CHANGE_BLOCK - 1) m.last_head = at.head;
    __syncthreads();
    so_far.head = m.last_head;
}

// Block: plan its vertices. Atomics: of the block in shared memory, and one per class that it takes or frees.
__device__ __forceinline__ void plan_changes(const Graph& g, const Update& c, const Share& mine, Tickets& tickets,
                                             uint32_t total) {
    __shared__ PlanMemory memory;
    const uint32_t k = threadIdx.x;
    if (k < COUNTS) tickets.own[k] = 0;
    __syncthreads();
    Planned all = {0, 0, 0, 0};
    if (mine.first < mine.last)
        all.head = run_begin_by_warp(c.changed_key, mine.first, c.changed_key[mine.first] & 0xFFFFFFFF00000000ull);
    for (uint32_t base = mine.first; base < mine.last; base += PLAN_TILE)
        plan_tile(g, c, memory, tickets, mine, base, total, all);
    if (k == 0) {
        c.block_moved[blockIdx.x] = all.moves;
        c.block_rows[blockIdx.x] = all.rows;
        tickets.heads = all.heads;
    }
    if (k < COUNTS) {
        const unsigned long long own = tickets.own[k];
        tickets.before[k] = own ? atomicAdd((unsigned long long*)&c.counts[k], own) : 0;
    }
}

// Block: keep its tickets for a launch that resumes this one, when the pool has grown.
__device__ __forceinline__ void keep_tickets(const Update& c, const Tickets& tickets) {
    long long* const kept = c.tickets + blockIdx.x * (COUNTS + 1ll);
    if (threadIdx.x < COUNTS) kept[threadIdx.x] = tickets.before[threadIdx.x];
    if (threadIdx.x == COUNTS) kept[COUNTS] = tickets.heads;
}

// Block: take them up again.
__device__ __forceinline__ void resume(const Update& c, Tickets& tickets) {
    const long long* const kept = c.tickets + blockIdx.x * (COUNTS + 1ll);
    if (threadIdx.x < COUNTS) tickets.before[threadIdx.x] = kept[threadIdx.x];
    if (threadIdx.x == COUNTS) tickets.heads = uint32_t(kept[COUNTS]);
    __syncthreads();
}

// Blocks that all vertices take and free, by class, as planned by this launch or the one that it resumes.
__device__ __forceinline__ const long long* counts_of(const Update& c) { return c.resumed ? c.planned : c.counts; }
