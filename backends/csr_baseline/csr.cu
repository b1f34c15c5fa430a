// Kernels of csr_baseline. A batch is sorted first: keys[i] = src << 32 | dst, ascending; order[i] its place in the batch.
// Because the graph is sorted by the same key, the slot of every edge is its rank, and a merge is arithmetic:
//   old edge in slot e      -> e + number of new edges whose slot is at most e
//   new edge with slot s    -> s + number of new edges before it in the batch
// where the slot of a batch edge is the first slot not below it. ``rank`` is the inclusive sum of the flags of the edges
// that count (absent ones for an insertion, present ones for a deletion). Of equal keys only the last counts.
// ``guard`` may be null; where *guard is not zero the batch is bad (ids may be out of range): no edge counts, so the
// merge copies the graph as it is. WEIGHT_BITS is 0, 32 or 64; weights are moved and compared as bit patterns. No kernel
// uses atomics or waits for the host.
#include "search.cuh"

#if WEIGHT_BITS == 64
typedef uint64_t bits_t;
#else
typedef uint32_t bits_t;
#endif

constexpr int ITEMS = 8;  // edges per thread of a rebuild

__device__ __forceinline__ bool bad(const uint32_t* guard) { return guard && *guard; }

__device__ __forceinline__ bool is_last(uint32_t m, const uint64_t* keys, uint32_t i) {
    return i + 1 == m || keys[i + 1] != keys[i];
}

// Thread per batch edge: slot[i], and flag[i] = 1 where the edge counts: it is stored (``stored`` = 1) or not (0).
extern "C" __global__ void locate(uint32_t m, const uint64_t* keys, const long long* offsets, const uint32_t* dst,
                                  const uint32_t* guard, uint32_t stored, long long* slot, int* flag) {
    uint32_t i = thread_id();
    if (i >= m) return;
    if (bad(guard)) {
        slot[i] = 0;
        flag[i] = 0;
        return;
    }
    uint32_t u = uint32_t(keys[i] >> 32), v = uint32_t(keys[i]);
    long long end = offsets[u + 1], at = lower_bound(dst, offsets[u], end, v);
    slot[i] = at;
    flag[i] = is_last(m, keys, i) && (at < end && dst[at] == v) == bool(stored);
}

// Number of edges among the first ``j`` of the sorted batch that count.
__device__ __forceinline__ long long counted(const int* rank, uint32_t j) { return j ? rank[j - 1] : 0; }

// Thread per vertex and one more: new_offsets[v] = offsets[v] + sign * number of counting edges of vertices below v.
extern "C" __global__ void shift_offsets(long long vertices, uint32_t m, const uint64_t* keys, const int* rank,
                                         const long long* offsets, long long sign, long long* new_offsets) {
    long long v = thread_id();
    if (v > vertices) return;
    uint32_t j = lower_bound(keys, 0u, m, uint64_t(v) << 32);
    new_offsets[v] = offsets[v] + sign * counted(rank, j);
}

// Batch edges that lie at the slots of a block's part of the old edges: one search per block end.
struct Part {
    long long begin, end;  // old slots
    uint32_t first, last;  // batch edges; slots of those before are below ``begin``, of those from ``last`` above
};

__device__ __forceinline__ Part part_of_block(uint32_t m, const long long* slot, long long count) {
    __shared__ uint32_t ends[2];
    Part part;
    part.begin = (long long)blockIdx.x * blockDim.x * ITEMS;
    part.end = min(count, part.begin + (long long)blockDim.x * ITEMS);
    if (part.begin >= part.end) return part;  // the same for the whole block
    if (threadIdx.x == 0) ends[0] = lower_bound(slot, 0u, m, part.begin);
    if (threadIdx.x == 32) ends[1] = upper_bound(slot, 0u, m, part.end - 1);
    __syncthreads();
    part.first = ends[0];
    part.last = ends[1];
    return part;
}

// Block per ITEMS * blockDim.x old edges (blockDim.x > 32): copy them to their slots in the new arrays. Coalesced.
extern "C" __global__ void merge_old(long long vertices, uint32_t m, const long long* slot, const int* rank,
                                     const long long* offsets, const uint32_t* dst, const bits_t* weight,
                                     uint32_t* new_dst, bits_t* new_weight) {
    Part part = part_of_block(m, slot, offsets[vertices]);
    for (long long e = part.begin + threadIdx.x; e < part.end; e += blockDim.x) {
        long long to = e + counted(rank, upper_bound(slot, part.first, part.last, e));
        new_dst[to] = dst[e];
#if WEIGHT_BITS
        new_weight[to] = weight[e];
#endif
    }
}

// The same for a deletion: the edges that are deleted are left out.
extern "C" __global__ void compact_old(long long vertices, uint32_t m, const long long* slot, const int* rank,
                                       const long long* offsets, const uint32_t* dst, const bits_t* weight,
                                       uint32_t* new_dst, bits_t* new_weight) {
    Part part = part_of_block(m, slot, offsets[vertices]);
    for (long long e = part.begin + threadIdx.x; e < part.end; e += blockDim.x) {
        uint32_t j = lower_bound(slot, part.first, part.last, e);
        long long below = counted(rank, j);
        bool deleted = counted(rank, upper_bound(slot, j, part.last, e)) > below;
        if (deleted) continue;
        new_dst[e - below] = dst[e];
#if WEIGHT_BITS
        new_weight[e - below] = weight[e];
#endif
    }
}

// Thread per batch edge, after merge_old: write the new edges, replace weights, report. The last duplicate reports.
extern "C" __global__ void merge_batch(uint32_t m, const uint64_t* keys, const uint32_t* order, const long long* slot,
                                       const int* flag, const int* rank, const uint32_t* guard, const bits_t* weight,
                                       const bits_t* batch_weight, uint32_t* new_dst, bits_t* new_weight,
                                       uint8_t* status, bits_t* before) {
    uint32_t i = thread_id();
    if (i >= m) return;
    uint32_t item = order[i];
    uint8_t result = UNCHANGED;
    if (flag[i]) {
        long long to = slot[i] + rank[i] - 1;
        new_dst[to] = uint32_t(keys[i]);
#if WEIGHT_BITS
        new_weight[to] = batch_weight[item];
#endif
        result = NEW;
    }
#if WEIGHT_BITS
    if (!flag[i] && !bad(guard) && is_last(m, keys, i)) {  // stored: all new edges up to here lie before it
        bits_t old = weight[slot[i]], now = batch_weight[item];
        before[item] = old;
        if (old != now) {
            new_weight[slot[i] + rank[i]] = now;
            result = REPLACED;
        }
    }
#endif
    status[item] = result;
}

// Thread per batch edge: report a deletion and the weight before it.
extern "C" __global__ void report_deleted(uint32_t m, const uint32_t* order, const long long* slot, const int* flag,
                                          const bits_t* weight, uint8_t* status, bits_t* before) {
    uint32_t i = thread_id();
    if (i >= m) return;
    status[order[i]] = flag[i] ? REMOVED : UNCHANGED;
#if WEIGHT_BITS
    if (flag[i]) before[order[i]] = weight[slot[i]];
#endif
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
