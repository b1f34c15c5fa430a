// Kernels of csr_baseline besides the merge (see merge.cu), over a located batch (see batch.cuh): ``slot`` is the first slot not below
// the edge, in the order of all edges. No kernel uses atomics or waits for the host.
#include "batch.cuh"

// Thread per entry: its kind and slot.
extern "C" __global__ void locate(LocatedBatch b, const long long* offsets, const uint32_t* dst) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    uint8_t kind = DUPLICATE;
    long long at = 0;
    if (!is_invalid(b)) {
        uint32_t u = source(b.keys[i]), v = uint32_t(b.keys[i]);
        long long end = offsets[u + 1];
        at = lower_bound(dst, offsets[u], end, v);
        if (is_last(b, i)) kind = at < end && dst[at] == v ? PRESENT : ABSENT;
    }
    b.kind[i] = kind;
    b.slot[i] = at;
}

// Thread per query: binary search; result[i] is written where the edge is stored.
extern "C" __global__ void find_edges(uint32_t m, const uint32_t* src, const uint32_t* query, const long long* offsets,
                                      const uint32_t* dst, const bits_t* weight, bool* found, bits_t* result) {
    uint32_t i = thread_id();
    if (i >= m) return;
    long long end = offsets[src[i] + 1], at = lower_bound(dst, offsets[src[i]], end, query[i]);
    found[i] = at < end && dst[at] == query[i];
#if WEIGHT_BITS
    if (found[i]) result[i] = weight[at];
#endif
}
