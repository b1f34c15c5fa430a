// Walking chains of blocks, by the kernels of blocked and by its cursor. G is Graph or View: both have head, degree, link,
// dst, shift and blocks.
//
// Blocks of a chain that follow each other in memory are read as one range: a chain built or repacked at once is nearly
// as cheap as a row of CSR. The threads that share a vertex look at the links of as many blocks as they are at a time.
#pragma once
#include "suricate.cuh"

// A bit for each thread of a tile of LANES.
template <int LANES>
__device__ __forceinline__ constexpr uint32_t tile_bits() {
    return LANES == 32 ? 0xFFFFFFFFu : (1u << (LANES & 31)) - 1u;
}

// Number of blocks that hold `degree` edges.
template <class G>
__device__ __forceinline__ uint32_t blocks_of(const G& g, uint32_t degree) {
    return degree ? ((degree - 1) >> g.shift) + 1 : 0;
}

// Number of blocks from `block` on that follow each other in memory and in the chain, of `left` that there are, at most
// LANES; `next` is where the chain goes on, if it does. By LANES threads together.
template <int LANES, class G>
__device__ __forceinline__ uint32_t run_of_blocks(const G& g, uint32_t block, uint32_t left, int lane, uint32_t& next) {
    if (left == 1) return 1;
    if constexpr (LANES == 1) {
        next = g.link[block];
        return 1;
    } else {
        const uint32_t here = block + lane;
        const bool exists = uint32_t(lane) < left && here < g.blocks;
        const uint32_t link = exists ? g.link[here] : EMPTY;
        const uint32_t breaks =
            __ballot_sync(tile_mask<LANES>(), link != here + 1) >> (threadIdx.x & 31 & ~(LANES - 1));
        const int last = min(__ffs(breaks & tile_bits<LANES>()) - 1, LANES - 1) & (LANES - 1);
        next = __shfl_sync(tile_mask<LANES>(), link, last, LANES);
        return last + 1;
    }
}
