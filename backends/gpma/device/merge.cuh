// Rebalancing segments in shared memory, by a warp or a block: all entries, old and new, are put there one behind the other, then spread
// evenly over the leaves. Nothing but the segment's own leaves, and the places of its guards, is written.
#pragma once
#include "plan.cuh"

template <int LEAVES> struct Packed {
    uint32_t dst[LEAVES * LEAF];
#if WEIGHT_BITS
    bits_t weight[LEAVES * LEAF];
#endif
    uint32_t fresh[LEAVES];  // a bit per entry
    uint32_t first[LEAVES + 1];  // entries before each leaf
    uint32_t guards[LEAVES + 1];  // guards in each new leaf, then those before it
};

template <int WARPS> __device__ __forceinline__ void together() {
    if (WARPS == 1) __syncwarp();
    else __syncthreads();
}

// values[i] becomes the sum of those before; values[LEAVES] that of all. By one warp.
template <int LEAVES> __device__ __forceinline__ void sums_before(uint32_t* values) {
    constexpr int EACH = (LEAVES + 31) / 32;
    const uint32_t lane = lane_id();
    uint32_t own[EACH], total = 0;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        own[i] = EACH * lane + i < LEAVES ? values[EACH * lane + i] : 0;
        total += own[i];
    }
    uint32_t up = total;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL, up, step);
        if (lane >= step) up += other;
    }
    uint32_t before = up - total;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        if (EACH * lane + i <= LEAVES) values[EACH * lane + i] = before;
        before += own[i];
    }
    if (lane == 31) values[LEAVES] = up;
    __syncwarp();
}

// WARPS warps (one, or all of the block) rebalance the segment that begins at leaf `begin`.
template <int WARPS, int LEAVES>
__device__ __forceinline__ void merge_segment(const Graph& g, const LocatedBatch& b, const Changes& c, uint32_t count,
                                              const bits_t* batch_weight, Segment s, Packed<LEAVES>& shared) {
    const uint32_t lane = lane_id(), below = lanes_below(lane), warp = WARPS == 1 ? 0 : threadIdx.x / 32;
    const uint32_t me = 32 * warp + lane;
    const int leaves = int(s.end - s.begin);
    const long long base = s.begin << LEAF_BITS;
    const uint32_t low = first_from(c, count, base);
    const uint32_t high = lower_bound(c.places, low, count, s.end << LEAF_BITS);
    for (int i = me; i < LEAVES; i += 32 * WARPS) {
        shared.first[i] = i < leaves ? g.count[s.begin + i] : 0;
        shared.fresh[i] = 0;
    }
    const uint32_t owner = g.owner[s.begin];
    together<WARPS>();
    if (warp == 0) sums_before<LEAVES>(shared.first);
    together<WARPS>();
    const uint32_t held = shared.first[leaves], total = held + (high - low);

    for (int j = warp; j < leaves; j += WARPS) {
        const long long from = base + j * LEAF, slot = from + lane;
        const uint32_t v = g.dst[slot], live = __ballot_sync(ALL, v != EMPTY);
        const uint32_t first = lower_bound(c.places, low, high, from),
                       last = lower_bound(c.places, first, high, from + LEAF);
        if (v != EMPTY) {
            const uint32_t to = shared.first[j] + __popc(live & below) + upper_bound(c.places, first, last, slot) - low;
            shared.dst[to] = v;
#if WEIGHT_BITS
            shared.weight[to] = g.weight[slot];
#endif
            if (g.fresh && g.fresh[s.begin + j] >> lane & 1u) atomicOr(&shared.fresh[to / 32], 1u << to % 32);
        }
        for (uint32_t k = first + lane; k < last; k += 32) {
            const uint32_t before = __popc(live & lanes_below(uint32_t(c.places[k] - from)));
            const uint32_t to = shared.first[j] + before + k - low, item = c.items[k];
            shared.dst[to] = uint32_t(b.keys[item]);
#if WEIGHT_BITS
            shared.weight[to] = batch_weight[b.order[item]];
#endif
            if (g.fresh) atomicOr(&shared.fresh[to / 32], 1u << to % 32);
        }
    }
    together<WARPS>();

    for (int j = warp; j < LEAVES; j += WARPS) {
        const uint32_t from = uint32_t((uint64_t)total * j / leaves),
                       stop = uint32_t((uint64_t)total * (j + 1) / leaves);
        const bool is_guard = j < leaves && from + lane < stop && shared.dst[from + lane] == GUARD;
        const uint32_t guards = __ballot_sync(ALL, is_guard);
        if (lane == 0) shared.guards[j] = __popc(guards);
    }
    together<WARPS>();
    if (warp == 0) sums_before<LEAVES>(shared.guards);
    together<WARPS>();

    for (int j = warp; j < leaves; j += WARPS) {
        const uint32_t from = uint32_t((uint64_t)total * j / leaves),
                       stop = uint32_t((uint64_t)total * (j + 1) / leaves);
        const uint32_t at = from + lane, v = at < stop ? shared.dst[at] : EMPTY;
        const long long leaf = s.begin + j, slot = base + j * LEAF + lane;
        const uint32_t guards = __ballot_sync(ALL, v == GUARD), first_owner = owner + shared.guards[j];
        const uint32_t fresh = __ballot_sync(ALL, at < stop && shared.fresh[at / 32] >> at % 32 & 1u);
        g.dst[slot] = v;
#if WEIGHT_BITS
        if (v != EMPTY) g.weight[slot] = shared.weight[at];
#endif
        if (v == GUARD) g.guard[(long long)first_owner + __popc(guards & below) + 1] = slot;
        if (lane == 0) {
            g.owner[leaf] = first_owner;
            g.guards[leaf] = guards;
            g.head[leaf] = shared.dst[from];
            g.count[leaf] = uint8_t(stop - from);
            if (g.fresh) g.fresh[leaf] = fresh;
        }
    }
    if (me == 0) atomicAdd((unsigned long long*)&g.counters[MOVED], (unsigned long long)held);
    together<WARPS>();
}
