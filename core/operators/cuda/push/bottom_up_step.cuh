// A step of a propagation in which the vertices that were not altered yet take the offers of their neighbours in the frontier, instead of the
// frontier offering to all its neighbours: for propagations whose values are final after the step in which they are first altered.
#pragma once
#include "bottom_up.cuh"

__device__ __forceinline__ value_t no_offer() {
#if HAS_WORDS
    return identity_word();
#else
    return identity();
#endif
}

__device__ __forceinline__ value_t merged_offers(const value_t& a, const value_t& b) {
#if HAS_WORDS
    return words::less(b, a) ? b : a;
#else
    return combine(a, b);
#endif
}

// The step: `epoch` stamps the frontier, stamps below steps.altered those that were not altered. steps.once: all offers to a vertex are
// equal, and no more are looked up where there is one. bits: see mark_frontier(). All threads of the grid call it; it ends with everything queued.
__device__ __forceinline__ void pull_step(const View& back, Steps& steps, uint32_t epoch, uint32_t* bits, value_t* out,
                                          const Changed& changed, Shared& shared FORMALS) {
    __shared__ Searchers<value_t> searchers;
    const value_t none = no_offer();
    mark_frontier(steps, epoch, bits);
    look_at_neighbors(
        back, steps.num_vertices, searchers, none, [&](uint32_t v) { return steps.stamp[v] < steps.altered; },
        [&](uint32_t v, uint32_t x, long long slot, value_t& best) {
            if ((steps.once && improves(none, best)) || !is_marked(bits, x)) return false;
            best = merged_offers(best, EDGE_VALUE(x, v, WEIGHT(back, slot)));
            return false;
        },
        merged_offers,
        [&](uint32_t v, const value_t& best) {
            if (improves(none, best)) push_value(out, v, best, changed, shared);
        },
        changed, shared);
}
