// Spreading all entries, and new ones among them, over new arrays: growth and shrinkage. `before` (int64 per old leaf) is the number of
// old entries up to the end of the leaf. The vertices and the counters are shared by both graphs. Slots of `to` are gaps before.
//   take_entries (of an insertion) | spread_old, spread_new | describe_leaves
#include "leaves.cuh"

// How all entries are spread: `total` of them.
struct Spread {
    long long total, leaves;
};

__device__ __forceinline__ Spread spread_of(const Graph& g, const Graph& to, const long long* before, uint32_t count) {
    return {before[g.leaves - 1] + count, to.leaves};
}

// The slot of the entry with a rank: leaf j takes those from total * j / leaves on.
__device__ __forceinline__ long long slot_of_rank(Spread s, long long rank) {
    const long long leaf = ((rank + 1) * s.leaves - 1) / s.total;
    return (leaf << LEAF_BITS) + rank - s.total * leaf / s.leaves;
}

__device__ __forceinline__ void mark_fresh(const Graph& to, long long slot) {
    atomicOr(&to.fresh[slot >> LEAF_BITS], 1u << (slot & (LEAF - 1)));
}

__device__ __forceinline__ uint32_t changes_of(const LocatedBatch& b) { return uint32_t(b.rank[b.size - 1]); }

// Thread per entry of an insertion: report it, list it if it is new, count degrees and edges.
extern "C" __global__ void take_entries(Graph g, LocatedBatch b, Changes c, const bits_t* batch_weight, uint8_t* status,
                                        bits_t* before) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    const uint32_t item = b.order[i];
    uint8_t result = b.kind[i] == ABSENT ? NEW : UNCHANGED;
#if WEIGHT_BITS
    if (b.kind[i] == PRESENT) {
        const bits_t old = g.weight[b.slot[i]];
        before[item] = old;
        if (old != batch_weight[item]) {
            g.weight[b.slot[i]] = batch_weight[item];
            result = REPLACED;
        }
    }
#endif
    status[item] = result;
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

// Warp per old leaf, in a grid-stride loop. Guards tell their vertices where they are. `count` may be null: nothing is new.
extern "C" __global__ void spread_old(Graph g, Graph to, const long long* before, Changes c, const int* count) {
    const uint32_t lane = lane_id(), below = lanes_below(lane), added = count ? uint32_t(*count) : 0;
    const Spread s = spread_of(g, to, before, added);
    for (long long leaf = thread_id() / 32; leaf < g.leaves; leaf += thread_count() / 32) {
        const long long slot = (leaf << LEAF_BITS) + lane;
        const uint32_t v = g.dst[slot], live = __ballot_sync(ALL, v != EMPTY), guards = __ballot_sync(ALL, v == GUARD);
        if (v == EMPTY) continue;
        const uint32_t come = upper_bound(c.places, 0u, added, slot);
        const long long rank = before[leaf] - __popc(live) + __popc(live & below) + come;
        const long long at = slot_of_rank(s, rank);
        to.dst[at] = v;
#if WEIGHT_BITS
        to.weight[at] = g.weight[slot];
#endif
        if (v == GUARD) g.guard[(long long)g.owner[leaf] + __popc(guards & below) + 1] = at;
        if (to.fresh && g.fresh[leaf] >> lane & 1u) mark_fresh(to, at);
    }
    if (thread_id() == 0) g.counters[MOVED] += before[g.leaves - 1];
}

// Thread per new entry, in a grid-stride loop.
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
#if WEIGHT_BITS
        to.weight[at] = batch_weight[b.order[item]];
#endif
        if (to.fresh) mark_fresh(to, at);
    }
}

// Warp per new leaf, in a grid-stride loop, when all guards are in place: what is kept of the leaf.
extern "C" __global__ void describe_leaves(Graph g, Graph to, const long long* before, const int* count) {
    const uint32_t lane = lane_id();
    const Spread s = spread_of(g, to, before, count ? uint32_t(*count) : 0);
    for (long long leaf = thread_id() / 32; leaf < to.leaves; leaf += thread_count() / 32) {
        const long long first = leaf << LEAF_BITS;
        const uint32_t v = to.dst[first + lane];
        const uint32_t live = __ballot_sync(ALL, v != EMPTY), guards = __ballot_sync(ALL, v == GUARD);
        if (lane != 0) continue;
        const long long rank = s.total * leaf / s.leaves;
        to.guards[leaf] = guards;
        to.count[leaf] = uint8_t(__popc(live));
        to.head[leaf] = s.total ? to.dst[slot_of_rank(s, rank)] : GUARD;
        to.owner[leaf] = uint32_t(lower_bound(g.guard + 1, 0ll, g.num_vertices, first));
    }
}
