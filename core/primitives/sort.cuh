// Sorting a batch within one cooperative launch. Of some ten thousand edges blocks sort tiles in shared memory, and behind a
// grid-wide barrier every word counts those below it in the other tiles, which is its place. More edges are sorted by buckets; see
// buckets.cuh. Words are distinct.
//
// A word is an edge and its place in the batch: src, dst (``bits`` bits each) and place (``low`` bits), so that the order is
// stable and equal edges end up beside each other. Tiles are filled up
// with ones.
#pragma once
#include "grid_barrier.cuh"

static_assert(SORT_TILE == 2 * SORT_BLOCK, "a thread has a pair of words");

__device__ __forceinline__ uint64_t packed_word(uint32_t u, uint32_t v, uint32_t i, uint32_t bits, uint32_t low) {
    return (((uint64_t(u) << bits) | v) << low) | i;
}

__device__ __forceinline__ void unpack_word(uint64_t word, uint32_t bits, uint32_t low, uint64_t& key, uint32_t& i) {
    const uint64_t both = word >> low;
    key = ((both >> bits) << 32) | (both & ((1ull << bits) - 1));
    i = uint32_t(word & ((1ull << low) - 1));
}

__device__ __forceinline__ void order_pair(uint64_t* words, uint32_t i, uint32_t j, uint32_t size) {
    if (j >= size) return;  // what is missing counts as larger than all, and stays where it is
    const uint64_t a = words[i], b = words[j];
    if (a <= b) return;
    words[i] = b;
    words[j] = a;
}

// Block of SORT_BLOCK threads: sort words in shared (or global) memory by a bitonic network whose pairs all have the smaller word
// first. Begins and ends with barriers of the block. Runs of up to 64 words stay within a warp.
__device__ __forceinline__ void sort_words(uint64_t* words, uint32_t size) {
    __syncthreads();
    for (uint32_t run = 2; run < 2 * size; run *= 2) {
        const uint32_t pairs = (size + run - 1) / run * (run / 2);
        for (uint32_t p = threadIdx.x; p < pairs; p += SORT_BLOCK) {
            const uint32_t k = p & (run / 2 - 1), first = 2 * (p - k);
            order_pair(words, first + k, first + run - 1 - k, size);
        }
        for (uint32_t step = run / 4; step > 0; step /= 2) {
            if (4 * step > 64) __syncthreads();
            else __syncwarp();
            for (uint32_t p = threadIdx.x; p < pairs; p += SORT_BLOCK) {
                const uint32_t i = 2 * p - (p & (step - 1));
                order_pair(words, i, i + step, size);
            }
        }
        if (2 * run > 64) __syncthreads();
        else __syncwarp();
    }
    __syncthreads();
}

// Number of words of a sorted tile below ``word``, for AT_ONCE tiles that lie ``stride`` tiles apart.
template <int AT_ONCE>
__device__ __forceinline__ uint32_t count_below(const uint64_t* tile, uint32_t stride, uint64_t word) {
    uint32_t at[AT_ONCE] = {};
#pragma unroll
    for (uint32_t step = SORT_TILE / 2; step > 0; step /= 2)
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k)
            if (tile[k * stride * SORT_TILE + at[k] + step - 1] < word) at[k] += step;
    uint32_t total = 0;
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) total += at[k] + (tile[k * stride * SORT_TILE + at[k]] < word);
    return total;
}

// SORT_LANES threads: number of words below ``word`` in so many sorted tiles.
__device__ __forceinline__ uint32_t place_of(const uint64_t* words, uint32_t tiles, uint64_t word) {
    uint32_t place = 0, t = threadIdx.x % SORT_LANES;
    for (; t + 3 * SORT_LANES < tiles; t += 4 * SORT_LANES)
        place += count_below<4>(words + t * SORT_TILE, SORT_LANES, word);
    for (; t < tiles; t += SORT_LANES) place += count_below<1>(words + t * SORT_TILE, 0, word);
#pragma unroll
    for (int s = SORT_LANES / 2; s > 0; s /= 2) place += __shfl_xor_sync(tile_mask<SORT_LANES>(), place, s);
    return place;
}

// Grid, SORT_LANES threads per word, behind a barrier: call emit(place, word) for the words of the sorted tiles.
template <class Emit>
__device__ __forceinline__ void place_words(const uint64_t* words, uint32_t size, Emit&& emit) {
    const uint32_t tiles = (size + SORT_TILE - 1) / SORT_TILE;
    for (uint32_t i = thread_id() / SORT_LANES; i < tiles * SORT_TILE; i += thread_count() / SORT_LANES) {
        if (i / SORT_TILE + 1 == tiles && i % SORT_TILE >= size - (tiles - 1) * SORT_TILE) continue;  // filled up
        const uint64_t word = words[i];
        const uint32_t place = place_of(words, tiles, word);
        if (threadIdx.x % SORT_LANES == 0) emit(place, word);
    }
}
