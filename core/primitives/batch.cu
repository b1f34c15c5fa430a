// Kernels over a located batch that every layout shares, if its weights (bit patterns) are in one array indexed by slot.
// One thread per entry; no atomics and no barrier unless the comment says so. The struct LocatedBatch comes before (see core/store/batch_store.py).
#include "batch.cuh"

// One block: rank[i] = number of entries of this kind among the first i + 1. For batches of a few thousand edges. Barriers of the block.
extern "C" __global__ void rank_in_block(LocatedBatch b, uint32_t kind, int* rank) {
    __shared__ int warp_count[32];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    int counted = 0;  // in the rounds before, the same in all threads
    for (uint32_t first = 0; first < b.size; first += blockDim.x) {
        const uint32_t i = first + threadIdx.x;
        const uint32_t lanes = __ballot_sync(0xFFFFFFFFu, i < b.size && b.kind[i] == kind);
        if (lane == 0) warp_count[warp] = __popc(lanes);
        __syncthreads();
        int before = counted;
        for (uint32_t w = 0; w < warps; ++w) {
            if (w < warp) before += warp_count[w];
            counted += warp_count[w];
        }
        if (i < b.size) rank[i] = before + __popc(lanes & (0xFFFFFFFFu >> (31 - lane)));
        __syncthreads();
    }
}

// flags[i] = 1 where entry i is of this kind; their inclusive sum is LocatedBatch::rank.
extern "C" __global__ void flag(LocatedBatch b, uint32_t kind, int* flags) {
    uint32_t i = thread_id();
    if (i < b.size) flags[i] = b.kind[i] == kind;
}

// Before an insertion: report each edge in its place in the batch, and give the stored ones their new weights.
extern "C" __global__ void report_insertion(LocatedBatch b, bits_t* weight, const bits_t* batch_weight, uint8_t* status,
                                            bits_t* before) {
    uint32_t i = thread_id();
    if (i < b.size) report_inserted(b, i, weight, batch_weight, status, before);
}

// Before a deletion: report each edge in its place in the batch, and the weight it had.
extern "C" __global__ void report_deletion(LocatedBatch b, const bits_t* weight, uint8_t* status, bits_t* before) {
    uint32_t i = thread_id();
    if (i < b.size) report_deleted(b, i, weight, status, before);
}

// Answer queries: all duplicates of an edge read the entry of the last.
extern "C" __global__ void answer(LocatedBatch b, const bits_t* weight, bool* found, bits_t* result) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    uint32_t last = gallop_up(b.keys, i, uint32_t(b.size), b.keys[i]) - 1;
    found[b.order[i]] = b.kind[last] == PRESENT;
#if WEIGHT_BITS
    if (b.kind[last] == PRESENT) result[b.order[i]] = weight[b.slot[last]];
#endif
}

// Append the keys of the new edges of a batch, in any order, to a log of inserted edges, one atomic each.
extern "C" __global__ void log_new(uint32_t m, const uint32_t* src, const uint32_t* dst, const uint8_t* status,
                                   unsigned long long* count, uint64_t* log) {
    uint32_t i = thread_id();
    if (i < m && status[i] == NEW) log[atomicAdd(count, 1ull)] = (uint64_t(src[i]) << 32) | dst[i];
}
