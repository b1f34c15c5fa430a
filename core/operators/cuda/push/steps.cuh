// The steps of a propagation, in a cooperative launch of blocks that all stay resident.
//
// A step takes one grid-wide barrier, one more if heavy vertices push or pull, and one more with a second phase (`then_fn`). While the
// frontier is so small that one block can serve it in a round, block 0 goes on alone, without any grid-wide barrier, and the
// others wait at the next one. Searches have a shorter step for small frontiers: see block_levels.cuh.
//
// What a block must see of the others: values, queues and the arrays of the functions are read with plain loads, which the L1 caches of
// the SMs serve, and these are not coherent. The grid-wide barrier makes it right, so a step sees everything up to the step before.
// What happens within a step may be seen late; then a vertex pushes an old value, but whoever improved it has queued it for
// the next step as well. Atomics work in L2.
//
// Macros, 0 or 1: HAS_THEN, HAS_LAYERS, OVER_BOTH_VIEWS, IS_FOREST, HAS_WORDS, HAS_PULL.
#pragma once
#include "ask_altered.cuh"
#if IS_FOREST && IS_UNIFORM && !HAS_WINDOW
#include "block_levels.cuh"
#endif
#if HAS_PULL && IS_FOREST
#include "bottom_up_search.cuh"
#elif HAS_PULL
#include "bottom_up_step.cuh"
#endif

#define ALONE 128  // up to this many vertices block 0 works alone; at most its tiles

// All threads of the grid, at the start of a launch.
__device__ __forceinline__ Steps begin_steps(const LoopMemory& memory, uint32_t num_vertices, uint32_t max_steps) {
    Steps steps;
    steps.num_vertices = num_vertices;
    steps.max_steps = max_steps;
    steps.stamp = memory.stamp;
    steps.state = reinterpret_cast<LoopState*>(memory.state);
    steps.abort = memory.abort;
    steps.heavy_vertex = memory.heavy_vertex;
    steps.heavy_base = memory.heavy_base;
    steps.near = memory.near;
    steps.buffer = memory.buffer;
    steps.far = memory.far;
    steps.violated = nullptr;
    steps.once = false;
    steps.altered = 0;
    steps.expected = steps.base = steps.state->base;
    steps.turn = steps.state->turn;
    steps.epoch = first_epoch(steps.state, steps.stamp, num_vertices, steps.expected);
    steps.level = 0;
    steps.pushed = steps.mine = 0;
    steps.level_turn = 0;
    steps.reached_before = steps.state->reached[0];
    steps.other_before = steps.state->reached[1];
    return steps;
}

__device__ __forceinline__ void push_both(const View& g, const View& other, const Steps& steps,
                                          const uint32_t* frontier, uint32_t count, uint32_t block, uint32_t blocks,
                                          value_t* out, const HeavyList& heavy, const Changed& changed,
                                          const Policy& policy, Shared& shared FORMALS) {
    push_frontier<false>(g, steps.num_vertices, frontier, count, SMALL, block, blocks, out, heavy, changed, shared,
                         [&](uint32_t u) { return policy.admits(steps, u, changed, shared); } ARGS);
#if OVER_BOTH_VIEWS
    push_frontier<true>(other, steps.num_vertices, frontier, count, EMPTY, block, blocks, out, heavy, changed, shared,
                        [](uint32_t) { return true; } ARGS);
#endif
}

// Block 0: steps from a small frontier, which go to the counters of the turn at the end, with what heavy vertices left to do.
__device__ __forceinline__ void steps_alone(const View& g, const View& other, Steps& steps, const uint32_t* frontier,
                                            uint32_t count, value_t* out, const HeavyList& heavy, const Policy& policy,
                                            Shared& shared FORMALS) {
    __shared__ uint32_t joined, altered;
    __shared__ unsigned long long nearest;
    uint32_t level = steps.level;
    bool goes_on = true;
    while (goes_on) {
        if (threadIdx.x == 0) joined = altered = shared.has_heavy = nearest = 0;
        __syncthreads();
        ++steps.epoch;
        const Changed changed = changes_to(steps, steps.buffer, HAS_THEN ? &altered : &joined, &nearest);
        push_both(g, other, steps, frontier, count, 0, 1, out, heavy, changed, policy, shared ARGS);
        if (shared.has_heavy) push_heavy_alone(g, out, heavy, changed, shared ARGS);
        steps.pushed += count;
        ++level;
        const bool has_heavy = shared.has_heavy;
#if HAS_THEN
        if (!has_heavy) {
            ask_altered(steps, altered, level, &joined, threadIdx.x, blockDim.x ARGS);
            __syncthreads();
        }
#else
        swap_queues(steps);
#endif
        frontier = steps.near;
        count = joined;
        poll_abort(steps, level);
        goes_on = count > 0 && count <= ALONE && level < steps.max_steps && !has_heavy && !HAS_LAYERS &&
                  (level & ABORT_MASK) != ABORT_MASK;
        __syncthreads();  // everybody has read the counts
    }
    if (threadIdx.x == 0) {
        steps.state->count[steps.turn] = joined;
        steps.state->altered[steps.turn] = altered;
        steps.state->level[steps.turn] = level;
        steps.state->nearest[steps.turn] = nearest;
    }
}

// Step until nothing is left to do: from frontier[0 .. count) (null: all below count), and, if `arcs`, from what push_arc_lists(changed)
// pushes. All threads of the grid call it. Returns how many vertices are left in steps.near.
template <class PushArcs>
__device__ __forceinline__ uint32_t run_steps(const View& g, const View& other, Steps& steps, const uint32_t* frontier,
                                              uint32_t count, bool arcs, value_t* out, Policy& policy, Shared& shared,
                                              PushArcs&& push_arc_lists FORMALS) {
    LoopState* const state = steps.state;
    bool stopped = false;
    while (steps.level < steps.max_steps && !stopped && !policy.is_full()) {  // the same in all threads of the grid
        begin_turn(steps);
        if (count == 0 && !arcs) break;

        const uint32_t turn = steps.turn, pushing = count;
#if IS_FOREST
        policy.everybody = frontier == nullptr;
#endif
#if HAS_WINDOW
        policy.window.move(count);
#endif
        const HeavyList heavy = {
            steps.heavy_vertex, steps.heavy_base, &state->heavy[turn], steps.num_vertices, HEAVY_SHIFT};
        const bool alone = count <= ALONE && !arcs;
        [[maybe_unused]] bool pulled = false;
        if (alone) {
            if (blockIdx.x == 0) {
                steps_alone(g, other, steps, frontier, count, out, heavy, policy, shared ARGS);
            }
            grid_barrier(state, steps.expected);
            const uint32_t done = counted(state->level[turn]) - steps.level;
            if (blockIdx.x != 0) {
                steps.epoch += done;
                if (!HAS_THEN && (done & 1)) swap_queues(steps);
            }
            steps.level += done;
#if IS_FOREST && IS_UNIFORM && !HAS_WINDOW
        } else if (!arcs && frontier != nullptr && steps.level > 0 && count <= policy.block_levels_most(PER_BLOCK)) {
            block_levels(g, steps, frontier, count, ALONE, policy.block_levels_most(PER_BLOCK), out, heavy,
                         shared ARGS);
            grid_barrier(state, steps.expected);
#endif
        } else {
            ++steps.epoch;
            ++steps.level;
            Changed changed = changes_to(steps, steps.buffer, HAS_THEN ? &state->altered[turn] : &state->count[turn],
                                         &state->nearest[turn]);
#if HAS_WINDOW
            changed.near_from = policy.window.near_from;
#endif
            if (arcs) push_arc_lists(changed);
#if HAS_PULL
            pulled = policy.pulls(steps, count);
            if (pulled) pull_step<false>(other, steps, steps.epoch - 1, steps.far, out, 0, heavy, changed, shared ARGS);
            else
#endif
                push_both(g, other, steps, frontier, count, blockIdx.x, gridDim.x, out, heavy, changed, policy,
                          shared ARGS);
            steps.pushed += count;
            if (!HAS_THEN) swap_queues(steps);
            if (blockIdx.x == 0) poll_abort(steps, steps.level);
            grid_barrier(state, steps.expected);
        }
        const unsigned long long packed = counted(state->heavy[turn]);
        count = counted(state->count[turn]);
        arcs = false;
        if (packed != 0) {
            const Changed changed =
                changes_to(steps, HAS_THEN ? steps.buffer : steps.near,
                           HAS_THEN ? &state->altered[turn] : &state->count[turn], &state->nearest[turn]);
#if HAS_PULL
            if (pulled)
                pull_step<true>(other, steps, steps.epoch - 1, steps.far, out, packed, heavy, changed, shared ARGS);
            else
#endif
                push_heavy<false>(g, packed, blockIdx.x, gridDim.x, out, heavy, changed, shared ARGS);
            grid_barrier(state, steps.expected);
            count = counted(state->count[turn]);
        }
#if HAS_THEN
        if (!alone || packed != 0) {
            ask_altered(steps, counted(state->altered[turn]), steps.level, &state->count[turn], thread_id(),
                        thread_count() ARGS);
            grid_barrier(state, steps.expected);
            count = counted(state->count[turn]);
        }
#endif
        frontier = steps.near;
        stopped = (steps.level & ABORT_MASK) == ABORT_MASK && fresh(state->stop) == steps.base + 1;
        policy.end_of_step(steps);
#if HAS_PULL
        policy.before = pushing;
#endif
        next_turn(steps);
    }
    return count;
}

// All threads, at the end: block 0 has passed every barrier, so the others have read what it changes.
__device__ __forceinline__ void report(Outcome* outcome, const Steps& steps, const Policy& policy, Shared& shared,
                                       uint32_t left, uint32_t invalid) {
    __syncthreads();
    if (threadIdx.x != 0) return;
#if HAS_WINDOW
    const int deferred = int(shared.deferred - shared.went_on);
    if (deferred)
        atomicAdd(reinterpret_cast<unsigned long long*>(&outcome->deferred), (unsigned long long)(long long)deferred);
#endif
    if (blockIdx.x != 0) return;
    outcome->steps = steps.level;
    outcome->pushed = steps.pushed;
    outcome->left = left;
    outcome->invalid = invalid;
    steps.state->base = steps.expected;
    steps.state->epoch = steps.epoch;
    steps.state->turn = steps.turn;
}
