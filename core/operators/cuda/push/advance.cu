// advance: one step of pushing. All kernels reduce into out (out_t[num_vertices]) by atomics, and write every vertex that
// changed to `queue` (uint32[num_vertices]) once, in any order; *count is 0 before and their number afterwards. stamp is
// uint32[num_vertices] without the value `step` in it. Ids that are not below num_vertices are skipped. Atomics: one on `out` per edge whose
// value may win, one on a vertex's stamp per change of its value, and on *count one per block, or per warp once its list in shared memory
// is full. Barriers of the block.
// SECOND_VIEW is 1 in the second of two passes of a push over both directions: self-loops are left out then.
#include "start.cuh"
#include "segments.cuh"

// Scheme "vertex": the vertices of a frontier, frontier[0 .. *device_count), or `size` of them if device_count is null; frontier
// null: all vertices below size. A tile or a warp per vertex, by degree (see push_frontier). Heavy ones are left to push_heavy_buckets; a frontier of
// at most `few` vertices has them from SMALL neighbours on.
extern "C" __global__ void __launch_bounds__(BLOCK)
push_vertices(View g, uint32_t num_vertices, const uint32_t* frontier, const uint32_t* device_count, uint32_t size,
              value_t* out, uint32_t* stamp, uint32_t step, uint32_t* queue, uint32_t* count, uint32_t* heavy_vertex,
              long long* heavy_base, unsigned long long* heavy_total, uint32_t few PARAMS) {
    LOCALS
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const Changed changed = {stamp, step, queue, count, nullptr, false};
    const HeavyList heavy = {heavy_vertex, heavy_base, heavy_total, num_vertices, HEAVY_SHIFT};
    const uint32_t vertices = device_count ? *device_count : size;
    const auto everybody = [](uint32_t) { return true; };
    push_frontier<SECOND_VIEW>(g, num_vertices, frontier, vertices, vertices <= few ? SMALL : WIDE, blockIdx.x,
                               gridDim.x, out, heavy, changed, shared, everybody ARGS);
    FINISH
}

// Scheme "bucket", first half: all vertices of a frontier (as above) that have storage are listed, with one atomic for the
// vertices that a block takes at a time.
extern "C" __global__ void __launch_bounds__(BLOCK)
list_buckets(View g, uint32_t num_vertices, const uint32_t* frontier, const uint32_t* device_count, uint32_t size,
             uint32_t* heavy_vertex, long long* heavy_base, unsigned long long* heavy_total) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ unsigned long long before[WARPS];  // first the sum of each warp, then what comes before it
    const HeavyList heavy = {heavy_vertex, heavy_base, heavy_total, num_vertices, BUCKET_SHIFT};
    const uint32_t vertices = device_count ? *device_count : size, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (unsigned long long base = (unsigned long long)blockIdx.x * BLOCK; base < vertices;
         base += (unsigned long long)gridDim.x * BLOCK) {  // the same for the whole block
        const unsigned long long i = base + threadIdx.x;
        const uint32_t u = i >= vertices ? EMPTY : frontier ? frontier[i] : uint32_t(i);
        const uint32_t parts = u < num_vertices ? buckets(g, u) : 0;
        const unsigned long long mine = parts ? packed_entry(heavy, parts) : 0;
        unsigned long long sum = mine;  // over the lanes of the warp up to this one
#pragma unroll
        for (int step = 1; step < 32; step <<= 1) {
            const unsigned long long other = __shfl_up_sync(ALL_LANES, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) before[warp] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned long long all = 0;
            for (int k = 0; k < WARPS; ++k) all += before[k];
            unsigned long long next = all ? atomicAdd(heavy_total, all) : 0;
            for (int k = 0; k < WARPS; ++k) {
                const unsigned long long own = before[k];
                before[k] = next;
                next += own;
            }
        }
        __syncthreads();
        if (parts) keep_heavy(heavy, before[warp] + sum - mine, u);  // it fits, as a frontier has no duplicates
        __syncthreads();  // `before` is free again
    }
}

// The buckets of the listed vertices, in equal runs by all tiles of the grid; listed by list_buckets if `listed` is not 0, else by push_vertices.
extern "C" __global__ void __launch_bounds__(BLOCK)
push_heavy_buckets(View g, uint32_t num_vertices, value_t* out, uint32_t* stamp, uint32_t step, uint32_t* queue,
                   uint32_t* count, uint32_t* heavy_vertex, long long* heavy_base, unsigned long long* heavy_total,
                   int listed PARAMS) {
    LOCALS
    __shared__ Shared shared;
    const unsigned long long packed = *heavy_total;
    if (packed == 0) return;  // the same for the whole grid
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const Changed changed = {stamp, step, queue, count, nullptr, false};
    const HeavyList heavy = {heavy_vertex, heavy_base, heavy_total, num_vertices, listed ? BUCKET_SHIFT : HEAVY_SHIFT};
    push_heavy<SECOND_VIEW>(g, packed, blockIdx.x, gridDim.x, out, heavy, changed, shared ARGS);
    FINISH
}

// Exactly these arcs, a thread each, grid-stride.
extern "C" __global__ void __launch_bounds__(BLOCK) push_edges(uint32_t num_vertices, Arcs arcs, value_t* out,
                                                               uint32_t* stamp, uint32_t step, uint32_t* queue,
                                                               uint32_t* count PARAMS) {
    LOCALS
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const Changed changed = {stamp, step, queue, count, nullptr, false};
    push_arcs(arcs, num_vertices, out, changed, shared ARGS);
    flush(changed, shared);
    FINISH
}

#if SCAN_LANES > 0
template <class Segments>
__device__
__forceinline__ void push_all(const View& g, uint32_t num_vertices, value_t* out, const Changed& changed FORMALS) {
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    for_segment_edges<Segments>(g, num_vertices, [&](uint32_t u, uint32_t v, long long slot) {
        if (!SECOND_VIEW || u != v) push_edge(u, v, WEIGHT(g, slot), out, changed, shared ARGS);
    });
    flush(changed, shared);
}

// Scheme "scan": all edges in storage order, SCAN_LANES threads per segment.
extern "C" __global__ void __launch_bounds__(BLOCK) push_segments(View g, uint32_t num_vertices, value_t* out,
                                                                  uint32_t* stamp, uint32_t step, uint32_t* queue,
                                                                  uint32_t* count PARAMS) {
    LOCALS
    push_all<AllSegments>(g, num_vertices, out, {stamp, step, queue, count, nullptr, false} ARGS);
    FINISH
}

#if HAS_UPDATED
// Scheme "updated": the edges inserted since the mark, SCAN_LANES threads per segment.
extern "C" __global__ void __launch_bounds__(BLOCK) push_updated(View g, uint32_t num_vertices, value_t* out,
                                                                 uint32_t* stamp, uint32_t step, uint32_t* queue,
                                                                 uint32_t* count PARAMS) {
    LOCALS
    push_all<UpdatedSegments>(g, num_vertices, out, {stamp, step, queue, count, nullptr, false} ARGS);
    FINISH
}
#endif
#endif
