// What the kernels of intersect share: pairs, the value of a common neighbour, sums per block, equal runs of listed parts.
// Defined before it is included: what operators.cuh wants with REDUCE SUM, POSITION (1 if the function takes the position of the
// pair), RETURNS (0 if it has effects only), OF_TWO (1 if it takes LEFT_WEIGHT(g, s) and RIGHT_WEIGHT(h, t), the weights or rows of the
// edges to x in slots s and t).
#pragma once
#include "operators.cuh"

#if OF_TWO
#define SLOT_FORMALS , const LeftView &g, const RightView &h, long long s, long long t
#define SLOTS(s, t) , g, h, s, t
#define ENDS , LEFT_WEIGHT(g, s), RIGHT_WEIGHT(h, t)
#else
#define SLOT_FORMALS
#define SLOTS(s, t)
#define ENDS
#endif

__device__ __forceinline__ out_t value_of(long long i, uint32_t u, uint32_t v, uint32_t x SLOT_FORMALS FORMALS) {
#if RETURNS && POSITION
    return out_t(edge_fn(i, u, v, x ENDS ARGS));
#elif RETURNS
    return out_t(edge_fn(u, v, x ENDS ARGS));
#elif POSITION
    edge_fn(i, u, v, x ENDS ARGS);
    return out_t(0);
#else
    edge_fn(u, v, x ENDS ARGS);
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
