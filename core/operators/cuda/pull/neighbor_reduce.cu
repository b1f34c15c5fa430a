// neighbor_reduce: one value per vertex from its neighbours. Types: vertices uint32[] or null for all, out out_t[]. With
// HAS_THEN the epilogue `then_fn(x, value)` runs once per vertex, when its value is complete; then `out` is null or has an
// entry per vertex, and the vertices for which it says true are appended to `queue` (uint32[]), *count of them.
#include "scan.cuh"

// What becomes of the value of vertex x, the i-th that is served; called by one thread.
__device__ __forceinline__ void complete(uint32_t i, uint32_t x, uint32_t num_vertices, const Reduced& reduced,
                                         store_t* out, uint32_t* queue, uint32_t* count FORMALS) {
#if HAS_THEN
    if (x >= num_vertices) return;
    if (out) out[x] = store_t(reduced.value);
    if (THEN(x, reduced)) append(queue, count, x);
#else
    out[i] = store_t(reduced.value);
#if IS_BEST
    if (x < num_vertices) {
        const double score = reduced.value == EMPTY ? Limits<double>::low() : SCORE(x, reduced.value, reduced.total);
        NOTE(x, reduced.value, score)
    }
#endif
#endif
}

// Scheme "vertex": the vertices of a list, vertices[0 .. *device_count), or `size` of them if device_count is null; vertices null:
// those below size. Blocks serve `share` vertices at a time (see pull_vertices); share 0: the fair share of the number.
// `out` is written once, without atomics. Scheme "auto" leaves vertices of more than `limit` neighbours to reduce_heavy_vertices, as
// many as the list holds (one atomic each); with any other `limit` is EMPTY, which no degree exceeds. Barriers of the block.
extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_vertices(VIEWS, uint32_t num_vertices, const uint32_t* vertices, const uint32_t* device_count, long long size,
                uint32_t share, uint32_t limit, store_t* out, uint32_t* queue, uint32_t* count,
                unsigned char* heavy_memory, unsigned long long* heavy_total, uint32_t heavy_capacity PARAMS) {
    LOCALS
    __shared__ PullShared<BLOCK> shared;
    constexpr uint32_t WARPS = BLOCK / 32;
    const long long number = device_count ? (long long)*device_count : size;
    const uint32_t fair = uint32_t(min((long long)BLOCK, WARPS * ((number - 1) / (WARPS * (long long)gridDim.x) + 1)));
    const Heavy heavy = heavy_in(heavy_memory, heavy_total, heavy_capacity);
    pull_vertices<BLOCK>(
        WALKED, {}, num_vertices, [&](long long i) { return vertices ? vertices[i] : uint32_t(i); }, number,
        share ? share : fair, blockIdx.x, gridDim.x, limit, heavy, shared,
        [&](uint32_t i, uint32_t x, const Reduced& reduced) {
            complete(i, x, num_vertices, reduced, out, queue, count ARGS);
        } ARGS);
    FINISH
}

// The vertices that reduce_vertices listed, in a launch behind it: their buckets in equal runs, by all warps of the grid. A few atomics per run and
// vertex; the tile that ends a vertex's last bucket completes it.
extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_heavy_vertices(VIEWS, uint32_t num_vertices, store_t* out, uint32_t* queue, uint32_t* count,
                      unsigned char* heavy_memory, unsigned long long* heavy_total, uint32_t heavy_capacity PARAMS) {
    if (*heavy_total == 0) return;  // accumulators are as reduce_vertices left them
    LOCALS
    __shared__ PullShared<BLOCK> shared;
    const Heavy heavy = heavy_in(heavy_memory, heavy_total, heavy_capacity);
    reduce_heavy(WALKED, {}, *heavy_total, heavy, blockIdx.x, gridDim.x, shared,
                 [&](uint32_t i, uint32_t x, const Reduced& reduced) {
                     complete(i, x, num_vertices, reduced, out, queue, count ARGS);
                 } ARGS);
    FINISH
}

#if !VALUES_AT_ONCE
// Scheme "bucket", first half: the number of buckets of each vertex, int64[size]; the host sums it up. Thread per vertex, grid-stride.
extern "C" __global__ void count_buckets(VIEWS, uint32_t num_vertices, const uint32_t* vertices, long long size,
                                         long long* parts) {
    for (long long i = thread_id(); i < size; i += thread_count()) {
        const uint32_t x = vertices ? vertices[i] : uint32_t(i);
        parts[i] = x < num_vertices ? buckets_of_vertex(WALKED, x) : 0;
    }
}

// Scheme "bucket", second half: `ends` is the inclusive sum of `parts`. Each tile takes an equal run of (vertex, bucket) pairs
// and adds to `out`, which holds the identity, with one atomic per vertex of its run.
extern "C" __global__ void reduce_buckets(VIEWS, const uint32_t* vertices, long long size, const long long* ends,
                                          out_t* out PARAMS) {
    LOCALS
    const long long total_buckets = ends[size - 1], tiles = thread_count() / BUCKET_LANES;
    const long long share = (total_buckets + tiles - 1) / tiles;
    long long item = thread_id() / BUCKET_LANES * share;
    const long long stop = min(total_buckets, item + share);
    const int lane = threadIdx.x % BUCKET_LANES;

    long long i = 0;  // the first vertex whose buckets end behind `item`
    for (long long high = size - 1; i < high;) {
        const long long middle = (i + high) / 2;
        if (ends[middle] <= item) i = middle + 1;
        else high = middle;
    }
    for (; item < stop; ++i) {
        const long long end = min(stop, ends[i]), first = i > 0 ? ends[i - 1] : 0;
        if (item >= end) continue;  // a vertex without buckets
        const uint32_t x = vertices ? vertices[i] : uint32_t(i);
        const Reduced total = reduce_tile<BUCKET_LANES>(reduce_part(WALKED, {}, x, uint32_t(item - first),
                                                                    uint32_t(end - first), 1, lane ARGS));
        item = end;
        if (lane == 0 && wins(identity(), total.value)) atomic_combine(out + i, total.value);
    }
    FINISH
}

#if SCAN_LANES > 0 && !WORD_VALUES
// Schemes "scan" and "updated", SCAN_LANES threads per segment: reduce all edges into sums (out_t[num_vertices]), which hold the identity, with one
// atomic per run of segments into their owner's value, or per run of a thread's edges if segments have many owners. `other` is 1 for the
// second of two views, of which self-loops are left out.
template <class Segments>
__device__ __forceinline__ void reduce_all(const View& g, uint32_t num_vertices, out_t* sums, int other FORMALS) {
#if OWNER_PER_SLOT
    const long long all = Segments::count(g), tiles = thread_count() / SCAN_LANES;
    for (long long i = thread_id() / SCAN_LANES; i < all; i += tiles) {
        uint32_t owner = EMPTY;
        out_t total = identity();
        const auto add_run = [&] {
            if (owner < num_vertices && wins(identity(), total)) atomic_combine(sums + owner, total);
        };
        Segments::visit(g, Segments::at(g, i), [&](uint32_t y, long long slot) {
            const uint32_t x = slot_owner(g, slot);
            if (x != owner) {
                add_run();
                owner = x;
                total = identity();
            }
            if (x >= num_vertices || (OVER == OVER_BOTH && other && x == y)) return;
            total = combine(total, EDGE(x, y, WEIGHT(g, slot)));
        });
        add_run();
    }
#else
    scan_segments<Segments>(g, {}, num_vertices, other, [&](uint32_t x, const Reduced& total) {
        if (wins(identity(), total.value)) atomic_combine(sums + x, total.value);
    } ARGS);
#endif
}

// Scheme "scan": all segments, see reduce_all.
extern "C" __global__ void reduce_segments(View g, uint32_t num_vertices, out_t* sums, int other PARAMS) {
    LOCALS
    reduce_all<AllSegments>(g, num_vertices, sums, other ARGS);
    FINISH
}

#if HAS_UPDATED
// Scheme "updated": the segments that edges were inserted into since the mark, see reduce_all.
extern "C" __global__ void reduce_updated(View g, uint32_t num_vertices, out_t* sums, int other PARAMS) {
    LOCALS
    reduce_all<UpdatedSegments>(g, num_vertices, sums, other ARGS);
    FINISH
}
#endif
#endif

#if !WORD_VALUES
// The epilogue behind a scan: completes the vertices from `begin` on, below `end`, a thread each, grid-stride. `sums` may be `out`; else it
// holds the identity again afterwards.
extern "C" __global__ void __launch_bounds__(BLOCK)
complete_vertices(uint32_t begin, uint32_t end, out_t* sums, out_t* out, uint32_t* queue, uint32_t* count PARAMS) {
    LOCALS
    for (unsigned long long i = begin + thread_id(); i < end; i += thread_count()) {
        const uint32_t x = uint32_t(i);
        Reduced whole = nothing_reduced();
        whole.value = sums[x];
        complete(x, x, end, whole, out, queue, count ARGS);
        if (sums != out) sums[x] = identity();  // at last: a store behind a load of the same word would hold up the SM
    }
    FINISH
}
#endif
#endif
