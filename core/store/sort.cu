// Sorts a batch of validated edges in one cooperative launch; see sort.cuh, buckets.cuh and digits.cuh.
#include "suricate.cuh"
#include "buckets.cuh"
#include "digits.cuh"

// Grid of SORT_BLOCK threads: sort the edges into keys and order. One barrier of the grid if there are several tiles.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK) sort_tiles(const __grid_constant__ EdgeSorting s) {
    __shared__ uint64_t tile[SORT_TILE];
    const uint32_t size = s.size, tiles = (size + SORT_TILE - 1) / SORT_TILE;
    uint32_t expected = s.expected;
    for (uint32_t at = blockIdx.x; at < tiles; at += gridDim.x) {
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK) {
            const uint32_t k = at * SORT_TILE + i;
            tile[i] = k < size ? packed_word(s.src[k], s.dst[k], k, s.bits, s.low) : ~0ull;
        }
        sort_shared<TILE_ITEMS>(tile, min(uint32_t(SORT_TILE), size - at * SORT_TILE));
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK) {
            if (tiles > 1) s.words[at * SORT_TILE + i] = tile[i];
            else if (i < size) unpack_word(tile[i], s.bits, s.low, s.keys[i], s.order[i]);
        }
        __syncthreads();
    }
    if (gridDim.x > 1) grid_barrier(s.arrived, expected);
    if (tiles > 1) place_words(s.words, size, Unpack{s});
}

// Grid of SORT_BLOCK threads: sort the edges into keys and order. Barriers of the grid.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, 2) sort_buckets(const __grid_constant__ EdgeSorting s) {
    uint32_t expected = s.expected;
    for (uint32_t k = thread_id(); k < s.size; k += thread_count()) s.words[k] = first_word(s, s.src[k], s.dst[k], k);
    sort_edge_words(s, s.src, s.dst, s.size, expected, [] {});
}

// The same by digits.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, 2) sort_digits(const __grid_constant__ EdgeSorting s) {
    uint32_t expected = s.expected;
    for (uint32_t k = thread_id(); k < s.size; k += thread_count()) s.words[k] = first_word(s, s.src[k], s.dst[k], k);
    clear_groups(s);
    sort_by_digits(s, s.size, expected, [] {}, Unpack{s});
}
