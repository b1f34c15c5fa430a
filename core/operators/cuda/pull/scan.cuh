// Reducing over the storage of backends that can scan, where a segment has one owner: segments in address order.
#pragma once
#include "pull.cuh"
#include "segments.cuh"

#if SCAN_LANES > 0 && !OWNER_PER_SLOT && !WORD_VALUES && !VALUES_AT_ONCE
// The part of the thread so many lanes above.
__device__ __forceinline__ Reduced part_above(const Reduced& part, int step) {
    Reduced above = nothing_reduced();
    above.value = __shfl_down_sync(ALL_LANES, part.value, step);
#if SYMMETRIC
    above.activated = __shfl_down_sync(ALL_LANES, part.activated, step);
#endif
    return above;
}

// Reduce all segments and call add(x, reduced) in one thread for those of owner x; with wide segments once for those next to each other
// that a warp serves, as buckets of a vertex are. `other` is 1 for the second of two views, of which self-loops are left out.
// SCAN_LANES threads serve a segment; all threads of the grid call it.
template <class Segments, class Add>
__device__ __forceinline__ void scan_segments(const View& g, const Wakers& wakers, uint32_t num_vertices, int other,
                                              Add&& add FORMALS) {
    const uint32_t lane = threadIdx.x % 32;
    const long long all = Segments::count(g), tiles = thread_count() / SCAN_LANES;
    for (long long first = thread_id() / 32 * (32 / SCAN_LANES); first < all; first += tiles) {
        const long long i = first + lane / SCAN_LANES, s = i < all ? Segments::at(g, i) : 0;
        const uint32_t x = i < all ? segment_owner(g, s) : EMPTY;
        Reduced total = nothing_reduced();
        if (i < all) {
            Segments::visit(g, s, [&](uint32_t y, long long slot) {
                if (x >= num_vertices || (OVER == OVER_BOTH && other && x == y)) return;
                include(total, wakers, y, EDGE(x, y, WEIGHT(g, slot)));
            });
        }
        __syncwarp();
        total = reduce_tile<SCAN_LANES>(total);
        bool is_first = lane % SCAN_LANES == 0;
        if (SCAN_LANES >= 4) {  // narrow segments belong to vertices of few
            const uint32_t before = __shfl_up_sync(ALL_LANES, x, SCAN_LANES % 32);
            is_first = is_first && (lane == 0 || before != x);
            const uint32_t run = __popc(__ballot_sync(ALL_LANES, is_first) & (2 * lanes_below() | 1));
#pragma unroll
            for (int step = SCAN_LANES; step < 32; step <<= 1) {
                const Reduced part = part_above(total, step);
                const uint32_t its = __shfl_down_sync(ALL_LANES, run, step);
                if (lane + step < 32 && its == run) total = joined_parts(total, part);
            }
        }
        if (is_first && x < num_vertices) add(x, total);
    }
}
#endif
