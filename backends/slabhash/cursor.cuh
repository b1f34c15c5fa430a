// Cursor of slabhash: the CUDA twin of cursor.py. Units are buckets, slots are words of the pool, segments are slabs.
// SLAB_LANES lanes read a slab with 16 bytes each. Nothing here synchronises lanes.
#pragma once
#include "slab_layout.cuh"

#define SCAN_LANES SLAB_LANES

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return g.degree[u]; }

__device__ __forceinline__ uint32_t units(const View& g, uint32_t u) {
    return g.first_slab[u] == EMPTY ? 0u : bucket_count(g.buckets[u]);
}

__device__ __forceinline__ weight_t weight(const View& g, long long slot) {
    long long j = slot & (SLAB_WORDS - 1), base = slot - j + WEIGHT_OFFSET;
    return g.weight[(sizeof(weight_t) == 8 ? base >> 1 : base) + j];
}

// Call f for the edges in quad `q` (16 bytes) of a slab whose first word is `base`.
template <class F>
__device__ __forceinline__ void for_quad(const View& g, long long base, int q, F&& f) {
    long long slot = base + q * 4;
    uint4 word = __ldg(reinterpret_cast<const uint4*>(g.pool + slot));
    if (word.x < TOMBSTONE && is_key(q, 0)) f(word.x, slot);
    if (word.y < TOMBSTONE && is_key(q, 1)) f(word.y, slot + 1);
    if (word.z < TOMBSTONE && is_key(q, 2)) f(word.z, slot + 2);
    if (word.w < TOMBSTONE && is_key(q, 3)) f(word.w, slot + 3);
}

// Walk a chain. With more lanes than a slab needs, teams of SLAB_LANES lanes take the slabs in turn; with fewer, each
// lane reads several quads.
template <int LANES, class F>
__device__ __forceinline__ void for_chain(const View& g, uint32_t slab, int lane, F&& f) {
    constexpr int TEAMS = LANES > SLAB_LANES ? LANES / SLAB_LANES : 1;
    int team = lane / SLAB_LANES;
    for (int turn = 0; slab != EMPTY; ++turn) {
        long long base = (long long)slab * SLAB_WORDS;
        uint32_t next = __ldg(g.pool + base + SLAB_KEYS);
        if (TEAMS == 1 || turn % TEAMS == team) {
            if constexpr (LANES >= SLAB_LANES) {
                for_quad(g, base, lane % SLAB_LANES, f);
            } else {
                for (int q = lane; q < SLAB_LANES; q += LANES) for_quad(g, base, q, f);
            }
        }
        slab = next;
    }
}

template <int LANES, class F>
__device__ __forceinline__ void for_unit(const View& g, uint32_t u, uint32_t k, int lane, F&& f) {
    for_chain<LANES>(g, g.first_slab[u] + k, lane, f);
}

// Teams take different buckets; a vertex of one bucket shares out its slabs instead.
template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    constexpr int TEAM = LANES > SLAB_LANES ? SLAB_LANES : LANES;
    uint32_t head = g.first_slab[u];
    if (head == EMPTY) return;
    uint32_t count = bucket_count(g.buckets[u]);
    if (TEAM == LANES || count == 1) {
        for (uint32_t k = 0; k < count; ++k) for_chain<LANES>(g, head + k, lane, f);
    } else {
        for (uint32_t k = lane / TEAM; k < count; k += LANES / TEAM) for_chain<TEAM>(g, head + k, lane % TEAM, f);
    }
}

// Slot of edge (u, v), or -1; by one thread.
__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) {
    uint32_t slab = g.first_slab[u];
    if (slab == EMPTY) return -1;
    slab += bucket_of(v, bucket_count(g.buckets[u]));
    while (slab != EMPTY) {
        long long base = (long long)slab * SLAB_WORDS, at = -1;
        uint32_t next = __ldg(g.pool + base + SLAB_KEYS);
        for (int q = 0; q < SLAB_LANES; ++q)
            for_quad(g, base, q, [&](uint32_t key, long long slot) {
                if (key == v) at = slot;
            });
        if (at >= 0) return at;
        slab = next;
    }
    return -1;
}

__device__ __forceinline__ long long segments(const View& g) { return g.counters[0]; }

__device__ __forceinline__ uint32_t segment_owner(const View& g, long long s) { return g.owner[s]; }

template <class F>
__device__ __forceinline__ void for_segment(const View& g, long long s, int lane, F&& f) {
    for_quad(g, s * SLAB_WORDS, lane, f);
}
