// What the kernels of intersect share: pairs, the value of a common neighbour, sums per block, equal runs of listed parts.
// Defined before it is included: what operators.cuh wants with REDUCE SUM, POSITION (1 if the function takes the position of the
// pair), RETURNS (0 if it has effects only).
#pragma once
#include "operators.cuh"

__device__ __forceinline__ out_t value_of(long long i, uint32_t u, uint32_t v, uint32_t x FORMALS) {
#if RETURNS && POSITION
    return out_t(edge_fn(i, u, v, x ARGS));
#elif RETURNS
    return out_t(edge_fn(u, v, x ARGS));
#elif POSITION
    edge_fn(i, u, v, x ARGS);
    return out_t(0);
#else
    edge_fn(u, v, x ARGS);
    return out_t(0);
#endif
}

// Add the sum of `mine` over the block to *out with one atomic; all threads of the block call it.
__device__ __forceinline__ void add_block_sum(out_t* out, out_t mine) {
    __shared__ out_t part[BLOCK / 32];
    mine = tile_reduce<32>(mine);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = tile_reduce<32>(threadIdx.x < BLOCK / 32 ? part[threadIdx.x] : out_t(0));
        if (threadIdx.x == 0 && mine != out_t(0)) atomic_sum(out, mine);
    }
}
