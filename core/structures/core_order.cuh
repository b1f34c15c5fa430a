// Core numbers after insertions: the order of every level, and the search of candidates (see core_numbers.py).
#pragma once
#include "core_numbers.cuh"

// What the phases share. core, support, place: see core_numbers_cpu.py. mark[v]: the number of the last search that saw v, plus 1
// if it was a candidate, plus 2 if it rose. left, removed: scratch. listed and seeds are lists with counters in the state.
struct Cores {
    const View& g;
    uint32_t* core;
    uint32_t* support;
    uint32_t* place;
    uint32_t* mark;
    int* left;
    uint32_t* removed;
    uint32_t* listed;
    uint32_t* seeds;
    RoundState* state;
    uint32_t number;  // of the search
    uint32_t clock;   // greatest place
    uint32_t limit;   // of vertices served
};
constexpr uint32_t CANDIDATES = 8;  // a search gives up at more candidates than one in so many of `limit`
constexpr uint32_t LAST = EMPTY, MORE_PASSES = 64;  // a round costs a barrier here, and a search is parallel

__device__ __forceinline__ uint32_t lane_id() { return threadIdx.x & 31; }

__device__ __forceinline__ bool too_many(const Cores& c) {
    return fresh(c.state->listed[2]) >= c.limit || fresh(c.state->listed[0]) > c.limit / CANDIDATES;
}

// Whether too many vertices were served or are candidates, one answer for the warp; counts one more.
__device__ __forceinline__ bool exceeds(const Cores& c) {
    uint32_t served = 0;
    if (lane_id() == 0) served = too_many(c) ? c.limit : atomicAdd(&c.state->listed[2], 1u);
    return __shfl_sync(WARP, served, 0) >= c.limit;
}

__device__ __forceinline__ bool first_seen(const Cores& c, uint32_t v) {
    return fresh(c.mark[v]) < c.number && atomicMax(&c.mark[v], c.number) < c.number;
}

// The first place of v, from its own on, where at most core[v] neighbours come after it or are at it, or LAST. A warp calls it.
__device__ __forceinline__ uint32_t move_back(const Cores& c, uint32_t v, uint32_t at) {
    const uint32_t k = c.core[v];
    while (true) {
        uint32_t mine = 0, least = LAST;
        for_neighbors<32>(c.g, v, lane_id(), [&](uint32_t w, long long) {
            if (w == v || c.core[w] < k) return;
            const uint32_t its = c.core[w] > k ? LAST : fresh(c.place[w]);
            if (its < at) return;
            ++mine;
            least = min(least, its);
        });
        const uint32_t found = warp_sum(mine);
        for (int step = 16; step > 0; step >>= 1) least = min(least, __shfl_xor_sync(WARP, least, step));
        if (found <= k) return at;
        if (least == LAST) return LAST;
        at = least + 1;
    }
}

// Queue the neighbours of v on level k at places above `before`, up to `now`. A warp calls it.
__device__ __forceinline__ void queue_between(const Cores& c, uint32_t v, uint32_t k, uint32_t before, uint32_t now,
                                              const Next& next) {
    for_neighbors<32>(c.g, v, lane_id(), [&](uint32_t w, long long) {
        if (c.core[w] != k) return;
        const uint32_t its = fresh(c.place[w]);
        if (its > before && its <= now) enqueue(next, w);
    });
}

// Move v back. Who moves is asked again in the next round, when all see what moved with it; who does not is queued by those
// that pass it. Without a place, or after PASSES rounds since `base` and two per number, up to MORE_PASSES, v is a seed. A warp
// calls it.
__device__ __forceinline__ void reorder(const Cores& c, uint32_t v, uint32_t base, const Next& next) {
    if (exceeds(c)) return;
    const uint32_t before = __shfl_sync(WARP, fresh(c.place[v]), 0), now = move_back(c, v, before);
    if (now == before) return;
    if (now == LAST || next.epoch - base > PASSES + min(2 * c.core[v], MORE_PASSES)) {
        if (lane_id() == 0 && first_seen(c, v)) append(c.seeds, &c.state->listed[1], v);
        return;
    }
    if (lane_id() == 0) {
        *(volatile uint32_t*)&c.place[v] = now;
        atomicMax(&c.state->listed[3], now);
        enqueue(next, v);
    }
    __threadfence();
    __syncwarp();
    queue_between(c, v, c.core[v], before, now, next);
}

// v is a candidate if more than core[v] neighbours are on higher levels, or on its own with support to spare; those are seen then.
__device__ __forceinline__ void seek(const Cores& c, uint32_t v, const Next& next) {
    const uint32_t k = c.core[v];
    if (exceeds(c)) return;
    const auto helps = [&](uint32_t w) { return c.core[w] > k || (c.core[w] == k && c.support[w] > k); };
    if (count_until(c.g, v, k + 1, helps) <= k) return;
    if (lane_id() == 0) {
        atomicMax(&c.mark[v], c.number + 1);
        append(c.listed, &c.state->listed[0], v);
    }
    for_neighbors<32>(c.g, v, lane_id(), [&](uint32_t w, long long) {
        if (c.core[w] == k && c.support[w] > k && first_seen(c, w)) append(next.queue, next.count, w);
    });
}

// Take away the candidates that cannot have more candidates and higher neighbours than their number, in rounds. removed[v]: a
// place after all others, in the order in which they go; c.clock rises.
__device__ __forceinline__ void sift(Cores& c, uint32_t candidates, Rounds& r) {
    const Next next = open_round(r);
    const uint32_t base = r.epoch, first = c.clock + 2, number = c.number;
    for (uint32_t i = thread_id() / 32; i < candidates; i += thread_count() / 32) {
        const uint32_t v = c.listed[i], k = c.core[v];
        const uint32_t has = count_until(c.g, v, EMPTY, [&](uint32_t w) {
            return c.core[w] > k || (c.core[w] == k && c.mark[w] == number + 1);
        });
        if (lane_id() > 0) continue;
        c.left[v] = int(has);
        c.removed[v] = first;
        if (has <= k) append(next.queue, next.count, v);
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const auto take_away = [&](uint32_t v, uint32_t w, const Next& later) {
        const uint32_t k = c.core[v];
        if (w == v || c.core[w] != k || c.mark[w] != number + 1) return;
        if (atomicSub(&c.left[w], 1) != int(k) + 1) return;
        c.removed[w] = first + (later.epoch - base);
        append(later.queue, later.count, w);
    };
    run_rounds(c.g, r, list, count, by_neighbor(c.g, take_away));
    c.clock = first + (r.epoch - base);
}

// Candidates that are left rise, and come first on their new level; the others, and seeds that were none, come last on theirs.
// left[v] keeps the old place. `end`: the greatest place before.
__device__ __forceinline__ void rise(const Cores& c, uint32_t candidates, uint32_t num_seeds, uint32_t end) {
    for (uint32_t i = thread_id(); i < candidates; i += thread_count()) {
        const uint32_t v = c.listed[i];
        const bool rises = fresh(c.left[v]) > int(c.core[v]);
        c.left[v] = int(c.place[v]);
        c.place[v] = rises ? 0 : c.removed[v];
        if (!rises) continue;
        ++c.core[v];
        c.mark[v] = c.number + 2;
    }
    for (uint32_t i = thread_id(); i < num_seeds; i += thread_count()) {
        const uint32_t v = c.seeds[i];
        if (c.mark[v] != c.number) continue;  // a candidate
        c.left[v] = int(c.place[v]);
        c.place[v] = end + 1;
    }
}

// Queue v if it has risen, and whom it has passed; count the support of one that has risen, and add it to that of others on its new
// level. A warp calls it.
__device__ __forceinline__ void passed(const Cores& c, uint32_t v, uint32_t end, const Next& next) {
    const uint32_t k = c.core[v], before = uint32_t(c.left[v]);
    if (c.mark[v] != c.number + 2) {
        queue_between(c, v, k, before, end, next);
        return;
    }
    uint32_t mine = 0;
    for_neighbors<32>(c.g, v, lane_id(), [&](uint32_t w, long long) {
        const uint32_t its = c.core[w];
        if (w == v || its + 1 < k) return;
        if (its + 1 == k) {
            if (c.place[w] > before && c.place[w] <= end) enqueue(next, w);
            return;
        }
        ++mine;
        if (its > k) return;
        if (c.mark[w] != c.number + 2) atomicAdd(&c.support[w], 1u);
        if (c.place[w] == 0) enqueue(next, w);
    });
    const uint32_t found = warp_sum(mine);
    if (lane_id() > 0) return;
    c.support[v] = found;
    enqueue(next, v);
}

// The whole repair, from the vertices in `list` on. Returns whether the limit sufficed.
__device__ __forceinline__ bool raise_all(Cores& c, Rounds& r, const uint32_t* list, uint32_t count) {
    RoundState* state = c.state;
    while (count > 0) {
        const uint32_t base = r.epoch;
        const auto reorder_one = [&](uint32_t v, const Next& next) { reorder(c, v, base, next); };
        run_rounds(c.g, r, list, count, by_warp(reorder_one));
        const uint32_t num_seeds = fresh(state->listed[1]);
        c.clock = max(c.clock, fresh(state->listed[3]));
        if (too_many(c)) return false;
        if (num_seeds == 0) return true;
        grid_barrier(r);  // everybody has read the counters
        const auto seek_one = [&](uint32_t v, const Next& next) { seek(c, v, next); };
        run_rounds(c.g, r, c.seeds, num_seeds, by_warp(seek_one));
        if (too_many(c)) return false;
        const uint32_t candidates = fresh(state->listed[0]), end = c.clock;
        sift(c, candidates, r);
        rise(c, candidates, num_seeds, end);
        if (thread_id() == 0) state->listed[0] = state->listed[1] = 0;
        grid_barrier(r);
        const Next next = open_round(r);
        for (uint32_t i = thread_id() / 32; i < candidates; i += thread_count() / 32) passed(c, c.listed[i], end, next);
        for (uint32_t i = thread_id() / 32; i < num_seeds; i += thread_count() / 32)
            if (c.mark[c.seeds[i]] == c.number) passed(c, c.seeds[i], end, next);
        list = close_round(r, count);
        c.number += 3;
    }
    return true;
}
