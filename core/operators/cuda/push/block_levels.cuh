// Levels of a search whose frontiers are small: each block goes on with the vertices that it has reached itself. For the dependence forest where a
// vertex offers the same along all its edges.
//
// A level of an ordinary step is a chain of trips to memory: entry of the queue, row, edges, words, atomic, place in the queue, barrier.
// Here the vertices stay in shared memory, and while a block waits for the others it reads the edges of those that it has
// reached: two trips are left, and the barrier, whose counter says how many vertices all blocks have reached. When a block has
// reached too many, the levels end with all vertices in the queue, from which the next ordinary step spreads them over all blocks again.
#pragma once
#include "policy.cuh"

#define PER_BLOCK 128  // vertices per block up to which a frontier is small
#define OWN (LOCAL_QUEUE / 2)  // vertices that a block keeps, for this level and for the next

// What a block adds to the counter of a level: itself, whether it wants the vertices spread again, whether it has listed heavy vertices, and
// how many it has reached.
#define ARRIVED_BITS 10
#define WANTS_SPREAD (1ull << ARRIVED_BITS)
#define HAS_LISTED (1ull << 2 * ARRIVED_BITS)
#define REACHED_SHIFT 32

// How long the lists of even and odd levels are. The lists are those of Shared: `local_queue` the vertices, `from` and `to` their edges, as far as
// there is place, and `picked` the vertices of which not all edges are there.
struct BlockLevels {
    uint32_t owns[2], edges[2], unreads[2];
    unsigned long long seen;  // what all blocks have added
    bool listed;  // a heavy vertex
};
static_assert(OWN <= MAX_THREADS && OWN >= PER_BLOCK, "the lists have place for a small frontier");

// One thread: v is offered `value`; if that alters it, the block keeps it for the next level, or queues it.
__device__ __forceinline__ void reach(value_t* tree, uint32_t v, const value_t& value, const Steps& steps,
                                      uint32_t* own, uint32_t* owns) {
    if (!alters(reduce_into(tree + v, value), value)) return;
    if (!steps.once && !claim(steps.stamp, v, steps.epoch)) return;
    const uint32_t place = atomicAdd(owns, 1u);
    if (place < OWN) {
        own[place] = v;
        return;
    }
    steps.stamp[v] = steps.epoch;
    append(steps.buffer, &steps.state->count[steps.turn], v);
}

// Read the edges of own[0 .. number), a tile per vertex.
__device__ __forceinline__ void read_edges(const View& g, const uint32_t* own, uint32_t number, Shared& shared,
                                           uint32_t* edges, uint32_t* unreads) {
    const uint32_t lane = threadIdx.x % TILE;
    for (uint32_t i = threadIdx.x / TILE; i < number; i += blockDim.x / TILE) {
        const uint32_t u = own[i];
        bool unread = degree(g, u) > SMALL;
        if (!unread) {
            for_neighbors<TILE>(g, u, lane, [&](uint32_t v, long long) {
                const uint32_t place = atomicAdd(edges, 1u);
                if (place < LISTED) {
                    shared.from[place] = u;
                    shared.to[place] = v;
                } else {
                    unread = true;
                }
            });
        }
        unread = __any_sync(tile_mask<TILE>(), unread);
        if (unread && lane == 0) shared.picked[atomicAdd(unreads, 1u)] = u;
    }
}

// Levels from frontier[0 .. count), at most PER_BLOCK per block, until the frontier is small no longer, or block 0 can serve it alone, or another reason.
// All threads of the grid call it, behind a barrier that lies after the launch began. What is reached last is queued behind the
// next grid-wide barrier: state->count[turn] vertices in steps.near; heavy ones of the last level are listed, and have not pushed.
__device__ __forceinline__ void block_levels(const View& g, Steps& steps, const uint32_t* frontier, uint32_t count,
                                             uint32_t alone, uint32_t most, value_t* tree, const HeavyList& heavy,
                                             Shared& shared FORMALS) {
    __shared__ BlockLevels levels;
    const uint32_t me = threadIdx.x, lane = me % 32, warp = me / 32, warps = blockDim.x / 32;
    const uint32_t leader = blockDim.x - 32;  // its warp has no edges to read while the block has few vertices
    const uint32_t begin = uint32_t((unsigned long long)count * blockIdx.x / gridDim.x),
                   end = uint32_t((unsigned long long)count * (blockIdx.x + 1) / gridDim.x);
    uint32_t number = end - begin, side = 0;
    __syncthreads();
    if (me < 2) levels.owns[me] = levels.edges[me] = levels.unreads[me] = 0;
    if (me == 0) levels.listed = false;
    for (uint32_t i = me; i < number; i += blockDim.x) shared.local_queue[i] = frontier[begin + i];
    __syncthreads();
    read_edges(g, shared.local_queue, number, shared, &levels.edges[0], &levels.unreads[0]);
    for (;;) {
        __syncthreads();  // the edges are there
        ++steps.epoch;
        ++steps.level;
        steps.pushed += count;
        uint32_t *const next = shared.local_queue + (side ^ 1) * OWN, *const nexts = &levels.owns[side ^ 1];
        if (me == 0) levels.edges[side ^ 1] = levels.unreads[side ^ 1] = 0;
        const uint32_t edges = min(levels.edges[side], (uint32_t)LISTED), unreads = levels.unreads[side];
        for (uint32_t i = me; i < edges; i += blockDim.x) {
            const uint32_t u = shared.from[i], v = shared.to[i];
            const value_t there = stored(tree + v);
            value_t value;
            if (offer(tree, u, u, weight_t(1), steps.violated, value ARGS) && improves(there, value)) {
                reach(tree, v, value, steps, next, nexts);
            }
        }
        for (uint32_t i = warp; i < unreads; i += warps) {
            const uint32_t u = shared.picked[i];
            uint32_t is_listed = lane == 0 && degree(g, u) > WIDE && add_heavy(heavy, u, buckets(g, u));
            is_listed = __shfl_sync(ALL_LANES, is_listed, 0);
            if (is_listed) levels.listed = true;
            value_t value;
            if (is_listed || !offer(tree, u, u, weight_t(1), steps.violated, value ARGS)) continue;
            for_neighbors<32>(g, u, lane, [&](uint32_t v, long long) {
                if (improves(stored(tree + v), value)) reach(tree, v, value, steps, next, nexts);
            });
            __syncwarp();
        }
        __syncthreads();  // all are reached
        const uint32_t reached = *nexts;
        number = min(reached, (uint32_t)OWN);
        if (me == leader) {
            const bool spread = reached > OWN || reached > PER_BLOCK / 4 + 2 * (count / gridDim.x);
            add_release(&steps.state->reached[steps.level_turn],
                        1ull | (spread ? WANTS_SPREAD : 0) | (levels.listed ? HAS_LISTED : 0) |
                            (unsigned long long)reached << REACHED_SHIFT);
            levels.owns[side] = 0;
        }
        read_edges(g, next, number, shared, &levels.edges[side ^ 1], &levels.unreads[side ^ 1]);
        if (me == leader) {
            const unsigned long long* const counter = &steps.state->reached[steps.level_turn];
            unsigned long long all;
            do {
                all = load_acquire(counter) - steps.reached_before;
            } while ((all & (WANTS_SPREAD - 1)) != gridDim.x);
            levels.seen = all;
            const unsigned long long before = steps.reached_before + all;
            steps.reached_before = steps.other_before;
            steps.other_before = before;
        }
        steps.level_turn ^= 1;
        __syncthreads();
        const unsigned long long all = levels.seen;
        count = uint32_t(all >> REACHED_SHIFT);
        side ^= 1;
        const bool asked = (all >> ARRIVED_BITS & ((1u << 2 * ARRIVED_BITS) - 1u)) != 0;
        if (asked || count <= alone || count > most || steps.level >= steps.max_steps ||
            (steps.level + 1 & ABORT_MASK) == ABORT_MASK)
            break;
    }
    __shared__ uint32_t place;
    if (me == 0) place = number ? atomicAdd(&steps.state->count[steps.turn], number) : 0;
    __syncthreads();
    for (uint32_t i = me; i < number; i += blockDim.x) {
        const uint32_t v = shared.local_queue[side * OWN + i];
        steps.buffer[place + i] = v;
        steps.stamp[v] = steps.epoch;  // where no vertex is reached twice only the last level needs stamps
    }
    swap_queues(steps);
}
