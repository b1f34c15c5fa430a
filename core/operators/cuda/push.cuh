// Pushing along out-edges: what advance and propagate share. Vertices are served by degree: a tile of TILE lanes up to SMALL
// neighbours, a warp above it, and heavy ones by all tiles of the grid, in a second phase after the first is complete.
#pragma once
#include "heavy.cuh"

#define TILE 4
#define SMALL 64
#define WIDE 1024  // a vertex with more neighbours is heavy
#define MAX_TILES 256  // tiles of a block: blockDim.x / TILE is at most this
#define GATHERED 4096  // changed vertices gathered in shared memory before they are queued

// Where changed vertices go: queue uint32[num_vertices], *count of them so far. `stamp[v] == step` if v is queued already.
struct Changed {
    uint32_t* stamp;
    uint32_t step;
    uint32_t* queue;
    uint32_t* count;
};

struct Shared {
    uint32_t gathered[GATHERED];
    uint32_t wide[MAX_TILES];
    uint32_t filled;  // entries of `gathered`; beyond GATHERED they went to the queue
    uint32_t place;  // where they go in the queue
    uint32_t widths[2];  // entries of `wide`, by parity of the round
    uint32_t has_heavy;  // a heavy vertex was listed
};

// Called by one thread before anything else; the block synchronises afterwards.
__device__ __forceinline__ void reset(Shared& shared) {
    shared.filled = shared.widths[0] = shared.widths[1] = shared.has_heavy = 0;
}

// Append to the queue directly, with one atomic for all threads of the warp that happen to be here together.
__device__ __forceinline__ void append(const Changed& changed, uint32_t v) {
    const uint32_t here = __activemask(), leader = __ffs(here) - 1;
    uint32_t place = 0;
    if ((threadIdx.x & 31) == leader) place = atomicAdd(changed.count, __popc(here));
    place = __shfl_sync(here, place, leader);
    changed.queue[place + __popc(here & lanes_below())] = v;
}

// Reduce `value` into out[v]; queue v if that changed it and it is not queued yet. The plain read may be older than other
// threads' updates, so it can only let through what the atomic then refuses: values move one way, and within a launch a value
// that cannot win against an old one cannot win against a newer one. (A sum has nothing to skip but zeros.)
__device__ __forceinline__ void push_value(out_t* out, uint32_t v, out_t value, const Changed& changed,
                                           Shared& shared) {
    if (REDUCE == SUM ? value == out_t(0) : !wins(out[v], value)) return;
    const out_t old = atomic_combine(out + v, value);
    if (REDUCE == SUM ? combine(old, value) == old : !wins(old, value)) return;
    if (atomicExch(changed.stamp + v, changed.step) == changed.step) return;
    const uint32_t place = atomicAdd(&shared.filled, 1u);
    if (place < GATHERED) shared.gathered[place] = v;
    else append(changed, v);
}

// Push along all out-edges of u; the LANES threads of a tile call it together.
template <int LANES>
__device__ __forceinline__ void push_neighbors(const View& g, uint32_t u, int lane, out_t* out, const Changed& changed,
                                               Shared& shared FORMALS) {
    for_neighbors<LANES>(g, u, lane, [&](uint32_t v, long long slot) {
        push_value(out, v, out_t(edge_fn(u, v, WEIGHT(g, slot) ARGS)), changed, shared);
    });
}

// Move what was gathered to the queue, with one atomic. All threads of the block call it; it ends with a barrier.
__device__ __forceinline__ void flush(const Changed& changed, Shared& shared) {
    __syncthreads();  // everything is gathered
    const uint32_t entries = min(shared.filled, (uint32_t)GATHERED);
    __syncthreads();  // everybody knows how much
    if (threadIdx.x == 0) {
        shared.filled = shared.widths[0] = shared.widths[1] = 0;
        shared.place = entries ? atomicAdd(changed.count, entries) : 0;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < entries; i += blockDim.x) changed.queue[shared.place + i] = shared.gathered[i];
    __syncthreads();  // `gathered` is free again, and the block sees the queue
}

// First phase: push from frontier[0 .. count) (null: the vertices below count) except heavy ones, of more than `wide`
// neighbours, which are listed. The blocks `block` of `blocks` take turns in rounds of as many vertices as they have tiles,
// fewer if there is little to do. All threads of the block call it; it synchronises the block, and ends with everything queued.
__device__ __forceinline__ void push_frontier(const View& g, uint32_t num_vertices, const uint32_t* frontier,
                                              uint32_t count, uint32_t wide, uint32_t block, uint32_t blocks,
                                              out_t* out, const HeavyList& heavy, const Changed& changed,
                                              Shared& shared FORMALS) {
    constexpr uint32_t PER_WARP = 32 / TILE;
    const uint32_t tile = threadIdx.x / TILE, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const unsigned long long fair = ((unsigned long long)count + blocks - 1) / blocks;
    const uint32_t round = min((unsigned long long)(blockDim.x / TILE), (fair + PER_WARP - 1) / PER_WARP * PER_WARP);
    uint32_t parity = 0;
    for (unsigned long long base = (unsigned long long)block * round; base < count;
         base += (unsigned long long)blocks * round, parity ^= 1) {
        if (tile < round && base + tile < count) {
            const uint32_t u = frontier ? frontier[base + tile] : uint32_t(base + tile);
            const uint32_t neighbors = u < num_vertices ? degree(g, u) : 0;
            if (neighbors <= SMALL) {
                if (neighbors > 0) push_neighbors<TILE>(g, u, threadIdx.x % TILE, out, changed, shared ARGS);
            } else if (threadIdx.x % TILE == 0) {
                if (neighbors <= wide) {
                    shared.wide[atomicAdd(&shared.widths[parity], 1u)] = u;
                } else {
                    add_heavy(heavy, u, buckets(g, u));  // it fits, as a frontier has no duplicates
                    shared.has_heavy = 1;
                }
            }
        }
        __syncthreads();  // this round's wide vertices are listed
        const uint32_t wides = shared.widths[parity];
        if (threadIdx.x == 0) shared.widths[parity ^ 1] = 0;  // the list of the round before is done with
        for (uint32_t i = warp; i < wides; i += warps) {
            push_neighbors<32>(g, shared.wide[i], threadIdx.x % 32, out, changed, shared ARGS);
        }
        const bool full = threadIdx.x == 0 && shared.filled > GATHERED / 2;
        if (__syncthreads_or(full)) flush(changed, shared);  // also keeps `wide` until everybody has read it
    }
    flush(changed, shared);
}

// Second phase: the buckets of all heavy vertices, in equal runs, by all tiles of the grid. `packed` is the final *heavy.total, not 0. All
// threads of the grid call it; it synchronises the block, and ends with everything queued.
__device__ __forceinline__ void push_heavy(const View& g, unsigned long long packed, out_t* out, const HeavyList& heavy,
                                           const Changed& changed, Shared& shared FORMALS) {
    for_heavy_runs(g, packed, heavy, nullptr, [&](uint32_t, uint32_t u, uint32_t first, uint32_t end) {
        for (uint32_t k = first; k < end; ++k) {
            for_bucket<BUCKET_LANES>(g, u, k, threadIdx.x % BUCKET_LANES, [&](uint32_t v, long long slot) {
                push_value(out, v, out_t(edge_fn(u, v, WEIGHT(g, slot) ARGS)), changed, shared);
            });
        }
    });
    flush(changed, shared);
}
