// Weights of a batch: the end of an insertion into a weighted store, in the same launch. Of all duplicates in a batch the
// last one counts, however the threads were scheduled. Most edges are new and have no duplicate; only those that found
// their key there (FOUND, listed in `existing`) are entered here in a hash table of batch indices, which keeps the last
// index of each edge. The duplicate that is NEW, if there is one, joins in and passes its status on if it is not the last.
// Weights are moved and compared as bits (bits_t): 0.0 and -0.0 differ, and subnormal numbers stay what they are.
#pragma once
#include "barrier.cuh"
#include "slab.cuh"

constexpr uint32_t LEAST_TABLE = 1u << 16;  // so that new edges, which are looked up in it, mostly find an empty place

__device__ __forceinline__ uint32_t hash_of(uint32_t u, uint32_t v) {
    uint32_t h = u * 0x9E3779B1u ^ v * 0x85EBCA77u;
    h = (h ^ h >> 15) * 0x2C1B3C6Du;
    return h ^ h >> 13;
}

// Place of edge i in the table, and the index that was there: of the same edge, or EMPTY. Places never change their edge,
// only the index. With `take` an empty place is taken, by compare-and-swap.
__device__ __forceinline__ uint32_t place_of(const Insertion& b, uint32_t i, uint32_t mask, bool take,
                                             uint32_t& other) {
    const uint32_t u = b.src[i], v = b.dst[i];
    for (uint32_t at = hash_of(u, v) & mask;; at = (at + 1) & mask) {
        other = take ? load_word(b.table + at) : b.table[at];
        if (other == EMPTY && take) other = atomicCAS(b.table + at, EMPTY, i);
        if (other == EMPTY || (b.src[other] == u && b.dst[other] == v)) return at;
    }
}

// Warp: the word of the pool with key v of vertex u, which is there, for each lane that `acts`. As in delete.cu each lane
// looks a slab up, and tiles serve them in rounds.
__device__ __forceinline__ long long locate(const View& g, const Tile& t, bool acts, uint32_t u, uint32_t v) {
    const uint32_t slab = acts ? look_up(g, u, v) : EMPTY;
    prefetch_slab(g, slab);
    long long found = 0;
#pragma unroll 1
    for (int r = 0; r < SLAB_LANES; ++r) {
        const uint32_t key = __shfl_sync(WARP, v, edge_lane(t, r));
        uint32_t at = __shfl_sync(WARP, slab, edge_lane(t, r)), slot = 0, owner = at;
        while (__any_sync(WARP, at != EMPTY)) {
            LaneWords q = filled_words(EMPTY);
            if (at != EMPTY) q = load_words(g.pool + (long long)at * SLAB_WORDS, t.lane);
            const uint32_t next = __shfl_sync(WARP, q.word[LINK_WORD], t.shift + LINK_LANE);
            const uint32_t hit = at == EMPTY ? 0u : match_mask(q, t.lane, key), hits = tile_ballot(t, hit);
            const uint32_t mine = t.lane * LANE_WORDS + __ffs(hit) - 1;
            const uint32_t place = __shfl_sync(WARP, mine, hits ? t.shift + __ffs(hits) - 1 : 0);
            if (hits) {
                slot = place;
                owner = at;
            }
            at = hits ? EMPTY : next;
        }
        const uint32_t there = __shfl_sync(WARP, owner, serving_lane()), j = __shfl_sync(WARP, slot, serving_lane());
        if ((threadIdx.x & 31) / TILES == r) found = (long long)there * SLAB_WORDS + j;
    }
    return found;
}

// Grid: give the edges of the batch that were there their last weight: REPLACED if it was another one before, and NEW
// stays NEW. A thread per edge. Atomics on the table. Three grid-wide barriers.
__device__ __noinline__ void reweigh(const View& g, const Insertion& b) {
    const Tile t;
    const uint32_t existing = load_word(g.counters + EXISTING);
    uint32_t size = min(LEAST_TABLE, b.table_size), other;
    while (size < b.table_size && size < 2 * uint64_t(existing)) size <<= 1;
    const uint32_t mask = size - 1;

    for (long long k = thread_index(); k < size; k += grid_size()) b.table[k] = EMPTY;
    grid_barrier(g);
    for (long long k = thread_index(); k < existing; k += grid_size()) {
        const uint32_t i = b.existing[k], at = b.place[k] = place_of(b, i, mask, true, other);
        if (other != EMPTY) atomicMax(b.table + at, i);
    }
    grid_barrier(g);
    for (long long i = thread_index(); i < b.n; i += grid_size()) {
        if (b.status[i] != NEW) continue;
        const uint32_t at = place_of(b, uint32_t(i), mask, false, other);
        if (other == EMPTY || other == i) continue;
        if (other < i) {
            b.table[at] = uint32_t(i);
        } else {
            b.status[i] = UNCHANGED;
            b.status[other] = NEW;
        }
    }
    grid_barrier(g);
    for (long long base = warp_index() * 32; base < existing; base += warp_count() * 32) {
        const long long k = base + (threadIdx.x & 31);
        const uint32_t i = k < existing ? b.existing[k] : 0u;
        const bool acts = k < existing && b.table[b.place[k]] == i;
        if (k < existing && !acts) b.status[i] = UNCHANGED;
        const long long slot = locate(g, t, acts, b.src[i], b.dst[i]);
        if (!acts) continue;
        bits_t* const weight = weight_at(g, slot);
        const bits_t before = *weight, now = b.weight[i];
        b.before[i] = before;
        if (before != now) *weight = now;
        if (b.status[i] != NEW) b.status[i] = before == now ? UNCHANGED : REPLACED;
    }
}
