// filter: the vertices of a frontier for which the predicate `edge_fn(v, ...)` holds.
#include "operators.cuh"

// frontier, device_count, size: as in push_vertices of advance.cu. A thread per entry; every block gathers what passes and
// takes its place in `kept` with one atomic on *kept_count, which is 0 before.
extern "C" __global__ void __launch_bounds__(BLOCK) select_vertices(uint32_t num_vertices, const uint32_t* frontier,
                                                                    const uint32_t* device_count, uint32_t size,
                                                                    uint32_t* kept, uint32_t* kept_count PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ uint32_t place[WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t count = device_count ? *device_count : size;
    for (unsigned long long base = (unsigned long long)blockIdx.x * BLOCK; base < count;
         base += (unsigned long long)gridDim.x * BLOCK) {
        const unsigned long long i = base + threadIdx.x;
        const uint32_t v = i >= count ? EMPTY : frontier ? frontier[i] : uint32_t(i);
        const bool passes = v < num_vertices && edge_fn(v ARGS);
        const uint32_t passing = __ballot_sync(ALL_LANES, passes);
        if (lane == 0) place[warp] = __popc(passing);
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t total = 0;
            for (int k = 0; k < WARPS; ++k) total += place[k];
            uint32_t next = total ? atomicAdd(kept_count, total) : 0;
            for (int k = 0; k < WARPS; ++k) {
                const uint32_t mine = place[k];
                place[k] = next;
                next += mine;
            }
        }
        __syncthreads();
        if (passes) kept[place[warp] + __popc(passing & lanes_below())] = v;
        __syncthreads();  // place is free again
    }
}
