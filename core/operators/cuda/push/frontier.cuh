// Pushing from a frontier. Threads ask whether vertices push, a thread per vertex, and sort them by degree: a tile of TILE lanes serves a
// vertex of up to TILED neighbours, a warp one of more, and heavy ones are served by all tiles of the grid, in a second phase
// after the first is complete.
#pragma once
#include "listed.cuh"
#if HAS_WINDOW
#include "window.cuh"
#endif

// First phase: push from frontier[0 .. count) (null: the vertices below count) except heavy ones, of more than `wide`
// neighbours, which are listed, and those that admit(u), called by one thread, refuses. The blocks `block` of `blocks` take turns in
// rounds of as many vertices as they have threads, fewer if there is little to do. All threads of the block call it; it synchronises
// the block, and ends with everything queued.
template <bool SECOND, class Admit>
__device__ __forceinline__ void push_frontier(const View& g, uint32_t num_vertices, const uint32_t* frontier,
                                              uint32_t count, uint32_t wide, uint32_t block, uint32_t blocks,
                                              value_t* out, const HeavyList& heavy, const Changed& changed,
                                              Shared& shared, Admit&& admit FORMALS) {
    constexpr uint32_t PER_WARP = 32 / TILE, BUCKETS_PER_WARP = 32 / BUCKET_LANES;
    const uint32_t me = threadIdx.x, warp = me / 32, lane = me % 32, warps = blockDim.x / 32;
    const unsigned long long fair = ((unsigned long long)count + blocks - 1) / blocks;
    const unsigned long long rounds = (fair + blockDim.x - 1) / blockDim.x;  // of a block, equally large ones
    const uint32_t round = rounds ? ((fair + rounds - 1) / rounds + PER_WARP - 1) / PER_WARP * PER_WARP : 0;
    uint32_t parity = 0;
    for (unsigned long long base = (unsigned long long)block * round; base < count;
         base += (unsigned long long)blocks * round, parity ^= 1) {
        uint32_t u = EMPTY, neighbors = 0;
        if (me < round && base + me < count) {
            u = frontier ? frontier[base + me] : uint32_t(base + me);
            const uint32_t all = u < num_vertices ? degree(g, u) : 0;  // loaded while admit() loads
            if (u < num_vertices && admit(u)) neighbors = all;
        }
        if (add_heavy_of_warp(heavy, u, neighbors > wide ? buckets(g, u) : 0)) {
            shared.has_heavy = 1;
        } else if (neighbors > TILED) {
            shared.picked[blockDim.x - 1 - next_place(&shared.wides[parity])] = u;
        } else if (neighbors > 0) {
            shared.picked[next_place(&shared.narrows[parity])] = u;
        }
        __syncthreads();  // this round's vertices are listed
        const uint32_t narrows = shared.narrows[parity], wides = shared.wides[parity];
        if (me == 0) shared.narrows[parity ^ 1] = shared.wides[parity ^ 1] = 0;  // those of the round before
        for (uint32_t first = warp * PER_WARP; first < narrows; first += warps * PER_WARP) {
            const uint32_t i = first + lane / TILE;
            if (i < narrows) {
                list_neighbors<TILE, SECOND>(g, shared.picked[i], lane % TILE, out, changed, shared ARGS);
            }
            push_listed(g, out, changed, shared ARGS);
        }
        for (uint32_t i = warp; i < wides; i += warps) {
            const uint32_t u = shared.picked[blockDim.x - 1 - i], parts = buckets(g, u);
            for (uint32_t first = 0; first < parts; first += BUCKETS_PER_WARP) {
                const uint32_t k = first + lane / BUCKET_LANES;
                if (k < parts) list_bucket<SECOND>(g, u, k, out, changed, shared ARGS);
                push_listed(g, out, changed, shared ARGS);
            }
        }
        const bool full = me == 0 && shared.filled > LOCAL_QUEUE / 2;
        if (__syncthreads_or(full)) flush(changed, shared);  // also keeps `picked` until everybody has read it
    }
#if HAS_WINDOW
    if (changed.near_from != NONE_NEAR) push_near(g, out, changed, shared ARGS);
#endif
    flush(changed, shared);
}

#define FLUSHED 2  // number of buckets of each tile after which a block looks whether its queue is long

// Second phase: the buckets of all heavy vertices, in equal runs, by all tiles of the blocks `block` of `blocks`. `packed` is the final
// *heavy.total, not 0. All threads of these blocks call it; it synchronises the block, and ends with everything queued.
template <bool SECOND>
__device__ __forceinline__ void push_heavy(const View& g, unsigned long long packed, uint32_t block, uint32_t blocks,
                                           value_t* out, const HeavyList& heavy, const Changed& changed,
                                           Shared& shared FORMALS) {
    HeavyRun run = heavy_run(packed, heavy, block, blocks);
    for (long long k = 0; k < run.share; ++k) {
        if (run.item < run.stop) {
            const uint32_t entry = entry_of(run, heavy), u = heavy.entry[entry];
            list_bucket<SECOND>(g, u, uint32_t(run.item - heavy.base[entry]), out, changed, shared ARGS);
            ++run.item;
        }
        push_listed(g, out, changed, shared ARGS);
        if (k % FLUSHED == FLUSHED - 1) {
            const bool full = threadIdx.x == 0 && shared.filled > LOCAL_QUEUE / 2;
            if (__syncthreads_or(full)) flush(changed, shared);
        }
    }
    flush(changed, shared);
}

#define FEW_BUCKETS 4  // of each tile: block 0 alone serves them as well

// Block 0 behind a first phase that has listed heavy vertices: their buckets, unless they are many. Then shared.has_heavy stays.
__device__ __forceinline__ void push_heavy_alone(const View& g, value_t* out, const HeavyList& heavy,
                                                 const Changed& changed, Shared& shared FORMALS) {
    const unsigned long long packed = fresh(*heavy.total);
    if (buckets_in(packed, heavy) > FEW_BUCKETS * blockDim.x / BUCKET_LANES) return;
    push_heavy<false>(g, packed, 0, 1, out, heavy, changed, shared ARGS);
    if (threadIdx.x == 0) {
        *heavy.total = 0;
        shared.has_heavy = 0;
    }
    __syncthreads();
}
