// Pulling: what neighbor_reduce and converge share. A vertex reduces the values of its neighbours; how many threads do so depends on
// its degree.
#pragma once
#include "split.cuh"
#include "walk.cuh"

#define TILE 4  // lanes for a vertex of the class below
#define TINY 8  // up to this degree a thread serves a vertex
#define SMALL 64  // up to this degree a tile does
#if IS_MODE
#define WIDE 512  // up to this degree a warp, above it the whole block
#else
#define WIDE 2048  // up to this degree a warp, above it the whole block, or all blocks
#endif

#if OVER == OVER_OUT
#define EDGE(vertex, neighbor, w) out_t(edge_fn(vertex, neighbor, w ARGS))
#else
#define EDGE(vertex, neighbor, w) out_t(edge_fn(neighbor, vertex, w ARGS))
#endif

#if IS_MODE
#include "mode.cuh"
#else
// The reduction over all neighbours of x, in each of the LANES threads of the calling tile.
template <int LANES> __device__ __forceinline__ out_t reduce_neighbors(WALK, uint32_t x, int lane FORMALS) {
    out_t total = identity();
    walk_neighbors<LANES>(WALKED, x, lane, [&](uint32_t y, weight_t w) { total = combine(total, EDGE(x, y, w)); });
    return tile_reduce<LANES>(total);
}
#endif

// The reduction over the buckets [first, end) of x, in each of the BUCKET_LANES threads of the calling tile.
__device__ __forceinline__ out_t reduce_run(WALK, uint32_t x, uint32_t first, uint32_t end, int lane FORMALS) {
    out_t total = identity();
    for (uint32_t k = first; k < end; ++k) {
        walk_bucket(WALKED, x, k, lane, [&](uint32_t y, weight_t w) { total = combine(total, EDGE(x, y, w)); });
    }
    return tile_reduce<BUCKET_LANES>(total);
}

// Reduce the buckets of all listed vertices, with one atomic per run of a vertex; all tiles of the grid call it. The thread that
// completes a vertex calls finish(place, vertex, value). `packed` is the final *heavy.total.
template <class F>
__device__ __forceinline__ void reduce_heavy(WALK, unsigned long long packed, const Heavy& heavy, F&& finish FORMALS) {
    const int lane = threadIdx.x % BUCKET_LANES;
    const auto parts = [&](uint32_t x) { return buckets_of_vertex(WALKED, x); };
    for_split_runs(packed, heavy, parts, [&](uint32_t k, uint32_t x, uint32_t first, uint32_t end) {
        const out_t part = reduce_run(WALKED, x, first, end, lane ARGS);
        if (lane != 0) return;
        if (wins(identity(), part)) atomic_combine(heavy.value + k, part);
        __threadfence();  // the part is in place before it counts as done
        if (atomicSub(heavy.left + k, end - first) != end - first) return;
        __threadfence();  // what the others added is seen
        finish(heavy.place[k], x, read_value(heavy.value + k));
    });
}

// -- a list of vertices, by degree class ----------------------------------------------------------------------------------

template <int THREADS> struct PullShared {
    uint32_t vertex[THREADS];
    out_t result[THREADS];
    out_t partial[THREADS / 32];
    unsigned short list[3][THREADS];  // positions in the block, per class: small, wide, huge
    uint32_t length[3];
#if IS_MODE
    ModeTable table;
#endif
};

// Reduce the vertices at(0) .. at(count - 1) and call finish(i, x, value) in one thread for each; an id that is not below
// num_vertices has no neighbours. In rounds, a block takes `share` of them, at most its threads: each thread serves its own if the degree is tiny;
// the others are sorted by class into lists in shared memory, which tiles, warps and the whole block work off in turn.
// Vertices of more than `limit` neighbours go to `heavy` while there is space. The order of additions depends on the graph alone,
// except within heavy vertices. The blocks `block` of `blocks` call it, with all threads; it synchronises the block.
template <int THREADS, class At, class F>
__device__ __forceinline__ void pull_vertices(WALK, uint32_t num_vertices, At&& at, long long count, uint32_t share,
                                              uint32_t block, uint32_t blocks, uint32_t limit, const Heavy& heavy,
                                              PullShared<THREADS>& shared, F&& finish FORMALS) {
    constexpr int WARPS = THREADS / 32;
    const uint32_t me = threadIdx.x, warp = me / 32, lane = me % 32;
    for (long long start = (long long)block * share; start < count; start += (long long)blocks * share) {
        const long long i = start + me;
        const bool serves = me < share && i < count;
        if (me < 3) shared.length[me] = 0;
        __syncthreads();  // this also ends the round before
        const uint32_t x = serves ? at(i) : EMPTY;
        const uint32_t neighbors = x < num_vertices ? degree_of(WALKED, x) : 0;
        shared.vertex[me] = x;
        out_t mine = identity();
        const bool split = neighbors > limit && list_heavy(heavy, x, uint32_t(i), buckets_of_vertex(WALKED, x));
        const bool listed = neighbors > TINY && !split;
        if (listed) {
            const int kind = neighbors <= SMALL ? 0 : neighbors <= WIDE ? 1 : 2;
            shared.list[kind][atomicAdd(&shared.length[kind], 1u)] = (unsigned short)me;
        } else if (neighbors > 0 && !split) {
            mine = reduce_neighbors<1>(WALKED, x, 0 ARGS);
        }
        __syncthreads();

        for (uint32_t j = me / TILE; j < shared.length[0]; j += THREADS / TILE) {
            const uint32_t to = shared.list[0][j];
            const out_t total = reduce_neighbors<TILE>(WALKED, shared.vertex[to], me % TILE ARGS);
            if (me % TILE == 0) shared.result[to] = total;
        }
        for (uint32_t j = warp; j < shared.length[1]; j += WARPS) {
            const uint32_t to = shared.list[1][j];
            const out_t total = reduce_neighbors<32>(WALKED, shared.vertex[to], lane ARGS);
            if (lane == 0) shared.result[to] = total;
        }
        for (uint32_t j = 0; j < shared.length[2]; ++j) {  // the same for all threads: the barriers below are safe
#if IS_MODE
            const uint32_t to = shared.list[2][j];
            const out_t total = mode_by_block<THREADS>(WALKED, shared.vertex[to], shared.table ARGS);
            if (me == 0) shared.result[to] = total;
#else
            const uint32_t to = shared.list[2][j], huge = shared.vertex[to], parts = buckets_of_vertex(WALKED, huge);
            out_t total = identity();
            for (uint32_t k = me / BUCKET_LANES; k < parts; k += THREADS / BUCKET_LANES) {
                walk_bucket(WALKED, huge, k, me % BUCKET_LANES,
                            [&](uint32_t y, weight_t w) { total = combine(total, EDGE(huge, y, w)); });
            }
            __syncwarp();
            total = tile_reduce<32>(total);
            if (lane == 0) shared.partial[warp] = total;
            __syncthreads();
            if (me == 0) {
                for (int k = 1; k < WARPS; ++k) total = combine(total, shared.partial[k]);
                shared.result[to] = total;
            }
#endif
            __syncthreads();  // partial, or the table, is free again
        }
        __syncthreads();
        if (serves && !split) finish(uint32_t(i), x, listed ? shared.result[me] : mine);
    }
}
