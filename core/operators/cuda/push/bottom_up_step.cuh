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
// equal, and no more are looked up where there is one. bits: see mark_frontier(). HEAVY: its second phase, with the final *heavy.total. All
// threads of the grid call it; it ends with everything queued.
template <bool HEAVY>
__device__ __forceinline__ void pull_step(const View& back, Steps& steps, uint32_t epoch, uint32_t* bits, value_t* out,
                                          unsigned long long packed, const HeavyList& heavy, const Changed& changed,
                                          Shared& shared FORMALS) {
    const value_t none = no_offer();
    const auto visit = [&](uint32_t v, uint32_t x, long long slot, value_t& best) {
        const bool has_one = steps.once && improves(none, best);
        if (!has_one && is_marked(bits, x)) best = merged_offers(best, EDGE_VALUE(x, v, WEIGHT(back, slot)));
        return has_one;
    };
    const auto found = [&](uint32_t v, const value_t& best) {
        if (improves(none, best)) push_value(out, v, best, changed, shared);
    };
    if constexpr (HEAVY) {
        const auto done = [&](uint32_t v, const value_t& best) {
            return steps.once && (improves(none, best) || fresh(steps.stamp[v]) == changed.step);
        };
        look_at_heavy(back, packed, heavy, none, visit, merged_offers, found, done, changed, shared);
    } else {
        mark_frontier(steps, epoch, bits);
        const auto looks = [&](uint32_t v) { return steps.stamp[v] < steps.altered; };
        look_at_neighbors(back, 0, steps.num_vertices, none, looks, visit, merged_offers, found, heavy, changed,
                          shared);
    }
}
