// Union-find over uint32_t parent[n]: a root is its own parent, every other parent has a smaller id, so that the root of a
// set is its smallest member. Unions are asynchronous, as in Meerkat's components: many threads at once, no barrier.
#pragma once
#include "suricate.cuh"

// The root of x. Halves the path on the way: each store replaces a parent by one of its ancestors, which stays true
// whatever other threads do, so these stores need no atomics. Volatile, because others write meanwhile.
__device__ __forceinline__ uint32_t root_of(volatile uint32_t* parent, uint32_t x) {
    uint32_t p = parent[x];
    while (p != x) {
        const uint32_t above = parent[p];
        if (above != p) parent[x] = above;
        x = p;
        p = above;
    }
    return x;
}

// Make the root of x its parent, and return it. Each element's parent is stored by one thread only, which walks without halving
// the paths of others: so all are flat in the end, whatever the order. Runs without unions at the same time.
__device__ __forceinline__ uint32_t flatten_one(volatile uint32_t* parent, uint32_t x) {
    uint32_t p = parent[x], above = parent[p];
    while (above != p) {
        parent[x] = above;  // at once: who comes by x has half the way
        p = above;
        above = parent[p];
    }
    return p;
}

// Unite the sets of u and v; called by one thread. The larger root is hooked under the smaller by one compare-and-swap, which
// only succeeds while it still is a root; a loser goes on from the new parent. Equal parents are seen without a walk. A root that
// others may want as well is read first: reads of one address by a warp are answered together, its atomics one after another.
__device__ __forceinline__ void unite(uint32_t* parent, uint32_t u, uint32_t v) {
    uint32_t a = ((volatile uint32_t*)parent)[u], b = ((volatile uint32_t*)parent)[v];
    while (a != b) {
        const uint32_t high = max(a, b), low = min(a, b);
        uint32_t seen = high == u || high == v ? high : ((volatile uint32_t*)parent)[high];
        if (seen == high) seen = atomicCAS(&parent[high], high, low);
        if (seen == high) return;
        a = root_of(parent, seen);
        b = root_of(parent, low);
    }
}
