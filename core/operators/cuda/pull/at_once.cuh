// Reductions that take all values of a vertex at once, since what parts give cannot be combined. Included by pull.cuh where VALUES_AT_ONCE is 1.
// Each brings value_by_thread, value_by_warp, value_by_block and values_of_heavy for the classes of degrees, with a ValueTable in shared
// memory, and parts_of_values, the parts of a heavy vertex that blocks share.
#pragma once
#include "split.cuh"
#include "walk.cuh"

template <int THREADS> __device__ __forceinline__ uint32_t rank_among() {
    return THREADS == 32 ? threadIdx.x % 32 : threadIdx.x;
}

template <int THREADS> __device__ __forceinline__ void join_threads() {
    if (THREADS == 32) __syncwarp();
    else __syncthreads();
}

// Call f(neighbour, weight) for the neighbours of x that the calling thread of THREADS serves: 1, a warp or the block.
template <int THREADS, class F> __device__ __forceinline__ void walk_shared(WALK, uint32_t x, F&& f) {
    const uint32_t me = rank_among<THREADS>();
    if (THREADS <= 32) {
        walk_neighbors<THREADS <= 32 ? THREADS : 32>(WALKED, x, THREADS == 1 ? 0 : me, f);
    } else {
        const uint32_t parts = buckets_of_vertex(WALKED, x);
        for (uint32_t k = me / BUCKET_LANES; k < parts; k += THREADS / BUCKET_LANES)
            walk_bucket(WALKED, x, k, me % BUCKET_LANES, f);
    }
}

#if IS_VOTE
#include "vote.cuh"
#else
// The same for values: call f(value). A NaN is no value.
template <int THREADS, class F> __device__ __forceinline__ void walk_values(WALK, uint32_t x, F&& f FORMALS) {
    walk_shared<THREADS>(WALKED, x, [&](uint32_t y, weight_t w) {
        const out_t value = EDGE(x, y, w);
        if (value == value) f(value);
    });
}

#if IS_MODE
#include "mode.cuh"
#else
#include "hindex.cuh"
#endif
#endif

#if !HAS_TABLES  // else see vote_tables.cuh
__device__ __forceinline__ bool list_pulled(WALK, const Heavy& heavy, uint32_t x, uint32_t place, uint32_t neighbors) {
    return list_heavy(heavy, x, place, parts_of_values(neighbors));
}

template <int THREADS, class F>
__device__ __forceinline__ void reduce_heavy(WALK, const Wakers&, unsigned long long packed, const Heavy& heavy,
                                             uint32_t block, uint32_t blocks, PullShared<THREADS>& shared,
                                             F&& finish FORMALS) {
    values_of_heavy<THREADS>(WALKED, packed, heavy, block, blocks, shared.table, finish ARGS);
}
#endif
