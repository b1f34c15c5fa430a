// Rebalancing a segment larger than a page, by the warps of a block or of the grid, in place. In rounds, each warp takes one leaf: first
// the entries are moved to the beginning of the segment, from left to right, then to their leaves, from right to left, and the new
// ones among them. What a round writes is read in no later one, and in its own before the team waits only.
#pragma once
#include "entries.cuh"
#include "team.cuh"

// Consecutive leaves, and the changes that go there: [low, high) of those listed in Update::places.
struct Large {
    long long begin, end;
    uint32_t low, high;
};

// Warp: the number of listed changes below a slot.
__device__ __forceinline__ uint32_t changes_below(const Update& c, uint32_t low, uint32_t high, long long slot) {
    return first_not_below(low, high, [&](uint32_t k) { return c.places[k] < slot; });
}

// Move the entries of a segment to its beginning; the places of new ones move along. Returns the number of entries.
template <class Team>
__device__ __forceinline__ long long pack_large(const Graph& g, const Update& c, const Large& s, Team& team) {
    const uint32_t lane = lane_id();
    const long long base = s.begin << LEAF_BITS;
    long long packed = 0;
    for (long long start = s.begin; start < s.end; start += team.warps()) {
        const long long leaf = start + team.warp(), from = leaf << LEAF_BITS;
        const bool serves = leaf < s.end;
        const uint32_t v = serves ? g.dst[from + lane] : EMPTY, live = __ballot_sync(ALL, v != EMPTY);
        const uint32_t fresh = serves && g.fresh ? g.fresh[leaf] : 0;
        const bits_t w = WEIGHT_BITS && v != EMPTY ? g.weight[from + lane] : 0;
        __syncwarp();
        if (serves && g.fresh && lane == 0) g.fresh[leaf] = 0;
        // Behind the barrier places move to leaves before, so each warp finds its own ahead of it.
        uint32_t k = serves ? changes_below(c, s.low, s.high, from) : s.high;
        const uint32_t last = serves ? changes_below(c, k, s.high, from + LEAF) : s.high;
        k += lane;
        const Sums sums = team.add_up(__popc(live));
        const long long first = base + packed + sums.before;
        if (v != EMPTY) {
            const long long to = first + __popc(live & lanes_below(lane));
            g.dst[to] = v;
            if (WEIGHT_BITS) g.weight[to] = w;
            if (fresh >> lane & 1u) atomicOr(&g.fresh[to >> LEAF_BITS], 1u << (to & (LEAF - 1)));
        }
        for (; k < last; k += 32) c.places[k] = first + __popc(live & lanes_below(uint32_t(c.places[k] - from)));
        packed += sums.all;
    }
    team.sync();
    return packed;
}

// An entry on its way to its leaf.
struct Entry {
    uint32_t v;
    bool is_fresh;
    bits_t weight;
};

// Lane: the entry of the old ones, packed from slot `at` on.
__device__ __forceinline__ Entry old_entry(const Graph& g, long long at) {
    Entry e = {g.dst[at], g.fresh && g.fresh[at >> LEAF_BITS] >> (at & (LEAF - 1)) & 1u};
    if (WEIGHT_BITS) e.weight = g.weight[at];
    return e;
}

__device__ __forceinline__ Entry new_entry(const Graph& g, const Update& c, uint32_t k) {
    const uint32_t item = c.items[k];
    Entry e = {uint32_t(c.keys[item]), g.fresh != nullptr};
    if (WEIGHT_BITS) e.weight = c.batch_weight[c.order[item]];
    return e;
}

// Warp: its lanes' entries, those of ranks from `first` on, `count` of them, of a segment whose old entries are packed. The rank of the
// new entry k is its place, counted from the segment, and the new ones before it.
__device__ __forceinline__ Entry entry_of_rank(const Graph& g, const Update& c, const Large& s, long long first,
                                               uint32_t count) {
    const uint32_t lane = lane_id();
    const long long base = s.begin << LEAF_BITS, offset = base + s.low + first;
    const uint32_t k = first_not_below(s.low, s.high, [&](uint32_t i) { return c.places[i] + i < offset; });
    const uint32_t come = min(32u, s.high - k);  // the new entries of the leaf are among so many
    const long long behind = lane < come ? c.places[k + lane] + (k + lane) - offset : 32;
    const uint32_t at = uint32_t(min(32ll, behind));  // where that of this lane goes
    uint32_t before = 0;  // new entries before the lane's own
    for (uint32_t step = 16; step > 0; step /= 2)
        if (__shfl_sync(ALL, at, before + step - 1) < lane) before += step;
    const bool is_new = __shfl_sync(ALL, at, before) == lane && before < come;
    Entry e = {};
    e.v = EMPTY;
    if (lane >= count) return e;
    return is_new ? new_entry(g, c, k + before) : old_entry(g, base + first + lane - (k - s.low) - before);
}

// The team: merge the new entries into a segment, spread evenly.
template <class Team>
__device__ __forceinline__ void merge_large(const Graph& g, const Update& c, const Large& s, Team& team) {
    const uint32_t lane = lane_id(), first_head = g.head[s.begin];
    long long owner_behind = s.end < g.leaves ? g.owner[s.end] : g.counters[HIGH];
    team.sync();  // all have read what changes now
    const long long held = pack_large(g, c, s, team);
    const long long leaves = s.end - s.begin, total = held + (s.high - s.low);
    for (long long start = 0; start < leaves; start += team.warps()) {
        const long long j = leaves - 1 - start - team.warp(), leaf = s.begin + j, slot = (leaf << LEAF_BITS) + lane;
        const bool serves = j >= 0;
        const long long from = serves ? total * j / leaves : 0, stop = serves ? total * (j + 1) / leaves : 0;
        const bool is_empty = from == stop;  // its head is taken from the entry before, as those behind may have moved
        const long long first = is_empty && from > 0 ? from - 1 : from;
        const Entry e = entry_of_rank(g, c, s, first, uint32_t(serves ? is_empty ? from > 0 : stop - from : 0));
        uint32_t head = __shfl_sync(ALL, e.v, 0);
        if (is_empty) head = from == 0 ? first_head : head == GUARD ? 0 : head + 1;
        const bool has = !is_empty && lane < stop - from;
        const uint32_t guards = __ballot_sync(ALL, has && e.v == GUARD);
        const uint32_t fresh = __ballot_sync(ALL, has && e.is_fresh);
        const Sums sums = team.add_up(__popc(guards));  // warps go from right to left
        const uint32_t owner = uint32_t(owner_behind - sums.before - __popc(guards));
        if (serves) {
            if (WEIGHT_BITS && has) g.weight[slot] = e.weight;
            write_leaf(g, leaf, has ? e.v : EMPTY, owner, head, uint32_t(stop - from), guards, fresh);
        }
        owner_behind -= sums.all;
    }
    if (team.is_first()) atomicAdd((unsigned long long*)&g.counters[MOVED], (unsigned long long)held);
}
