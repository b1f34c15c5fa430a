// The dependence forest (see repair/forest.py) in one cooperative launch. FROM_SCRATCH 1: it is computed from scratch; 0: it is repaired after arcs were
// deleted, inserted or got another weight. HAS_WORDS and IS_FOREST are 1. HAS_BACK: `back` has the in-edges of what `g` has the
// out-edges of; they are the same view on undirected graphs. IS_UNIFORM: a vertex offers the same along all its edges; HAS_PULL:
// besides, steps may pull.
#define COMPILES_FOR_SECONDS
#include "suspects.cuh"

// Queue the children across arcs that were deleted, or whose weight rose; a thread per arc.
__device__ __forceinline__ void suspect_children(const Arcs& arcs, bool exists, uint32_t num_vertices,
                                                 const word_t* tree, const Changed& changed, Shared& shared FORMALS) {
    for (long long i = thread_id(); i < arcs.size; i += thread_count()) {
        if (!has_arc(arcs, i, num_vertices)) continue;
        const uint32_t u = arcs.src[i], v = arcs.dst[i];
        const word_t word = stored(tree + v);
        if (word_parent(word) != u || u == v) continue;  // not a tree edge
        word_t value;
        if (exists && offer(tree, u, v, arc_weight(arcs, i), changed.violated, value ARGS) && !keys_less(word, value))
            continue;
        queue_vertex(v, changed, shared);
    }
}

// The suspects, steps.near[0 .. count): each adopts the best of the neighbours that offer exactly its keys as its parent, or
// restarts and is listed in steps.far. A neighbour may fall in the same round: then the next pass finds the adopted child.
__device__ __forceinline__ void adopt(const View& back, const Steps& steps, uint32_t count, uint32_t block,
                                      uint32_t blocks, word_t* tree, Serve& shared_serve, Shared& shared FORMALS) {
    serve(
        back, steps.near, 0, count, block, blocks, shared_serve, shared,
        [&](uint32_t v, uint32_t x, weight_t w, word_t& best) { explain(steps, tree, v, x, w, best ARGS); },
        [&](uint32_t v, const word_t& best) {
            if (word_parent(best) != EMPTY) {
                words::store(tree + v, best);
            } else {
                words::store(tree + v, restart_fn(v ARGS));
                append(steps.far, &steps.state->invalid, v);
            }
        });
}

// The children of invalid vertices, steps.far[begin .. end), are the next suspects.
__device__ __forceinline__ void suspect_below(const View& g, const Steps& steps, uint32_t begin, uint32_t end,
                                              uint32_t block, uint32_t blocks, const word_t* tree,
                                              const Changed& changed, Serve& shared_serve, Shared& shared) {
    serve(
        g, steps.far, begin, end, block, blocks, shared_serve, shared,
        [&](uint32_t v, uint32_t x, weight_t, word_t&) {
            if (x != v && word_parent(stored(tree + x)) == v) queue_vertex(x, changed, shared);
        },
        [](uint32_t, const word_t&) {});
}

// Find all invalid vertices, from the suspects that the counters of the turn have. They are in steps.far at the end, and their
// words restart. All threads of the grid call it; returns their number.
__device__ __forceinline__ uint32_t invalidate(const View& g, const View& back, Steps& steps, word_t* tree,
                                               Serve& shared_serve, Shared& shared FORMALS) {
    uint32_t count = counted(steps.state->count[steps.turn]), invalid = 0;
#if HAS_BACK
    uint32_t few = PAYLOAD_BITS == 32 ? FEW_AT_FIRST : 0;
#endif
    while (count > 0) {
        next_turn(steps);
        begin_turn(steps);
#if HAS_BACK
        if (count <= few) {
            if (blockIdx.x == 0) suspects_alone(g, back, steps, count, invalid, tree, shared ARGS);
            grid_barrier(steps.state, steps.expected);
            if (counted(steps.state->level[steps.turn])) few = 0;  // they have many neighbours
            invalid = counted(steps.state->altered[steps.turn]);
            count = counted(steps.state->count[steps.turn]);
            continue;
        }
        few = PAYLOAD_BITS == 32 ? FEW_SUSPECTS : 0;
        adopt(back, steps, count, blockIdx.x, gridDim.x, tree, shared_serve, shared ARGS);
#else
        for (unsigned long long i = thread_id(); i < count; i += thread_count()) {  // nobody can be asked
            const uint32_t v = steps.near[i];
            if (word_parent(stored(tree + v)) == EMPTY) continue;
            words::store(tree + v, restart_fn(v ARGS));
            append(steps.far, &steps.state->invalid, v);
        }
#endif
        grid_barrier(steps.state, steps.expected);
        const uint32_t begin = invalid;
        invalid = counted(steps.state->invalid);
        if (begin == invalid) break;
        ++steps.epoch;
        const Changed changed =
            changes_to(steps, steps.buffer, &steps.state->count[steps.turn], &steps.state->nearest[steps.turn]);
        suspect_below(g, steps, begin, invalid, blockIdx.x, gridDim.x, tree, changed, shared_serve, shared);
        flush(changed, shared);
        swap_queues(steps);
        grid_barrier(steps.state, steps.expected);
        count = counted(steps.state->count[steps.turn]);
    }
    next_turn(steps);
    return invalid;
}

// Invalid vertices take the best offer of their neighbours.
__device__ __forceinline__ void pull_offers(const View& back, const Steps& steps, uint32_t invalid, word_t* tree,
                                            const Changed& changed, Serve& shared_serve, Shared& shared FORMALS) {
    serve(
        back, steps.far, 0, invalid, blockIdx.x, gridDim.x, shared_serve, shared,
        [&](uint32_t v, uint32_t x, weight_t w, word_t& best) {
            word_t value;
            if (offer(tree, x, v, w, steps.violated, value ARGS) && words::less(value, best)) best = value;
        },
        [&](uint32_t v, const word_t& best) { push_value(tree, v, best, changed, shared); });
}

// All words restart. All threads of the grid call it.
__device__ __forceinline__ void restart_all(uint32_t num_vertices, word_t* tree FORMALS) {
    for (unsigned long long v = thread_id(); v < num_vertices; v += thread_count()) {
        words::store(tree + v, restart_fn(uint32_t(v) ARGS));
    }
}

// Whether roots have different keys, or all vertices are roots; the same for the whole grid, all threads of which call it.
__device__ __forceinline__ bool roots_differ(const Vertices& roots, const word_t* tree) {
    if (roots.ids == nullptr) return true;
    const uint32_t number = number_of(roots);
    if (number < 2) return false;
    const word_t first = words::load_now(tree + roots.ids[0]);
    int differs = 0;
    for (unsigned long long i = threadIdx.x; i < number; i += blockDim.x) {
        const word_t word = words::load_now(tree + roots.ids[i]);
        differs |= keys_less(word, first) || keys_less(first, word);
    }
    return __syncthreads_or(differs);
}

// tree word_t[num_vertices]; roots: what the steps begin with, FROM_SCRATCH; deleted, replaced, inserted: to repair with; width: of the window,
// HAS_WINDOW (a repair goes by it where frontiers are large); violated uint32[1]: becomes 1 if an offer was not above its maker; outcome: zero at launch.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK, 1)
repair(View g, View back, uint32_t num_vertices, Vertices roots, Arcs deleted, Arcs replaced, Arcs inserted,
       word_t* tree, LoopMemory memory, FIRST_KEY_T width, uint32_t* violated, uint64_t* outcome PARAMS) {
    LOCALS
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    Steps steps = begin_steps(memory, num_vertices, EMPTY);
    steps.violated = violated;
    steps.once = IS_UNIFORM && FROM_SCRATCH;  // a search reaches a vertex once
    Policy policy;
    policy.begin(steps);
    policy.out = tree;
#if HAS_PULL
    policy.pull_from = num_vertices / PULL_FROM;
#endif
#if HAS_WINDOW
    policy.window.width = width;
    // A repair takes few vertices in any order, as rounds cost more. Block 0 alone takes them so in any case.
    policy.window.few = FROM_SCRATCH ? ALONE : max((uint32_t)ALONE, thread_count() / 16);
#endif

    uint32_t invalid = 0;
#if FROM_SCRATCH
    restart_all(num_vertices, tree ARGS);
    grid_barrier(steps.state, steps.expected);
#if IS_UNIFORM
    if (roots_differ(roots, tree)) {  // then a vertex may be reached again
        steps.once = false;
#if HAS_PULL
        policy.pull_from = EMPTY;
#endif
    }
#endif
    const uint32_t left =
        run_steps(g, back, steps, roots.ids, number_of(roots), false, tree, policy, shared, [](const Changed&) {} ARGS);
#else
    uint32_t count = 0;
    const uint32_t* frontier = steps.near;
    __shared__ Serve shared_serve;
    if (threadIdx.x == 0) shared_serve.wides = 0;  // a barrier follows before anybody looks
    if (deleted.size + replaced.size > 0) {
        begin_turn(steps);
        ++steps.epoch;
        const Changed changed =
            changes_to(steps, steps.near, &steps.state->count[steps.turn], &steps.state->nearest[steps.turn]);
        suspect_children(deleted, false, num_vertices, tree, changed, shared ARGS);
        suspect_children(replaced, true, num_vertices, tree, changed, shared ARGS);
        flush(changed, shared);
        grid_barrier(steps.state, steps.expected);
        invalid = invalidate(g, back, steps, tree, shared_serve, shared ARGS);
    }
    bool arcs = replaced.size + inserted.size > 0;
    if (HAS_BACK && invalid > 0) {
        begin_turn(steps);
        ++steps.epoch;
        const Changed changed =
            changes_to(steps, steps.near, &steps.state->count[steps.turn], &steps.state->nearest[steps.turn]);
        pull_offers(back, steps, invalid, tree, changed, shared_serve, shared ARGS);
        push_arcs(replaced, num_vertices, tree, changed, shared ARGS);
        push_arcs(inserted, num_vertices, tree, changed, shared ARGS);
        flush(changed, shared);
        grid_barrier(steps.state, steps.expected);
        count = counted(steps.state->count[steps.turn]);
        arcs = false;
        frontier = steps.near;
#if HAS_WINDOW
        policy.window.nearest = counted(steps.state->nearest[steps.turn]);
#endif
        next_turn(steps);
    } else if (invalid > 0) {  // without in-edges everybody makes offers
        count = num_vertices;
        frontier = nullptr;
    }

    const auto push_lists = [&](const Changed& changed) {
        push_arcs(replaced, num_vertices, tree, changed, shared ARGS);
        push_arcs(inserted, num_vertices, tree, changed, shared ARGS);
    };
    const uint32_t left = run_steps(g, back, steps, frontier, count, arcs, tree, policy, shared, push_lists ARGS);
#endif
    policy.finish(steps, left, nullptr);
    if (invalid > 0 && blockIdx.x == 0 && threadIdx.x == 0) steps.state->invalid = 0;  // a barrier ago all have read it
    report(reinterpret_cast<Outcome*>(outcome), steps, policy, shared, left, invalid);
    FINISH
}
