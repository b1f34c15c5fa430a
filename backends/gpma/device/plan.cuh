// Which segments an update rebalances. Each changed leaf climbs, level by level, to the lowest segment that is not too full (or, once
// edges are gone, not too empty), by counting alone. A bit per level of each leaf says which segments begin there; one that lies in a
// larger one is left to that.
#pragma once
#include "leaves.cuh"

constexpr uint8_t NOTHING = 255;  // of Changes::level: not the first change of its leaf, or nothing to rebalance
constexpr uint8_t ABSORBED = 128;  // added to the level: a larger segment does it
constexpr int ALONE = 5;  // up to this level a thread counts the entries of a segment, above it a warp

struct Segment {
    long long begin, end;  // leaves
};

__device__ __forceinline__ Segment segment_of(const Graph& g, long long leaf, int level) {
    const long long begin = leaf >> level << level;
    return {begin, min(begin + (1ll << level), g.leaves)};
}

__device__ __forceinline__ bool fits(const Graph& g, const Changes& c, uint32_t count, bool inserts, Segment s,
                                     long long held, int level, int height) {
    const long long slots = (s.end - s.begin) << LEAF_BITS;
    if (!inserts) return held >= least_in(slots, level, height);
    const uint32_t low = first_from(c, count, s.begin << LEAF_BITS);
    const uint32_t high = lower_bound(c.places, low, count, s.end << LEAF_BITS);
    return held + (high - low) <= most_in(slots, level, height);
}

// Entries in leaves [begin, end), by `lanes` threads of which this is one; each returns its part.
__device__ __forceinline__ long long part_of_entries(const Graph& g, long long begin, long long end, int lane,
                                                     int lanes) {
    long long sum = 0;
    for (long long leaf = begin + lane; leaf < end; leaf += lanes) sum += g.count[leaf];
    return sum;
}

// The 32 lanes of a warp climb for the changes k (ALL: none for this lane).
__device__ __forceinline__ void climb(const Graph& g, const Changes& c, Work* work, uint32_t count, bool inserts,
                                      uint32_t k) {
    const int height = height_of(g.leaves);
    const uint32_t lane = lane_id();
    const long long leaf = k == ALL ? 0 : c.places[k] >> LEAF_BITS;
    const bool climbs = k != ALL && (k == 0 || c.places[k - 1] >> LEAF_BITS != leaf);
    int level = 0;
    long long held = 0;
    bool done = !climbs;
    if (climbs) {
        held = g.count[leaf];
        while (!(done =
                     level == height || fits(g, c, count, inserts, segment_of(g, leaf, level), held, level, height)) &&
               level < ALONE) {
            const Segment now = segment_of(g, leaf, level), next = segment_of(g, leaf, ++level);
            held += part_of_entries(g, next.begin, now.begin, 0, 1) + part_of_entries(g, now.end, next.end, 0, 1);
        }
    }
    for (uint32_t left = __ballot_sync(ALL, !done); left; left &= left - 1) {  // one after the other, by the warp
        const int from = __ffs(left) - 1;
        const long long its = __shfl_sync(ALL, leaf, from);
        int at = __shfl_sync(ALL, level, from);
        long long all = __shfl_sync(ALL, held, from);
        while (at < height && !fits(g, c, count, inserts, segment_of(g, its, at), all, at, height)) {
            const Segment now = segment_of(g, its, at), next = segment_of(g, its, ++at);
            long long part =
                part_of_entries(g, next.begin, now.begin, lane, 32) + part_of_entries(g, now.end, next.end, lane, 32);
            for (int step = 16; step > 0; step /= 2) part += __shfl_xor_sync(ALL, part, step);
            all += part;
        }
        if (lane == from) level = at;
    }
    if (k == ALL) return;
    uint8_t result = NOTHING;
    if (climbs && (inserts || level > 0)) {
        const uint32_t bit = 1u << level;
        const uint32_t had = atomicOr(&g.planned[leaf >> level << level], bit);
        if (!(had & bit)) result = uint8_t(level);
        if (level > 0) atomicMax(&work->top, uint32_t(level));
    }
    c.level[k] = result;
}

// Thread per change, behind a barrier: leave the segment to a larger one, or to the warps, or list it for blocks or for the grid.
__device__ __forceinline__ void choose(const Graph& g, const Changes& c, Work* work, uint32_t top, uint32_t k) {
    const uint8_t level = c.level[k];
    if (level == NOTHING) return;
    const long long leaf = c.places[k] >> LEAF_BITS, begin = leaf >> level << level;
    for (uint32_t above = level + 1; above <= top; ++above) {
        if (g.planned[begin >> above << above] >> above & 1u) {
            c.level[k] = level | ABSORBED;
            return;
        }
    }
    if (level <= BY_WARP) return;
    if (level <= BY_BLOCK) c.lists[atomicAdd(&work->by_block, 1u)] = k;
    else c.lists[c.size - 1 - atomicAdd(&work->by_grid, 1u)] = k;  // from the end: both lists together are not longer
}
