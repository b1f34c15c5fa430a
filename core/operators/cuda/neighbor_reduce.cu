// neighbor_reduce: one value per vertex from its neighbours. OVER_IN is 1 if the view holds in-edges: its vertex is then the
// edge function's v. Types: vertices uint32[count] or null for all, out out_t[count].
#include "heavy.cuh"
#include "segments.cuh"

#define TILE 4  // lanes for a vertex of the class below
#define TINY 8  // up to this degree a thread serves a vertex
#define SMALL 64  // up to this degree a tile does
#define WIDE 2048  // up to this degree a warp, above it the whole block

#if OVER_IN
#define EDGE(u, v, w) out_t(edge_fn(v, u, w ARGS))
#else
#define EDGE(u, v, w) out_t(edge_fn(u, v, w ARGS))
#endif

// The reduction over all neighbours of u, in each of the LANES threads of the calling tile.
template <int LANES>
__device__ __forceinline__ out_t reduce_neighbors(const View& g, uint32_t u, int lane PARAMS) {
    out_t total = identity();
    for_neighbors<LANES>(g, u, lane, [&](uint32_t v, long long slot) {
        total = combine(total, EDGE(u, v, WEIGHT(g, slot)));
    });
    return tile_reduce<LANES>(total);
}

// The reduction over the buckets [first, end) of u, in each of the BUCKET_LANES threads of the calling tile.
__device__ __forceinline__ out_t reduce_run(const View& g, uint32_t u, uint32_t first, uint32_t end, int lane PARAMS) {
    out_t total = identity();
    for (uint32_t k = first; k < end; ++k) {
        for_bucket<BUCKET_LANES>(g, u, k, lane, [&](uint32_t v, long long slot) {
            total = combine(total, EDGE(u, v, WEIGHT(g, slot)));
        });
    }
    return tile_reduce<BUCKET_LANES>(total);
}

// Scheme "vertex": a block serves `share` vertices, at most BLOCK. Each thread serves its own if the degree is tiny; the
// others are sorted by degree class into lists in shared memory, which tiles, warps and the whole block work off in turn.
// `out` is written once, without atomics, and the order of additions depends on the graph alone.
// Scheme "auto" lists vertices of more than `limit` neighbours for reduce_heavy_buckets, as many as the list holds; with any other
// `limit` is EMPTY, which no degree exceeds.
extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_vertices(View g, uint32_t num_vertices, const uint32_t* vertices, long long count, uint32_t share,
                uint32_t limit, out_t* out, uint32_t* heavy_entry, long long* heavy_base,
                unsigned long long* heavy_total, uint32_t heavy_capacity PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ uint32_t vertex[BLOCK];
    __shared__ out_t result[BLOCK];
    __shared__ out_t partial[WARPS];
    __shared__ uint8_t list[3][BLOCK];  // positions in the block, per class: small, wide, huge
    __shared__ uint32_t length[3];
    const uint32_t me = threadIdx.x, warp = me / 32, lane = me % 32;
    const long long i = (long long)blockIdx.x * share + me;
    const bool serves = me < share && i < count;

    if (me < 3) length[me] = 0;
    __syncthreads();
    const uint32_t u = !serves ? EMPTY : vertices ? vertices[i] : uint32_t(i);
    const uint32_t neighbors = u < num_vertices ? degree(g, u) : 0;
    vertex[me] = u;
    out_t mine = identity();
    const HeavyList heavy = {heavy_entry, heavy_base, heavy_total, heavy_capacity, HEAVY_SHIFT};
    const bool split =
        neighbors > limit && i < EMPTY && has_space(heavy) && add_heavy(heavy, uint32_t(i), buckets(g, u));
    const bool listed = neighbors > TINY && !split;
    if (listed) {
        const int kind = neighbors <= SMALL ? 0 : neighbors <= WIDE ? 1 : 2;
        list[kind][atomicAdd(&length[kind], 1u)] = uint8_t(me);
    } else if (neighbors > 0 && !split) {
        mine = reduce_neighbors<1>(g, u, 0 ARGS);
    }
    __syncthreads();

    for (uint32_t j = me / TILE; j < length[0]; j += BLOCK / TILE) {
        const uint32_t at = list[0][j];
        const out_t total = reduce_neighbors<TILE>(g, vertex[at], me % TILE ARGS);
        if (me % TILE == 0) result[at] = total;
    }
    for (uint32_t j = warp; j < length[1]; j += WARPS) {
        const uint32_t at = list[1][j];
        const out_t total = reduce_neighbors<32>(g, vertex[at], lane ARGS);
        if (lane == 0) result[at] = total;
    }
    for (uint32_t j = 0; j < length[2]; ++j) {  // the same for all threads: the barriers below are safe
        const uint32_t at = list[2][j], huge = vertex[at], parts = buckets(g, huge);
        out_t total = identity();
        for (uint32_t k = me / BUCKET_LANES; k < parts; k += BLOCK / BUCKET_LANES) {
            for_bucket<BUCKET_LANES>(g, huge, k, me % BUCKET_LANES, [&](uint32_t v, long long slot) {
                total = combine(total, EDGE(huge, v, WEIGHT(g, slot)));
            });
        }
        __syncwarp();
        total = tile_reduce<32>(total);
        if (lane == 0) partial[warp] = total;
        __syncthreads();
        if (me == 0) {
            for (int k = 1; k < WARPS; ++k) total = combine(total, partial[k]);
            result[at] = total;
        }
        __syncthreads();  // partial is free again
    }
    __syncthreads();
    if (serves) out[i] = listed ? result[me] : mine;
}

// The vertices that reduce_vertices listed, whose `out` holds the identity: equal runs of their buckets, with one atomic for each
// run of a vertex.
extern "C" __global__ void reduce_heavy_buckets(View g, const uint32_t* vertices, out_t* out, uint32_t* heavy_entry,
                                                long long* heavy_base, unsigned long long* heavy_total,
                                                uint32_t heavy_capacity PARAMS) {
    const unsigned long long packed = *heavy_total;
    if (packed == 0) return;
    const HeavyList heavy = {heavy_entry, heavy_base, heavy_total, heavy_capacity, HEAVY_SHIFT};
    const int lane = threadIdx.x % BUCKET_LANES;
    for_heavy_runs(g, packed, heavy, vertices, [&](uint32_t i, uint32_t u, uint32_t first, uint32_t end) {
        const out_t total = reduce_run(g, u, first, end, lane ARGS);
        if (lane == 0 && wins(identity(), total)) atomic_combine(out + i, total);
    });
}

// Scheme "bucket", first half: the number of buckets of each vertex, int64[count]; the host sums it up.
extern "C" __global__ void count_buckets(View g, uint32_t num_vertices, const uint32_t* vertices, long long count,
                                         long long* parts) {
    for (long long i = thread_id(); i < count; i += thread_count()) {
        const uint32_t u = vertices ? vertices[i] : uint32_t(i);
        parts[i] = u < num_vertices ? buckets(g, u) : 0;
    }
}

// Scheme "bucket", second half: `ends` is the inclusive sum of `parts`. Each tile takes an equal run of (vertex, bucket) pairs
// and adds to `out`, which holds the identity, with one atomic per vertex of its run.
extern "C" __global__ void reduce_buckets(View g, const uint32_t* vertices, long long count, const long long* ends,
                                          out_t* out PARAMS) {
    const long long total_buckets = ends[count - 1], tiles = thread_count() / BUCKET_LANES;
    const long long share = (total_buckets + tiles - 1) / tiles;
    long long item = thread_id() / BUCKET_LANES * share;
    const long long stop = min(total_buckets, item + share);
    const int lane = threadIdx.x % BUCKET_LANES;
    if (item >= stop) return;

    long long i = 0;  // the first vertex whose buckets end behind `item`
    for (long long high = count - 1; i < high;) {
        const long long middle = (i + high) / 2;
        if (ends[middle] <= item) i = middle + 1;
        else high = middle;
    }
    for (; item < stop; ++i) {
        const long long end = min(stop, ends[i]), first = i > 0 ? ends[i - 1] : 0;
        if (item >= end) continue;  // a vertex without buckets
        const uint32_t u = vertices ? vertices[i] : uint32_t(i);
        const out_t total = reduce_run(g, u, uint32_t(item - first), uint32_t(end - first), lane ARGS);
        item = end;
        if (lane == 0 && wins(identity(), total)) atomic_combine(out + i, total);
    }
}

#if SCAN_LANES > 0
// One atomic per segment into its owner's value, or per edge if segments have many owners; `out` holds the identity.
template <class Segments>
__device__ __forceinline__ void reduce_all(const View& g, uint32_t num_vertices, out_t* out PARAMS) {
#if OWNER_PER_SLOT
    for_segment_edges<Segments>(g, num_vertices, [&](uint32_t u, uint32_t v, long long slot) {
        const out_t value = EDGE(u, v, WEIGHT(g, slot));
        if (wins(identity(), value)) atomic_combine(out + u, value);
    });
#else
    for_segments<Segments>(g, num_vertices, [&](uint32_t u, long long s) {
        out_t total = identity();
        Segments::visit(g, s, [&](uint32_t v, long long slot) { total = combine(total, EDGE(u, v, WEIGHT(g, slot))); });
        total = tile_reduce<SCAN_LANES>(total);
        if (threadIdx.x % SCAN_LANES == 0 && wins(identity(), total)) atomic_combine(out + u, total);
    });
#endif
}

// Scheme "scan": all edges.
extern "C" __global__ void reduce_segments(View g, uint32_t num_vertices, out_t* out PARAMS) {
    reduce_all<AllSegments>(g, num_vertices, out ARGS);
}

#if HAS_UPDATED
// Scheme "updated": the edges inserted since the mark.
extern "C" __global__ void reduce_updated(View g, uint32_t num_vertices, out_t* out PARAMS) {
    reduce_all<UpdatedSegments>(g, num_vertices, out ARGS);
}
#endif
#endif
