// Connected components of a graph whose edges are divided among ranks: what is near a vertex of many neighbours, then the rest (see
// divided.py). A rank has the rows of the vertices [low, high). What is reached is a bit per vertex; each rank sets the bits of its own vertices,
// and the ranks add them up between two launches, and counts with them.
//
// Generated from divided.py: Part, and the places of counts behind the bits: REACHED vertices; LEFT, vertices with neighbours that were not
// reached; from BY_RANK on, of each rank, the complement of the first vertex that it reached, or of a hub (see find_hub).
//
// Kernels are grid-stride, a thread per vertex unless said otherwise, and none waits for other blocks. parent: uint32[num_vertices].
#include "near_hub.cuh"

__device__ __forceinline__ unsigned long long* counts_in(uint32_t* bits, const Part& part) {
    return reinterpret_cast<unsigned long long*>(bits + part.counts);
}

// The largest of what the ranks have in their counts.
__device__ __forceinline__ unsigned long long largest_of(uint32_t* bits, const Part& part) {
    unsigned long long largest = 0;
    for (uint32_t rank = 0; rank < part.ranks; ++rank) largest = max(largest, counts_in(bits, part)[BY_RANK + rank]);
    return largest;
}

__device__ __forceinline__ uint32_t first_reached(const Part& part) { return uint32_t(~largest_of(part.bits, part)); }

// Find this rank's vertex of most neighbours (see find_hub_of). One atomic per block.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) find_hub(View g, View h, int both, Part part) {
    find_hub_of(g, h, both, part.low, part.high, &counts_in(part.next, part)[BY_RANK + part.rank]);
}

// The owner of the hub of all ranks marks it and its neighbours as reached, whoever owns them.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) start_at_hub(View g, View h, int both, Part part) {
    const uint32_t hub = uint32_t(~largest_of(part.bits, part));
    if (hub >= part.low && hub < part.high) reach_from(g, h, both, hub, part.next);
}

// Mark this rank's vertices in part.bits as reached, and of its others those with neighbours there. Up to three atomics per block on the counts.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3) reach_further(View g, View h, int both, Part part) {
    const Reached all = reach_on(g, h, both, part.low, part.high, part.bits, part.next);
    if (threadIdx.x != 0) return;
    unsigned long long* const counts = counts_in(part.next, part);
    if (all.left) atomicAdd(&counts[LEFT], (unsigned long long)all.left);
    if (!all.reached) return;
    atomicAdd(&counts[REACHED], (unsigned long long)all.reached);
    atomicMax(&counts[BY_RANK + part.rank], (unsigned long long)uint32_t(~all.first));
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
