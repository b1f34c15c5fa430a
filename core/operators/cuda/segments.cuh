// Passes over the storage of backends that can scan: all segments in address order, or those that edges were inserted into since
// the mark; SCAN_LANES threads serve a segment.
#pragma once
#include "operators.cuh"

#if SCAN_LANES > 0
struct AllSegments {
    static __device__ __forceinline__ long long count(const View& g) { return segments(g); }
    static __device__ __forceinline__ long long at(const View&, long long i) { return i; }
    template <class F> static __device__ __forceinline__ void visit(const View& g, long long s, F&& f) {
        for_segment(g, s, threadIdx.x % SCAN_LANES, f);
    }
};

#if HAS_UPDATED
struct UpdatedSegments {
    static __device__ __forceinline__ long long count(const View& g) { return updated_segments(g); }
    static __device__ __forceinline__ long long at(const View& g, long long i) { return updated_segment(g, i); }
    template <class F> static __device__ __forceinline__ void visit(const View& g, long long s, F&& f) {
        for_updated(g, s, threadIdx.x % SCAN_LANES, f);
    }
};
#endif

#if OWNER_PER_SLOT
// Call f(u, v, slot) for each edge (u, v) of the segments, in the thread that serves it.
template <class Segments, class F>
__device__ __forceinline__ void for_segment_edges(const View& g, uint32_t num_vertices, F&& f) {
    const long long all = Segments::count(g), tiles = thread_count() / SCAN_LANES;
    for (long long i = thread_id() / SCAN_LANES; i < all; i += tiles) {
        Segments::visit(g, Segments::at(g, i), [&](uint32_t v, long long slot) {
            const uint32_t u = slot_owner(g, slot);
            if (u < num_vertices) f(u, v, slot);
        });
    }
}
#else
// Call f(u, s) for each segment s, in the threads that serve it, with the vertex u that owns it.
template <class Segments, class F>
__device__ __forceinline__ void for_segments(const View& g, uint32_t num_vertices, F&& f) {
    const long long all = Segments::count(g), tiles = thread_count() / SCAN_LANES;
    for (long long i = thread_id() / SCAN_LANES; i < all; i += tiles) {
        const long long s = Segments::at(g, i);
        const uint32_t u = segment_owner(g, s);
        if (u < num_vertices) f(u, s);  // else it is free
    }
}

// Call f(u, v, slot) for each edge (u, v) of the segments, in the thread that serves it.
template <class Segments, class F>
__device__ __forceinline__ void for_segment_edges(const View& g, uint32_t num_vertices, F&& f) {
    for_segments<Segments>(g, num_vertices, [&](uint32_t u, long long s) {
        Segments::visit(g, s, [&](uint32_t v, long long slot) { f(u, v, slot); });
    });
}
#endif
#endif
