// Generic operations over a cursor: the CUDA twin of queries.py and updated_loops.py. The view's prelude comes before it.
// Grid-stride loops with 64-bit indices; one thread per entry unless the comment says otherwise; nothing synchronises. Atomics only where named.
// ``weights`` may be null, as it is on unweighted stores. Entries that are listed twice are served twice.
#include "batch.cuh"

#if WEIGHTED
#define COPY_WEIGHT(at, slot) weights[at] = weight(g, slot)
#else
#define COPY_WEIGHT(at, slot)
#endif

constexpr int LANES = 32, TEAM = 8;  // threads that share a vertex, or a bucket

// degrees uint32[num_vertices].
extern "C" __global__ void list_degrees(View g, long long num_vertices, uint32_t* degrees) {
    for (long long u = wide_thread_id(); u < num_vertices; u += wide_thread_count())
        degrees[u] = degree(g, uint32_t(u));
}

// Look up the edges src[i] -> dst[i]: found bool[count], weights weight_t[count], unchanged where the edge is not stored.
extern "C" __global__ void find_edges(View g, long long count, const uint32_t* src, const uint32_t* dst, bool* found,
                                      weight_t* weights) {
    for (long long i = wide_thread_id(); i < count; i += wide_thread_count()) {
        const long long slot = find(g, src[i], dst[i]);
        found[i] = slot >= 0;
        if (slot >= 0) COPY_WEIGHT(i, slot);
    }
}

// Locate a sorted batch (see batch.cuh): kind and slot (-1 if it is not stored) of each entry.
extern "C" __global__ void locate(View g, LocatedBatch b) {
    for (long long i = wide_thread_id(); i < b.size; i += wide_thread_count()) {
        const bool counts = !is_invalid(b) && is_last(b, uint32_t(i));
        const long long slot = counts ? find(g, source(b.keys[i]), uint32_t(b.keys[i])) : -1;
        b.slot[i] = slot;
        b.kind[i] = !counts ? DUPLICATE : slot >= 0 ? PRESENT : ABSENT;
    }
}

// A warp per vertex; with ``parts`` above 1 as many teams, which take its buckets in turn. The next free place of each vertex is in
// ``next``, at first its offset: atomics, one per edge.
extern "C" __global__ void list_edges(View g, long long count, uint32_t parts, const uint32_t* vertices,
                                      unsigned long long* next, uint32_t* src, uint32_t* dst, weight_t* weights) {
    const int lanes = parts > 1 ? TEAM : LANES;
    for (long long k = wide_thread_id() / lanes; k < count * parts; k += wide_thread_count() / lanes) {
        const long long i = k / parts;
        const uint32_t u = vertices[i];
        const auto list = [&](uint32_t v, long long slot) {
            const unsigned long long at = atomicAdd(&next[i], 1ull);
            src[at] = u;
            dst[at] = v;
            COPY_WEIGHT(at, slot);
        };
        if (parts == 1) {
            for_neighbors<LANES>(g, u, threadIdx.x % LANES, list);
            continue;
        }
        const uint32_t end = buckets(g, u);
        for (uint32_t bucket = uint32_t(k % parts); bucket < end; bucket += parts)
            for_bucket<TEAM>(g, u, bucket, threadIdx.x % TEAM, list);
    }
}

#if HAS_UPDATED
// SCAN_LANES threads per segment. Counts in ``listed`` the edges inserted since the mark, one atomic each, and writes the first ``capacity``.
extern "C" __global__ void list_updated(View g, uint32_t num_vertices, unsigned long long* listed,
                                        unsigned long long capacity, uint32_t* src, uint32_t* dst, weight_t* weights) {
    const long long count = updated_segments(g);
    for (long long i = wide_thread_id() / SCAN_LANES; i < count; i += wide_thread_count() / SCAN_LANES) {
        const long long s = updated_segment(g, i);
#if !OWNER_PER_SLOT
        const uint32_t u = segment_owner(g, s);
        if (u >= num_vertices) continue;  // the segment is free
#endif
        for_updated(g, s, threadIdx.x % SCAN_LANES, [&](uint32_t v, long long slot) {
#if OWNER_PER_SLOT
            const uint32_t u = slot_owner(g, slot);
#endif
            const unsigned long long at = atomicAdd(listed, 1ull);
            if (at >= capacity) return;
            src[at] = u;
            dst[at] = v;
            COPY_WEIGHT(at, slot);
        });
    }
}
#endif
