// intersect: one sum per pair of vertices over their common out-neighbours.
#include "operators.cuh"

#define SMALL 256  // up to this many neighbours a tile walks them, above it a warp

// The sum over the common neighbours of u and v, in each of the LANES threads of the calling tile: they walk the smaller
// adjacency, `few`, and look up each member in the other one.
template <int LANES>
__device__ __forceinline__ out_t common(const View& g, uint32_t u, uint32_t v, uint32_t few, uint32_t many,
                                        int lane PARAMS) {
    out_t total = identity();
    for_neighbors<LANES>(g, few, lane, [&](uint32_t x, long long) {
        if (find(g, many, x) >= 0) total = combine(total, out_t(edge_fn(u, v, x ARGS)));
    });
    return tile_reduce<LANES>(total);
}

// left, right: uint32[count]; out: out_t[count], written once, without atomics. A tile per pair; pairs that a tile is too
// narrow for are listed in shared memory and served by the warps of the block. Ids out of range have no neighbours.
extern "C" __global__ void __launch_bounds__(BLOCK) intersect_pairs(View g, uint32_t num_vertices, const uint32_t* left,
                                                                    const uint32_t* right, long long count,
                                                                    out_t* out PARAMS) {
    constexpr int TILES = BLOCK / PAIR_TILE, WARPS = BLOCK / 32;
    __shared__ uint32_t wide[TILES];
    __shared__ uint32_t wides;
    const long long base = (long long)blockIdx.x * TILES, i = base + threadIdx.x / PAIR_TILE;
    if (threadIdx.x == 0) wides = 0;
    __syncthreads();
    if (i < count) {
        const uint32_t u = left[i], v = right[i];
        const uint32_t du = u < num_vertices ? degree(g, u) : 0, dv = v < num_vertices ? degree(g, v) : 0;
        const uint32_t smaller = min(du, dv);
        if (smaller > SMALL) {
            if (threadIdx.x % PAIR_TILE == 0) wide[atomicAdd(&wides, 1u)] = threadIdx.x / PAIR_TILE;
        } else {
            out_t total = identity();
            if (smaller > 0) {
                total = common<PAIR_TILE>(g, u, v, du <= dv ? u : v, du <= dv ? v : u, threadIdx.x % PAIR_TILE ARGS);
            }
            if (threadIdx.x % PAIR_TILE == 0) out[i] = total;
        }
    }
    __syncthreads();
    for (uint32_t j = threadIdx.x / 32; j < wides; j += WARPS) {
        const long long at = base + wide[j];
        const uint32_t u = left[at], v = right[at];
        const bool first = degree(g, u) <= degree(g, v);
        const out_t total = common<32>(g, u, v, first ? u : v, first ? v : u, threadIdx.x % 32 ARGS);
        if (threadIdx.x % 32 == 0) out[at] = total;
    }
}
