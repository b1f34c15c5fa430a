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
constexpr int TILE_ITEMS = SORT_TILE / SORT_BLOCK;

__device__ __forceinline__ uint64_t packed_word(uint32_t u, uint32_t v, uint32_t i, uint32_t bits, uint32_t low) {
    return (((uint64_t(u) << bits) | v) << low) | i;
}

__device__ __forceinline__ void unpack_word(uint64_t word, uint32_t bits, uint32_t low, uint64_t& key, uint32_t& i) {
    const uint64_t both = word >> low;
    key = ((both >> bits) << 32) | (both & ((1ull << bits) - 1));
    i = uint32_t(word & ((1ull << low) - 1));
}

// The smaller or the larger one of a word and that of another lane of the warp.
__device__ __forceinline__ void exchange(uint64_t& word, uint32_t lanes, bool keeps_smaller) {
    const uint64_t other = __shfl_xor_sync(0xFFFFFFFFu, word, lanes);
    if ((other < word) == keeps_smaller) word = other;
}

// Warp: sort 64 words in registers, of which a lane has those at ``lane`` and at ``lane + 32``, by a bitonic network whose pairs all
// have the smaller word first.
__device__ __forceinline__ void sort_in_warp(uint64_t& low, uint64_t& high) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (uint32_t run = 2; run <= 64; run *= 2) {
        if (run < 64) {
            exchange(low, run - 1, !(lane & run / 2));
            exchange(high, run - 1, !(lane & run / 2));
        } else {
            const uint64_t last = __shfl_xor_sync(0xFFFFFFFFu, high, 31), first = __shfl_xor_sync(0xFFFFFFFFu, low, 31);
            low = min(low, last);
            high = max(high, first);
        }
#pragma unroll
        for (uint32_t step = run / 4; step > 0; step /= 2) {
            exchange(low, step, !(lane & step));
            exchange(high, step, !(lane & step));
        }
    }
}

// Block: merge neighbouring runs of ``run`` words, ITEMS words per thread, each of which counts those below it in the other run.
template <int ITEMS>
__device__ __forceinline__ void merge_runs(uint64_t* words, uint32_t size, uint32_t run) {
    uint64_t word[ITEMS];
    uint32_t place[ITEMS], other[ITEMS], length[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const uint32_t i = threadIdx.x + k * SORT_BLOCK;
        word[k] = i < size ? words[i] : 0;
        other[k] = (i & ~(run - 1)) ^ run;
        length[k] = i < size && other[k] < size ? min(run, size - other[k]) : 0;
        place[k] = 0;
    }
    for (uint32_t step = run / 2; step > 0; step /= 2)
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            if (place[k] + step <= length[k] && words[other[k] + place[k] + step - 1] < word[k]) place[k] += step;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        place[k] += place[k] < length[k] && words[other[k] + place[k]] < word[k];
        place[k] += (threadIdx.x + k * SORT_BLOCK) & ~run;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        if (threadIdx.x + k * SORT_BLOCK < size) words[place[k]] = word[k];
    __syncthreads();
}

// Block of SORT_BLOCK threads: sort up to ITEMS words per thread, all of them different, in shared memory: runs of 64 by warps, which are
// merged then. Begins and ends with barriers of the block.
template <int ITEMS>
__device__ __forceinline__ void sort_shared(uint64_t* words, uint32_t size) {
    __syncthreads();
    for (uint32_t base = threadIdx.x / 32 * 64; base < size; base += 2 * SORT_BLOCK) {
        const uint32_t i = base + threadIdx.x % 32;
        uint64_t low = i < size ? words[i] : ~0ull, high = i + 32 < size ? words[i + 32] : ~0ull;
        sort_in_warp(low, high);
        if (i < size) words[i] = low;
        if (i + 32 < size) words[i + 32] = high;
    }
    __syncthreads();
    for (uint32_t run = 64; run < size; run *= 2) merge_runs<ITEMS>(words, size, run);
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
