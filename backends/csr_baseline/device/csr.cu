// Kernels of csr_baseline, over a located batch (see batch.cuh): ``slot`` is the first slot not below the edge, in the order
// of all edges. Because the graph is sorted by the same key, a merge is arithmetic:
//   old edge in slot e      -> e + number of new edges whose slot is at most e
//   new edge with slot s    -> s + number of new edges before it in the batch
// A deletion is the same with the signs turned. In an invalid batch no entry counts, so a merge copies the graph as it is.
// Weights are moved and compared as bit patterns. No kernel uses atomics or waits for the host.
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

// Thread per vertex and one more: new_offsets[v] = offsets[v] + sign * number of counting entries of vertices below v.
extern "C" __global__ void shift_offsets(long long vertices, LocatedBatch b, const long long* offsets, long long sign,
                                         long long* new_offsets) {
    long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (v > vertices) return;
    uint32_t j = lower_bound(b.keys, 0u, uint32_t(b.size), uint64_t(v) << 32);
    new_offsets[v] = offsets[v] + sign * rank_before(b, j);
}

// The old slots of a block, and the batch entries among them: one search per end.
struct BlockRange {
    long long begin, end;  // old slots
    uint32_t first, last;  // batch edges; slots of those before are below ``begin``, of those from ``last`` above
};

__device__ __forceinline__ BlockRange range_of_block(uint32_t m, const long long* slot, long long count) {
    __shared__ uint32_t ends[2];
    BlockRange range;
    range.begin = (long long)blockIdx.x * blockDim.x * ITEMS;
    range.end = min(count, range.begin + (long long)blockDim.x * ITEMS);
    if (range.begin >= range.end) return range;  // the same for the whole block
    if (threadIdx.x == 0) ends[0] = lower_bound(slot, 0u, m, range.begin);
    if (threadIdx.x == 32) ends[1] = upper_bound(slot, 0u, m, range.end - 1);
    __syncthreads();
    range.first = ends[0];
    range.last = ends[1];
    return range;
}

// Block per ITEMS * blockDim.x old edges (blockDim.x > 32): copy them to their slots in the new arrays. Coalesced.
extern "C" __global__ void merge_old(long long vertices, LocatedBatch b, const long long* offsets, const uint32_t* dst,
                                     const bits_t* weight, uint32_t* new_dst, bits_t* new_weight) {
    BlockRange range = range_of_block(uint32_t(b.size), b.slot, offsets[vertices]);
    for (long long e = range.begin + threadIdx.x; e < range.end; e += blockDim.x) {
        long long to = e + rank_before(b, upper_bound(b.slot, range.first, range.last, e));
        new_dst[to] = dst[e];
#if WEIGHT_BITS
        new_weight[to] = weight[e];
#endif
    }
}

// The same for a deletion: the edges that are deleted are left out.
extern "C" __global__ void compact_old(long long vertices, LocatedBatch b, const long long* offsets,
                                       const uint32_t* dst, const bits_t* weight, uint32_t* new_dst,
                                       bits_t* new_weight) {
    BlockRange range = range_of_block(uint32_t(b.size), b.slot, offsets[vertices]);
    for (long long e = range.begin + threadIdx.x; e < range.end; e += blockDim.x) {
        uint32_t j = lower_bound(b.slot, range.first, range.last, e);
        long long below = rank_before(b, j);
        bool deleted = rank_before(b, upper_bound(b.slot, j, range.last, e)) > below;
        if (deleted) continue;
        new_dst[e - below] = dst[e];
#if WEIGHT_BITS
        new_weight[e - below] = weight[e];
#endif
    }
}

// Thread per entry, after merge_old: write the new edges, replace weights, report in the order of the batch.
extern "C" __global__ void merge_new(LocatedBatch b, const bits_t* weight, const bits_t* batch_weight,
                                     uint32_t* new_dst, bits_t* new_weight, uint8_t* status, bits_t* before) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    uint32_t item = b.order[i];
    uint8_t result = UNCHANGED;
    if (b.kind[i] == ABSENT) {
        long long to = b.slot[i] + b.rank[i] - 1;
        new_dst[to] = uint32_t(b.keys[i]);
#if WEIGHT_BITS
        new_weight[to] = batch_weight[item];
#endif
        result = NEW;
    }
#if WEIGHT_BITS
    if (b.kind[i] == PRESENT) {  // all new edges up to here lie before it
        bits_t old = weight[b.slot[i]], now = batch_weight[item];
        before[item] = old;
        if (old != now) {
            new_weight[b.slot[i] + b.rank[i]] = now;
            result = REPLACED;
        }
    }
#endif
    status[item] = result;
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
