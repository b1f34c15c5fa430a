// A step of a search in which the vertices that are not reached yet look for a parent in the frontier, instead of the frontier
// offering itself to all its neighbours (Beamer, Asanovic and Patterson 2012). For the dependence forest where all offers of a step are
// equal but for the parent, computed from scratch.
#pragma once
#include "order.cuh"

#define TINY \
    8  // up to this many in-neighbours a thread looks at, up to SMALL a tile, up to WIDE a warp, above it a block

struct Lookers {
    uint32_t list[3][PROPAGATE_BLOCK];
    uint32_t length[3];
    uint32_t least[PROPAGATE_BLOCK / 32];
};

// The smallest in-neighbour of v that `epoch` stamps, in all LANES threads of the tile that calls it; EMPTY if there is none. What
// is not smaller than one found already is not looked up.
template <int LANES>
__device__ __forceinline__ uint32_t stamped_neighbor(const View& back, const uint32_t* stamp, uint32_t epoch,
                                                     uint32_t v, int lane) {
    uint32_t best = EMPTY;
    for_neighbors<LANES>(back, v, lane, [&](uint32_t x, long long) {
        if (x < best && stamp[x] == epoch) best = x;
    });
#pragma unroll
    for (int step = LANES / 2; step > 0; step >>= 1) {
        best = min(best, __shfl_xor_sync(tile_mask<LANES>(), best, step, LANES));
    }
    return best;
}

// One thread: v has found its parent.
__device__ __forceinline__ void take_parent(uint32_t v, uint32_t parent, value_t* tree, const Changed& changed,
                                            Shared& shared FORMALS) {
    value_t value;
    if (parent == EMPTY || !offer(tree, parent, v, weight_t(1), changed.violated, value ARGS)) return;
    words::store(tree + v, value);
    queue_vertex(v, changed, shared);
}

// The step: `epoch` stamps the frontier. All threads of the grid call it; it ends with everything queued.
__device__ __forceinline__ void pull_unreached(const View& back, const Steps& steps, uint32_t epoch, value_t* tree,
                                               const Changed& changed, Shared& shared FORMALS) {
    __shared__ Lookers lookers;
    const uint32_t me = threadIdx.x, lane = me % 32, warp = me / 32, warps = blockDim.x / 32;
    for (unsigned long long base = (unsigned long long)blockIdx.x * blockDim.x; base < steps.num_vertices;
         base += (unsigned long long)gridDim.x * blockDim.x) {  // the same for the whole block
        if (me < 3) lookers.length[me] = 0;
        __syncthreads();
        const uint32_t v = uint32_t(base + me);
        const bool looks = base + me < steps.num_vertices && word_parent(stored(tree + v)) == EMPTY;
        const uint32_t neighbors = looks ? degree(back, v) : 0;
        if (neighbors > TINY) {
            const int kind = neighbors <= SMALL ? 0 : neighbors <= WIDE ? 1 : 2;
            lookers.list[kind][atomicAdd(&lookers.length[kind], 1u)] = v;
        } else if (neighbors > 0) {
            take_parent(v, stamped_neighbor<1>(back, steps.stamp, epoch, v, 0), tree, changed, shared ARGS);
        }
        __syncthreads();
        for (uint32_t i = me / TILE; i < lookers.length[0]; i += blockDim.x / TILE) {
            const uint32_t u = lookers.list[0][i];
            const uint32_t parent = stamped_neighbor<TILE>(back, steps.stamp, epoch, u, me % TILE);
            if (me % TILE == 0) take_parent(u, parent, tree, changed, shared ARGS);
        }
        for (uint32_t i = warp; i < lookers.length[1]; i += warps) {
            const uint32_t u = lookers.list[1][i];
            const uint32_t parent = stamped_neighbor<32>(back, steps.stamp, epoch, u, lane);
            if (lane == 0) take_parent(u, parent, tree, changed, shared ARGS);
        }
        for (uint32_t i = 0; i < lookers.length[2]; ++i) {  // the same for the whole block
            const uint32_t u = lookers.list[2][i], parts = buckets(back, u);
            uint32_t best = EMPTY;
            for (uint32_t part = warp; part < parts; part += warps) {
                for_bucket<32>(back, u, part, lane, [&](uint32_t x, long long) {
                    if (x < best && steps.stamp[x] == epoch) best = x;
                });
            }
            __syncwarp();
#pragma unroll
            for (int step = 16; step > 0; step >>= 1) best = min(best, __shfl_xor_sync(ALL_LANES, best, step));
            if (lane == 0) lookers.least[warp] = best;
            __syncthreads();
            if (me == 0) {
                for (uint32_t other = 1; other < warps; ++other) best = min(best, lookers.least[other]);
                take_parent(u, best, tree, changed, shared ARGS);
            }
            __syncthreads();  // `least` is free again
        }
        const bool full = me == 0 && shared.filled > GATHERED / 2;
        if (__syncthreads_or(full)) flush(changed, shared);  // also keeps the lists until everybody has read them
    }
    flush(changed, shared);
}
