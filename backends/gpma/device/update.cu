// An insertion in place, or a strict deletion, in one cooperative launch over a located batch (see batch.cuh):
//   take_entry | climb | choose | merge_segment by warps and by blocks | merge_large by the grid
// with a barrier of all blocks at each bar. No locks: segments that are rebalanced lie beside each other, and each has one owner.
// Atomics: bits of planned segments, lengths of the two lists, counters. In an invalid batch no entry counts. Waits for nothing.
#include "large.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

union Shared {
    Packed<(1 << BY_WARP)> by_warp[WARPS];
    Packed<(1 << BY_BLOCK)> by_block;
    long long sums[WARPS];
};

extern "C" __global__ void __launch_bounds__(THREADS) update(Graph g, LocatedBatch b, Changes c, long long* sums,
                                                             uint32_t inserts, const bits_t* batch_weight,
                                                             uint8_t* status, bits_t* before) {
    __shared__ Shared shared;
    Work* const work = g.work;
    const uint32_t lane = lane_id(), warp = threadIdx.x / 32;
    const uint32_t warps = gridDim.x * WARPS, number = blockIdx.x * WARPS + warp;
    const uint32_t count = changes_of(b);

    for (uint32_t i = thread_id(); i < b.size; i += thread_count())
        take_entry(g, b, c, i, inserts, batch_weight, status, before);
    all_blocks(work);

    const uint32_t share = min(32u, max(1u, (count + warps - 1) / warps));  // changes that a warp looks at together
    for (uint32_t start = number * share; start < count; start += warps * share) {
        const uint32_t k = start + lane;
        climb(g, c, work, count, inserts, lane < share && k < count ? k : ALL);
    }
    all_blocks(work);

    const uint32_t top = work->top;
    for (uint32_t k = thread_id(); k < count; k += thread_count()) choose(g, c, work, top, k);
    all_blocks(work);

    const uint32_t added = inserts ? count : 0;  // the places of a deletion are no new entries
    for (uint32_t start = number * share; start < count; start += warps * share) {
        const uint32_t k = start + lane;
        const uint8_t level = lane < share && k < count ? c.level[k] : NOTHING;
        const long long leaf = level == NOTHING ? 0 : c.places[k] >> LEAF_BITS;
        if (level != NOTHING) g.planned[leaf >> (level & ~ABSORBED) << (level & ~ABSORBED)] = 0;
        for (uint32_t mine = __ballot_sync(ALL, level <= BY_WARP); mine; mine &= mine - 1) {
            const int from = __ffs(mine) - 1;
            const long long its = __shfl_sync(ALL, leaf, from);
            const int at = __shfl_sync(ALL, int(level), from);
            merge_segment<1>(g, b, c, added, batch_weight, segment_of(g, its, at), shared.by_warp[warp]);
        }
    }
    __syncthreads();
    const uint32_t by_block = work->by_block, by_grid = work->by_grid;
    for (uint32_t j = blockIdx.x; j < by_block; j += gridDim.x) {
        const uint32_t k = c.lists[j];
        merge_segment<WARPS>(g, b, c, added, batch_weight, segment_of(g, c.places[k] >> LEAF_BITS, c.level[k]),
                             shared.by_block);
    }
    if (by_grid) {
        Rounds rounds = {work, sums, 0};
        for (uint32_t j = 0; j < by_grid; ++j) {
            all_blocks(work);
            const uint32_t k = c.lists[c.size - 1 - j];
            merge_large(g, b, c, added, batch_weight, segment_of(g, c.places[k] >> LEAF_BITS, c.level[k]), rounds,
                        shared.sums);
        }
    }
    all_blocks(work);
    if (thread_id() == 0) work->top = work->by_block = work->by_grid = 0;
}
