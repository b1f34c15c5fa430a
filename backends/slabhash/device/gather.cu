// Copying edges out: of some vertices, all of them, or those inserted since the mark.
#include "slab.cuh"

// Write the edges in a lane's words (those in `mask`) from place `at` on; src and weight may be null.
__device__ __forceinline__ void write_edges(const View& g, const LaneWords& q, uint32_t mask, long long slot,
                                            uint32_t u, long long at, uint32_t* src, uint32_t* dst, bits_t* weight) {
    for (; mask; mask &= mask - 1, ++at) {
        const int c = __ffs(mask) - 1;
        dst[at] = word_of(q, c);
        if (src) src[at] = u;
#if WEIGHT_WORDS
        weight[at] = *weight_at(g, slot + c);
#endif
    }
}

// Edges of vertices[i] (uint32[n], repeats allowed) to offsets[i] and on. `split` warps share a vertex, their tiles
// stride over its buckets; cursor is a zeroed uint32[n] that hands out places, one atomic per warp and round.
extern "C" __global__ void __launch_bounds__(BLOCK) gather(View g, const uint32_t* vertices, const long long* offsets,
                                                           long long n, long long split, uint32_t* cursor,
                                                           uint32_t* dst, bits_t* weight) {
    const Tile t;
    for (long long item = warp_index(); item < n * split; item += warp_count()) {
        const long long i = item / split;
        const uint32_t u = vertices[i];
        const Buckets buckets = buckets_of(g, u);
        const long long head = buckets.head, count = stored_buckets(buckets);
        for (long long first = item % split * TILES; first < count; first += split * TILES) {
            uint32_t slab = first + t.index() < count ? uint32_t(head + first + t.index()) : EMPTY;
            while (__any_sync(WARP, slab != EMPTY)) {
                const long long slot = (long long)slab * SLAB_WORDS + t.lane * LANE_WORDS;
                LaneWords q = filled_words(EMPTY);
                if (slab != EMPTY) q = read_words(g.pool + (long long)slab * SLAB_WORDS, t.lane);
                const uint32_t mask = slot_mask(q, t.lane, true);
                const uint32_t place = reserve<32>(cursor + i, uint32_t(__popc(mask)));
                write_edges(g, q, mask, slot, u, offsets[i] + place, nullptr, dst, weight);
                slab = __shfl_sync(WARP, q.word[LINK_WORD], t.shift + LINK_LANE);
            }
        }
    }
}

// All edges, those of vertex v from offsets[v] on. A tile per slab, in address order; cursor is a zeroed uint32 per
// vertex, one atomic per slab.
extern "C" __global__ void __launch_bounds__(BLOCK) gather_all(View g, const long long* offsets, uint32_t* cursor,
                                                               uint32_t* src, uint32_t* dst, bits_t* weight) {
    const Tile t;
    const long long bump = g.counters[BUMP];
    for (long long base = warp_index() * TILES; base < bump; base += warp_count() * TILES) {
        const long long slab = base + t.index(), slot = slab * SLAB_WORDS + t.lane * LANE_WORDS;
        const uint32_t u = slab < bump ? g.owner[slab] : EMPTY;
        LaneWords q = filled_words(EMPTY);
        if (u != EMPTY) q = read_words(g.pool + slab * SLAB_WORDS, t.lane);
        const uint32_t mask = slot_mask(q, t.lane, true);
        const uint32_t place = reserve<SLAB_LANES>(cursor + u, uint32_t(__popc(mask)));
        if (mask) write_edges(g, q, mask, slot, u, offsets[u] + place, src, dst, weight);
    }
}

// Edges inserted since the mark, in any order; cursor is a zeroed uint64[1]. A tile per touched slab, one atomic per
// warp.
extern "C" __global__ void __launch_bounds__(BLOCK) gather_touched(View g, unsigned long long* cursor, uint32_t* src,
                                                                   uint32_t* dst, bits_t* weight) {
    const Tile t;
    const long long touched = g.counters[TOUCHED];
    for (long long base = warp_index() * TILES; base < touched; base += warp_count() * TILES) {
        const bool active = base + t.index() < touched;
        const uint32_t slab = active ? g.touched[base + t.index()] : 0u, u = g.owner[slab];
        const long long slot = (long long)slab * SLAB_WORDS + t.lane * LANE_WORDS;
        const LaneWords q = read_words(g.pool + (long long)slab * SLAB_WORDS, t.lane);
        const uint32_t fresh = active ? (g.fresh[slab] & ~LISTED_BIT) >> t.lane * LANE_WORDS : 0u;
        const uint32_t mask = fresh & slot_mask(q, t.lane, true);
        const unsigned long long place = reserve<32>(cursor, uint32_t(__popc(mask)));
        write_edges(g, q, mask, slot, u, (long long)place, src, dst, weight);
    }
}
