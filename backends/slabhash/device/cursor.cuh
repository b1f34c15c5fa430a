// Cursor of slabhash: the CUDA twin of cursor.py. Units are buckets, slots are words of the pool, segments are slabs.
// SLAB_LANES lanes read a slab with LANE_WORDS words each. Nothing here synchronises lanes.
#pragma once
#include "layout.cuh"

#define SCAN_LANES SLAB_LANES
#define LANES_ALONE 1

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return *degree_word(g, u); }

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) { return stored_buckets(buckets_of(g, u)); }

__device__ __forceinline__ weight_t weight(const View& g, long long slot) {
    long long j = slot & (SLAB_WORDS - 1), base = slot - j + WEIGHT_OFFSET;
    return g.weight[(sizeof(weight_t) == 8 ? base >> 1 : base) + j];
}

// Call f for the edges in the words that lane `q` of a tile loads from the slab whose first word is `base`, of those that
// `mask` (a bit per key slot of the slab) lets through.
template <class F>
__device__ __forceinline__ void for_words(const View& g, long long base, int q, uint32_t mask, F&& f) {
    const long long slot = base + q * LANE_WORDS;
    uint32_t word[LANE_WORDS];
#if LANE_WORDS == 4
    const uint4 quad = __ldg(reinterpret_cast<const uint4*>(g.pool + slot));
    word[0] = quad.x, word[1] = quad.y, word[2] = quad.z, word[3] = quad.w;
#else
    word[0] = __ldg(g.pool + slot);
#endif
#pragma unroll
    for (int c = 0; c < LANE_WORDS; ++c)
        if (word[c] < TOMBSTONE && is_key(q, c) && mask >> (q * LANE_WORDS + c) & 1u) f(word[c], slot + c);
}

constexpr uint32_t ALL_SLOTS = 0xFFFFFFFFu;

// Walk a chain. With more lanes than a slab needs, teams of SLAB_LANES lanes take the slabs in turn; with fewer, each
// lane reads several times.
template <int LANES, class F>
__device__ __forceinline__ void for_chain(const View& g, uint32_t slab, int lane, F&& f) {
    constexpr int TEAMS = LANES > SLAB_LANES ? LANES / SLAB_LANES : 1;
    int team = lane / SLAB_LANES;
    for (int turn = 0; slab != EMPTY; ++turn) {
        long long base = (long long)slab * SLAB_WORDS;
        uint32_t next = __ldg(g.pool + base + SLAB_KEYS);
        if (TEAMS == 1 || turn % TEAMS == team) {
            if constexpr (LANES >= SLAB_LANES) {
                for_words(g, base, lane % SLAB_LANES, ALL_SLOTS, f);
            } else {
#pragma unroll 1  // what f loads for the words of one load is under way together; of several it took the registers
                for (int q = lane; q < SLAB_LANES; q += LANES) for_words(g, base, q, ALL_SLOTS, f);
            }
        }
        slab = next;
    }
}

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t k, int lane, F&& f) {
    for_chain<LANES>(g, (inverted(*head_word(g, u)) & ~SEVERAL) + k, lane, f);
}

// Teams take different buckets; a vertex of one bucket shares out its slabs instead.
template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    constexpr int TEAM = LANES > SLAB_LANES ? SLAB_LANES : LANES;
    const Buckets buckets = buckets_of(g, u);
    const uint32_t head = buckets.head, count = stored_buckets(buckets);
    if (TEAM == LANES || count == 1) {
        for (uint32_t k = 0; k < count; ++k) for_chain<LANES>(g, head + k, lane, f);
    } else {
        for (uint32_t k = lane / TEAM; k < count; k += LANES / TEAM) for_chain<TEAM>(g, head + k, lane % TEAM, f);
    }
}

// Slot of edge (u, v), or -1; by one thread.
__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) {
    uint32_t slab = head_of(g, u, v);
    while (slab != EMPTY) {
        long long base = (long long)slab * SLAB_WORDS, at = -1;
        uint32_t next = __ldg(g.pool + base + SLAB_KEYS);
        for (int q = 0; q < SLAB_LANES; ++q)
            for_words(g, base, q, ALL_SLOTS, [&](uint32_t key, long long slot) {
                if (key == v) at = slot;
            });
        if (at >= 0) return at;
        slab = next;
    }
    return -1;
}

__device__ __forceinline__ long long segments(const View& g) { return g.counters[BUMP]; }

__device__ __forceinline__ uint32_t segment_owner(const View& g, long long s) { return g.owner[s]; }

template <class F>
__device__ __forceinline__ void for_segment(const View& g, long long s, int lane, F&& f) {
    for_words(g, s * SLAB_WORDS, lane, ALL_SLOTS, f);
}

__device__ __forceinline__ long long updated_segments(const View& g) { return g.counters[TOUCHED]; }

__device__ __forceinline__ long long updated_segment(const View& g, long long i) { return g.touched[i]; }

template <class F>
__device__ __forceinline__ void for_updated(const View& g, long long s, int lane, F&& f) {
    for_words(g, s * SLAB_WORDS, lane, g.fresh[s], f);
}
