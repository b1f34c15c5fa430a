// Pulling: what neighbor_reduce and converge share. A vertex reduces the values of its neighbours; how many threads do so depends on
// its degree.
#pragma once
#include "split.cuh"
#include "walk.cuh"

#define TILE 4  // lanes for a vertex of the class below
#define TINY 8  // up to this degree a thread serves a vertex
#define TABLE_ABOVE 128  // up to this degree the part of a warp has a place for every neighbour, see vote_tables.cuh
#if VALUES_AT_ONCE
#define SMALL TINY
#define WIDE 256  // up to this degree a warp, above it the whole block, or all blocks
#define SPLIT_ABOVE 4096
#else
#define SMALL 64  // up to this degree a tile does
#define WIDE 1024  // up to this degree a warp, above it all blocks or the whole block
#define SPLIT_ABOVE WIDE
#endif

#if OVER == OVER_OUT
#define EDGE(vertex, neighbor, w) out_t(edge_fn(vertex, neighbor, w ARGS))
#define VOTED(vertex, neighbor, w) edge_fn(vertex, neighbor, w SPARE_ARGS)
#else
#define EDGE(vertex, neighbor, w) out_t(edge_fn(neighbor, vertex, w ARGS))
#define VOTED(vertex, neighbor, w) edge_fn(neighbor, vertex, w SPARE_ARGS)
#endif
#if IS_VOTE
#define THEN(x, reduced) then_fn(x, (reduced).value, (reduced).total ARGS)
#else
#define THEN(x, reduced) then_fn(x, (reduced).value ARGS)
#endif

#if SYMMETRIC
// A bit per vertex that activates its neighbours, uint32[ceil(num_vertices / 32)]; null: they are not read.
struct Wakers {
    const uint32_t* bits;
};
__device__ __forceinline__ Wakers wakers_of(const uint32_t* bits) { return {bits}; }
__device__ __forceinline__ bool is_activated(const Reduced& reduced) { return reduced.activated; }
#else
struct Wakers {};
__device__ __forceinline__ Wakers wakers_of(const uint32_t*) { return {}; }
__device__ __forceinline__ bool is_activated(const Reduced&) { return false; }
#endif

__device__ __forceinline__ void include(Reduced& total, const Wakers& wakers, uint32_t neighbor, const out_t& value) {
    total.value = combine(total.value, value);
#if SYMMETRIC
    if (wakers.bits) total.activated |= wakers.bits[neighbor / 32] >> neighbor % 32 & 1u;
#endif
}

// The parts of all LANES threads of a tile together, in every one of them; all of them call it.
template <int LANES> __device__ __forceinline__ Reduced reduce_tile(Reduced part) {
    if (LANES == 1) return part;
    part.value = tile_reduce<LANES>(part.value);
#if SYMMETRIC
    part.activated = __any_sync(tile_mask<LANES>(), part.activated);
#endif
    return part;
}

template <int THREADS> struct PullShared;

#if VALUES_AT_ONCE
#include "at_once.cuh"
#else
// The reduction over all neighbours of x, in each of the LANES threads of the calling tile.
template <int LANES>
__device__ __forceinline__ Reduced reduce_neighbors(WALK, const Wakers& wakers, uint32_t x, int lane FORMALS) {
    Reduced total = nothing_reduced();
    walk_neighbors<LANES>(WALKED, x, lane, [&](uint32_t y, weight_t w) { include(total, wakers, y, EDGE(x, y, w)); });
    return reduce_tile<LANES>(total);
}

// The reduction over the buckets first, first + step ... below `end` of x, in the calling tile of BUCKET_LANES threads: the part of each.
__device__ __forceinline__ Reduced reduce_part(WALK, const Wakers& wakers, uint32_t x, uint32_t first, uint32_t end,
                                               uint32_t step, int lane FORMALS) {
    Reduced total = nothing_reduced();
    for (uint32_t k = first; k < end; k += step) {
        walk_bucket(WALKED, x, k, lane, [&](uint32_t y, weight_t w) { include(total, wakers, y, EDGE(x, y, w)); });
    }
    return total;
}
#endif

#if !VALUES_AT_ONCE
// List x for reduce_heavy; return whether there is space.
__device__ __forceinline__ bool list_pulled(WALK, const Heavy& heavy, uint32_t x, uint32_t place, uint32_t) {
    return list_heavy(heavy, x, place, buckets_of_vertex(WALKED, x));
}

// Reduce all listed vertices, bucket by bucket with one atomic per run of a vertex; all threads of the blocks `block` of `blocks` call it.
// The thread that completes a vertex calls finish(place, vertex, reduced). `packed` is the final *heavy.list.total.
template <int THREADS, class F>
__device__ __forceinline__ void reduce_heavy(WALK, const Wakers& wakers, unsigned long long packed, const Heavy& heavy,
                                             uint32_t block, uint32_t blocks, PullShared<THREADS>&,
                                             F&& finish FORMALS) {
    const uint32_t lane = threadIdx.x % 32;
    const auto parts = [&](uint32_t x) { return buckets_of_vertex(WALKED, x); };
    for_split_runs(packed, heavy, block, blocks, parts, [&](uint32_t k, uint32_t x, uint32_t first, uint32_t end) {
        const Reduced mine = reduce_part(WALKED, wakers, x, first + lane / BUCKET_LANES, end, 32 / BUCKET_LANES,
                                         lane % BUCKET_LANES ARGS);
        __syncwarp();
        const Reduced part = reduce_tile<32>(mine);
        if (lane != 0) return;
        Reduced* const sum = heavy.sum + k;
        if (wins(identity(), part.value)) atomic_combine(&sum->value, part.value);
#if SYMMETRIC
        if (part.activated) *(volatile uint32_t*)&sum->activated = 1;
#endif
        __threadfence();  // the part is in place before it counts as done
        if (atomicSub(heavy.left + k, end - first) != end - first) return;
        __threadfence();  // what the others added is seen
        Reduced whole = nothing_reduced();
        whole.value = read_value(&sum->value);
#if SYMMETRIC
        whole.activated = read_fresh(&sum->activated);
#endif
        finish(heavy.place[k], x, whole);
    });
}
#endif

// -- a list of vertices, by degree class ----------------------------------------------------------------------------------

#define HUGE_VERTICES 64  // that a block keeps for the end

template <int THREADS> struct PullShared {
    Reduced result[THREADS];
    Reduced partial[THREADS / 32];
    uint8_t list[THREADS];  // lanes of a warp whose vertices are small
    uint32_t huge[VALUES_AT_ONCE ? THREADS : HUGE_VERTICES], place[VALUES_AT_ONCE ? THREADS : HUGE_VERTICES];
    uint32_t huges;
#if VALUES_AT_ONCE
    ValueTable table;
#endif
};

// Reduce the huge vertices that a block has kept, one after the other by all of its threads; all of them call it.
template <int THREADS, class F>
__device__ __forceinline__ void reduce_huge(WALK, const Wakers& wakers, PullShared<THREADS>& shared,
                                            F&& finish FORMALS) {
    const uint32_t me = threadIdx.x;
    __syncthreads();  // all are listed
    const uint32_t number = min(shared.huges, VALUES_AT_ONCE ? THREADS : HUGE_VERTICES);
    for (uint32_t j = 0; j < number; ++j) {  // the same for all threads: the barriers are safe
        const uint32_t x = shared.huge[j];
#if VALUES_AT_ONCE
        Reduced total = {value_by_block<THREADS>(WALKED, x, shared.table ARGS)};
#else
        Reduced total = reduce_part(WALKED, wakers, x, me / BUCKET_LANES, buckets_of_vertex(WALKED, x),
                                    THREADS / BUCKET_LANES, me % BUCKET_LANES ARGS);
        __syncwarp();
        total = reduce_tile<32>(total);
        if (me % 32 == 0) shared.partial[me / 32] = total;
        __syncthreads();
        if (me == 0)
            for (int k = 1; k < THREADS / 32; ++k) total = joined_parts(total, shared.partial[k]);
#endif
        if (me == 0) finish(shared.place[j], x, total);
        __syncthreads();  // partial, or the table, is free again
    }
    if (me == 0 && number > 0) shared.huges = 0;  // a barrier ago all have read it
    __syncthreads();
}

// Reduce the vertices at(0) .. at(count - 1) and call finish(i, x, reduced) in one thread for each; an id that is not below
// num_vertices has no neighbours. In rounds, a block takes `share` of them, a multiple of its warps and at most its threads; each warp
// serves its own without waiting for the others: a thread those of tiny degree, tiles the small ones, the warp one after the other
// the rest. Vertices of more than `limit` neighbours go to `heavy` while there is space, others of more than WIDE are kept for the
// block. The order of additions depends on the graph alone, except within heavy vertices. The blocks `block` of `blocks` call it,
// with all threads; it synchronises the block.
template <int THREADS, class At, class F>
__device__ __forceinline__ void pull_vertices(WALK, const Wakers& wakers, uint32_t num_vertices, At&& at,
                                              long long count, uint32_t share, uint32_t block, uint32_t blocks,
                                              uint32_t limit, const Heavy& heavy, PullShared<THREADS>& shared,
                                              F&& finish FORMALS) {
    constexpr uint32_t WARPS = THREADS / 32;
    const uint32_t me = threadIdx.x, lane = me % 32, warp = me / 32, part = share / WARPS;
    uint8_t* const list = shared.list + 32 * warp;
    Reduced* const result = shared.result + 32 * warp;
    if (me == 0) shared.huges = 0;
    __syncthreads();
    for (long long start = (long long)block * share; start < count; start += (long long)blocks * share) {
        const long long i = start + warp * part + lane;
        const bool serves = lane < part && i < count;
        const uint32_t x = serves ? at(i) : EMPTY;
        const uint32_t neighbors = x < num_vertices ? degree_of(WALKED, x) : 0;
        bool later = neighbors > limit && list_pulled(WALKED, heavy, x, uint32_t(i), neighbors);
        if (neighbors > WIDE && !later) {
            const uint32_t place = atomicAdd(&shared.huges, 1u);
            later = place < (VALUES_AT_ONCE ? THREADS : HUGE_VERTICES);
            if (later) {
                shared.huge[place] = x;
                shared.place[place] = uint32_t(i);
            }
        }
        const bool small = neighbors > TINY && neighbors <= SMALL && !later;
        uint32_t wides = __ballot_sync(ALL_LANES, neighbors > SMALL && !later);
        Reduced mine = nothing_reduced();
#if VALUES_AT_ONCE
        if (neighbors > 0 && neighbors <= TINY && !later) mine = Reduced{value_by_thread(WALKED, x ARGS)};
        __syncwarp();
#else
        const uint32_t smalls = __ballot_sync(ALL_LANES, small);
        if (small) list[__popc(smalls & lanes_below())] = uint8_t(lane);
        if (neighbors > 0 && neighbors <= TINY && !later) mine = reduce_neighbors<1>(WALKED, wakers, x, 0 ARGS);
        __syncwarp();

        for (uint32_t first = 0; first < __popc(smalls); first += 32 / TILE) {
            const uint32_t j = first + lane / TILE;
            const bool has = j < __popc(smalls);
            const uint32_t to = has ? list[j] : 0, its = __shfl_sync(ALL_LANES, x, to);
            if (has) {
                const Reduced total = reduce_neighbors<TILE>(WALKED, wakers, its, lane % TILE ARGS);
                if (lane % TILE == 0) result[to] = total;
            }
            __syncwarp();
        }
#endif
        for (; wides; wides &= wides - 1) {
            const uint32_t to = __ffs(wides) - 1, its = __shfl_sync(ALL_LANES, x, to);
#if VALUES_AT_ONCE
            const Reduced total = {value_by_warp<WARPS>(WALKED, its, shared.table ARGS)};
#else
            const Reduced total = reduce_neighbors<32>(WALKED, wakers, its, lane ARGS);
#endif
            if (lane == to) mine = total;
        }
        if (serves && !later) finish(uint32_t(i), x, small ? result[lane] : mine);
        __syncwarp();  // result and list are free again
        if (VALUES_AT_ONCE) reduce_huge(WALKED, wakers, shared, finish ARGS);
    }
    if (!VALUES_AT_ONCE) reduce_huge(WALKED, wakers, shared, finish ARGS);
}
