// What all kernels of gpma share: densities, searches in rows, and the changes of a batch. The structs Graph and Changes and all
// constants come from layout.py; the loops in loops.py are the specification.
#pragma once
#include "batch.cuh"

constexpr uint32_t ALL = 0xFFFFFFFFu;

__device__ __forceinline__ uint32_t lane_id() { return threadIdx.x % 32; }
__device__ __forceinline__ uint32_t lanes_below(uint32_t lane) { return (1u << lane) - 1; }

// The level of the segment that is the whole array, at least 1.
__device__ __forceinline__ int height_of(long long leaves) { return leaves > 2 ? 64 - __clzll(leaves - 1) : 1; }

// The most entries that a segment of this size and level may hold after it was rebalanced, and the fewest that strict deletion leaves.
__device__ __forceinline__ long long most_in(long long slots, int level, int height) {
    return slots * (ROOT_MOST * height + (LEAF_MOST - ROOT_MOST) * (height - level)) / (DENSE * height);
}
__device__ __forceinline__ long long least_in(long long slots, int level, int height) {
    return slots * (ROOT_LEAST * height - (ROOT_LEAST - LEAF_LEAST) * (height - level)) / (DENSE * height);
}

// Where an edge is (slot, else -1), and the slot behind the last edge of its row below it in its leaf.
struct Found {
    long long slot, place;
};

// By one thread: a search among the heads of the leaves that the row covers, then in one of them.
__device__ __forceinline__ Found search(const Graph& g, uint32_t u, uint32_t v) {
    const long long begin = g.guard[u] + 1, end = g.guard[(long long)u + 1];
    long long low = begin >> LEAF_BITS, high = end >> LEAF_BITS;
    while (low < high) {
        const long long middle = (low + high + 1) >> 1;
        if (g.head[middle] <= v) low = middle;
        else high = middle - 1;
    }
    Found found = {-1, max(begin, low << LEAF_BITS)};
    const long long stop = min(end, (low + 1) << LEAF_BITS);
    for (long long slot = found.place; slot < stop; ++slot) {
        const uint32_t w = g.dst[slot];
        if (w < v) {
            found.place = slot + 1;
        } else if (w != EMPTY) {
            if (w == v) found.slot = slot;
            break;
        }
    }
    return found;
}

// Turn the slot of an edge into a gap; degrees and counters are the caller's.
__device__ __forceinline__ void clear_slot(const Graph& g, long long slot) {
    const long long leaf = slot >> LEAF_BITS;
    g.dst[slot] = EMPTY;
    atomicSub((uint32_t*)g.count + (leaf >> 2), 1u << 8 * (leaf & 3));
    if (g.fresh) atomicAnd(&g.fresh[leaf], ~(1u << (slot & (LEAF - 1))));
}

// ---- the changes of a batch: entry k of ``Changes`` is the k-th of those that change the graph ---------------------------

__device__ __forceinline__ uint32_t changes_of(const LocatedBatch& b) { return uint32_t(b.rank[b.size - 1]); }

// Number of changes whose place is below a slot.
__device__ __forceinline__ uint32_t first_from(const Changes& c, uint32_t count, long long slot) {
    return lower_bound(c.places, 0u, count, slot);
}

// Thread per entry: report it, list it if it changes the graph, count degrees and edges. A deletion turns its slot into a gap.
__device__ __forceinline__ void take_entry(const Graph& g, const LocatedBatch& b, const Changes& c, uint32_t i,
                                           bool inserts, const bits_t* batch_weight, uint8_t* status, bits_t* before) {
    const uint32_t item = b.order[i];
    const bool changes = b.kind[i] == (inserts ? ABSENT : PRESENT);
    uint8_t result = !changes ? UNCHANGED : inserts ? NEW : REMOVED;
#if WEIGHT_BITS
    if (b.kind[i] == PRESENT) {
        const bits_t old = g.weight[b.slot[i]];
        if (!inserts) before[item] = old;
        else {
            const bits_t now = batch_weight[item];
            before[item] = old;
            if (old != now) {
                g.weight[b.slot[i]] = now;
                result = REPLACED;
            }
        }
    }
#endif
    status[item] = result;
    if (changes) {
        const uint32_t k = b.rank[i] - 1;
        c.places[k] = b.slot[i];
        c.items[k] = i;
        if (!inserts) clear_slot(g, b.slot[i]);
    }
    if (!is_invalid(b) && is_head(b, i)) {
        const int changed = b.rank[run_end(b, i) - 1] - rank_before(b, i);
        if (changed) g.degree[source(b.keys[i])] += inserts ? changed : -changed;
    }
    if (i + 1 == b.size) g.counters[EDGES] += inserts ? b.rank[i] : -b.rank[i];
}
