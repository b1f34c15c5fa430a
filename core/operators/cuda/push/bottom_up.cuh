// Vertices that look for neighbours in the frontier: a thread serves a vertex of few neighbours, a tile or a warp one of more, and all tiles of
// the grid share the heavy ones, in a second phase behind a grid-wide barrier, which a step without heavy ones does not have. So a warp walks at
// most WIDE neighbours in a row, and a block at most its share of the heavy rows, also where hubs lie side by side, or one has half of all arcs.
#pragma once
#include "policy.cuh"

#define TINY \
    8  // up to this many neighbours a thread looks at, up to SMALL a tile, up to WIDE a warp, above it the grid
#define LISTED (2 * PROPAGATE_BLOCK)
#define SLICE 8  // buckets of a heavy vertex, after which a tile asks whether the others have made more needless

#define PULL_FROM \
    64  // a frontier of more than 1 / 64 of the vertices is pulled from where one neighbour in it will do,
#define PULL_ALL_FROM 16  // one of more than 1 / 16 where all of them count

// The vertices of a block that have more than TINY neighbours, and are not heavy.
struct Searchers {
    uint32_t list[LISTED];  // from the front those with up to SMALL, from the back the others
    uint32_t few, many;  // how many they are
    uint32_t taken;  // shares of the list that warps have taken
};

// The frontier, which `epoch` stamps, as a bit per vertex, uint32[num_vertices / 32 and one]: unlike the stamps the L1 caches hold it. A
// warp per word. All threads of the grid call it; it ends with a grid-wide barrier.
__device__ __forceinline__ void mark_frontier(Steps& steps, uint32_t epoch, uint32_t* bits) {
    constexpr int AT_ONCE = 4;
    const uint32_t lane = threadIdx.x % 32, end = (steps.num_vertices + 31ull) / 32;
    for (uint32_t word = thread_id() / 32 * AT_ONCE; word < end; word += thread_count() / 32 * AT_ONCE) {
        bool in[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const unsigned long long v = (word + k) * 32ull + lane;
            in[k] = v < steps.num_vertices && steps.stamp[v] == epoch;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const uint32_t mask = __ballot_sync(ALL_LANES, in[k]);
            if (lane == 0 && word + k < end) bits[word + k] = mask;
        }
    }
    grid_barrier(steps.state, steps.expected);
}

__device__ __forceinline__ bool is_marked(const uint32_t* bits, uint32_t v) { return bits[v / 32] >> v % 32 & 1u; }

// visit(v, x, slot, mine) for the neighbours x of v in `back`, which LANES threads share; where visit() says that no greater one counts any
// more, and the backend meets them in ascending order, no more of them.
template <int LANES, class T, class Visit>
__device__ __forceinline__ void look_back(const View& back, uint32_t v, int lane, T& mine, Visit&& visit) {
#ifdef STOPS_EARLY
    for_neighbors_until<LANES>(back, v, lane, [&](uint32_t x, long long slot) { return visit(v, x, slot, mine); });
#else
    for_neighbors<LANES>(back, v, lane, [&](uint32_t x, long long slot) { visit(v, x, slot, mine); });
#endif
}

// What the LANES threads of a tile have, merged, in all of them.
template <int LANES, class T, class Merge> __device__ __forceinline__ T merged_of_tile(T mine, Merge&& merge) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step >>= 1) mine = merge(mine, exchanged<LANES>(mine, step));
    return mine;
}

// Serve the list of a block, and empty it. Its warps take shares in turn: a vertex from the back, then as many from the front as
// a warp has tiles. All threads of the block call it behind a barrier of the block, and it ends with one.
template <class T, class Visit, class Merge, class Found>
__device__ __forceinline__ void serve_searchers(const View& back, Searchers& searchers, const T& none, Visit&& visit,
                                                Merge&& merge, Found&& found, const Changed& changed, Shared& shared) {
    constexpr uint32_t PER_WARP = 32 / TILE;
    const uint32_t me = threadIdx.x, lane = me % 32;
    const uint32_t few = searchers.few, many = searchers.many, shares = many + (few + PER_WARP - 1) / PER_WARP;
    for (;;) {
        uint32_t share = 0;
        if (lane == 0) share = atomicAdd(&searchers.taken, 1u);
        share = __shfl_sync(ALL_LANES, share, 0);
        if (share >= shares) break;
        if (share >= many) {
            const uint32_t i = (share - many) * PER_WARP + lane / TILE;
            if (i < few) {
                const uint32_t v = searchers.list[i];
                T mine = none;
                look_back<TILE>(back, v, me % TILE, mine, visit);
                mine = merged_of_tile<TILE>(mine, merge);
                if (me % TILE == 0) found(v, mine);
            }
            __syncwarp();
            continue;
        }
        const uint32_t v = searchers.list[LISTED - 1 - share];
        T mine = none;
        look_back<32>(back, v, lane, mine, visit);
        mine = merged_of_tile<32>(mine, merge);
        if (lane == 0) found(v, mine);
        __syncwarp();
    }
    __syncthreads();
    if (me == 0) searchers.few = searchers.many = searchers.taken = 0;
    const bool full = me == 0 && shared.filled > LOCAL_QUEUE / 2;
    if (__syncthreads_or(full)) flush(changed, shared);
}

// For each vertex v of [first, end) for which looks(v): visit(v, x, slot, mine) for all its neighbours x in `back`, by several threads, each
// with a `mine` that is `none` at first (see look_back()); then found(v, merged) in one thread, with theirs merged by merge(a, b). Those of
// more than WIDE neighbours are listed in `heavy`, which has a place for each: look_at_heavy() serves them. All threads of the grid call it; it
// synchronises the block, and ends with everything queued.
template <class T, class Looks, class Visit, class Merge, class Found>
__device__ __forceinline__ void look_at_neighbors(const View& back, uint32_t first, uint32_t end, const T& none,
                                                  Looks&& looks, Visit&& visit, Merge&& merge, Found&& found,
                                                  const HeavyList& heavy, const Changed& changed, Shared& shared) {
    __shared__ Searchers searchers;
    if (threadIdx.x == 0) searchers.few = searchers.many = searchers.taken = 0;
    __syncthreads();
    for (unsigned long long base = first + (unsigned long long)blockIdx.x * blockDim.x; base < end;
         base += (unsigned long long)gridDim.x * blockDim.x) {  // the same for the whole block
        const uint32_t v = uint32_t(base + threadIdx.x);
        const uint32_t all = base + threadIdx.x < end ? degree(back, v) : 0;
        const uint32_t neighbors = all > 0 && looks(v) ? all : 0;
        if (neighbors > WIDE) {
            add_heavy(heavy, v, buckets(back, v));
        } else if (neighbors > SMALL) {
            searchers.list[LISTED - 1 - atomicAdd(&searchers.many, 1u)] = v;
        } else if (neighbors > TINY) {
            searchers.list[atomicAdd(&searchers.few, 1u)] = v;
        } else if (neighbors > 0) {
            T mine = none;
            look_back<1>(back, v, 0, mine, visit);
            found(v, mine);
        }
        __syncthreads();  // all are listed
        const bool serves = searchers.few + searchers.many > LISTED - blockDim.x || shared.filled > LOCAL_QUEUE / 2;
        __syncthreads();  // everybody has read how many
        if (serves) serve_searchers(back, searchers, none, visit, merge, found, changed, shared);
    }
    serve_searchers(back, searchers, none, visit, merge, found, changed, shared);
    flush(changed, shared);
}

// The heavy vertices that look_at_neighbors() has listed, behind the barrier of the grid: each tile of BUCKET_LANES threads walks a run of
// their buckets, as long as the others', and has a `mine` for each vertex of its run. For each of these found(v, merged) is called in one
// thread, so by several tiles for one v: what they find is merged by atomics. done(v, mine): whether v needs no more, asked before each SLICE.
// Runs are numbered across the blocks first, so that a few are spread over all of them. `packed` is the final *heavy.total. All threads of
// the grid call it; it synchronises the block, and ends with everything queued.
template <class T, class Visit, class Merge, class Found, class Done>
__device__ __forceinline__ void look_at_heavy(const View& back, unsigned long long packed, const HeavyList& heavy,
                                              const T& none, Visit&& visit, Merge&& merge, Found&& found, Done&& done,
                                              const Changed& changed, Shared& shared) {
    constexpr long long TEAMS = 32 / BUCKET_LANES;
    const uint32_t lane = threadIdx.x % BUCKET_LANES;
    const long long worker =
        ((long long)(threadIdx.x / 32) * gridDim.x + blockIdx.x) * TEAMS + threadIdx.x % 32 / BUCKET_LANES;
    const auto look = [&](uint32_t, uint32_t v, uint32_t first, uint32_t end) {
        T mine = none;
        for (uint32_t k = first; k < end; ++k) {
            if ((k - first) % SLICE == 0 && __any_sync(tile_mask<BUCKET_LANES>(), done(v, mine))) break;
            for_bucket<BUCKET_LANES>(back, v, k, lane, [&](uint32_t x, long long slot) { visit(v, x, slot, mine); });
        }
        mine = merged_of_tile<BUCKET_LANES>(mine, merge);
        if (lane == 0) found(v, mine);
    };
    const auto parts = [&](uint32_t v) { return buckets(back, v); };
    for_heavy_runs(packed, heavy, worker, thread_count() / BUCKET_LANES, 1, parts, look);
    flush(changed, shared);
}
