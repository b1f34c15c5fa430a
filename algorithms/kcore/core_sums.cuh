// Sums over the rows of a list of vertices, for core numbers.
#pragma once
#include "core_rows.cuh"

template <class T>
__device__ __forceinline__ T warp_sum(T mine) {
    for (int step = 16; step > 0; step >>= 1) mine += __shfl_xor_sync(WARP, mine, step);
    return mine;
}

// For the vertices v = vertex(i), i < count: done(v, sum) in one thread, with the sum of what the visitors that visitor(v) makes have
// found in `sum`. A tile per vertex, a warp if it has many neighbours or there are few vertices, the block at hubs. All threads of the
// block call it; a barrier lies between two calls.
template <class Vertex, class Visitor, class Done>
__device__ __forceinline__ void sum_rows(const View& g, uint32_t count, Vertex&& vertex, Visitor&& visitor,
                                         Done&& done) {
    const uint32_t lane = threadIdx.x & 31, warps = thread_count() / 32;
    Hubs& hubs = block_hubs();
    no_hubs(hubs);
    for (unsigned long long base = thread_id() / 32; base < count; base += (unsigned long long)warps * (32 / TILE)) {
        const unsigned long long i = base + (unsigned long long)(lane / TILE) * warps;
        const uint32_t v = i < count ? vertex(uint32_t(i)) : EMPTY;
        const bool wide = v != EMPTY && (count <= warps || degree(g, v) > SMALL);
        uint64_t mine = 0;
        if (v != EMPTY && !wide) {
            auto visit = visitor(v);
            visit_walk(WalkRow<TILE>{g, v, int(lane % TILE)}, visit);
            mine = visit.sum;
        }
        for (int step = TILE / 2; step > 0; step >>= 1) mine += __shfl_xor_sync(WARP, mine, step);
        if (v != EMPTY && !wide && lane % TILE == 0) done(v, mine);
        for (uint32_t left = __ballot_sync(WARP, wide && lane % TILE == 0); left; left &= left - 1) {
            const uint32_t u = __shfl_sync(WARP, v, __ffs(left) - 1);
            if (listed_as_hub(g, u, hubs)) continue;
            auto visit = visitor(u);
            visit_part(g, u, 0, 1, visit);
            const uint64_t found = warp_sum(visit.sum);
            if (lane == 0) done(u, found);
        }
    }
    __syncthreads();  // all are listed
    const uint32_t listed = min(hubs.number, HUBS);
    for (uint32_t i = 0; i < listed; ++i) {
        const uint32_t u = hubs.list[i];
        auto visit = visitor(u);
        visit_part(g, u, threadIdx.x / 32, blockDim.x / 32, visit);
        const uint64_t found = warp_sum(visit.sum);
        if (lane == 0 && found) atomicAdd(&hubs.sum, (unsigned long long)found);
        __syncthreads();
        if (threadIdx.x == 0) {
            done(u, uint64_t(hubs.sum));
            hubs.sum = 0;
        }
        __syncthreads();
    }
}
