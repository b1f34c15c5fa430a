// The kernels of heaviest: the twin of loops.py. A warp looks at a vertex; grid-stride; no atomics; nothing synchronises.

__device__ __forceinline__ double heaviest_of(const View& g, uint32_t u, double factor, int lane) {
    double greatest = 0.0;
    for_neighbors<32>(g, u, lane, [&](uint32_t, long long slot) {
        const double scaled = double(weight(g, slot)) * factor;
        if (scaled > greatest) greatest = scaled;
    });
    for (int step = 16; step > 0; step /= 2) {
        const double other = __shfl_down_sync(0xFFFFFFFFu, greatest, step);
        if (other > greatest) greatest = other;
    }
    return greatest;
}

extern "C" __global__ void look_at_all(View g, uint32_t num_vertices, double factor, double* heaviest) {
    const int lane = threadIdx.x & 31;
    for (unsigned long long u = thread_id() / 32; u < num_vertices; u += thread_count() / 32) {
        const double found = heaviest_of(g, uint32_t(u), factor, lane);
        if (lane == 0) heaviest[u] = found;
    }
}

extern "C" __global__ void look_at_ends(View g, Arcs arcs, double factor, double* heaviest) {
    const int lane = threadIdx.x & 31;
    for (long long i = thread_id() / 32; i < arcs.size; i += thread_count() / 32) {
        if (arcs.status && arcs.status[i] != arcs.wanted) continue;
        const uint32_t u = arcs.src[i];
        const double found = heaviest_of(g, u, factor, lane);
        if (lane == 0) heaviest[u] = found;
    }
}
