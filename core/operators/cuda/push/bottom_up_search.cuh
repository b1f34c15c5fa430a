// A step of a search in which the vertices that are not reached yet look for a parent in the frontier, instead of the frontier
// offering itself to all its neighbours (Beamer, Asanovic and Patterson 2012). For the dependence forest where all offers of a step are
// equal but for the parent, computed from scratch.
#pragma once
#include "bottom_up.cuh"

// One thread: v has found its parent.
__device__ __forceinline__ void take_parent(uint32_t v, uint32_t parent, value_t* tree, const Changed& changed,
                                            Shared& shared FORMALS) {
    value_t value;
    if (parent == EMPTY || !offer(tree, parent, v, weight_t(1), changed.violated, value ARGS)) return;
    words::store(tree + v, value);
    queue_vertex(v, changed, shared);
}

// The step: the smallest in-neighbour that `epoch` stamps, the stamp of the frontier, becomes the parent; what is not smaller than one
// found already is not looked up. bits: see mark_frontier(). All threads of the grid call it; it ends with everything queued.
__device__ __forceinline__ void pull_step(const View& back, Steps& steps, uint32_t epoch, uint32_t* bits, value_t* tree,
                                          const Changed& changed, Shared& shared FORMALS) {
    __shared__ Searchers<uint32_t> searchers;
    mark_frontier(steps, epoch, bits);
    look_at_neighbors(
        back, steps.num_vertices, searchers, EMPTY, [&](uint32_t v) { return word_parent(stored(tree + v)) == EMPTY; },
        [&](uint32_t, uint32_t x, long long, uint32_t& parent) {
            if (x < parent && is_marked(bits, x)) parent = x;
            return parent != EMPTY;
        },
        [](uint32_t a, uint32_t b) { return min(a, b); },
        [&](uint32_t v, uint32_t parent) { take_parent(v, parent, tree, changed, shared ARGS); }, changed, shared);
}
