// Core numbers on CUDA (see core_numbers.py): two cooperative kernels. core, support, place, later, mark, stamp, rest, spare,
// before and both queues are uint32[n], left int32[n]. The graph is undirected; self-loops do not count. kept: epoch of the stamps,
// number of the last search, greatest place, whether support and later are known, a number up to which every place is greater. The numbers do not depend on the schedule.
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
        kept[2] = ORIGIN + (r.epoch - base);
        kept[3] = 0;
        kept[4] = ORIGIN;
    }
}

// support[v], and later[v] in the upper half of a sum, for all v.
__device__ __forceinline__ void count_all(const Cores& c, uint32_t n) {
    const auto both = [&](uint32_t v, uint32_t w) {
        const uint32_t its = c.core[w], k = c.core[v];
        const bool supports = its >= k, after = its > k || (its == k && c.place[w] >= c.place[v]);
        return uint64_t(supports) | uint64_t(after) << 32;
    };
    const auto note = [&](uint32_t v, uint64_t found) {
        c.support[v] = uint32_t(found);
        c.later[v] = uint32_t(found >> 32);
    };
    sum_rows(c.g, n, [](uint32_t i) { return i; }, both, note);
}

// Add `change` to the support of the ends of arcs, and to what comes after them.
__device__ __forceinline__ void tally(const Cores& c, const Arcs& arcs, uint32_t change) {
    for (long long i = thread_id(); i < arcs.size; i += thread_count()) {
        if (arcs.status && arcs.status[i] != arcs.wanted) continue;
        const uint32_t u = arcs.src[i], v = arcs.dst[i];
        if (u == v || c.core[u] < c.core[v]) continue;
        atomicAdd(&c.support[v], change);
        if (c.core[u] > c.core[v] || c.place[u] >= c.place[v]) atomicAdd(&c.later[v], change);
    }
}

// Lowers vertices that lack support, in pairs of rounds: all of a list get their new number and come last on that level, then
// they count their support anew and take theirs from those that they do not support any more, unless these were lowered as well.
// A thread per vertex, then a warp, or several of them that add up in support[v]; the last, by removed[v], knows the sum. Hubs are
// listed besides by the first of two rounds, to be shared by many warps in the second; block 0 alone never has any.
struct Lower {
    const Cores& c;
    uint32_t* at;  // the old place
    uint32_t base;  // the epoch before the first round

    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next) {
        const uint32_t round = next.epoch - base - 1, now = c.clock + 1 + round / 2, turn = round / 2 % 2;
        if (round % 2 == 0) {
            for (uint32_t i = warp * 32 + lane_id(); i < count; i += warps * 32) lower(list[i], now, turn, next);
            return;
        }
        const bool alone = warps != thread_count() / 32;
        const uint32_t hubs = alone ? 0 : counted(c.state->hubs[turn]);
        if (thread_id() == 0) c.state->hubs[turn ^ 1] = 0;
        if (hubs > 0) {
            const uint32_t parts = min(max(warps / hubs, 16u), 256u);
            for (uint32_t i = warp; i < hubs * parts; i += warps) {
                withdraw(c.listed[0][i / parts], now, i % parts, parts, next);
            }
        }
        const uint32_t sharers = max(warps / count, 1u);
        for (uint32_t i = warp / sharers; i < count; i += warps / sharers) {
            if (alone || degree(c.g, list[i]) <= HUB) withdraw(list[i], now, warp % sharers, sharers, next);
        }
    }

    __device__ void lower(uint32_t v, uint32_t now, uint32_t turn, const Next& next) {
        const uint32_t k = c.core[v], neighbors = degree(c.g, v);
        c.left[v] = int(k);
        at[v] = c.place[v];
        c.support[v] = c.later[v] = c.removed[v] = 0;
        c.core[v] = min(k - 1, neighbors);
        c.place[v] = now;
        append(next.queue, next.count, v);
        if (neighbors > HUB) append(c.listed[0], &c.state->hubs[turn], v);
    }

    __device__ void withdraw(uint32_t v, uint32_t now, uint32_t part, uint32_t sharers, const Next& next) {
        const uint32_t k = c.core[v], before = uint32_t(c.left[v]), old = at[v];
        if (degree(c.g, v) <= SMALL) sharers = 1;
        if (part >= sharers) return;
        uint32_t mine = 0, after = 0;
        for_part(c.g, v, part, sharers, [&](uint32_t w, long long) {
            const uint32_t its = c.core[w];
            if (w == v || its < k) return;
            const uint32_t its_place = c.place[w];
            ++mine;
            after += its > k || its_place == now;
            if (its == k || its > before || its_place == now) return;
            if (its < before || its_place <= old) atomicSub(&c.later[w], 1u);
            if (atomicSub(&c.support[w], 1u) == its) append(next.queue, next.count, w);
        });
        const uint32_t found = warp_sum(mine), all_after = warp_sum(after);
        if (lane_id() > 0) return;
        if (sharers == 1) {
            c.later[v] = all_after;
            c.support[v] = found;
            if (found < k) append(next.queue, next.count, v);
            return;
        }
        atomicAdd(&c.later[v], all_after);
        atomicAdd(&c.support[v], found);
        __threadfence();
        if (atomicAdd(&c.removed[v], 1u) < sharers - 1) return;
        __threadfence();
        if (fresh(c.support[v]) < k) append(next.queue, next.count, v);
    }
};

__device__ __forceinline__ void lower_all(Cores& c, const Arcs& deleted, uint32_t* at, Rounds& r) {
    const Next next = open_round(r);
    for (long long i = thread_id(); i < deleted.size; i += thread_count()) {
        if (deleted.status && deleted.status[i] != deleted.wanted) continue;
        const uint32_t v = deleted.dst[i];
        if (fresh(c.support[v]) < c.core[v]) enqueue(next, v);
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const uint32_t base = r.epoch;
    run_rounds(c.g, r, list, count, Lower{c, at, base});
    c.clock += 1 + (r.epoch - base) / 2;
}

// All arcs are counted first, then deletions lower numbers, then insertions raise them. If more than `limit` vertices are
// served for that, all is computed from scratch.
extern "C" __global__ void __launch_bounds__(CORE_BLOCK, 1)
maintain(View g, uint32_t n, Arcs deleted, Arcs inserted, uint32_t limit, uint32_t* core, uint32_t* support,
         uint32_t* later, uint32_t* mark, uint32_t* before, uint32_t* place, int* left, uint32_t* rest, uint32_t* spare,
         uint32_t* queue0, uint32_t* queue1, uint32_t* stamp, RoundState* state, unsigned long long* kept) {
    const bool known = kept[3] != 0, renews = kept[1] > LAST_NUMBER;
    const bool full = kept[2] > LAST_NUMBER || kept[4] < ORIGIN / 2;
    const uint32_t start = renews ? 2 : uint32_t(kept[1]) + 2, clock = uint32_t(kept[2]), head = uint32_t(kept[4]);
    Cores c = {g, core, support, place, later, mark, left, spare, {rest, before}, state, start, clock, head, 0};
    Rounds r = begin(state, stamp, queue0, queue1, kept, n);
    if (renews) {
        for (uint32_t v = thread_id(); v < n; v += thread_count()) mark[v] = 0;
    }
    if (!known) {
        // Counted on the graph as it is now, by the numbers as they were: the batch is in it.
        count_all(c, n);
    } else {
        tally(c, inserted, 1u);
        tally(c, deleted, 0xFFFFFFFFu);
    }
    grid_barrier(r);
    bool within = !full;
    if (within) {
        r.most = limit;
        lower_all(c, deleted, before, r);
        within = r.served <= limit && raise_all(c, r, inserted);
        r.most = EMPTY;
    }
    const uint32_t base = r.epoch;
    if (!within) peel_all(g, n, core, place, left, rest, spare, r);
    if (thread_id() == 0) {
        kept[0] = r.epoch;
        kept[1] = c.number;
        kept[2] = within ? c.clock : ORIGIN + (r.epoch - base);
        kept[3] = within;
        kept[4] = within ? c.head : ORIGIN;
    }
}
