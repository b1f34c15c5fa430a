// The rows of a graph, copied for intersect: of each vertex the neighbours of higher rank, or all of them. Rows begin at multiples of
// four ids, so that they are read 16 bytes at a time, and are in no order. There is space for all neighbours of the vertex, rounded up
// to such a multiple; if they are wanted, those of lower rank lie at its end, self-loops left out. The rest is unspecified.
// No kernel waits for other blocks. Places in a row are taken by atomics, one per tile and row.
#include "segments.cuh"

#define TINY 8  // up to this degree a thread serves a vertex
#define WIDE 1024  // up to this degree a warp, above it the whole block

// Thread per vertex, grid-stride. quads: uint32[num_vertices], places for the row of each vertex in groups of four; rank: uint32[num_vertices] or
// null, its degree.
extern "C" __global__ void measure_rows(View g, uint32_t num_vertices, uint32_t* quads, uint32_t* rank) {
    for (uint32_t u = thread_id(); u < num_vertices; u += thread_count()) {
        const uint32_t neighbors = degree(g, u);
        quads[u] = (neighbors + 3) / 4;
        if (rank) rank[u] = neighbors;
    }
}

// Thread per vertex, grid-stride. ends: uint32[num_vertices], the inclusive sum of quads. row: where each begins, in groups of four ids, and its
// length, now 0.
// lower: uint32[num_vertices], now 0, or null: the number of neighbours of lower rank.
extern "C" __global__ void begin_rows(uint32_t num_vertices, const uint32_t* quads, const uint32_t* ends, uint2* row,
                                      uint32_t* lower) {
    for (uint32_t u = thread_id(); u < num_vertices; u += thread_count()) {
        row[u] = make_uint2(ends[u] - quads[u], 0);
        if (lower) lower[u] = 0;
    }
}

// What becomes of an arc (u, v): it is kept if v has the higher rank, ties broken by id; without ranks it is always kept.
struct Rows {
    const uint32_t* rank;
    uint2* row;
    uint32_t* ids;
    uint32_t* sources;  // null, or of each place the vertex whose row it is
    const uint32_t* ends;
    uint32_t* lower;  // null: arcs that are not kept are dropped
    __device__ bool keeps(uint32_t u, uint32_t v) const {
        if (!rank) return true;
        const uint32_t a = rank[u], b = rank[v];
        return b > a || (b == a && v > u);
    }
    __device__ void put(uint32_t u, uint32_t v, uint32_t place) const {
        const unsigned long long at = 4ull * row[u].x + place;
        ids[at] = v;
        if (sources) sources[at] = u;
    }
    __device__ void put_lower(uint32_t u, uint32_t v, uint32_t place) const { ids[4ull * ends[u] - 1 - place] = v; }
};

// Append the arcs of u that walk(f) calls f(v, slot) for, in the LANES threads of a tile, to its rows: it walks twice, to count and
// to write. A thread remembers its first 32 answers. Numbers of both rows are packed.
template <int LANES, class Walk>
__device__ __forceinline__ void append(const Rows& rows, uint32_t u, int lane, Walk&& walk) {
    uint32_t kept = 0, seen = 0;
    unsigned long long mine = 0;
    const unsigned long long other = rows.lower ? 1ull << 32 : 0;
    walk([&](uint32_t v, long long) {
        const bool keep = rows.keeps(u, v);
        if (seen < 32) kept |= uint32_t(keep) << seen;
        ++seen;
        mine += keep ? 1ull : v != u ? other : 0ull;
    });
    const uint32_t mask = tile_mask<LANES>();
    __syncwarp(mask);
    unsigned long long before = mine;
#pragma unroll
    for (int step = 1; step < LANES; step *= 2) {
        const unsigned long long below = __shfl_up_sync(mask, before, step, LANES);
        if (lane >= step) before += below;
    }
    uint32_t place = 0, lower_place = 0;
    if (lane == LANES - 1) {
        if (uint32_t(before)) place = atomicAdd(&rows.row[u].y, uint32_t(before));
        if (before >> 32) lower_place = atomicAdd(rows.lower + u, uint32_t(before >> 32));
    }
    before -= mine;
    place = __shfl_sync(mask, place, LANES - 1, LANES) + uint32_t(before);
    lower_place = __shfl_sync(mask, lower_place, LANES - 1, LANES) + uint32_t(before >> 32);
    seen = 0;
    walk([&](uint32_t v, long long) {
        const bool keep = seen < 32 ? kept >> seen & 1 : rows.keeps(u, v);
        ++seen;
        if (keep) rows.put(u, v, place++);
        else if (other && v != u) rows.put_lower(u, v, lower_place++);
    });
    __syncwarp(mask);
}

#if SCAN_LANES > 0
struct SegmentWalk {
    const View& g;
    long long s;
    template <class F> __device__ __forceinline__ void operator()(F&& f) const { AllSegments::visit(g, s, f); }
};

// The storage in address order: SCAN_LANES threads per segment.
extern "C" __global__ void __launch_bounds__(BLOCK) fill_rows(View g, uint32_t num_vertices, const uint32_t* rank,
                                                              uint2* row, uint32_t* ids, uint32_t* sources,
                                                              const uint32_t* ends, uint32_t* lower) {
    const Rows rows = {rank, row, ids, sources, ends, lower};
#if OWNER_PER_SLOT
    for_segment_edges<AllSegments>(g, num_vertices, [&](uint32_t u, uint32_t v, long long) {
        if (rows.keeps(u, v)) rows.put(u, v, atomicAdd(&row[u].y, 1u));
        else if (lower && v != u) rows.put_lower(u, v, atomicAdd(lower + u, 1u));
    });
#else
    for_segments<AllSegments>(g, num_vertices, [&](uint32_t u, long long s) {
        append<SCAN_LANES>(rows, u, threadIdx.x % SCAN_LANES, SegmentWalk{g, s});
    });
#endif
}
#else
template <int LANES> struct RowWalk {
    const View& g;
    uint32_t u;
    int lane;
    template <class F> __device__ __forceinline__ void operator()(F&& f) const { for_neighbors<LANES>(g, u, lane, f); }
};
struct BucketWalk {
    const View& g;
    uint32_t u, k;
    int lane;
    template <class F> __device__ __forceinline__ void operator()(F&& f) const { for_bucket<32>(g, u, k, lane, f); }
};

// Vertex by vertex: a block serves BLOCK of them at a time, in threads, warps and as a whole, by degree. Barriers of the block.
extern "C" __global__ void __launch_bounds__(BLOCK) fill_rows(View g, uint32_t num_vertices, const uint32_t* rank,
                                                              uint2* row, uint32_t* ids, uint32_t* sources,
                                                              const uint32_t* ends, uint32_t* lower) {
    __shared__ uint32_t vertex[2][BLOCK];  // wide ones, huge ones
    __shared__ uint32_t length[2];
    const Rows rows = {rank, row, ids, sources, ends, lower};
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (long long base = (long long)blockIdx.x * BLOCK; base < num_vertices; base += (long long)gridDim.x * BLOCK) {
        if (threadIdx.x < 2) length[threadIdx.x] = 0;
        __syncthreads();
        const uint32_t u = uint32_t(base + threadIdx.x),
                       neighbors = base + threadIdx.x < num_vertices ? degree(g, u) : 0;
        if (neighbors > TINY) {
            const int kind = neighbors > WIDE;
            vertex[kind][atomicAdd(&length[kind], 1u)] = u;
        } else if (neighbors > 0) {
            append<1>(rows, u, 0, RowWalk<1>{g, u, 0});
        }
        __syncthreads();
        for (uint32_t j = warp; j < length[0]; j += BLOCK / 32) {
            const uint32_t wide = vertex[0][j];
            append<32>(rows, wide, lane, RowWalk<32>{g, wide, lane});
        }
        for (uint32_t j = 0; j < length[1]; ++j) {
            const uint32_t huge = vertex[1][j], parts = buckets(g, huge);
            for (uint32_t k = warp; k < parts; k += BLOCK / 32) {
                append<32>(rows, huge, lane, BucketWalk{g, huge, k, lane});
            }
        }
        __syncthreads();
    }
}
#endif
