// Calls every function that a cursor header must have, each with the widths that operators use: a header that lacks one,
// or takes other arguments, does not compile. It is never launched.

template <int LANES>
__device__ unsigned long long probe_vertex(const View& g, uint32_t u, int lane) {
    unsigned long long sum = degree(g, u) + buckets(g, u) + find(g, u, 0);
    auto visit = [&](uint32_t v, long long slot) {
        sum += v + slot;
#if WEIGHTED
        sum += (unsigned long long)weight(g, slot);
#endif
    };
    for_bucket<LANES>(g, u, 0, lane, visit);
    for_neighbors<LANES>(g, u, lane, visit);
    return sum;
}

#if SCAN_LANES
__device__ unsigned long long probe_segment(const View& g, long long s, int lane) {
    unsigned long long sum = 0;
    auto visit = [&](uint32_t v, long long slot) {
        sum += v;
#if OWNER_PER_SLOT
        sum += slot_owner(g, slot);
#endif
    };
#if !OWNER_PER_SLOT
    sum += segment_owner(g, s);
#endif
    for_segment(g, s, lane, visit);
#if HAS_UPDATED
    for (long long i = 0; i < updated_segments(g); ++i) for_updated(g, updated_segment(g, i), lane, visit);
#endif
    return sum;
}
#endif

extern "C" __global__ void cursor_probe(View g, unsigned long long* out) {
    const int lane = threadIdx.x % 32;
    *out = probe_vertex<1>(g, blockIdx.x, 0) + probe_vertex<8>(g, blockIdx.x, lane % 8);
    *out += probe_vertex<32>(g, blockIdx.x, lane);
#if SCAN_LANES
    for (long long s = 0; s < segments(g); ++s) *out += probe_segment(g, s, lane % SCAN_LANES);
#endif
}
