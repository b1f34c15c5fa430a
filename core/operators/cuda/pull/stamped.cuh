// The active vertices of a round of converge as a list, made of their stamps. So threads serve active vertices only, in ascending order.
#pragma once
#include "operators.cuh"
#include "walk.cuh"

#define LISTED 16  // stamps that a thread looks at

// Which of the LISTED vertices from `first` on, a multiple of LISTED, have this stamp: a bit for each.
__device__ __forceinline__ uint32_t stamped(const uint32_t* stamp, uint32_t wanted, uint32_t first,
                                            uint32_t num_vertices) {
    uint32_t mask = 0;
    if (first + LISTED > num_vertices) {
        for (uint32_t k = 0; first + k < num_vertices; ++k) mask |= (stamp[first + k] == wanted) << k;
        return mask;
    }
    uint4 quad[LISTED / 4];
#pragma unroll
    for (int k = 0; k < LISTED / 4; ++k) quad[k] = ((const uint4*)(stamp + first))[k];
#pragma unroll
    for (int k = 0; k < LISTED / 4; ++k) {
        mask |= (quad[k].x == wanted) << 4 * k | (quad[k].y == wanted) << (4 * k + 1);
        mask |= (quad[k].z == wanted) << (4 * k + 2) | (quad[k].w == wanted) << (4 * k + 3);
    }
    return mask;
}

__device__ __forceinline__ uint32_t sum_up_to(uint32_t mine) {  // over the lanes of a warp, this one included
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t below = __shfl_up_sync(ALL_LANES, mine, step);
        if (threadIdx.x % 32 >= step) mine += below;
    }
    return mine;
}

// List the vertices with this stamp, ascending in parts: *count of them, which is 0 before. `sum` is shared, uint32[THREADS / 32]. All
// threads of the grid call it; it synchronises the block.
template <int THREADS>
__device__ __forceinline__ void list_stamped(const uint32_t* stamp, uint32_t wanted, uint32_t num_vertices,
                                             uint32_t* list, uint32_t* count, uint32_t* sum) {
    const uint32_t me = threadIdx.x, lane = me % 32, warp = me / 32;
    for (unsigned long long start = (unsigned long long)blockIdx.x * LISTED * THREADS; start < num_vertices;
         start += (unsigned long long)gridDim.x * LISTED * THREADS) {
        const unsigned long long first = start + LISTED * me;
        uint32_t mask = first < num_vertices ? stamped(stamp, wanted, uint32_t(first), num_vertices) : 0;
        const uint32_t mine = __popc(mask), up_to = sum_up_to(mine);
        if (lane == 31) sum[warp] = up_to;
        __syncthreads();
        if (warp == 0) {
            const uint32_t its = lane < THREADS / 32 ? sum[lane] : 0, before = sum_up_to(its);
            uint32_t base = lane == 31 && before ? atomicAdd(count, before) : 0;
            base = __shfl_sync(ALL_LANES, base, 31);
            if (lane < THREADS / 32) sum[lane] = base + before - its;
        }
        __syncthreads();
        uint32_t* place = list + sum[warp] + up_to - mine;
        for (; mask; mask &= mask - 1) *place++ = uint32_t(first) + __ffs(mask) - 1;
        __syncthreads();  // sum is free again
    }
}

// Whether these active vertices, ids[0 .. number) or all up to `number`, are at most `most`, and each has at most `limit` neighbours. All
// threads of a block call it; `most` is at most their number.
__device__ __forceinline__ bool is_little(WALK, uint32_t num_vertices, const uint32_t* ids, uint32_t number,
                                          uint32_t most, uint32_t limit) {
    if (number > most) return false;
    const uint32_t i = threadIdx.x, x = i >= number ? EMPTY : ids ? ids[i] : i;
    return !__syncthreads_or(x < num_vertices && degree_of(WALKED, x) > limit);
}
