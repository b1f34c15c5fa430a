// The vertices near the one with the most neighbours, as a bit per vertex: its neighbours first, then in rounds those that have a neighbour among
// them (Slota, Rajamanickam and Madduri, 2014). All vertices that are reached are in one component.
//
// Functions are grid-stride, a thread per vertex unless said otherwise; all threads of the grid call them, and none waits for other blocks.
#pragma once
#include "unite_rest.cuh"  // arcs_of

constexpr uint32_t LOOKED = 4;  // buckets of a vertex that are looked through for a neighbour that is reached
constexpr uint32_t WHOLE = 16;  // neighbours per bucket up to which all of a bucket is looked at

__device__ __forceinline__ bool is_in(const uint32_t* bits, uint32_t v) { return bits[v / 32] >> v % 32 & 1u; }

// The vertex of [low, high) with the most neighbours, of equal ones the first: their number above the complement of the vertex. What is best in a
// block goes to *found by an atomic.
__device__ __forceinline__ void find_hub_of(const View& g, const View& h, int both, uint32_t low, uint32_t high,
                                            unsigned long long* found) {
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    unsigned long long mine = 0;
    for (unsigned long long v = low + wide_thread_id(); v < high; v += thread_count()) {
        mine = max(mine, (unsigned long long)arcs_of(g, h, both, uint32_t(v)) << 32 | uint32_t(~v));
    }
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) mine = max(mine, __shfl_xor_sync(WARP, mine, step));
    if ((threadIdx.x & 31) == 0) atomicMax(&best, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(found, best);
}

__device__ __forceinline__ void reach_row(const View& g, uint32_t v, uint32_t* bits) {
    constexpr uint32_t TEAMS = 32 / SEARCH_LANES;
    const uint32_t lane = threadIdx.x % SEARCH_LANES, parts = buckets(g, v);
    const uint32_t warp = (threadIdx.x / 32) * gridDim.x + blockIdx.x;
    for (uint32_t k = warp * TEAMS + threadIdx.x % 32 / SEARCH_LANES; k < parts; k += thread_count() / SEARCH_LANES)
        for_bucket<SEARCH_LANES>(g, v, k, lane, [&](uint32_t w, long long) { atomicOr(bits + w / 32, 1u << w % 32); });
}

// Mark the hub and its neighbours as reached: SEARCH_LANES threads per bucket, an atomic per neighbour.
__device__ __forceinline__ void reach_from(const View& g, const View& h, int both, uint32_t hub, uint32_t* bits) {
    if (thread_id() == 0) atomicOr(bits + hub / 32, 1u << hub % 32);
    reach_row(g, hub, bits);
    if (both) reach_row(h, hub, bits);
}

// Whether v has a neighbour that is reached, as far as one thread looks.
__device__ __forceinline__ bool touches(const View& g, uint32_t v, const uint32_t* bits) {
    const uint32_t parts = min(buckets(g, v), LOOKED);
    bool found = false;
    const auto look = [&](uint32_t w, long long) { found = found || is_in(bits, w); };
    for (uint32_t k = 0; k < parts && !found; ++k) {
#if LANES_ALONE
        if (degree(g, v) > WHOLE * buckets(g, v)) {
            for_bucket<SEARCH_LANES>(g, v, k, k % SEARCH_LANES, look);  // what falls to one of the lanes
            continue;
        }
#endif
        for_bucket<1>(g, v, k, 0, look);
    }
    return found;
}

// Of the vertices of a thread, or a block: how many are reached, how many others have neighbours, and the first that is reached, or EMPTY.
struct Reached {
    uint32_t reached, left, first;
};

// Mark in `next` the vertices of [low, high) that are in `bits`, and the others with neighbours there; returns those of the block to all its
// threads. A warp for 32 vertices, which stores their bits without atomics.
__device__ __forceinline__ Reached reach_on(const View& g, const View& h, int both, uint32_t low, uint32_t high,
                                            const uint32_t* bits, uint32_t* next) {
    __shared__ Reached all;
    if (threadIdx.x == 0) all = {0, 0, EMPTY};
    __syncthreads();
    const uint32_t lane = threadIdx.x & 31;
    Reached mine = {0, 0, EMPTY};
    for (unsigned long long base = low / 32 * 32ull + (thread_id() - lane); base < high; base += thread_count()) {
        const uint32_t v = uint32_t(base) + lane, before = bits[base / 32];
        const bool own = v >= low && base + lane < high;
        bool is_reached = own && (before >> lane & 1u);
        if (own && !is_reached && arcs_of(g, h, both, v) > 0) {
            is_reached = touches(g, v, bits) || (both && touches(h, v, bits));
            mine.left += !is_reached;
        }
        const uint32_t mask = __ballot_sync(WARP, is_reached);
        if (is_reached) mine.reached += 1, mine.first = min(mine.first, v);
        if (lane == 0) next[base / 32] = mask;
    }
    if (mine.reached) {
        atomicAdd(&all.reached, mine.reached);
        atomicMin(&all.first, mine.first);
    }
    if (mine.left) atomicAdd(&all.left, mine.left);
    __syncthreads();
    return all;
}
