// Batched queries. Arrays: src, dst uint32[n], found uint8[n], result bits_t[n].
#include "slabs.cuh"

#ifndef IN_FLIGHT
#define IN_FLIGHT 2
#endif

// Look edges up: a tile takes IN_FLIGHT edges at a time, so that as many slabs are on their way; in grid stride. Reads
// only. `result` receives the weights of the edges found.
extern "C" __global__ void __launch_bounds__(256)
find(View g, const uint32_t* src, const uint32_t* dst, long long n, uint8_t* found, bits_t* result) {
    const Tile t;
    constexpr int STEP = TILES * IN_FLIGHT;
    for (long long base = warp_index() * STEP; base < n; base += warp_count() * STEP) {
        uint32_t v[IN_FLIGHT], slab[IN_FLIGHT];
        bool there[IN_FLIGHT];
#pragma unroll
        for (int p = 0; p < IN_FLIGHT; ++p) {
            const long long i = base + p * TILES + t.index();
            v[p] = 0;
            slab[p] = EMPTY;
            there[p] = false;
            if (i < n) {
                v[p] = dst[i];
                slab[p] = head_of(g, src[i], v[p]);
            }
        }
        for (;;) {
            bool busy = false;
#pragma unroll
            for (int p = 0; p < IN_FLIGHT; ++p) busy |= slab[p] != EMPTY;
            if (!__any_sync(WARP, busy)) break;
            uint4 q[IN_FLIGHT];
#pragma unroll
            for (int p = 0; p < IN_FLIGHT; ++p) {
                q[p] = uint4{EMPTY, EMPTY, EMPTY, EMPTY};
                if (slab[p] != EMPTY)
                    q[p] = __ldg(reinterpret_cast<const uint4*>(g.pool + (long long)slab[p] * SLAB_WORDS + t.lane * 4));
            }
#pragma unroll
            for (int p = 0; p < IN_FLIGHT; ++p) {
                uint32_t next = __shfl_sync(WARP, part_of(q[p], LINK_PART), t.shift + LINK_LANE);
                const uint32_t hit = slab[p] == EMPTY ? 0u : match_mask(q[p], t.lane, v[p]);
                const bool hits = tile_ballot(t, hit);
#if WEIGHT_WORDS
                if (hit) {
                    long long slot = (long long)slab[p] * SLAB_WORDS + t.lane * 4 + __ffs(hit) - 1;
                    result[base + p * TILES + t.index()] = *weight_at(g, slot);
                }
#endif
                there[p] |= hits;
                slab[p] = hits ? EMPTY : next;
            }
        }
#pragma unroll
        for (int p = 0; p < IN_FLIGHT; ++p) {
            const long long i = base + p * TILES + t.index();
            if (i < n && t.lane == 0) found[i] = there[p];
        }
    }
}
