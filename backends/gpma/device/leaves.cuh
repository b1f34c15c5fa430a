// What all kernels of gpma share: densities, and searches in rows. The structs and all constants come from layout.py; the loops in
// loops.py are the specification.
#pragma once
#include "batch.cuh"

constexpr uint32_t ALL = 0xFFFFFFFFu;

__device__ __forceinline__ uint32_t lane_id() { return threadIdx.x % 32; }
__device__ __forceinline__ uint32_t lanes_below(uint32_t lane) { return (1u << lane) - 1; }

// The level of the segment that is the whole array, at least 1.
__device__ __forceinline__ int height_of(long long leaves) { return leaves > 2 ? 64 - __clzll(leaves - 1) : 1; }

// The most entries that a segment of this size and level may hold after it was rebalanced, and the fewest that strict deletion leaves.
// Slots of a page fit 32 bits.
template <class T> __device__ __forceinline__ T most_in(T slots, int level, int height) {
    return slots * T(ROOT_MOST * height + (LEAF_MOST - ROOT_MOST) * (height - level)) / T(DENSE * height);
}
template <class T> __device__ __forceinline__ T least_in(T slots, int level, int height) {
    return slots * T(ROOT_LEAST * height - (ROOT_LEAST - LEAF_LEAST) * (height - level)) / T(DENSE * height);
}

// Where an edge is (slot, else -1), and the slot behind the last edge of its row below it in its leaf.
struct Found {
    long long slot, place;
};

// By one thread: a search among the heads of the leaves that the row covers; then one leaf is read as a whole.
__device__ __forceinline__ Found search(const Graph& g, uint32_t u, uint32_t v) {
    const long long begin = g.guard[u] + 1, end = g.guard[(long long)u + 1];
    long long low = begin >> LEAF_BITS, high = end >> LEAF_BITS;
    while (low < high) {
        const long long middle = (low + high + 1) >> 1;
        if (g.head[middle] <= v) low = middle;
        else high = middle - 1;
    }
    const long long from = low << LEAF_BITS, first = max(begin, from), stop = min(end, from + LEAF);
    const uint4* const words = reinterpret_cast<const uint4*>(g.dst + from);
    uint32_t below = 0, equal = 0;
#pragma unroll
    for (uint32_t i = 0; i < LEAF / 4; ++i) {
        const uint4 four = words[i];
        below |=
            (uint32_t(four.x < v) | uint32_t(four.y < v) << 1 | uint32_t(four.z < v) << 2 | uint32_t(four.w < v) << 3)
            << 4 * i;
        equal |= (uint32_t(four.x == v) | uint32_t(four.y == v) << 1 | uint32_t(four.z == v) << 2 |
                  uint32_t(four.w == v) << 3)
                 << 4 * i;
    }
    const uint32_t row = (stop - from < LEAF ? lanes_below(uint32_t(stop - from)) : ALL) & (ALL << (first - from));
    below &= row;
    equal &= row;
    return {equal ? from + __ffs(equal) - 1 : -1, below ? from + LEAF - __clz(below) : first};
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
#if WEIGHT_BITS
        const bits_t weight = g.weight[slot];
#endif
        removed = atomicExch(&g.dst[slot], EMPTY) == v;
#if WEIGHT_BITS
        if (removed) before[i] = weight;
#endif
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
