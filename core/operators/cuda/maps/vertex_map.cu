// vertex_map: call `edge_fn(v, ...)` for every vertex of a list, and keep those for which it is true. With HAS_POSITION the function
// takes the place in the list before v. Without KEEPS what it returns is passed over, and kept and kept_count are null.
#include "operators.cuh"

#if HAS_POSITION
#define CALL(i, v) edge_fn((long long)(i), v ARGS)
#else
#define CALL(i, v) edge_fn(v ARGS)
#endif

// ids uint32[*device_count], or [size] if device_count is null; ids null: the vertices below the number. A thread per entry, which
// is passed over if its id is not below num_vertices. A block takes places in `kept` (uint32[], no order across blocks) for the vertices that it keeps
// of BLOCK entries with one atomic on *kept_count, which is 0 before. Barriers of the block.
extern "C" __global__ void __launch_bounds__(BLOCK) map_vertices(uint32_t num_vertices, const uint32_t* ids,
                                                                 const uint32_t* device_count, uint32_t size,
                                                                 uint32_t* kept, uint32_t* kept_count PARAMS) {
    LOCALS
#if KEEPS
    constexpr int WARPS = BLOCK / 32;
    __shared__ uint32_t place[WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#endif
    const uint32_t count = device_count ? *device_count : size;
    for (unsigned long long base = (unsigned long long)blockIdx.x * BLOCK; base < count;
         base += (unsigned long long)gridDim.x * BLOCK) {
        const unsigned long long i = base + threadIdx.x;
        const uint32_t v = i >= count ? EMPTY : ids ? ids[i] : uint32_t(i);
#if !KEEPS
        if (v < num_vertices) CALL(i, v);
#else
        const bool passes = v < num_vertices && CALL(i, v);
        const uint32_t passing = __ballot_sync(ALL_LANES, passes);
        if (!__syncthreads_or(passing)) continue;
        if (lane == 0) place[warp] = __popc(passing);
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t total = 0;
            for (int k = 0; k < WARPS; ++k) total += place[k];
            uint32_t next = atomicAdd(kept_count, total);
            for (int k = 0; k < WARPS; ++k) {
                const uint32_t mine = place[k];
                place[k] = next;
                next += mine;
            }
        }
        __syncthreads();
        if (passes) kept[place[warp] + __popc(passing & lanes_below())] = v;
        __syncthreads();  // place is free again
#endif
    }
    FINISH
}
