// Core numbers after changes on CUDA (see core_numbers.py): a cooperative kernel. entry and sums are uint64[n], support, later, mark, stamp,
// rest, buffer, before and both queues uint32[n], left int32[n]. Self-loops do not count. kept: epoch of the
// stamps, number of the last search, greatest place, whether support and later are known, a number up to which every place is greater.
// The numbers do not depend on the schedule.
#define COMPILES_FOR_SECONDS
#include "core_lower.cuh"

// Counts the neighbours that support v, and in the upper half those that come after it.
struct CountBoth {
    const Cores& c;
    uint32_t v;
    uint64_t own, sum;
    __device__ Known read(uint32_t w) const { return {c.entry[w], 0}; }
    __device__ uint32_t change(uint32_t w, const Known& its) {
        const uint32_t core = core_of(its.entry), k = core_of(own);
        if (w == v) return NOTHING;
        const bool after = core > k || (core == k && place_of(its.entry) >= place_of(own));
        sum += uint64_t(core >= k) | uint64_t(after) << 32;
        return NOTHING;
    }
    __device__ void act(uint32_t, const Known&, uint32_t) const {}
};

// support[v] and later[v] for all v.
__device__ __forceinline__ void count_all(const Cores& c, uint32_t n) {
    const auto both = [&](uint32_t v) { return CountBoth{c, v, c.entry[v], 0}; };
    const auto note = [&](uint32_t v, uint64_t found) {
        c.support[v] = uint32_t(found);
        c.later[v] = uint32_t(found >> 32);
    };
    sum_rows(c.g, n, [](uint32_t i) { return i; }, both, note);
}

// Add `change` to the support of the ends of arcs, and to what comes after them.
__device__ __forceinline__ void tally(const Cores& c, const Arcs& arcs, uint32_t change) {
    for_arcs(arcs, [&](uint32_t u, uint32_t v) {
        const uint64_t its = c.entry[u], own = c.entry[v];
        if (u == v || core_of(its) < core_of(own)) return;
        atomicAdd(&c.support[v], change);
        if (core_of(its) > core_of(own) || place_of(its) >= place_of(own)) atomicAdd(&c.later[v], change);
    });
}

// All arcs are counted first, then deletions lower numbers, then insertions raise them. If more than `limit` vertices are
// served for that, it gives up, and the next launch computes all from scratch.
extern "C" __global__ void __launch_bounds__(CORE_BLOCK, 1)
maintain(VIEWS, uint32_t n, Arcs deleted, Arcs inserted, uint32_t limit, uint32_t* support, uint32_t* later,
         uint32_t* mark, uint64_t* sums, uint32_t* before, uint64_t* entry, int* left, uint32_t* rest, uint32_t* buffer,
         uint32_t* queue0, uint32_t* queue1, uint32_t* stamp, uint32_t* states, unsigned long long* kept) {
    WALKED
    const bool known = kept[3] != 0, renews = kept[1] > LAST_NUMBER;
    const bool full = kept[2] > LAST_NUMBER || kept[4] < ORIGIN / 2;
    const uint32_t start = renews ? 2 : uint32_t(kept[1]) + 2, clock = uint32_t(kept[2]), head = uint32_t(kept[4]);
    Rounds r = begin(states, stamp, queue0, queue1, kept, n);
    Cores c = {g, entry, support, later, mark, left, buffer, sums, {rest, before}, r.state, start, clock, head, 0};
    if (renews) {
        for (uint32_t v = thread_id(); v < n; v += thread_count()) mark[v] = 0;
    }
    if (!known) {
        // Counted on the graph as it is now, by the numbers as they were: the batch is in it.
        count_all(c, n);
    } else {
        tally(c, inserted, 1u);
        tally(c, deleted, 0xFFFFFFFFu);
    }
    grid_barrier(r);
    bool within = !full;
    if (within) {
        r.most = limit;
        lower_all(c, deleted, n, before, r);
        within = r.served <= limit && raise_all(c, r, inserted);
        r.most = EMPTY;
    }
    if (thread_id() == 0) {
        end(states, r);
        kept[0] = r.epoch;
        kept[1] = c.number;
        kept[2] = c.clock;
        kept[3] = within;
        kept[4] = c.head;
    }
}
