// Moving edges to other buckets: a lane per key, where no two keys are equal.
#pragma once
#include "pool.cuh"

// Mask without its `count` lowest bits that are set.
__device__ __forceinline__ uint32_t without_lowest(uint32_t mask, uint32_t count) {
    for (; count && mask; --count) mask &= mask - 1;
    return mask;
}

// Warp: append `key`, which is not there, with weight w to the chain of vertex u from `slab` on, one key per lane with
// `active`. Each lane loads LANE_WORDS words of the chain at a time, a piece; lanes with the same piece share its free
// slots among them, so that the first ones are taken first, and take them by compare-and-swap.
__device__ __forceinline__ void append_keys(const View& g, bool active, uint32_t u, uint32_t key, bits_t w,
                                            uint32_t slab, bool fresh) {
    const uint32_t below = (1u << (threadIdx.x & 31)) - 1u;
    int piece = 0;
    while (__any_sync(WARP, active)) {
        const long long base = (long long)slab * SLAB_WORDS;
        const uint32_t peers = __match_any_sync(WARP, active ? base + piece * LANE_WORDS : -1LL);
        LaneWords q = filled_words(EMPTY);
        if (active) q = load_words(g.pool + base, piece);
        __syncwarp();  // a lane that saw what its peers are about to take would leave a slot free behind it
        bool wants = false;
        if (active) {
            const uint32_t next = q.word[LINK_WORD], free = slot_mask(q, piece, false);
            const uint32_t mine = without_lowest(free, __popc(peers & below));
            if (mine) {
                const int c = __ffs(mine) - 1, j = piece * LANE_WORDS + c;
                const uint32_t before = word_of(q, c);
                if (atomicCAS(g.pool + base + j, before, key) == before) {
#if WEIGHT_WORDS
                    *weight_at(g, base + j) = w;
#endif
                    if (fresh) mark_slot(g, slab, j);
                    active = false;
                }
            } else if (piece < LINK_LANE) {
                ++piece;
            } else if (!free && next < LOCKED) {
                slab = next;
                piece = 0;
            } else if (!free && next == EMPTY) {
                wants = atomicCAS(g.pool + base + SLAB_KEYS, EMPTY, LOCKED) == EMPTY;
            }
        }
        if (!__any_sync(WARP, wants)) continue;
        WarpSlabs none(g, 0);
        const uint32_t extra = allocate(g, wants, none);
        if (wants) {
            g.owner[extra] = u;
            store_word(g.pool + base + SLAB_KEYS, extra);
            slab = extra;
            piece = 0;
        }
    }
}

// Mover: copy the edges of `slab` of `old`, if `active`, to the buckets of vertex u from slab `head` on; returns the next
// slab of the chain.
__device__ __forceinline__ uint32_t move_slab(const View& old, const Mover& m, bool active, uint32_t slab,
                                              const View& g, uint32_t u, uint32_t head, uint32_t buckets) {
    const long long slot = (long long)slab * SLAB_WORDS + m.lane;
    uint32_t word = EMPTY;
    if (active && m.lane <= SLAB_KEYS) word = load_word(old.pool + slot);
    const uint32_t next = __shfl_sync(WARP, word, m.shift + SLAB_KEYS);
    const bool moves = m.lane < SLAB_KEYS && word < TOMBSTONE;
    const bool fresh = moves && old.marked && old.fresh[slab] >> m.lane & 1;
    bits_t w = 0;
#if WEIGHT_WORDS
    if (moves) w = *weight_at(old, slot);
#endif
    append_keys(g, moves, u, word, w, head + bucket_of(word, buckets), fresh);
    return next;
}

// Movers, the warp together: move the edges of the chain from `slab` on, if it is not EMPTY, to the buckets of vertex u from slab
// `head` on, and free its slabs. Returns how many the warp freed.
__device__ __forceinline__ uint32_t move_chain(const View& g, const Mover& m, uint32_t slab, uint32_t u, uint32_t head,
                                               uint32_t buckets) {
    uint32_t freed = 0;
    while (__any_sync(WARP, slab != EMPTY)) {
        const bool active = slab != EMPTY;
        const uint32_t next = move_slab(g, m, active, slab, g, u, head, buckets);
        wipe_slab(g, m, active, slab);
        freed += __popc(__ballot_sync(WARP, active && m.lane == 0));
        slab = next;
    }
    return freed;
}
