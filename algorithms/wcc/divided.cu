// Connected components of a graph whose edges are divided among ranks: what is near a vertex of many neighbours, then the rest (see
// divided.py). A rank has the rows of the vertices [low, high). What is reached is a bit per vertex; each rank sets the bits of its own vertices,
// and the ranks add them up between two launches, and counts with them.
//
// Generated from divided.py: Part, and the places of counts behind the bits: REACHED vertices; LEFT, vertices with neighbours that were not
// reached; from BY_RANK on, of each rank, the complement of the first vertex that it reached, or of a hub (see find_hub).
//
// Kernels are grid-stride, a thread per vertex unless said otherwise, and none waits for other blocks. parent: uint32[num_vertices].
#include "unite_rest.cuh"

constexpr uint32_t LOOKED = 4;  // buckets of a vertex that are looked through for a neighbour that is reached
constexpr uint32_t WHOLE = 16;  // neighbours per bucket up to which all of a bucket is looked at

__device__ __forceinline__ unsigned long long* counts_in(uint32_t* bits, const Part& part) {
    return reinterpret_cast<unsigned long long*>(bits + part.counts);
}

__device__ __forceinline__ bool is_in(const uint32_t* bits, uint32_t v) { return bits[v / 32] >> v % 32 & 1u; }

// The largest of what the ranks have in their counts.
__device__ __forceinline__ unsigned long long largest_of(uint32_t* bits, const Part& part) {
    unsigned long long largest = 0;
    for (uint32_t rank = 0; rank < part.ranks; ++rank) largest = max(largest, counts_in(bits, part)[BY_RANK + rank]);
    return largest;
}

__device__ __forceinline__ uint32_t first_reached(const Part& part) { return uint32_t(~largest_of(part.bits, part)); }

// Find this rank's vertex of most neighbours, of equal ones the first: their number above the complement of the vertex. One atomic per block.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) find_hub(View g, View h, int both, Part part) {
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    unsigned long long mine = 0;
    for (unsigned long long v = part.low + wide_thread_id(); v < part.high; v += thread_count()) {
        const unsigned long long arcs = degree(g, uint32_t(v)) + (both ? degree(h, uint32_t(v)) : 0);
        mine = max(mine, arcs << 32 | uint32_t(~v));
    }
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) mine = max(mine, __shfl_xor_sync(WARP, mine, step));
    if ((threadIdx.x & 31) == 0) atomicMax(&best, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(&counts_in(part.next, part)[BY_RANK + part.rank], best);
}

__device__ __forceinline__ void reach_row(const View& g, uint32_t v, uint32_t* bits) {
    constexpr uint32_t TEAMS = 32 / SEARCH_LANES;
    const uint32_t lane = threadIdx.x % SEARCH_LANES, parts = buckets(g, v);
    const uint32_t warp = (threadIdx.x / 32) * gridDim.x + blockIdx.x;
    for (uint32_t k = warp * TEAMS + threadIdx.x % 32 / SEARCH_LANES; k < parts; k += thread_count() / SEARCH_LANES)
        for_bucket<SEARCH_LANES>(g, v, k, lane, [&](uint32_t w, long long) { atomicOr(bits + w / 32, 1u << w % 32); });
}

// The owner of the hub of all ranks marks it and its neighbours as reached, whoever owns them: SEARCH_LANES threads per bucket, an atomic per
// neighbour.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) start_at_hub(View g, View h, int both, Part part) {
    const uint32_t hub = uint32_t(~largest_of(part.bits, part));
    if (hub < part.low || hub >= part.high) return;
    if (thread_id() == 0) atomicOr(part.next + hub / 32, 1u << hub % 32);
    reach_row(g, hub, part.next);
    if (both) reach_row(h, hub, part.next);
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

// Mark this rank's vertices in part.bits as reached, and of its others those with neighbours there. A warp for 32 vertices, which stores their bits
// without atomics; up to four atomics per block on the counts.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) reach_further(View g, View h, int both, Part part) {
    __shared__ unsigned long long reached, left;
    __shared__ uint32_t first;
    if (threadIdx.x == 0) reached = left = 0, first = EMPTY;
    __syncthreads();
    const uint32_t lane = threadIdx.x & 31;
    uint32_t my_reached = 0, my_left = 0, my_first = EMPTY;
    for (unsigned long long base = part.low / 32 * 32ull + (thread_id() - lane); base < part.high;
         base += thread_count()) {
        const uint32_t v = uint32_t(base) + lane, bits = part.bits[base / 32];
        const bool own = v >= part.low && base + lane < part.high;
        bool is_reached = own && (bits >> lane & 1u);
        if (own && !is_reached && degree(g, v) + (both ? degree(h, v) : 0) > 0) {
            is_reached = touches(g, v, part.bits) || (both && touches(h, v, part.bits));
            my_left += !is_reached;
        }
        const uint32_t mask = __ballot_sync(WARP, is_reached);
        if (is_reached) my_reached += 1, my_first = min(my_first, v);
        if (lane == 0 && mask) part.next[base / 32] = mask;
    }
    if (my_reached) {
        atomicAdd(&reached, (unsigned long long)my_reached);
        atomicMin(&first, my_first);
    }
    if (my_left) atomicAdd(&left, (unsigned long long)my_left);
    __syncthreads();
    if (threadIdx.x != 0) return;
    unsigned long long* const counts = counts_in(part.next, part);
    if (left) atomicAdd(&counts[LEFT], left);
    if (!reached) return;
    atomicAdd(&counts[REACHED], reached);
    atomicMax(&counts[BY_RANK + part.rank], (unsigned long long)uint32_t(~first));
}

// All reached vertices become one set, of which the first is the root; parent[v] = v for all others already. The number of this rank's
// unions becomes 0. No atomics.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) unite_reached(Part part, uint32_t* parent,
                                                                             uint32_t* largest, uint8_t* unions) {
    const uint32_t first = first_reached(part);
    for (unsigned long long v = thread_id(); v < part.num_vertices; v += thread_count())
        if (is_in(part.bits, uint32_t(v))) parent[v] = first;
    if (thread_id() != 0) return;
    *largest = first;
    *reinterpret_cast<uint32_t*>(unions) = 0;
}

// Unite the vertices of this rank that were not reached with all their neighbours (see unite_rest.cuh: unions by compare-and-swap).
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) unite_others(View g, View h, int both, Part part,
                                                                            uint32_t* parent) {
    unite_rest(g, h, both, part.low, part.high, parent, [&](uint32_t v) { return is_in(part.bits, v); });
}

// List the roots that unite_others has hooked, each with its parent: their number, then, from UNIONS_HEAD bytes on, pairs. One atomic per warp.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) list_unions(Part part, const uint32_t* parent,
                                                                           uint8_t* unions) {
    const uint32_t first = first_reached(part);
    uint32_t* const number = reinterpret_cast<uint32_t*>(unions);
    uint2* const pairs = reinterpret_cast<uint2*>(unions + UNIONS_HEAD);
    for (unsigned long long at = thread_id(); at < part.num_vertices; at += thread_count()) {
        const uint32_t v = uint32_t(at);
        if (is_in(part.bits, v) && v != first) continue;
        const uint32_t above = parent[v];
        if (above != v) pairs[next_place(number)] = {v, above};
    }
}

// Repeat the unions of the other ranks, whose lists have `size` bytes each: a thread per union, by compare-and-swap.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3)
take_unions(Part part, uint32_t* parent, const uint8_t* unions, unsigned long long size) {
    for (uint32_t rank = 0; rank < part.ranks; ++rank) {
        if (rank == part.rank) continue;
        const uint8_t* const begin = unions + rank * size;
        const uint2* const pairs = reinterpret_cast<const uint2*>(begin + UNIONS_HEAD);
        const uint32_t number = *reinterpret_cast<const uint32_t*>(begin);
        for (unsigned long long i = thread_id(); i < number; i += thread_count()) unite(parent, pairs[i].x, pairs[i].y);
    }
}
