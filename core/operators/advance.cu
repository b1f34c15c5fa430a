// advance: one step of pushing. All kernels reduce into out (out_t[num_vertices]) by atomics, and write every vertex that
// changed to `queue` (uint32[num_vertices]) once, in any order; *count is 0 before and their number afterwards. stamp is
// uint32[num_vertices] without the value `step` in it. Ids that are not below num_vertices are skipped.
#include "push.cuh"

#define BLOCK 256

// The vertices of a frontier: frontier[0 .. *device_count), or `size` of them if device_count is null; frontier null: all
// vertices below size. Hubs are left to push_hub_units.
extern "C" __global__ void __launch_bounds__(BLOCK)
push_vertices(View g, uint32_t num_vertices, const uint32_t* frontier, const uint32_t* device_count, uint32_t size, out_t* out,
              uint32_t* stamp, uint32_t step, uint32_t* queue, uint32_t* count, uint32_t* hub_vertex, long long* hub_base,
              unsigned long long* hub_total PARAMS) {
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const Changed changed = {stamp, step, queue, count};
    const Hubs hubs = {hub_vertex, hub_base, hub_total, num_vertices};
    push_frontier(g, num_vertices, frontier, device_count ? *device_count : size, blockIdx.x, gridDim.x, out, hubs, changed,
                  shared ARGS);
}

// The hubs that push_vertices put aside.
extern "C" __global__ void __launch_bounds__(BLOCK)
push_hub_units(View g, uint32_t num_vertices, out_t* out, uint32_t* stamp, uint32_t step, uint32_t* queue, uint32_t* count,
               uint32_t* hub_vertex, long long* hub_base, unsigned long long* hub_total PARAMS) {
    __shared__ Shared shared;
    const unsigned long long packed = *hub_total;
    if (packed == 0) return;  // the same for the whole grid
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const Changed changed = {stamp, step, queue, count};
    const Hubs hubs = {hub_vertex, hub_base, hub_total, num_vertices};
    push_hubs(g, packed, out, hubs, changed, shared ARGS);
}

// Exactly these edges, a thread each: src, dst uint32[size], weights weight_t[size] (null on unweighted graphs).
extern "C" __global__ void __launch_bounds__(BLOCK)
push_edges(uint32_t num_vertices, const uint32_t* src, const uint32_t* dst, const weight_t* weights, long long size, out_t* out,
           uint32_t* stamp, uint32_t step, uint32_t* queue, uint32_t* count PARAMS) {
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const Changed changed = {stamp, step, queue, count};
    for (long long i = thread_id(); i < size; i += thread_count()) {
        const uint32_t u = src[i], v = dst[i];
        if (u >= num_vertices || v >= num_vertices) continue;
        const weight_t w = WEIGHTED ? weights[i] : weight_t(1);
        push_value(out, v, out_t(edge_fn(u, v, w ARGS)), changed, shared);
    }
    flush(changed, shared);
}

#if SCAN_LANES > 0
// Scheme "scan": all edges, the engine's segments in address order, SCAN_LANES threads per segment.
extern "C" __global__ void __launch_bounds__(BLOCK)
push_segments(View g, uint32_t num_vertices, out_t* out, uint32_t* stamp, uint32_t step, uint32_t* queue, uint32_t* count PARAMS) {
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const Changed changed = {stamp, step, queue, count};
    const long long all = segments(g), tiles = thread_count() / SCAN_LANES;
    for (long long s = thread_id() / SCAN_LANES; s < all; s += tiles) {
        const uint32_t u = segment_owner(g, s);
        if (u >= num_vertices) continue;  // nobody's segment
        for_segment(g, s, threadIdx.x % SCAN_LANES, [&](uint32_t v, long long slot) {
            push_value(out, v, out_t(edge_fn(u, v, WEIGHT(g, slot) ARGS)), changed, shared);
        });
    }
    flush(changed, shared);
}
#endif
