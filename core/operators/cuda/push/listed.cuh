// Edges are listed in shared memory, by warp, before they are pushed along by all lanes of the warp, DEPTH each at once: so it does
// not matter how a backend spreads the edges of a vertex over the lanes of a tile, and loads for several edges are under way
// together.
#pragma once
#include "push.cuh"

#define DEPTH 2

#if LISTS_SLOTS
#define LISTED_WEIGHT(g, shared, i) weight(g, shared.slot[i])
#else
#define LISTED_WEIGHT(g, shared, i) weight_t(1)
#endif

// Edges that a warp can list.
__device__ __forceinline__ uint32_t warp_capacity() { return LISTED / (blockDim.x / 32); }

// List edge (u, v) for the warp of the caller; false if the list is full.
__device__ __forceinline__ bool list_edge(uint32_t u, uint32_t v, long long slot, Shared& shared) {
    const uint32_t warp = threadIdx.x / 32, capacity = warp_capacity(), place = next_place(&shared.listed[warp]);
    if (place >= capacity) return false;
    shared.from[warp * capacity + place] = u;
    shared.to[warp * capacity + place] = v;
#if LISTS_SLOTS
    shared.slot[warp * capacity + place] = slot;
#endif
    return true;
}

// List the edges of u; the LANES threads of a tile call it together. What the list does not take is pushed along at once. SECOND: g is the second
// view of a push over both directions, whose self-loops the first one has served.
template <int LANES, bool SECOND>
__device__ __forceinline__ void list_neighbors(const View& g, uint32_t u, int lane, value_t* out,
                                               const Changed& changed, Shared& shared FORMALS) {
    for_neighbors<LANES>(g, u, lane, [&](uint32_t v, long long slot) {
        if ((!SECOND || u != v) && !list_edge(u, v, slot, shared)) {
            push_edge(u, v, WEIGHT(g, slot), out, changed, shared ARGS);
        }
    });
}

// The same for bucket k of u, by BUCKET_LANES threads.
template <bool SECOND>
__device__ __forceinline__ void list_bucket(const View& g, uint32_t u, uint32_t k, value_t* out, const Changed& changed,
                                            Shared& shared FORMALS) {
    for_bucket<BUCKET_LANES>(g, u, k, threadIdx.x % BUCKET_LANES, [&](uint32_t v, long long slot) {
        if ((!SECOND || u != v) && !list_edge(u, v, slot, shared)) {
            push_edge(u, v, WEIGHT(g, slot), out, changed, shared ARGS);
        }
    });
}

// Push along what the warp has listed; all its lanes call it.
__device__ __forceinline__ void push_listed(const View& g, value_t* out, const Changed& changed,
                                            Shared& shared FORMALS) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, capacity = warp_capacity(),
                   first = warp * capacity;
    __syncwarp();
    const uint32_t number = min(shared.listed[warp], capacity);
    for (uint32_t base = 0; base < number; base += 32 * DEPTH) {
        uint32_t u[DEPTH], v[DEPTH];
        weight_t w[DEPTH];
        value_t value[DEPTH], there[DEPTH];
#if IS_FOREST
        value_t own[DEPTH];
#endif
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            const uint32_t place = first + min(base + 32 * d + lane, number - 1);
            u[d] = shared.from[place];
            v[d] = shared.to[place];
            w[d] = LISTED_WEIGHT(g, shared, place);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
#if IS_FOREST
            own[d] = stored(out + u[d]);
#endif
            there[d] = stored(out + v[d]);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {  // once per edge: functions may add to scalars
            if (base + 32 * d + lane < number) value[d] = EDGE_VALUE(u[d], v[d], w[d]);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            if (base + 32 * d + lane >= number) continue;
#if IS_FOREST
            if (!is_offer(out, u[d], own[d], value[d], changed.violated)) continue;
#endif
            if (improves(there[d], value[d])) store_value(out, v[d], value[d], changed, shared);
        }
    }
    __syncwarp();
    if (lane == 0) shared.listed[warp] = 0;
    __syncwarp();
}
