// A step of a search in which the vertices that are not reached yet look for a parent in the frontier, instead of the frontier
// offering itself to all its neighbours (Beamer, Asanovic and Patterson 2012). For the dependence forest where all offers of a step are
// equal but for the parent, computed from scratch.
#pragma once
#include "bottom_up.cuh"

// One thread: v has found a parent, `alone`, or perhaps others find a smaller one meanwhile.
__device__ __forceinline__ void take_parent(uint32_t v, uint32_t parent, bool alone, value_t* tree,
                                            const Changed& changed, Shared& shared FORMALS) {
    value_t value;
    if (parent == EMPTY || !offer(tree, parent, v, weight_t(1), changed.violated, value ARGS)) return;
    if (!alone) return push_value(tree, v, value, changed, shared);
    words::store(tree + v, value);
    queue_vertex(v, changed, shared);
}

// The step: the smallest in-neighbour that `epoch` stamps, the stamp of the frontier, becomes the parent; what is not smaller than one
// found already is not looked up. bits: see mark_frontier(). HEAVY: its second phase, with the final *heavy.total. All threads of the grid call
// it; it ends with everything queued.
template <bool HEAVY>
__device__ __forceinline__ void pull_step(const View& back, Steps& steps, uint32_t epoch, uint32_t* bits, value_t* tree,
                                          unsigned long long packed, const HeavyList& heavy, const Changed& changed,
                                          Shared& shared FORMALS) {
    const auto visit = [&](uint32_t, uint32_t x, long long, uint32_t& parent) {
        if (x < parent && is_marked(bits, x)) parent = x;
        return parent != EMPTY;
    };
    const auto smaller = [](uint32_t a, uint32_t b) { return min(a, b); };
    const auto found = [&](uint32_t v, uint32_t parent) { take_parent(v, parent, !HEAVY, tree, changed, shared ARGS); };
    if constexpr (HEAVY) {
        const auto done = [](uint32_t, uint32_t) { return false; };  // another may be smaller
        look_at_heavy(back, packed, heavy, EMPTY, visit, smaller, found, done, changed, shared);
    } else {
        mark_frontier(steps, epoch, bits);
        const auto looks = [&](uint32_t v) { return word_parent(stored(tree + v)) == EMPTY; };
        look_at_neighbors(back, 0, steps.num_vertices, EMPTY, looks, visit, smaller, found, heavy, changed, shared);
    }
}
