// Counting on CUDA: the twin of loops.py. The struct View and its functions come before it, from the backend's cursor. A warp counts at
// a vertex; grid-stride; no atomics; nothing synchronises. Two warps may count at the same vertex: they store the same number.

// How many out-edges of u have an edge in the other direction; a warp calls it, and lane 0 has the number.
__device__ __forceinline__ uint32_t answered(const View& g, uint32_t u, int lane) {
    uint32_t count = 0;
    for_neighbors<32>(g, u, lane, [&](uint32_t v, long long) { count += find(g, v, u) >= 0; });
    for (int step = 16; step > 0; step /= 2) count += __shfl_down_sync(0xFFFFFFFFu, count, step);
    return count;
}

// count uint32[num_vertices].
extern "C" __global__ void count_all(View g, uint32_t num_vertices, uint32_t* count) {
    const int lane = threadIdx.x & 31;
    for (unsigned long long u = thread_id() / 32; u < num_vertices; u += thread_count() / 32) {
        const uint32_t found = answered(g, uint32_t(u), lane);
        if (lane == 0) count[u] = found;
    }
}

// The same at both ends of the arcs that changed.
extern "C" __global__ void count_ends(View g, Arcs arcs, uint32_t* count) {
    const int lane = threadIdx.x & 31;
    for (long long i = thread_id() / 32; i < arcs.size; i += thread_count() / 32) {
        if (arcs.status && arcs.status[i] != arcs.wanted) continue;
        for (int side = 0; side < 2; ++side) {
            const uint32_t u = side ? arcs.dst[i] : arcs.src[i];
            const uint32_t found = answered(g, u, lane);
            if (lane == 0) count[u] = found;
        }
    }
}
