// Rehashing, a part of the insertion's epilogue: vertices whose chains have grown move to more buckets. All blocks are
// resident and synchronise with each other.
#pragma once
#include "barrier.cuh"
#include "chain.cuh"
#include "move.cuh"

// Warp: list the buckets of a vertex per lane, from `place` on; long lists by all lanes together.
__device__ __forceinline__ void list_moves(const Insertion& b, uint32_t item, uint32_t place, uint32_t buckets) {
    constexpr uint32_t FEW = 8;
    for (uint32_t k = 0; buckets <= FEW && k < buckets; ++k) b.moves[place + k] = Move{item, k};
    uint32_t many = __ballot_sync(WARP, buckets > FEW);
    for (; many; many &= many - 1) {
        const int who = __ffs(many) - 1;
        const uint32_t of = __shfl_sync(WARP, item, who), at = __shfl_sync(WARP, place, who);
        const uint32_t count = __shfl_sync(WARP, buckets, who);
        for (uint32_t k = threadIdx.x & 31; k < count; k += 32) b.moves[at + k] = Move{of, k};
    }
}

// Warp: choose the new heads of those of the queued vertices from `first` on, one per lane, that have outgrown their
// buckets (others have keys that collide), and list the buckets to move, as far as the list goes. A vertex reserves its
// slabs, heads and what may overflow, from the quota: slabs that insertions count on are never taken. Heads are
// contiguous, so they come from the end of the pool, which moves on when all are planned (see rehash()).
__device__ void plan_moves(const View& g, const Insertion& b, long long first, uint32_t queued) {
    const uint32_t item = uint32_t(first) + (threadIdx.x & 31);
    const bool there = item < queued;
    uint32_t old = 0, heads = 0, edges = 0;
    if (there) {
        const uint32_t v = b.queue[item], buckets = buckets_of(g, v).count;
        edges = *degree_word(g, v);  // with those that are deferred
        const uint32_t code = bucket_code(uint32_t(ceil(edges * double(REHASH_GROWTH) / b.per_bucket)));
        b.code[item] = code;
        if (outgrown(edges, buckets, float(b.per_bucket))) {
            old = buckets;
            heads = bucket_count(code);
        }
    }
    const uint32_t place = reserve<32>(g.counters + MOVES, old);
    const uint32_t listed = min(old, b.most_moves - min(place, b.most_moves));
    const uint64_t need = heads && listed == old ? heads + edges / SLAB_KEYS : 0u;
    const uint64_t spent = reserve<32>(reinterpret_cast<uint64_t*>(g.counters + SPENT), need);
    const bool reserved = need && spent + need <= b.quota;
    const uint64_t at = uint64_t(g.counters[BUMP]) + reserve<32>(g.counters + HEADS, reserved ? heads : 0u);
    const bool fits = reserved && at + heads <= uint64_t(g.capacity);
    if (reserved && !fits && at < uint64_t(g.capacity)) atomicAdd(g.counters + FREED, uint32_t(g.capacity - at));
    reserve<32>(g.counters + DENIED, need && !fits ? uint32_t(min(need, uint64_t(1) << 20)) : 0u);
    if (there) b.target[item] = fits ? uint32_t(at) : EMPTY;
    list_moves(b, item, place, listed);
}

// Mover: do move `p`, if it is `there`: write the owners of the bucket's share of the new heads, and move the edges to them,
// slab by slab; the old slabs are freed. The warp together; returns how many slabs it freed.
__device__ __forceinline__ uint32_t move_bucket(const View& g, const Mover& m, const Insertion& b, bool there,
                                                long long p) {
    uint32_t v = 0, target = 0, heads = 1, slab = EMPTY;
    const Move move = there ? b.moves[p] : Move{0, 0};
    if (there && (target = b.target[move.item]) != EMPTY) {
        v = b.queue[move.item];
        heads = bucket_count(b.code[move.item]);
        const Buckets old = buckets_of(g, v);
        slab = old.head + move.bucket;
        const uint32_t end = uint32_t(uint64_t(heads) * (move.bucket + 1) / old.count);
        for (uint32_t k = uint32_t(uint64_t(heads) * move.bucket / old.count) + m.lane; k < end; k += KEY_LANES)
            g.owner[target + k] = v;
    }
    return move_chain(g, m, slab, v, target, heads);
}

// Grid: rehash the queued vertices. Four grid-wide barriers.
__device__ __noinline__ void rehash(const View& g, const Insertion& b) {
    const Mover m;
    const uint32_t queued = load_word(g.counters + QUEUED);
    if (!queued) return;

    for (long long item = warp_index() * 32; item < queued; item += warp_count() * 32) plan_moves(g, b, item, queued);
    grid_barrier(g);
    if (thread_index() == 0) {
        const uint64_t end = uint64_t(load_word(g.counters + BUMP)) + load_word(g.counters + HEADS);
        store_word(g.counters + BUMP, uint32_t(min(end, uint64_t(g.capacity))));
    }
    grid_barrier(g);

    const uint32_t work = min(load_word(g.counters + MOVES), b.most_moves);
    uint32_t freed = 0;
    for (long long first = warp_index() * MOVERS; first < work; first += warp_count() * MOVERS)
        freed += move_bucket(g, m, b, first + m.index() < work, first + m.index());
    count_freed(g, freed);
    grid_barrier(g);

    for (long long item = thread_index(); item < queued; item += grid_size()) {
        const uint32_t v = b.queue[item], target = b.target[item];
        const uint32_t code = target == EMPTY ? g.buckets[v] & (QUEUED_FLAG - 1u) : b.code[item];
        if (target != EMPTY) *head_word(g, v) = stored_head(target, bucket_count(code));
        g.buckets[v] = (unsigned short)code;
    }
    grid_barrier(g);
}
