// intersect with `oriented`: every triangle once, over rows that orient.cu made. The row of a vertex u becomes a set in shared memory,
// and the rows of its members are streamed past it, 16 bytes at a time: where x of the row of v is in the set, (u, v, x) is a triangle.
// CORNERS is 0: the sum of all values goes to out[0]; 1: their number to each corner's entry of out, counted in shared memory first;
// 2: their values to each corner's entry, by global atomics. `out` is 0 before. Two launches.
#include "oriented.cuh"

#define SMALL 128  // up to this length a warp serves a row, above it a block
#define SMALL_BUCKETS 128
#define LARGE 2048  // ids of a row that are put into the set of a block at a time
#define LARGE_BUCKETS 1024

// rows: uint2[num_vertices], ids: see orient.cu. A thread per tiny row, a warp per other row up to SMALL, in any order; longer ones
// are listed: `listed_large` counts them, 0 before.
extern "C" __global__ void __launch_bounds__(BLOCK) sum_rows(const uint2* rows, const uint32_t* ids,
                                                             uint32_t num_vertices, uint32_t* large,
                                                             uint32_t* listed_large, out_t* out PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ __align__(16) uint32_t slots[WARPS][4 * SMALL_BUCKETS];
    __shared__ uint32_t found[WARPS][COUNTERS(4 * SMALL_BUCKETS)];
    __shared__ uint32_t middle[WARPS][32];
    __shared__ uint32_t vertex[BLOCK];
    __shared__ uint32_t listed, next;
    LOCALS
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    middle[warp][lane] = 0;
    out_t sum = 0;
    for (long long base = (long long)blockIdx.x * BLOCK; base < num_vertices; base += (long long)gridDim.x * BLOCK) {
        if (threadIdx.x == 0) listed = next = 0;
        __syncthreads();
        const uint32_t own = uint32_t(base + threadIdx.x);
        const uint2 at = base + threadIdx.x < num_vertices ? rows[own] : make_uint2(0, 0);
        if (at.y > SMALL) {
            large[atomicAdd(listed_large, 1u)] = own;
        } else if (at.y > 4 || (at.y > 1 && !tiny_row(rows, ids, {own, at.x, at.y}, sum, out ARGS))) {
            vertex[atomicAdd(&listed, 1u)] = own;
        }
        __syncthreads();
        while (true) {
            uint32_t j = 0;
            if (lane == 0) j = atomicAdd(&next, 1u);
            j = __shfl_sync(ALL_LANES, j, 0);
            if (j >= listed) break;
            const uint32_t u = vertex[j];
            const Row row = {u, rows[u].x, rows[u].y};
            const IdSet set = set_for(slots[warp], row.length, SMALL_BUCKETS);
            clear_set(set, lane, 32);
#if CORNERS == 1
            for (uint32_t k = lane; k < 4 * (set.mask + 1); k += 32) found[warp][k] = 0;
#endif
            __syncwarp();
            for (uint32_t k = lane; k < row.length; k += 32) insert_id(set, ids[4ull * row.begin + k]);
            __syncwarp();
            uint32_t corner = 0;
            for (uint32_t first = 0; first < row.length; first += 32) {
                stream_rows(rows, ids, row, first, row.length, set, found[warp], middle[warp], corner, sum, out ARGS);
            }
#if CORNERS == 1
            flush(set, found[warp], lane, 32, out);
            add_corner(out + u, corner);
            __syncwarp();
#endif
        }
        __syncthreads();
    }
#if CORNERS == 0
    add_block_sum(out, sum);
#endif
    FINISH
}

// The rows that sum_rows listed, a block per row, whichever is free next (`taken` counts, 0 before); of a row that is too long for a set, part after part.
extern "C" __global__ void __launch_bounds__(BLOCK) sum_large_rows(const uint2* rows, const uint32_t* ids,
                                                                   const uint32_t* large, const uint32_t* listed_large,
                                                                   uint32_t* taken, out_t* out PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ __align__(16) uint32_t slots[4 * LARGE_BUCKETS];
    __shared__ uint32_t found[COUNTERS(4 * LARGE_BUCKETS)];
    __shared__ uint32_t middle[WARPS][32];
    __shared__ uint32_t current, next;
    LOCALS
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    middle[warp][lane] = 0;
    out_t sum = 0;
    const uint32_t count = *listed_large;
    while (true) {
        if (threadIdx.x == 0) current = atomicAdd(taken, 1u);
        __syncthreads();
        if (current >= count) break;
        const uint32_t u = large[current];
        const Row row = {u, rows[u].x, rows[u].y};
        uint32_t corner = 0;
        for (uint32_t part = 0; part < row.length; part += LARGE) {
            const uint32_t stop = min(row.length, part + LARGE);
            const IdSet set = set_for(slots, stop - part, LARGE_BUCKETS);
            clear_set(set, threadIdx.x, BLOCK);
#if CORNERS == 1
            for (uint32_t k = threadIdx.x; k < 4 * (set.mask + 1); k += BLOCK) found[k] = 0;
#endif
            if (threadIdx.x == 0) next = 0;
            __syncthreads();
            for (uint32_t k = part + threadIdx.x; k < stop; k += BLOCK) insert_id(set, ids[4ull * row.begin + k]);
            __syncthreads();
            while (true) {
                uint32_t first = 0;
                if (lane == 0) first = 32 * atomicAdd(&next, 1u);
                first = __shfl_sync(ALL_LANES, first, 0);
                if (first >= row.length) break;
                stream_rows(rows, ids, row, first, row.length, set, found, middle[warp], corner, sum, out ARGS);
            }
            __syncthreads();
#if CORNERS == 1
            flush(set, found, threadIdx.x, BLOCK, out);
            __syncthreads();
#endif
        }
#if CORNERS == 1
        add_corner(out + u, corner);
#endif
        __syncthreads();  // before `current` changes
    }
#if CORNERS == 0
    add_block_sum(out, sum);
#endif
    FINISH
}
