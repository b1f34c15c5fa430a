// What is left of a batch when all pages have been seen to: those that wait for larger segments. Their changes are listed; each page
// climbs, level by level, to the lowest segment that is not too full (or too empty), by counting alone. A bit per level of a page says
// which segments begin there; one that lies in a larger one is left to that. The rest are rebalanced by blocks or by the grid.
#pragma once
#include "large.cuh"
#include "page.cuh"

constexpr uint8_t LEFT = 255;  // of Update::level: not the first change of its page, or a segment that others rebalance
constexpr uint8_t ABSORBED = 128;  // added to the level: a larger segment does it

__device__ __forceinline__ long long segment_begin(long long leaf, int level) { return leaf >> level << level; }
__device__ __forceinline__ long long segment_end(const Graph& g, long long leaf, int level) {
    return min(segment_begin(leaf, level) + (1ll << level), g.leaves);
}

// The word of the page in which a segment begins.
__device__ __forceinline__ uint32_t& planned_at(const Graph& g, long long leaf, int level) {
    return g.planned[segment_begin(leaf, level) >> PAGE_LEVEL];
}

__device__ __forceinline__ bool is_first_of_page(const Update& c, uint32_t k) {
    return k == 0 || c.places[k - 1] >> PAGE_BITS != c.places[k] >> PAGE_BITS;
}

// Grid: list the changes of the pages that wait; returns their number. Edges that no warp has deleted yet become gaps.
__device__ __forceinline__ uint32_t list_waiting(const Graph& g, const Update& c, GridTeam& grid) {
    const uint32_t lane = lane_id();
    const long long share = ((c.size + grid.warps() - 1) / grid.warps() + 31) / 32 * 32;
    const long long begin = grid.warp() * share, end = min(c.size, begin + share);
    const auto waits = [&](long long i) {
        return i < end && c.kind[i] == wanted(c) ? g.planned[c.slot[i] >> PAGE_BITS] & (WAITS | UNWALKED) : 0u;
    };
    uint32_t count = 0;
    for (long long i = begin + lane; i - lane < end; i += 32) {
        const uint32_t flags = waits(i);
        if (flags & UNWALKED && c.deleting) clear_slot(g, c.slot[i]);
        count += __popc(__ballot_sync(ALL, flags));
    }
    const Sums sums = grid.add_up(count);
    long long k = sums.before;
    for (long long i = begin + lane; i - lane < end; i += 32) {
        const bool lists = waits(i);
        const uint32_t lanes = __ballot_sync(ALL, lists);
        if (lists) {
            const long long at = k + __popc(lanes & lanes_below(lane));
            c.places[at] = c.slot[i];
            c.items[at] = uint32_t(i);
        }
        k += __popc(lanes);
    }
    grid.sync();
    return uint32_t(sums.all);
}

// Warp: whether a segment with so many entries may stay as it is; new ones still come.
__device__ __forceinline__ bool fits(const Graph& g, const Update& c, uint32_t count, long long leaf, int level,
                                     long long held) {
    const int height = height_of(g.leaves);
    const long long begin = segment_begin(leaf, level), end = segment_end(g, leaf, level);
    const long long slots = (end - begin) << LEAF_BITS;
    if (level >= height) return true;
    if (c.deleting) return held >= least_in(slots, level, height);
    const uint32_t low = changes_below(c, 0, count, begin << LEAF_BITS);
    const uint32_t high = changes_below(c, low, count, end << LEAF_BITS);
    return held + (high - low) <= most_in(slots, level, height);
}

// Warp: entries in leaves [begin, end).
__device__ __forceinline__ long long entries_in(const Graph& g, long long begin, long long end) {
    long long sum = 0;
    for (long long leaf = begin + lane_id(); leaf < end; leaf += 32) sum += g.count[leaf];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(ALL, sum, step);
    return sum;
}

// Warp: the level that the page of a leaf climbs to, from that of pages on.
__device__ __forceinline__ int climb(const Graph& g, const Update& c, uint32_t count, long long leaf) {
    int level = min(int(PAGE_LEVEL), height_of(g.leaves));
    long long held = entries_in(g, segment_begin(leaf, level), segment_end(g, leaf, level));
    while (!fits(g, c, count, leaf, level, held)) {
        const long long begin = segment_begin(leaf, level), end = segment_end(g, leaf, level);
        ++level;
        held += entries_in(g, segment_begin(leaf, level), begin) + entries_in(g, end, segment_end(g, leaf, level));
    }
    return level;
}

// Grid: the first change of each page chooses a segment, those that meet agree on one.
__device__ __forceinline__ void plan_waiting(const Graph& g, const Update& c, uint32_t count, const GridTeam& grid) {
    const uint32_t lane = lane_id();
    for (long long start = grid.warp() * 32; start < count; start += grid.warps() * 32) {
        const uint32_t k = uint32_t(start) + lane;
        const bool climbs = k < count && is_first_of_page(c, k);
        const long long leaf = climbs ? c.places[k] >> LEAF_BITS : 0;
        int level = 0;
        for (uint32_t left = __ballot_sync(ALL, climbs); left; left &= left - 1) {
            const int from = __ffs(left) - 1;
            const int its = climb(g, c, count, __shfl_sync(ALL, leaf, from));
            if (int(lane) == from) level = its;
        }
        if (k >= count) continue;
        uint8_t result = LEFT;
        if (climbs) {
            if (!(atomicOr(&planned_at(g, leaf, level), 1u << level) >> level & 1u)) result = uint8_t(level);
            atomicMax(&g.work->top, uint32_t(level));
        }
        c.level[k] = result;
    }
}

// Thread per change, grid-stride: leave the segment to a larger one, or list it for blocks or, from the end, for the grid.
__device__ __forceinline__ void choose_teams(const Graph& g, const Update& c, uint32_t count) {
    const uint32_t top = g.work->top;
    for (uint32_t k = thread_id(); k < count; k += thread_count()) {
        const uint8_t level = c.level[k];
        if (level == LEFT) continue;
        const long long leaf = c.places[k] >> LEAF_BITS;
        bool absorbed = false;
        for (uint32_t above = level + 1; above <= top && !absorbed; ++above)
            absorbed = planned_at(g, leaf, above) >> above & 1u;
        if (absorbed) c.level[k] = level | ABSORBED;
        else if (level <= BY_BLOCK) c.lists[atomicAdd(&g.work->by_block, 1u)] = k;
        else c.lists[c.size - 1 - atomicAdd(&g.work->by_grid, 1u)] = k;  // both lists together are not longer
    }
}

// Clear the plans of all pages that the batch names, changed or not. A thread per entry and per change, grid-stride.
__device__ __forceinline__ void clear_plans(const Graph& g, const Update& c, uint32_t count) {
    for (long long i = thread_id(); i < c.size; i += thread_count())
        if (i == 0 || c.slot[i - 1] >> PAGE_BITS != c.slot[i] >> PAGE_BITS) g.planned[c.slot[i] >> PAGE_BITS] = 0;
    for (uint32_t k = thread_id(); k < count; k += thread_count())
        if (c.level[k] != LEFT) planned_at(g, c.places[k] >> LEAF_BITS, c.level[k] & ~ABSORBED) = 0;
}

// The segment of the change k, with those that go there. All warps of the team find out the same before one merges.
__device__ __forceinline__ Large large_of(const Graph& g, const Update& c, uint32_t count, uint32_t k) {
    const long long leaf = c.places[k] >> LEAF_BITS;
    const int level = c.level[k];
    Large s = {segment_begin(leaf, level), segment_end(g, leaf, level), 0, 0};
    if (c.deleting) return s;  // the places of a deletion are no new entries
    s.low = changes_below(c, 0, count, s.begin << LEAF_BITS);
    s.high = changes_below(c, s.low, count, s.end << LEAF_BITS);
    return s;
}

// Grid: everything that pages could not do. Segments that are rebalanced lie beside each other, and each has one team.
__device__ __forceinline__ void rebalance_rest(const Graph& g, const Update& c, GridTeam& grid) {
    Work* const work = g.work;
    const uint32_t count = list_waiting(g, c, grid);
    plan_waiting(g, c, count, grid);
    grid.sync();
    choose_teams(g, c, count);
    grid.sync();
    const uint32_t by_block = work->by_block, by_grid = work->by_grid;
    clear_plans(g, c, count);
    grid.sync();
    BlockTeam block = {grid.shared};
    if (by_block > FEW)
        for (uint32_t j = blockIdx.x; j < by_block; j += gridDim.x)
            merge_large(g, c, large_of(g, c, count, c.lists[j]), block);
    const uint32_t few = by_block > FEW ? 0 : by_block;
    for (uint32_t j = 0; j < few + by_grid; ++j) {
        grid.sync();
        merge_large(g, c, large_of(g, c, count, c.lists[j < few ? j : c.size - 1 - (j - few)]), grid);
    }
    grid.sync();
    if (grid.is_first()) work->waiting = work->top = work->by_block = work->by_grid = 0;
}
