// neighbor_reduce of columns: k values per vertex, where k, the last argument of the functions, is known at run time. COLUMN_LANES lanes of a warp,
// a power of two up to 32, stand for the columns of one edge, so that what functions read at x[v, j] is read together; the 32 / COLUMN_LANES
// teams of a warp share the edges of its vertex, and it passes over them once per COLUMN_LANES columns.
#include "walk.cuh"

constexpr int TEAMS = 32 / COLUMN_LANES;

#if OVER == OVER_OUT
#define EDGE(vertex, neighbor, w, j) out_t(edge_fn(vertex, neighbor, w, j ARGS))
#else
#define EDGE(vertex, neighbor, w, j) out_t(edge_fn(neighbor, vertex, w, j ARGS))
#endif

// What all teams of a warp have reduced, in every lane: the total of its column.
__device__ __forceinline__ out_t joined_teams(out_t total) {
#pragma unroll
    for (int step = COLUMN_LANES; step < 32; step *= 2) total = combine(total, __shfl_xor_sync(ALL_LANES, total, step));
    return total;
}

// What becomes of the value of vertex x, the i-th that is served, in column j: it is stored, and `then_fn` called; returns what that says.
__device__ __forceinline__ long long complete(uint32_t i, uint32_t x, uint32_t num_vertices, long long j, long long k,
                                              out_t value, out_t* out FORMALS) {
#if HAS_THEN
    if (x >= num_vertices) return 0;
    if (out) out[x * k + j] = value;
    return (long long)then_fn(x, value, j ARGS);
#else
    out[i * k + j] = value;
    return 0;
#endif
}

// The vertices of a list, vertices[0 .. *device_count), or `size` of them if device_count is null; vertices null: those below size. A warp per vertex,
// grid-stride. out out_t[.., k] has a row per entry, or with HAS_THEN per vertex or is null; queue uint32[] takes the vertices for which
// `then_fn` is true in any column, *count of them: one atomic each. Vertices of more than `limit` neighbours are left to
// reduce_heavy_columns: heavy uint32[] takes their places in the list, *heavies of them. No barrier of the block.
extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_columns(VIEWS, uint32_t num_vertices, const uint32_t* vertices, const uint32_t* device_count, long long size,
               long long k, uint32_t limit, out_t* out, uint32_t* queue, uint32_t* count, uint32_t* heavy,
               uint32_t* heavies PARAMS) {
    LOCALS
    const int lane = threadIdx.x % 32, column = lane % COLUMN_LANES;
    const long long number = device_count ? (long long)*device_count : size;
    for (long long i = thread_id() / 32; i < number; i += thread_count() / 32) {
        const uint32_t x = vertices ? vertices[i] : uint32_t(i);
        const uint32_t neighbors = x < num_vertices ? degree_of(WALKED, x) : 0;
        if (neighbors > limit) {
            if (lane == 0) heavy[atomicAdd(heavies, 1u)] = uint32_t(i);
            continue;
        }
        long long says = 0;
        for (long long first = 0; first < k; first += COLUMN_LANES) {
            const long long j = first + column;
            out_t total = identity();
            if (neighbors > 0 && j < k)
                walk_neighbors<TEAMS>(WALKED, x, lane / COLUMN_LANES, [&](uint32_t y, weight_t w) {
                    total = combine(total, EDGE(x, y, w, j));
                });
            __syncwarp();
            total = joined_teams(total);
            if (lane < COLUMN_LANES && j < k) says |= complete(uint32_t(i), x, num_vertices, j, k, total, out ARGS);
        }
        if (HAS_THEN && __any_sync(ALL_LANES, says != 0) && lane == 0) append(queue, count, x);
    }
    FINISH
}

// The vertices that reduce_columns left, *heavies of them, in a launch behind it: a block each, whose teams share its edges. Barriers of the
// block.
extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_heavy_columns(VIEWS, uint32_t num_vertices, const uint32_t* vertices, long long k, out_t* out, uint32_t* queue,
                     uint32_t* count, const uint32_t* heavy, const uint32_t* heavies PARAMS) {
    if (*heavies == 0) return;  // accumulators are as reduce_columns left them
    LOCALS
    constexpr int WARPS = BLOCK / 32;
    __shared__ out_t part[WARPS][COLUMN_LANES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = lane % COLUMN_LANES;
    for (uint32_t entry = blockIdx.x; entry < *heavies; entry += gridDim.x) {
        const uint32_t i = heavy[entry], x = vertices ? vertices[i] : i;
        long long says = 0;
        for (long long first = 0; first < k; first += COLUMN_LANES) {
            const long long j = first + column;
            out_t total = identity();
            if (j < k)
                walk_neighbors<WARPS * TEAMS>(WALKED, x, warp * TEAMS + lane / COLUMN_LANES,
                                              [&](uint32_t y, weight_t w) {
                                                  total = combine(total, EDGE(x, y, w, j));
                                              });
            __syncwarp();
            total = joined_teams(total);
            if (lane < COLUMN_LANES) part[warp][column] = total;
            __syncthreads();
            if (warp == 0 && lane < COLUMN_LANES && j < k) {
                for (int other = 1; other < WARPS; ++other) total = combine(total, part[other][column]);
                says |= complete(i, x, num_vertices, j, k, total, out ARGS);
            }
            __syncthreads();  // part is free again
        }
        if (HAS_THEN && warp == 0 && __any_sync(ALL_LANES, says != 0) && lane == 0) append(queue, count, x);
    }
    FINISH
}
