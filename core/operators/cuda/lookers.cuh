// Vertices that look at all their neighbours: a thread serves a vertex of few, a tile, a warp or a block one of more.
#pragma once
#include "order.cuh"

#define TINY 8  // up to this many neighbours a thread looks at, up to SMALL a tile, up to WIDE a warp, above it a block

#define PULL_FROM \
    64  // a frontier of more than 1 / 64 of the vertices is pulled from where one neighbour in it will do,
#define PULL_ALL_FROM 16  // one of more than 1 / 16 where all of them count

// T is what they look for.
template <class T> struct Lookers {
    uint32_t list[3][PROPAGATE_BLOCK];
    uint32_t length[3];
    T part[PROPAGATE_BLOCK / 32];  // of each warp
};

// What the LANES threads of a tile have, merged, in all of them.
template <int LANES, class T, class Merge> __device__ __forceinline__ T merged_of_tile(T mine, Merge&& merge) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step >>= 1) mine = merge(mine, exchanged<LANES>(mine, step));
    return mine;
}

// For each vertex v below num_vertices for which looks(v): visit(v, x, slot, mine) for all its neighbours x in `back`, by several threads, each
// with a `mine` that is `none` at first; then found(v, merged) in one thread, with theirs merged by merge(a, b). All threads of the grid
// call it; it synchronises the block, and ends with everything queued.
template <class T, class Looks, class Visit, class Merge, class Found>
__device__ __forceinline__ void look_at_neighbors(const View& back, uint32_t num_vertices, Lookers<T>& lookers,
                                                  const T& none, Looks&& looks, Visit&& visit, Merge&& merge,
                                                  Found&& found, const Changed& changed, Shared& shared) {
    const uint32_t me = threadIdx.x, lane = me % 32, warp = me / 32, warps = blockDim.x / 32;
    for (unsigned long long base = (unsigned long long)blockIdx.x * blockDim.x; base < num_vertices;
         base += (unsigned long long)gridDim.x * blockDim.x) {  // the same for the whole block
        if (me < 3) lookers.length[me] = 0;
        __syncthreads();
        const uint32_t v = uint32_t(base + me);
        const uint32_t neighbors = base + me < num_vertices && looks(v) ? degree(back, v) : 0;
        if (neighbors > TINY) {
            const int kind = neighbors <= SMALL ? 0 : neighbors <= WIDE ? 1 : 2;
            lookers.list[kind][atomicAdd(&lookers.length[kind], 1u)] = v;
        } else if (neighbors > 0) {
            T mine = none;
            for_neighbors<1>(back, v, 0, [&](uint32_t x, long long slot) { visit(v, x, slot, mine); });
            found(v, mine);
        }
        __syncthreads();
        for (uint32_t i = me / TILE; i < lookers.length[0]; i += blockDim.x / TILE) {
            const uint32_t u = lookers.list[0][i];
            T mine = none;
            for_neighbors<TILE>(back, u, me % TILE, [&](uint32_t x, long long slot) { visit(u, x, slot, mine); });
            mine = merged_of_tile<TILE>(mine, merge);
            if (me % TILE == 0) found(u, mine);
        }
        for (uint32_t i = warp; i < lookers.length[1]; i += warps) {
            const uint32_t u = lookers.list[1][i];
            T mine = none;
            for_neighbors<32>(back, u, lane, [&](uint32_t x, long long slot) { visit(u, x, slot, mine); });
            mine = merged_of_tile<32>(mine, merge);
            if (lane == 0) found(u, mine);
        }
        for (uint32_t i = 0; i < lookers.length[2]; ++i) {  // the same for the whole block
            const uint32_t u = lookers.list[2][i], parts = buckets(back, u);
            T mine = none;
            for (uint32_t part = warp; part < parts; part += warps) {
                for_bucket<32>(back, u, part, lane, [&](uint32_t x, long long slot) { visit(u, x, slot, mine); });
            }
            __syncwarp();
            mine = merged_of_tile<32>(mine, merge);
            if (lane == 0) lookers.part[warp] = mine;
            __syncthreads();
            if (me == 0) {
                for (uint32_t other = 1; other < warps; ++other) mine = merge(mine, lookers.part[other]);
                found(u, mine);
            }
            __syncthreads();  // `part` is free again
        }
        const bool full = me == 0 && shared.filled > GATHERED / 2;
        if (__syncthreads_or(full)) flush(changed, shared);  // also keeps the lists until everybody has read them
    }
    flush(changed, shared);
}
