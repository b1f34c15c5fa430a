// Core numbers after deletions: vertices that lack support fall by one at a time, in rounds with one barrier each.
//
// Who falls stands at the end of its new level at once, at a place that is the number of the next round. So whoever meets it during
// the same round sees that by its place, and knows its number when the round began, one more; a mark tells if it had fallen in
// the round before as well.
#pragma once
#include "core_order.cuh"

constexpr uint32_t ENOUGH = 1;  // buckets for each team of a warp, above which several warps share a vertex
constexpr uint32_t AGAIN =
    0x80000000u;  // in a core number: has fallen in two rounds in succession. The second takes it away
constexpr uint32_t LATER_SHIFT = 32,
                   ARRIVED_SHIFT = 52;  // of a sum: support below; no core number has more than 20 bits

// What the rounds share. left int32[n] and at uint32[n]: number and place before the vertex fell. The vertices of a round with more
// than HUB neighbours are listed besides, in lists that take turns, of three counters.
struct Falls {
    const Cores& c;
    uint32_t* at;
    uint32_t round, now;  // the number of the round, from 0 on, and its place
    Next next;

    __device__ uint32_t* hubs(uint32_t which) const { return which % 2 ? c.removed : c.listed[0]; }

    // v falls from a number and place to a number, marked or not; the next round serves it.
    __device__ void fall(uint32_t v, uint32_t core, uint32_t place, uint32_t to) const {
        const bool hub = degree(c.g, v) > HUB;
        c.left[v] = int(core);
        at[v] = place;
        c.standing[v] = standing_of(to, now + 1);
        append(next.queue, next.count, v);
        if (hub) append(hubs(round + 1), &c.state->hubs[(round + 1) % 3], v);
    }
};

// Of a vertex that has fallen: counts its support and what comes after it, and takes its own support from those that it does not
// support any more, unless they have fallen in the same round and so count anew.
struct Withdraw {
    const Falls& falls;
    uint32_t v, k, before, old;  // its number, that before, and the place before
    uint64_t sum;
    __device__ Known read(uint32_t w) const { return {falls.c.standing[w], 0}; }
    __device__ uint32_t change(uint32_t w, const Known& its) {
        const uint32_t place = place_of(its.standing), marked = core_of(its.standing);
        const bool falls_now = place == falls.now + 1;
        const uint32_t core = (marked & ~AGAIN) + falls_now;
        if (w == v || core < k) return NOTHING;
        const bool fell = falls_now ? marked & AGAIN : place == falls.now;
        sum += 1 | uint64_t(core > k || fell) << LATER_SHIFT;
        if (fell || falls_now || core == k || core > before) return NOTHING;
        if (core < before || place <= old) atomicSub(&falls.c.later[w], 1u);
        return atomicSub(&falls.c.support[w], 1u);
    }
    __device__ void act(uint32_t w, const Known& its, uint32_t had) const {
        const uint32_t core = core_of(its.standing);
        if (had == core) falls.fall(w, core, place_of(its.standing), core - 1);
    }
};

// A round. A warp per vertex, or several that add up in sums[v]: the last to arrive, by its upper bits, knows the sum. Block 0 alone never
// has hubs to serve.
struct Lower {
    const Cores& c;
    uint32_t* at;
    uint32_t base;  // the epoch before the first round

    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next) {
        const uint32_t round = next.epoch - base - 1;
        const Falls falls = {c, at, round, c.clock + 1 + round, next};
        const bool alone = warps != thread_count() / 32;
        const uint32_t hubs = alone ? 0 : counted(c.state->hubs[round % 3]);
        if (thread_id() == 0) c.state->hubs[(round + 2) % 3] = 0;
        const uint32_t parts = hubs ? min(max(warps / hubs, 16u), 256u) : 0, sharers = max(warps / count, 1u);
        for (uint32_t task = warp; task < hubs * parts + count * sharers; task += warps) {
            if (task < hubs * parts) {
                serve(falls, falls.hubs(round)[task / parts], task % parts, parts);
            } else {
                const uint32_t v = list[(task - hubs * parts) / sharers];
                if (alone || degree(c.g, v) <= HUB) serve(falls, v, (task - hubs * parts) % sharers, sharers);
            }
        }
    }

    __device__ void serve(const Falls& falls, uint32_t v, uint32_t part, uint32_t sharers) {
        sharers = max(1u, min(sharers, buckets(c.g, v) / (ENOUGH * TEAMS)));
        if (part >= sharers) return;
        const uint32_t marked = c.core(v), k = marked & ~AGAIN;
        Withdraw visit = {falls, v, k, uint32_t(c.left[v]), at[v], 0};
        visit_part(c.g, v, part, sharers, visit);
        uint64_t sum = warp_sum(visit.sum);
        if (lane_id() > 0) return;
        if (sharers > 1) {
            sum |= 1ull << ARRIVED_SHIFT;
            sum += atomicAdd((unsigned long long*)&c.sums[v], (unsigned long long)sum);
            if (sum >> ARRIVED_SHIFT < sharers) return;
            c.sums[v] = 0;
        }
        c.support[v] = uint32_t(sum);
        c.later[v] = uint32_t(sum >> LATER_SHIFT) & ((1u << (ARRIVED_SHIFT - LATER_SHIFT)) - 1u);
        if (uint32_t(sum) < k) {
            falls.fall(v, k, falls.now, (k - 1) | AGAIN);
        } else if (marked != k) {
            c.standing[v] = standing_of(k, falls.now);
        }
    }
};

__device__ __forceinline__ void lower_all(Cores& c, const Arcs& deleted, uint32_t* at, Rounds& r) {
    const Next next = open_round(r);
    const Falls seeds = {c, at, 0xFFFFFFFFu, c.clock, next};  // before round 0
    for (long long i = thread_id(); i < deleted.size; i += thread_count()) {
        if (deleted.status && deleted.status[i] != deleted.wanted) continue;
        const uint32_t v = deleted.dst[i];
        const uint64_t standing = c.standing[v];
        if (fresh(c.support[v]) >= core_of(standing) || atomicExch(&next.stamp[v], next.epoch) == next.epoch) continue;
        const uint32_t core = core_of(standing);
        seeds.fall(v, core, place_of(standing), min(core - 1, degree(c.g, v)));
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const uint32_t base = r.epoch;
    run_rounds(c.g, r, list, count, Lower{c, at, base});
    c.clock += 1 + (r.epoch - base);
}
