// Spreading all entries, and new ones among them, over new arrays: growth and shrinkage. `before` (int64 per old leaf) is the number of
// old entries up to the end of the leaf. The vertices and the counters are shared by both graphs. Slots of `to` are gaps before.
//   take_entries (of an insertion) | spread_old, spread_new | describe_leaves
// No kernel waits for other blocks.
#include "leaves.cuh"

// How all entries are spread: `total` of them.
struct Spread {
    long long total, leaves;
    double entry_part, leaf_part;  // 1 / total, 1 / leaves
};

__device__ __forceinline__ Spread spread_of(const Graph& g, const Graph& to, const long long* before, uint32_t count) {
    const long long total = before[g.leaves - 1] + count;
    return {total, to.leaves, 1.0 / double(total), 1.0 / double(to.leaves)};
}

// a / b for quotients up to 2^50, with `part` = 1 / b: a division of 64-bit integers takes ten times as long.
__device__ __forceinline__ long long quotient(long long a, long long b, double part) {
    const long long near = (long long)(double(a) * part), rest = a - near * b;  // at most one off
    return near + (rest >= b) - (rest < 0);
}

// The rank of the first entry of a leaf.
__device__ __forceinline__ long long first_rank(const Spread& s, long long leaf) {
    return quotient(s.total * leaf, s.leaves, s.leaf_part);
}

// The slot of the entry with a rank: leaf j takes those from total * j / leaves on.
__device__ __forceinline__ long long slot_of_rank(const Spread& s, long long rank) {
    const long long leaf = quotient((rank + 1) * s.leaves - 1, s.total, s.entry_part);
    return (leaf << LEAF_BITS) + rank - first_rank(s, leaf);
}

__device__ __forceinline__ void mark_fresh(const Graph& to, long long slot) {
    atomicOr(&to.fresh[slot >> LEAF_BITS], 1u << (slot & (LEAF - 1)));
}

__device__ __forceinline__ uint32_t changes_of(const LocatedBatch& b) { return uint32_t(b.rank[b.size - 1]); }

// Thread per entry of an insertion: report it, list it if it is new, count degrees and edges (by the head of a vertex, so without atomics).
extern "C" __global__ void take_entries(Graph g, LocatedBatch b, Changes c, const bits_t* batch_weight, uint8_t* status,
                                        bits_t* before) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    report_inserted(b, i, g.weight, batch_weight, status, before);
    if (b.kind[i] == ABSENT) {
        const uint32_t k = b.rank[i] - 1;
        c.places[k] = b.slot[i];
        c.items[k] = i;
    }
    if (!is_invalid(b) && is_head(b, i)) {
        const int come = b.rank[run_end(b, i) - 1] - rank_before(b, i);
        if (come) g.degree[source(b.keys[i])] += come;
    }
    if (i + 1 == b.size) g.counters[EDGES] += b.rank[i];
}

// Warp: an old leaf, whose entries in its lanes are `v`; the new entries from `k` on are not before it. Returns the first new one behind it.
__device__ __forceinline__ uint32_t spread_leaf(const Graph& g, const Graph& to, const Spread& s, const Changes& c,
                                                long long leaf, uint32_t v, long long rank, uint32_t k,
                                                uint32_t added) {
    const uint32_t lane = lane_id(), below = lanes_below(lane);
    const long long slot = (leaf << LEAF_BITS) + lane, end = (leaf + 1) << LEAF_BITS;
    const uint32_t live = __ballot_sync(ALL, v != EMPTY), guards = __ballot_sync(ALL, v == GUARD);
    uint32_t next = k + __popc(__ballot_sync(ALL, added - k > lane && c.places[k + lane] < end));
    if (next == k + 32) next = first_not_below(next, added, [&](uint32_t i) { return c.places[i] < end; });
    if (v == EMPTY) return next;
    rank = rank - __popc(live) + __popc(live & below) + upper_bound(c.places, k, next, slot);
    const long long at = slot_of_rank(s, rank);
    to.dst[at] = v;
    if (WEIGHT_BITS) to.weight[at] = g.weight[slot];
    if (v == GUARD) g.guard[(long long)g.owner[leaf] + __popc(guards & below) + 1] = at;
    if (to.fresh && g.fresh[leaf] >> lane & 1u) mark_fresh(to, at);
    return next;
}

// Warp per run of old leaves, four of which are read at once. Guards tell their vertices where they are. `count` may be null: nothing is new.
extern "C" __global__ void spread_old(Graph g, Graph to, const long long* before, Changes c, const int* count) {
    const uint32_t lane = lane_id(), added = count ? uint32_t(*count) : 0, warps = thread_count() / 32;
    const Spread s = spread_of(g, to, before, added);
    const long long share = (g.leaves + warps - 1) / warps, first = thread_id() / 32 * share;
    const long long last = min((long long)g.leaves, first + share);
    uint32_t k = first_not_below(0, added, [&](uint32_t i) { return c.places[i] < first << LEAF_BITS; });
    for (long long leaf = first; leaf < last; leaf += 4) {
        uint32_t v[4];
        long long ranks[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            v[i] = leaf + i < last ? g.dst[((leaf + i) << LEAF_BITS) + lane] : EMPTY;
            ranks[i] = leaf + i < last ? before[leaf + i] : 0;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (leaf + i < last) k = spread_leaf(g, to, s, c, leaf + i, v[i], ranks[i], k, added);
    }
    if (thread_id() == 0) g.counters[MOVED] += before[g.leaves - 1];
}

// Thread per new entry, in a grid-stride loop: write it to its slot. An atomic on the leaf's bits of fresh slots, if there is a mark.
extern "C" __global__ void spread_new(Graph g, Graph to, const long long* before, LocatedBatch b, Changes c,
                                      const bits_t* batch_weight) {
    const uint32_t added = changes_of(b);
    const Spread s = spread_of(g, to, before, added);
    for (uint32_t k = thread_id(); k < added; k += thread_count()) {
        const long long place = c.places[k], leaf = place >> LEAF_BITS;
        long long rank = (leaf ? before[leaf - 1] : 0) + k;
        for (long long slot = leaf << LEAF_BITS; slot < place; ++slot) rank += g.dst[slot] != EMPTY;
        const long long at = slot_of_rank(s, rank);
        const uint32_t item = c.items[k];
        to.dst[at] = uint32_t(b.keys[item]);
        if (WEIGHT_BITS) to.weight[at] = batch_weight[b.order[item]];
        if (to.fresh) mark_fresh(to, at);
    }
}

// Warp per 32 new leaves, in a grid-stride loop, when all guards are in place: what is kept of them, each lane's of one.
extern "C" __global__ void describe_leaves(Graph g, Graph to, const long long* before, const int* count) {
    const uint32_t lane = lane_id();
    const Spread s = spread_of(g, to, before, count ? uint32_t(*count) : 0);
    for (long long base = thread_id() - lane; base < to.leaves; base += thread_count()) {
        uint32_t live = 0, guards = 0;
#pragma unroll 8
        for (uint32_t i = 0; i < 32; ++i) {
            const uint32_t v = base + i < to.leaves ? to.dst[((base + i) << LEAF_BITS) + lane] : EMPTY;
            const uint32_t its_live = __ballot_sync(ALL, v != EMPTY), its_guards = __ballot_sync(ALL, v == GUARD);
            if (lane == i) {
                live = its_live;
                guards = its_guards;
            }
        }
        const long long leaf = base + lane;
        if (leaf >= to.leaves) continue;
        to.guards[leaf] = guards;
        to.count[leaf] = uint8_t(__popc(live));
        to.head[leaf] = s.total ? to.dst[slot_of_rank(s, first_rank(s, leaf))] : GUARD;
        to.owner[leaf] = uint32_t(lower_bound(g.guard + 1, g.counters[LOW], g.counters[HIGH], leaf << LEAF_BITS));
    }
}
