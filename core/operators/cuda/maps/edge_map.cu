// edge_map: call `edge_fn(u, v, w)` for its effects on edges; u is the vertex whose edges are walked. With HAS_POSITION the function
// takes a position before u: the place in the list, or the vertex itself where all are meant.
#include "segments.cuh"
#include "split.cuh"
#include "walk.cuh"

#define TILE 4  // lanes for a vertex of up to SMALL neighbours
#define SMALL 64
#define WIDE 1024  // up to this degree a warp serves a vertex, above it the whole block

#if HAS_POSITION
#define CALL(i, u, v, w) edge_fn((long long)(i), u, v, w ARGS)
#else
#define CALL(i, u, v, w) edge_fn(u, v, w ARGS)
#endif

// Exactly these edges, a thread each, grid-stride: src, dst uint32[size], weights weight_t[size] or null, status uint8[size] or null: entries of
// another status than `wanted` are left out, and ids that are not below num_vertices.
extern "C" __global__ void __launch_bounds__(BLOCK)
map_arcs(uint32_t num_vertices, const uint32_t* src, const uint32_t* dst, const weight_t* weights,
         const uint8_t* status, uint32_t wanted, long long size PARAMS) {
    LOCALS
    for (long long i = thread_id(); i < size; i += thread_count()) {
        if (status && status[i] != wanted) continue;
        const uint32_t u = src[i], v = dst[i];
        if (u >= num_vertices || v >= num_vertices) continue;
        const weight_t w = WEIGHTED && weights ? weights[i] : weight_t(1);
        CALL(i, u, v, w);
    }
    FINISH
}

// All edges of the vertices ids[0 .. *device_count), or `size` of them if device_count is null; ids null: the vertices below the
// number. A block takes up to TILES vertices at a time: a tile each up to SMALL neighbours; wider ones are listed in shared memory for warps,
// and then for the whole block. Vertices of more than `limit` neighbours are left to map_heavy_edges, as many as the list holds. Atomics: in
// shared memory per wider vertex, one per heavy vertex. Barriers of the block.
extern "C" __global__ void __launch_bounds__(BLOCK)
map_edges(VIEWS, uint32_t num_vertices, const uint32_t* ids, const uint32_t* device_count, long long size,
          uint32_t limit, unsigned char* heavy_memory, unsigned long long* heavy_total,
          uint32_t heavy_capacity PARAMS) {
    LOCALS
    const Heavy heavy = heavy_in(heavy_memory, heavy_total, heavy_capacity);
    constexpr uint32_t TILES = BLOCK / TILE;
    __shared__ long long wide[TILES], huge[TILES];  // positions
    __shared__ uint32_t wides, huges;
    const uint32_t me = threadIdx.x, tile = me / TILE;
    const long long number = device_count ? (long long)*device_count : size;
    const long long share = min((long long)TILES, (number + gridDim.x - 1) / gridDim.x);
    for (long long base = blockIdx.x * share; base < number; base += gridDim.x * share) {
        if (me == 0) wides = huges = 0;
        __syncthreads();
        const long long i = base + tile;
        const uint32_t x = tile >= share || i >= number ? EMPTY : ids ? ids[i] : uint32_t(i);
        const uint32_t neighbors = x < num_vertices ? degree_of(WALKED, x) : 0;
        if (neighbors <= SMALL) {
            if (neighbors > 0)
                walk_neighbors<TILE>(WALKED, x, me % TILE, [&](uint32_t y, weight_t w) { CALL(i, x, y, w); });
        } else if (me % TILE == 0) {
            if (neighbors <= WIDE) wide[atomicAdd(&wides, 1u)] = i;
            else if (neighbors <= limit || !list_heavy(heavy, x, uint32_t(i), buckets_of_vertex(WALKED, x)))
                huge[atomicAdd(&huges, 1u)] = i;
        }
        __syncthreads();
        for (uint32_t j = me / 32; j < wides; j += BLOCK / 32) {
            const long long at = wide[j];
            const uint32_t u = ids ? ids[at] : uint32_t(at);
            walk_neighbors<32>(WALKED, u, me % 32, [&](uint32_t y, weight_t w) { CALL(at, u, y, w); });
        }
        for (uint32_t j = 0; j < huges; ++j) {
            const long long at = huge[j];
            const uint32_t u = ids ? ids[at] : uint32_t(at), parts = buckets_of_vertex(WALKED, u);
            for (uint32_t k = me / BUCKET_LANES; k < parts; k += BLOCK / BUCKET_LANES) {
                walk_bucket(WALKED, u, k, me % BUCKET_LANES, [&](uint32_t y, weight_t w) { CALL(at, u, y, w); });
            }
        }
        __syncthreads();  // the lists are free again
    }
    FINISH
}

// The edges of the vertices that map_edges listed, in a launch behind it: their buckets in equal runs, by all warps of the grid.
extern "C" __global__ void __launch_bounds__(BLOCK) map_heavy_edges(VIEWS, unsigned char* heavy_memory,
                                                                    unsigned long long* heavy_total,
                                                                    uint32_t heavy_capacity PARAMS) {
    LOCALS
    const Heavy heavy = heavy_in(heavy_memory, heavy_total, heavy_capacity);
    const auto parts = [&](uint32_t x) { return buckets_of_vertex(WALKED, x); };
    constexpr uint32_t TEAMS = 32 / BUCKET_LANES;
    for_split_runs(*heavy_total, heavy, blockIdx.x, gridDim.x, parts,
                   [&](uint32_t k, uint32_t x, uint32_t first, uint32_t end) {
                       [[maybe_unused]] const uint32_t at = heavy.place[k];
                       for (uint32_t bucket = first + threadIdx.x % 32 / BUCKET_LANES; bucket < end; bucket += TEAMS) {
                           walk_bucket(WALKED, x, bucket, threadIdx.x % BUCKET_LANES,
                                       [&](uint32_t y, weight_t w) { CALL(at, x, y, w); });
                       }
                       __syncwarp();
                   });
    FINISH
}

#if SCAN_LANES > 0
// All edges of one view, in storage order, SCAN_LANES threads per segment. `other` is 1 for the second of two views, of which self-loops are left out.
extern "C" __global__ void __launch_bounds__(BLOCK) map_segments(View g, uint32_t num_vertices, int other PARAMS) {
    LOCALS
    for_segment_edges<AllSegments>(g, num_vertices, [&](uint32_t x, uint32_t y, long long slot) {
        if (OVER == OVER_BOTH && other && x == y) return;
        CALL(x, x, y, WEIGHT(g, slot));
    });
    FINISH
}
#endif
