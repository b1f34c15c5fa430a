// What all kernels of gpma share: densities, and searches in rows. The structs and all constants come from layout.py; the loops in
// loops.py are the specification.
#pragma once
#include "batch.cuh"
#include "rows.cuh"

static_assert(LEAF == 32 && LEAF_BITS == 5, "rows.cuh says so");

constexpr uint32_t ALL = 0xFFFFFFFFu;

__device__ __forceinline__ uint32_t lane_id() { return threadIdx.x % 32; }
__device__ __forceinline__ uint32_t lanes_below(uint32_t lane) { return (1u << lane) - 1; }

// The level of the segment that is the whole array, at least 1.
__device__ __forceinline__ int height_of(long long leaves) { return leaves > 2 ? 64 - __clzll(leaves - 1) : 1; }

// The most entries that a segment of this size and level may hold after it was rebalanced, and the fewest that strict deletion leaves.
// Slots of a page fit 32 bits.
template <class T> __device__ __forceinline__ T most_in(T slots, int level, int height) {
    return slots * T(ROOT_MOST * height + (DENSE - ROOT_MOST) * (height - level)) / T(DENSE * height);
}
template <class T> __device__ __forceinline__ T least_in(T slots, int level, int height) {
    return slots * T(ROOT_LEAST * height - (ROOT_LEAST - LEAF_LEAST) * (height - level)) / T(DENSE * height);
}

// Warp: write a leaf whose lanes hold the entries ``v`` (EMPTY: a gap), ``count`` of them, but no weights. ``owner`` is the source of the first
// one, ``head`` divides the row of that; ``guards`` and ``fresh`` have a bit per lane: a guard, an edge inserted since the mark.
__device__ __forceinline__ void write_leaf(const Graph& g, long long leaf, uint32_t v, uint32_t owner, uint32_t head,
                                           uint32_t count, uint32_t guards, uint32_t fresh) {
    const uint32_t lane = lane_id();
    const long long slot = (leaf << LEAF_BITS) + lane;
    g.dst[slot] = v;
    if (v == GUARD) g.guard[(long long)owner + __popc(guards & lanes_below(lane)) + 1] = slot;
    if (lane != 0) return;
    g.owner[leaf] = owner;
    g.guards[leaf] = guards;
    g.head[leaf] = head;
    g.count[leaf] = uint8_t(count);
    if (g.fresh) g.fresh[leaf] = fresh;
}

// Turn the slot of an edge into a gap; degrees and counters are the caller's.
__device__ __forceinline__ void clear_slot(const Graph& g, long long slot) {
    const long long leaf = slot >> LEAF_BITS;
    g.dst[slot] = EMPTY;
    atomicSub((uint32_t*)g.count + (leaf >> 2), 1u << 8 * (leaf & 3));
    if (g.fresh) atomicAnd(&g.fresh[leaf], ~(1u << (slot & (LEAF - 1))));
}

// Thread: turn edge i of a batch in any order into a gap, and report it. Of duplicates one finds it: the exchange of its slot decides.
// Atomics: the slot, the leaf's count, the degree.
__device__ __forceinline__ bool clear_edge(const Graph& g, bool refused, uint32_t u, uint32_t v, long long i,
                                           uint8_t* status, bits_t* before) {
    const long long slot = refused ? -1 : search(g, u, v).slot;
    bool removed = false;
    if (slot >= 0) {
        const bits_t weight = WEIGHT_BITS ? g.weight[slot] : 0;
        removed = atomicExch(&g.dst[slot], EMPTY) == v;
        if (WEIGHT_BITS && removed) before[i] = weight;
    }
    if (removed) {
        clear_slot(g, slot);
        atomicSub(&g.degree[u], 1u);
    }
    status[i] = removed ? REMOVED : UNCHANGED;
    return removed;
}

// Block: count edges that its threads removed.
__device__ __forceinline__ void count_removed(const Graph& g, uint32_t removed) {
    __shared__ uint32_t total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    if (removed) atomicAdd(&total, removed);
    __syncthreads();
    if (threadIdx.x == 0 && total) atomicAdd((unsigned long long*)&g.counters[EDGES], 0ull - total);
}
