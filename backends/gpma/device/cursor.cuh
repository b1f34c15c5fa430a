// Cursor of gpma: the CUDA twin of cursor.py. Segments are leaves of 32 slots, and each slot has an owner of its own.
// SCAN_LANES lanes read a leaf with four slots each. Nothing here synchronises lanes.
#pragma once
#include "rows.cuh"

#define SCAN_LANES 8
#define LANES_ALONE 1
#define ROW_BUCKET 128  // slots per bucket, which few lanes share; splits hubs into parts of equal work

__device__ __forceinline__ uint32_t degree(const View& g, uint32_t u) { return g.degree[u]; }

__device__ __forceinline__ uint32_t buckets(const View& g, uint32_t u) {
    const long long slots = max(0ll, g.guard[u + 1] - g.guard[u] - 1);  // of a row that is not kept it may be less
    return uint32_t((slots + ROW_BUCKET - 1) / ROW_BUCKET);
}

__device__ __forceinline__ weight_t weight(const View& g, long long slot) { return g.weight[slot]; }

// LANES threads stride over the slots [lo, hi): consecutive lanes read consecutive slots; gaps are left out.
template <int LANES, class F>
__device__ __forceinline__ void for_range(const View& g, long long lo, long long hi, int lane, F&& f) {
    long long i = lo + lane;
    for (; i + 3 * LANES < hi; i += 4 * LANES) {  // four loads in flight
        const uint32_t v0 = g.dst[i], v1 = g.dst[i + LANES], v2 = g.dst[i + 2 * LANES], v3 = g.dst[i + 3 * LANES];
        if (v0 < TOMBSTONE) f(v0, i);
        if (v1 < TOMBSTONE) f(v1, i + LANES);
        if (v2 < TOMBSTONE) f(v2, i + 2 * LANES);
        if (v3 < TOMBSTONE) f(v3, i + 3 * LANES);
    }
    for (; i < hi; i += LANES) {
        const uint32_t v = g.dst[i];
        if (v < TOMBSTONE) f(v, i);
    }
}

template <int LANES, class F>
__device__ __forceinline__ void for_bucket(const View& g, uint32_t u, uint32_t k, int lane, F&& f) {
    const long long lo = g.guard[u] + 1 + (long long)k * ROW_BUCKET, hi = g.guard[u + 1];
    for_range<LANES>(g, lo, min(hi, lo + ROW_BUCKET), lane, f);
}

template <int LANES, class F>
__device__ __forceinline__ void for_neighbors(const View& g, uint32_t u, int lane, F&& f) {
    for_range<LANES>(g, g.guard[u] + 1, g.guard[u + 1], lane, f);
}

// Slot of edge (u, v), or -1; by one thread.
__device__ __forceinline__ long long find(const View& g, uint32_t u, uint32_t v) { return search(g, u, v).slot; }

__device__ __forceinline__ long long segments(const View& g) { return g.leaves; }

// The source of the leaf's first entry, and the guards since.
__device__ __forceinline__ uint32_t slot_owner(const View& g, long long slot) {
    const uint32_t before = (1u << (slot & 31)) - 1;
    return g.owner[slot >> 5] + __popc(g.guards[slot >> 5] & before);
}

// Call f for the edges in the slots that lane q reads, of those that `mask` (a bit per slot of the leaf) lets through.
template <class F>
__device__ __forceinline__ void for_slots(const View& g, long long leaf, int q, uint32_t mask, F&& f) {
    const long long slot = (leaf << 5) + 4 * q;
    const uint4 four = __ldg(reinterpret_cast<const uint4*>(g.dst + slot));
    const uint32_t v[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int c = 0; c < 4; ++c)
        if (v[c] < TOMBSTONE && mask >> (4 * q + c) & 1u) f(v[c], slot + c);
}

template <class F>
__device__ __forceinline__ void for_segment(const View& g, long long s, int lane, F&& f) {
    for_slots(g, s, lane, 0xFFFFFFFFu, f);
}

__device__ __forceinline__ long long updated_segments(const View& g) { return g.counters[TOUCHED]; }
__device__ __forceinline__ long long updated_segment(const View& g, long long i) { return g.touched[i]; }

template <class F>
__device__ __forceinline__ void for_updated(const View& g, long long s, int lane, F&& f) {
    for_slots(g, s, lane, g.fresh[s], f);
}
