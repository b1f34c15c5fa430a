// Core numbers on CUDA (see core_numbers.py): two cooperative kernels. core, support, place, mark, stamp, rest, spare, seeds and both
// queues are uint32[n], left int32[n]. The graph is undirected; self-loops do not count. kept: epoch of the stamps, number of the
// last search, greatest place, whether support is known. The numbers do not depend on the schedule.
#include "core_order.cuh"

__device__ __forceinline__ Rounds begin(RoundState* state, uint32_t* stamp, uint32_t* queue0, uint32_t* queue1,
                                        unsigned long long* kept, uint32_t n) {
    Rounds r = {state, stamp, {queue0, queue1}, uint32_t(kept[0]), 0, 0, 0};
    renew_epochs(r, n);
    return r;
}

extern "C" __global__ void __launch_bounds__(CORE_BLOCK, 1)
peel(View g, uint32_t n, uint32_t* core, uint32_t* place, int* left, uint32_t* rest, uint32_t* spare, uint32_t* queue0,
     uint32_t* queue1, uint32_t* stamp, RoundState* state, unsigned long long* kept) {
    Rounds r = begin(state, stamp, queue0, queue1, kept, n);
    const uint32_t base = r.epoch;
    peel_all(g, n, core, place, left, rest, spare, r);
    if (thread_id() == 0) {
        kept[0] = r.epoch;
        kept[2] = r.epoch - base;
        kept[3] = 0;
    }
}

// support[v] for all v: a tile per vertex, a warp if it has many neighbours.
__device__ __forceinline__ void support_all(const View& g, uint32_t n, const uint32_t* core, uint32_t* support) {
    constexpr uint32_t TILES = 32 / TILE;
    const uint32_t lane = threadIdx.x & 31, warps = thread_count() / 32;
    for (unsigned long long base = thread_id() / 32 * TILES; base < n; base += warps * TILES) {
        const uint32_t v = base + lane / TILE < n ? uint32_t(base + lane / TILE) : EMPTY;
        const bool wide = v != EMPTY && degree(g, v) > SMALL;
        uint32_t mine = 0;
        if (v != EMPTY && !wide) {
            for_neighbors<TILE>(g, v, lane % TILE, [&](uint32_t w, long long) {
                mine += w != v && core[w] >= core[v];
            });
        }
        for (int step = TILE / 2; step > 0; step >>= 1) mine += __shfl_xor_sync(WARP, mine, step);
        if (v != EMPTY && !wide && lane % TILE == 0) support[v] = mine;
        for (uint32_t left = __ballot_sync(WARP, wide && lane % TILE == 0); left; left &= left - 1) {
            const uint32_t u = __shfl_sync(WARP, v, __ffs(left) - 1);
            const uint32_t found = count_until(g, u, EMPTY, [&](uint32_t w) { return core[w] >= core[u]; });
            if (lane == 0) support[u] = found;
        }
    }
}

// Add `change` to the support of the ends of arcs.
__device__ __forceinline__ void tally(const Cores& c, const Arcs& arcs, uint32_t change) {
    for (long long i = thread_id(); i < arcs.size; i += thread_count()) {
        if (arcs.status && arcs.status[i] != arcs.wanted) continue;
        const uint32_t u = arcs.src[i], v = arcs.dst[i];
        if (u != v && c.core[u] >= c.core[v]) atomicAdd(&c.support[v], change);
    }
}

// Lowers vertices that lack support, in pairs of rounds: all of a list get their new number and come last on that level, then
// they count their support anew and take theirs from those that they do not support any more, unless these were lowered as well.
// A thread per vertex, then a warp, or several of them that add up in support[v]; the last, by removed[v], knows the sum.
struct Lower {
    const Cores& c;
    uint32_t base;  // the epoch before the first round

    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next) {
        const uint32_t round = next.epoch - base - 1, now = c.clock + 1 + round / 2;
        if (round % 2 == 0) {
            for (uint32_t i = warp * 32 + lane_id(); i < count; i += warps * 32) lower(list[i], now, next);
            return;
        }
        const uint32_t sharers = max(warps / count, 1u);
        for (uint32_t i = warp / sharers; i < count; i += warps / sharers) {
            withdraw(list[i], now, warp % sharers, sharers, next);
        }
    }

    __device__ void lower(uint32_t v, uint32_t now, const Next& next) {
        const uint32_t k = c.core[v];
        c.left[v] = int(k);
        c.support[v] = c.removed[v] = 0;
        c.core[v] = min(k - 1, degree(c.g, v));
        c.place[v] = now;
        append(next.queue, next.count, v);
    }

    __device__ void withdraw(uint32_t v, uint32_t now, uint32_t part, uint32_t sharers, const Next& next) {
        const uint32_t k = c.core[v], before = uint32_t(c.left[v]);
        if (degree(c.g, v) <= SMALL) sharers = 1;
        if (part >= sharers) return;
        uint32_t mine = 0;
        for_part(c.g, v, part, sharers, [&](uint32_t w, long long) {
            const uint32_t its = c.core[w];
            if (w == v || its < k) return;
            ++mine;
            if (its == k || its > before || c.place[w] == now) return;
            if (atomicSub(&c.support[w], 1u) == its) append(next.queue, next.count, w);
        });
        const uint32_t found = warp_sum(mine);
        if (lane_id() > 0) return;
        atomicAdd(&c.support[v], found);
        __threadfence();
        if (sharers > 1 && atomicAdd(&c.removed[v], 1u) < sharers - 1) return;
        __threadfence();
        if (fresh(c.support[v]) < k) append(next.queue, next.count, v);
    }
};

__device__ __forceinline__ void lower_all(Cores& c, const Arcs& deleted, Rounds& r) {
    const Next next = open_round(r);
    for (long long i = thread_id(); i < deleted.size; i += thread_count()) {
        if (deleted.status && deleted.status[i] != deleted.wanted) continue;
        const uint32_t v = deleted.dst[i];
        if (fresh(c.support[v]) < c.core[v]) enqueue(next, v);
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const uint32_t base = r.epoch;
    run_rounds(c.g, r, list, count, Lower{c, base});
    c.clock += 1 + (r.epoch - base) / 2;
}

// Inserted arcs are counted first, then deletions lower numbers, then insertions raise them. If more than `limit` vertices are
// served for that, or a search finds more candidates than an eighth of it, all is computed from scratch.
extern "C" __global__ void __launch_bounds__(CORE_BLOCK, 1)
maintain(View g, uint32_t n, Arcs deleted, Arcs inserted, uint32_t limit, uint32_t* core, uint32_t* support,
         uint32_t* mark, uint32_t* seeds, uint32_t* place, int* left, uint32_t* rest, uint32_t* spare, uint32_t* queue0,
         uint32_t* queue1, uint32_t* stamp, RoundState* state, unsigned long long* kept) {
    const bool known = kept[3] != 0, renews = kept[1] > LAST_NUMBER, full = kept[2] > LAST_NUMBER;
    const uint32_t start = renews ? 3 : uint32_t(kept[1]) + 3;
    Cores c = {g, core, support, place, mark, left, spare, rest, seeds, state, start, uint32_t(kept[2]), limit};
    Rounds r = begin(state, stamp, queue0, queue1, kept, n);
    if (renews) {
        for (uint32_t v = thread_id(); v < n; v += thread_count()) mark[v] = 0;
    }
    if (!known) {
        // Support is counted on the graph as it is now, by the numbers as they were: the batch is in it.
        support_all(g, n, core, support);
    } else {
        tally(c, inserted, 1u);
        tally(c, deleted, 0xFFFFFFFFu);
    }
    grid_barrier(r);
    bool within = !full;
    if (within) {
        lower_all(c, deleted, r);
        const Next next = open_round(r);
        for (long long i = thread_id(); i < inserted.size; i += thread_count()) {
            if (inserted.status && inserted.status[i] != inserted.wanted) continue;
            const uint32_t u = inserted.src[i], v = inserted.dst[i];
            if (u != v && (core[u] > core[v] || (core[u] == core[v] && place[u] >= place[v]))) enqueue(next, v);
        }
        uint32_t count;
        const uint32_t* list = close_round(r, count);
        within = raise_all(c, r, list, count);
    }
    const uint32_t base = r.epoch;
    if (!within) peel_all(g, n, core, place, left, rest, spare, r);
    if (thread_id() == 0) {
        kept[0] = r.epoch;
        kept[1] = c.number;
        kept[2] = within ? c.clock : r.epoch - base;
        kept[3] = within;
    }
}
