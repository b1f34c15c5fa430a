// Batched deletion. With UNVALIDATED 1 the batch is as the caller gave it (see ingest.cuh) and is checked and copied first,
// in the same cooperative launch, and the first heads are loaded; with UNVALIDATED 0 it was checked before.
#include "slab.cuh"
#if UNVALIDATED
#include "unvalidated.cuh"
#endif

// Turn the keys of the edges into TOMBSTONE, in grid stride. One compare-and-swap per edge found, whose winner reports
// REMOVED, however often the edge is in the batch; one atomic per distinct source of a warp keeps the degrees exact. All
// edges are UNCHANGED if the batch is rejected. One grid-wide barrier with UNVALIDATED, else none.
extern "C" __global__ void __launch_bounds__(BLOCK, 8) erase(const __grid_constant__ Arguments<Deletion> a) {
    const View& g = a.g;
    const Deletion& b = a.batch;
    const Tile t;
    const int lane = threadIdx.x & 31, share = int(b.share), rounds = share / TILES;
    const long long first = warp_index() * share;
    uint32_t u = 0, v = 0, slab = EMPTY;
#if UNVALIDATED
    const bool alone = warp_count() * share >= b.n;
    const FirstEdge own = load_first(a.given, lane < share ? first + lane : b.n, b.n);
    const uint32_t arrived = check_batch<1>(g, a.given, Copies{b.src, b.dst}, alone, own);
    u = own.u, v = own.v;
    if (own.good) slab = look_up(g, u, v);
    const bool rejected = is_rejected(g, a.given, alone, arrived);
#else
    const bool rejected = b.guard && *b.guard;
#endif
    for (long long base = first; base < b.n; base += warp_count() * share) {
        const bool there = lane < share && base + lane < b.n;
        if (there && !rejected && !(UNVALIDATED && base == first)) {
            u = __ldcs(b.src + base + lane);
            v = __ldcs(b.dst + base + lane);
            slab = look_up(g, u, v);
        }
        if (!there || rejected) slab = EMPTY;
        bool removed = false;
#pragma unroll 1
        for (int r = 0; r < rounds; ++r) {
            const int from = edge_lane(t, r);
            const uint32_t key = __shfl_sync(WARP, v, from);
            uint32_t at = __shfl_sync(WARP, slab, from);
            bool mine = false;
            while (__any_sync(WARP, at != EMPTY)) {
                const long long first = (long long)at * SLAB_WORDS;
                LaneWords q = filled_words(EMPTY);
                if (at != EMPTY) q = load_words(g.pool + first, t.lane);
                const uint32_t next = __shfl_sync(WARP, q.word[LINK_WORD], t.shift + LINK_LANE);
                const uint32_t hit = at == EMPTY ? 0u : match_mask(q, t.lane, key);
                const uint32_t hits = tile_ballot(t, hit);
                if (hit) {
                    const long long slot = first + t.lane * LANE_WORDS + __ffs(hit) - 1;
#if WEIGHT_WORDS
                    b.before[base + from] = *weight_at(g, slot);  // the same for all duplicates
#endif
                    mine = atomicCAS(g.pool + slot, key, TOMBSTONE) == key;
                }
                at = hits ? EMPTY : next;
            }
            removed |= voted(r, mine);
        }
        if (there) __stcs(b.status + base + lane, removed ? REMOVED : UNCHANGED);
        add_per_place(degree_word(g, u), __match_any_sync(WARP, u), removed, 0xFFFFFFFFu);
    }
}
