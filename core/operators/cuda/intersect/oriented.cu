// intersect with `oriented`: every triangle u, v, x of ascending degree once, at v, over rows that orient.cu made. The higher
// neighbours of v become a hash table in shared memory, and the rows of its lower neighbours u are streamed past it, 16 bytes at a time:
// where x of the row of u is in it, (u, v, x) is a triangle. So the work is the sum of the squares of the lengths of rows, whatever
// order the function sees the corners in (BY_ID).
// CORNERS is 0: the sum of all values goes to out[0]; 1: their number to each corner's entry of out, counted in the table first;
// 2: their values to each corner's entry, by global atomics. `out` is 0 before. Two launches, with barriers of blocks, none across blocks.
// Atomics: on `taken` one per chunk of vertices, or part; on `out` with CORNERS 0 one per block, with 1 one per row streamed and per member of a
// table that has triangles (three per triangle of tiny rows), with 2 three per triangle.
#include "oriented.cuh"

#define SMALL_SLOTS (4 * SMALL)
#define LARGE_SLOTS (2 * LARGE)
#if CORNERS == 1
static_assert(MANY < 1 << 16 && PART < 1 << 16, "a counter has 16 bits");
#endif

// A thread per vertex of tiny rows, a warp per other vertex of up to SMALL higher and MANY lower neighbours, PART vertices at a time by
// whichever block is free next (`taken` counts, 0 before). What is more is listed in parts of PART lower neighbours: part: vertex
// and number; `parts` counts them, 0 before.
extern "C" __global__ void __launch_bounds__(BLOCK)
sum_rows(const uint2* row, const uint32_t* ids, const uint32_t* ends, const uint32_t* lower, uint32_t num_vertices,
         uint2* part, uint32_t* parts, uint32_t* taken, out_t* out PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ __align__(16) uint32_t keys[WARPS][SMALL_SLOTS];
    __shared__ __align__(16) uint32_t counters[WARPS][COUNTERS(SMALL_SLOTS)];
    __shared__ uint32_t middle[WARPS][32];
    __shared__ uint32_t vertex[BLOCK];
    __shared__ uint32_t listed, next, chunk;
    LOCALS
    const Rows rows = {row, ids, ends, lower};
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    middle[warp][lane] = 0;
    out_t sum = 0;
    while (true) {
        if (threadIdx.x == 0) {
            listed = next = 0;
            chunk = atomicAdd(taken, 1u);
        }
        __syncthreads();
        const long long base = (long long)chunk * BLOCK;
        if (base >= num_vertices) break;
        const uint32_t mine = uint32_t(base + threadIdx.x);
        const uint2 higher = base + threadIdx.x < num_vertices ? row[mine] : make_uint2(0, 0);
        const uint32_t below = higher.y > 0 ? lower[mine] : 0;
        if (below > 0 && (higher.y > SMALL || below > MANY)) {
            const uint32_t count = (below + PART - 1) / PART;
            uint2* list = part + atomicAdd(parts, count);
            for (uint32_t k = 0; k < count; ++k) list[k] = make_uint2(mine, k);
        } else if (below > 0 && !tiny_row(rows, mine, higher, below, sum, out ARGS)) {
            vertex[atomicAdd(&listed, 1u)] = mine;
        }
        __syncthreads();
        while (true) {
            uint32_t j = 0;
            if (lane == 0) j = atomicAdd(&next, 1u);
            j = __shfl_sync(ALL_LANES, j, 0);
            if (j >= listed) break;
            const uint32_t v = vertex[j], length = row[v].y, number = lower[v];
            const Table table = table_for(keys[warp], counters[warp], length, SMALL_SLOTS);
            table.clear(lane, 32);
            __syncwarp();
            for (uint32_t k = lane; k < length; k += 32) table.insert(rows.higher_of(row[v].x)[k]);
            __syncwarp();
            uint32_t own = 0;
            const uint32_t* members = rows.lower_of(v, number);
            for (uint32_t first = 0; first < number; first += 32) {
                stream_rows(rows, v, members + first, min(32u, number - first), table, middle[warp], own, sum,
                            out ARGS);
            }
#if CORNERS == 1
            flush(table, lane, 32, out);
            add_corner(out + v, own);
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

// The parts that sum_rows listed, a block per part, whichever is free next (`taken` counts, 0 before). Of more than LARGE higher
// neighbours as many at a time.
extern "C" __global__ void __launch_bounds__(BLOCK, 8)
sum_parts(const uint2* row, const uint32_t* ids, const uint32_t* ends, const uint32_t* lower, const uint2* part,
          const uint32_t* parts, uint32_t* taken, out_t* out PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ __align__(16) uint32_t keys[LARGE_SLOTS];
    __shared__ __align__(16) uint32_t counters[COUNTERS(LARGE_SLOTS)];
    __shared__ uint32_t middle[WARPS][32];
    __shared__ uint32_t current, next;
    LOCALS
    const Rows rows = {row, ids, ends, lower};
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    middle[warp][lane] = 0;
    out_t sum = 0;
    const uint32_t count = *parts;
    while (true) {
        if (threadIdx.x == 0) current = atomicAdd(taken, 1u);
        __syncthreads();
        if (current >= count) break;
        const uint32_t v = part[current].x, first = part[current].y * PART, length = row[v].y;
        const uint32_t number = min(uint32_t(PART), lower[v] - first);
        const uint32_t* members = rows.lower_of(v, lower[v]) + first;
        uint32_t own = 0;
        for (uint32_t begin = 0; begin < length; begin += LARGE) {
            const uint32_t stop = min(length, begin + LARGE);
            const Table table = table_for(keys, counters, stop - begin, LARGE_SLOTS);
            table.clear(threadIdx.x, BLOCK);
            if (threadIdx.x == 0) next = 0;
            __syncthreads();
            for (uint32_t k = begin + threadIdx.x; k < stop; k += BLOCK) table.insert(rows.higher_of(row[v].x)[k]);
            __syncthreads();
            while (true) {
                uint32_t at = 0;
                if (lane == 0) at = 32 * atomicAdd(&next, 1u);
                at = __shfl_sync(ALL_LANES, at, 0);
                if (at >= number) break;
                stream_rows(rows, v, members + at, min(32u, number - at), table, middle[warp], own, sum, out ARGS);
            }
            __syncthreads();
#if CORNERS == 1
            flush(table, threadIdx.x, BLOCK, out);
            __syncthreads();
#endif
        }
#if CORNERS == 1
        add_corner(out + v, own);
#endif
        __syncthreads();  // before `current` changes
    }
#if CORNERS == 0
    add_block_sum(out, sum);
#endif
    FINISH
}
