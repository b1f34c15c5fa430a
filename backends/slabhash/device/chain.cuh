// Inserting one edge into its chain.
#pragma once
#include "pool.cuh"

constexpr uint8_t DEFERRED = 255;  // status of an edge that waits until its vertex has more buckets
constexpr uint8_t FOUND = WEIGHT_WORDS ? 254 : UNCHANGED;  // of one that is there; reweigh() compares its weight

// One thread: say that the epilogue has work, with the first entry of a list that it reads.
__device__ __forceinline__ void request_epilogue(const View& g) {
    store_word(g.counters + EPILOGUE, 1u);
    __threadfence();
}

// Queue vertex u for rehashing, once; QUEUED_FLAG in its bucket code says that it is queued.
__device__ __forceinline__ void queue_vertex(const View& g, uint32_t u, uint32_t* queue) {
    uint32_t* const pair = reinterpret_cast<uint32_t*>(g.buckets) + (u >> 1);
    const uint32_t bit = QUEUED_FLAG << 16 * (u & 1);
    if (atomicOr(pair, bit) & bit) return;
    const uint32_t at = atomicAdd(g.counters + QUEUED, 1u);
    queue[at] = u;
    if (at == 0) request_epilogue(g);
}

// When place_edge() queues vertices for rehashing. `queue` null: never.
struct RehashRule {
    uint32_t* queue;
    uint32_t limit;    // slabs of a chain, and lost races for a slot, beyond which an edge is deferred
    float per_bucket;  // keys that a bucket is sized for
};

// Whether a vertex with `edges` edges has outgrown its buckets.
__device__ __forceinline__ bool outgrown(uint32_t edges, uint32_t buckets, float per_bucket) {
    return float(edges) > REHASH_AT * float(buckets) * per_bucket;
}

// What place_edge() did for the edge of a tile; `mine` in exactly one lane of a tile that was active.
struct Placement {
    bool mine;
    uint8_t status;  // NEW, FOUND or DEFERRED
};

// Tile: insert edge (u, v) with weight w into the bucket whose head is `slab` (EMPTY: u is being given one), if `active`.
//
// The chain is walked to its end. A key that is there is left, with its weight; else it goes to the first free slot
// of the chain, EMPTY or TOMBSTONE, by compare-and-swap, and if that fails the chain is walked again from there. A free
// slot is only ever filled while this runs and keys never move, so two tiles with one key try the same slot: a slot once
// seen as occupied is never freed during the kernel. At the end of a full chain one tile locks the next pointer, links a
// clean slab, and tries its first slot like every other tile that arrives; the holder of the lock never waits. No store
// has to be ordered before another: the new slab is clean since before the kernel.
// A vertex that has outgrown its buckets is queued when a chain grows long. An edge that would go beyond the limit is
// DEFERRED, and so is one that has lost too many races for a slot: where a batch has a heavy vertex, all its edges try
// the same slot, one after the other. With `crowd` the first lost race is enough.
__device__ __forceinline__ Placement place_edge(const View& g, const Tile& t, bool active, uint32_t u, uint32_t v,
                                                bits_t w, uint32_t slab, bool fresh, const RehashRule& rule, bool crowd,
                                                WarpSlabs& slabs) {
    Placement placed = {false, FOUND};
    uint32_t depth = 1, races = crowd ? rule.limit : 0;
    uint32_t spot_slab = EMPTY, spot = EMPTY, spot_word = EMPTY;  // first free slot: its slab; in one lane the rest
    while (__any_sync(WARP, active)) {
        const bool has_slab = active && slab != EMPTY;
        uint32_t* const base = g.pool + (long long)slab * SLAB_WORDS;
        LaneWords q = filled_words(EMPTY);
        if (has_slab) q = load_words(base, t.lane);
        uint32_t next = q.word[LINK_WORD];  // one lane loads it for the tile, as another may be setting it
        if (active && !has_slab && t.lane == LINK_LANE) next = inverted(load_word(head_word(g, u)));
        next = __shfl_sync(WARP, next, t.shift + LINK_LANE);
        const uint32_t hit = match_mask(q, t.lane, v), free = slot_mask(q, t.lane, false);
        const uint32_t hits = tile_ballot(t, has_slab && hit), frees = tile_ballot(t, has_slab && free);
        if (frees && spot_slab == EMPTY) {
            spot_slab = slab;
            if (t.lane == __ffs(frees) - 1) {
                const int c = __ffs(free) - 1;
                spot = t.lane * LANE_WORDS + c;
                spot_word = word_of(q, c);
            }
        }
        bool wants = false, tries = false;
        if (active && hits) {
            placed.mine = t.lane == __ffs(hits) - 1;
        } else if (active && next < LOCKED) {
            depth += has_slab;
            slab = next;
        } else if (active && spot_slab != EMPTY) {
            tries = true;
        } else if (active && next == EMPTY) {
            wants = t.lane == 0 && atomicCAS(base + SLAB_KEYS, EMPTY, LOCKED) == EMPTY;
        }
        const uint32_t who = __ballot_sync(WARP, wants);
        if (who) {
            const uint32_t extra = allocate(g, wants, slabs);
            if (wants) {
                g.owner[extra] = u;
                store_word(base + SLAB_KEYS, extra);
                if (rule.queue && depth + 1 >= REHASH_CHAIN &&
                    float(depth) * SLAB_KEYS > LONG_CHAIN * REHASH_AT * rule.per_bucket &&
                    outgrown(load_word(degree_word(g, u)), buckets_of(g, u).count, rule.per_bucket))
                    queue_vertex(g, u, rule.queue);
                spot = 0;
            }
            const uint32_t got = __shfl_sync(WARP, extra, t.shift);
            if (who >> t.shift & 1) {
                ++depth;
                spot_slab = got;
                tries = true;
            }
        }
        if (tries) {
            if (spot != EMPTY) {
                const long long slot = (long long)spot_slab * SLAB_WORDS + spot;
                const uint32_t there = atomicCAS(g.pool + slot, spot_word, v);
                placed.mine = there == spot_word || there == v;
                if (there == spot_word) {
                    placed.status = NEW;
#if WEIGHT_WORDS
                    *weight_at(g, slot) = w;
#endif
                    if (fresh) mark_slot(g, spot_slab, spot);
                }
            }
            slab = spot_slab;
            spot_slab = spot = spot_word = EMPTY;
            ++races;
        }
        const uint32_t done = tile_ballot(t, placed.mine);  // all lanes vote, active or not
        active = active && !done;
        const bool gives_up = active && max(depth, races) > rule.limit, reports = gives_up && t.lane == 0;
        const uint32_t reporters = __ballot_sync(WARP, reports);
        if (reports) {
            placed.mine = true;
            placed.status = DEFERRED;
            if ((threadIdx.x & 31) == __ffs(__match_any_sync(reporters, u)) - 1) queue_vertex(g, u, rule.queue);
        }
        active = active && !gives_up;
    }
    return placed;
}
