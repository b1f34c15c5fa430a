// Batched deletion. Arrays: src, dst uint32[n], status uint8[n], before bits_t[n].
#include "slabs.cuh"

// Turn the keys of the edges into TOMBSTONE: a tile per edge, in grid stride. One compare-and-swap per edge found, whose
// winner reports REMOVED, however often the edge is in the batch; one atomic per distinct source of a warp keeps the
// degrees exact. All edges are UNCHANGED if the guard is set. Does not synchronise.
extern "C" __global__ void __launch_bounds__(256)
erase(View g, const uint32_t* src, const uint32_t* dst, long long n, const uint32_t* guard, uint8_t* status,
      bits_t* before) {
    const Tile t;
    const bool barred = guard && *guard;
    for (long long base = warp_index() * TILES; base < n; base += warp_count() * TILES) {
        const long long i = base + t.index();
        uint32_t u = 0, v = 0, slab = EMPTY;
        if (i < n && !barred) {
            u = src[i];
            v = dst[i];
            slab = head_of(g, u, v);
        }
        uint8_t result = UNCHANGED;
        while (__any_sync(WARP, slab != EMPTY)) {
            const long long first = (long long)slab * SLAB_WORDS;
            uint4 q = {EMPTY, EMPTY, EMPTY, EMPTY};
            if (slab != EMPTY) q = load_quad(g.pool + first + t.lane * 4);
            uint32_t next = __shfl_sync(WARP, part_of(q, LINK_PART), t.shift + LINK_LANE);
            const uint32_t hit = slab == EMPTY ? 0u : match_mask(q, t.lane, v);
            const uint32_t hits = tile_ballot(t, hit);
            if (hit) {
                long long slot = first + t.lane * 4 + __ffs(hit) - 1;
#if WEIGHT_WORDS
                before[i] = *weight_at(g, slot);  // the same for all duplicates
#endif
                if (atomicCAS(g.pool + slot, v, TOMBSTONE) == v) result = REMOVED;
            }
            slab = hits ? EMPTY : next;
        }
        const uint32_t removed = tile_ballot(t, result == REMOVED);
        if (i < n && t.lane == (removed ? __ffs(removed) - 1 : 0)) status[i] = result;
        add_per_vertex(g.degree, u, result == REMOVED, 0xFFFFFFFFu);
    }
}
