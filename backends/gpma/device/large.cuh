// Rebalancing a segment that fits no block's shared memory, by all blocks of a cooperative launch and in place. In rounds, each warp
// takes one leaf: first the entries are moved to the beginning of the segment, from left to right, then to their leaves, from right to
// left, and the new ones among them. What a round writes is read in no later one, and in its own before the barrier only.
#pragma once
#include "barrier.cuh"
#include "merge.cuh"

// What the blocks tell each other in a round: long long[2][gridDim.x], the rounds take turns.
struct Rounds {
    Work* work;
    long long* sums;
    uint32_t round;
};

// A barrier of all blocks that adds up a number per warp: `before`: of the warps with lower numbers in the grid, `all`: of all.
struct Sums {
    long long before, all;
};
__device__ __forceinline__ Sums add_up(Rounds& rounds, uint32_t number, long long* shared) {
    const uint32_t lane = lane_id(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    long long* const sums = rounds.sums + (rounds.round++ & 1u) * gridDim.x;
    if (lane == 0) shared[warp] = number;
    __syncthreads();
    if (threadIdx.x == 0) {
        long long total = 0;
        for (uint32_t w = 0; w < warps; ++w) total += shared[w];
        sums[blockIdx.x] = total;
    }
    all_blocks(rounds.work);
    Sums result = {0, 0};
    for (uint32_t block = lane; block < gridDim.x; block += 32) {  // each warp for itself
        const long long total = sums[block];
        if (block < blockIdx.x) result.before += total;
        result.all += total;
    }
    for (int step = 16; step > 0; step /= 2) {
        result.before += __shfl_xor_sync(ALL, result.before, step);
        result.all += __shfl_xor_sync(ALL, result.all, step);
    }
    for (uint32_t w = 0; w < warp; ++w) result.before += shared[w];
    __syncthreads();
    return result;
}

// Move the entries of a segment to its beginning; the places of new ones move along. Returns the number of entries.
__device__ __forceinline__ long long pack_large(const Graph& g, const Changes& c, Segment s, uint32_t low,
                                                uint32_t high, Rounds& rounds, long long* shared) {
    const uint32_t lane = lane_id();
    const long long warps = (long long)gridDim.x * (blockDim.x / 32), base = s.begin << LEAF_BITS;
    long long packed = 0;
    for (long long start = s.begin; start < s.end; start += warps) {
        const long long leaf = start + (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
        const bool serves = leaf < s.end;
        const long long from = leaf << LEAF_BITS;
        const uint32_t v = serves ? g.dst[from + lane] : EMPTY, live = __ballot_sync(ALL, v != EMPTY);
        const uint32_t fresh = serves && g.fresh ? g.fresh[leaf] : 0;
#if WEIGHT_BITS
        const bits_t w = v != EMPTY ? g.weight[from + lane] : 0;
#endif
        __syncwarp();
        if (serves && g.fresh && lane == 0) g.fresh[leaf] = 0;
        // Behind the barrier places move to leaves before, so each warp finds its own ahead of it.
        uint32_t k = serves ? lower_bound(c.places, low, high, from) : high;
        const uint32_t last = serves ? lower_bound(c.places, k, high, from + LEAF) : high;
        k += lane;
        const Sums sums = add_up(rounds, __popc(live), shared);
        const long long first = base + packed + sums.before;
        if (v != EMPTY) {
            const long long to = first + __popc(live & lanes_below(lane));
            g.dst[to] = v;
#if WEIGHT_BITS
            g.weight[to] = w;
#endif
            if (fresh >> lane & 1u) atomicOr(&g.fresh[to >> LEAF_BITS], 1u << (to & (LEAF - 1)));
        }
        for (; k < last; k += 32) c.places[k] = first + __popc(live & lanes_below(uint32_t(c.places[k] - from)));
        packed += sums.all;
    }
    all_blocks(rounds.work);
    return packed;
}

__device__ __forceinline__ void merge_large(const Graph& g, const LocatedBatch& b, const Changes& c, uint32_t count,
                                            const bits_t* batch_weight, Segment s, Rounds& rounds, long long* shared) {
    const uint32_t lane = lane_id(), below = lanes_below(lane);
    const long long warps = (long long)gridDim.x * (blockDim.x / 32), base = s.begin << LEAF_BITS;
    const uint32_t low = first_from(c, count, base);
    const uint32_t high = lower_bound(c.places, low, count, s.end << LEAF_BITS);
    long long owner_behind = s.end < g.leaves ? g.owner[s.end] : g.num_vertices;
    all_blocks(rounds.work);  // all have found the places of the new entries, which now change
    const long long held = pack_large(g, c, s, low, high, rounds, shared);
    const long long leaves = s.end - s.begin, total = held + (high - low);
    for (long long start = 0; start < leaves; start += warps) {
        const long long back = start + (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
        const bool serves = back < leaves;
        const long long j = leaves - 1 - back, leaf = s.begin + j, slot = (leaf << LEAF_BITS) + lane;
        const long long from = serves ? total * j / leaves : 0, stop = serves ? total * (j + 1) / leaves : 0;
        const long long rank = from + lane;
        const bool has = rank < stop;
        uint32_t v = EMPTY;
        bool is_fresh = false;
#if WEIGHT_BITS
        bits_t w = 0;
#endif
        if (serves && (has || lane == 0)) {  // lane 0 reads the next entry even if the leaf gets none
            uint32_t k = low, end = high;  // the first new entry whose rank, places[k] - base + k - low, is not below
            while (k < end) {
                const uint32_t middle = (k + end) / 2;
                if (c.places[middle] - base + (middle - low) < rank) k = middle + 1;
                else end = middle;
            }
            if (k < high && c.places[k] - base + (k - low) == rank) {
                const uint32_t item = c.items[k];
                v = uint32_t(b.keys[item]);
                is_fresh = g.fresh;
#if WEIGHT_BITS
                w = batch_weight[b.order[item]];
#endif
            } else {
                const long long old = base + rank - (k - low);
                v = g.dst[old];
                is_fresh = g.fresh && g.fresh[old >> LEAF_BITS] >> (old & (LEAF - 1)) & 1u;
#if WEIGHT_BITS
                w = g.weight[old];
#endif
            }
        }
        const uint32_t head = __shfl_sync(ALL, v, 0);
        const uint32_t guards = __ballot_sync(ALL, has && v == GUARD), fresh = __ballot_sync(ALL, has && is_fresh);
        const Sums sums = add_up(rounds, __popc(guards), shared);  // warps go from right to left
        const uint32_t owner = uint32_t(owner_behind - sums.before - __popc(guards));
        if (serves) {
            g.dst[slot] = has ? v : EMPTY;
#if WEIGHT_BITS
            if (has) g.weight[slot] = w;
#endif
            if (has && v == GUARD) g.guard[(long long)owner + __popc(guards & below) + 1] = slot;
            if (lane == 0) {
                g.owner[leaf] = owner;
                g.guards[leaf] = guards;
                g.head[leaf] = head;
                g.count[leaf] = uint8_t(stop - from);
                if (g.fresh) g.fresh[leaf] = fresh;
            }
        }
        owner_behind -= sums.all;
    }
    if (thread_id() == 0) atomicAdd((unsigned long long*)&g.counters[MOVED], (unsigned long long)held);
}
