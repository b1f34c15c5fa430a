// Core numbers after deletions: vertices that lack support fall by one at a time, in rounds with one barrier each.
//
// Who falls stands at the end of its new level at once, at a place that is the number of the next round. So whoever meets it during
// the same round sees that by its place, and knows its number when the round began, one more; a mark tells if it had been lowered in
// the round before as well.
#pragma once
#include "core_order.cuh"

constexpr uint32_t ENOUGH = 64;  // neighbours for a warp: several share a vertex that has more
constexpr uint32_t AGAIN =
    0x80000000u;  // in a core number: has been lowered in two rounds in succession. The second takes it away
constexpr uint32_t LATER_SHIFT = 32,
                   ARRIVED_SHIFT = 52;  // of a sum: support below; no core number has more than 20 bits
constexpr uint32_t SHARERS_SHIFT = 20, MOST_SHARERS = 1024;  // of left[v]: the warps that share v, above its number
constexpr uint32_t PARTS = 4;  // that one entry of a list stands for

// Parts of the row of v from `first` on, of `sharers`.
struct alignas(8) Parts {
    uint32_t v;
    unsigned short first, sharers;
};

// The number of warps that share a vertex with this number of neighbours, where all blocks serve a round.
__device__ __forceinline__ uint32_t sharers_of(uint32_t neighbors) {
    return min(max((neighbors + ENOUGH - 1) / ENOUGH, 1u), MOST_SHARERS);
}

// What the rounds share. left int32[n] and at uint32[n]: number, with the warps that share v, and place before it fell. Of the vertices
// of a round that several warps share all parts but the first are listed besides, in lists that take turns, of three counters. Where
// a list is full one warp serves the vertex.
struct Falls {
    const Cores& c;
    uint32_t* at;
    uint32_t n;
    uint32_t round, now;  // the number of the round, from 0 on, and its place
    Next next;

    __device__ Parts* parts(uint32_t which) const {
        return reinterpret_cast<Parts*>(which % 2 ? c.removed : c.listed[0]);
    }
    __device__ uint32_t listed(uint32_t which) const { return min(counted(c.state->parts[which % 3]), n / 2); }

    // v, of so many neighbours, falls from a number and place to a number, marked or not; the next round serves it.
    __device__ void fall(uint32_t v, uint32_t neighbors, uint32_t core, uint32_t place, uint32_t to) const {
        uint32_t sharers = sharers_of(neighbors), entries = (sharers - 1 + PARTS - 1) / PARTS, first = 0;
        if (entries > 0) first = atomicAdd(&c.state->parts[(round + 1) % 3], entries);
        append(next.queue, next.count, v);
        const uint32_t space = first < n / 2 ? n / 2 - first : 0;
        if (entries > space) sharers = 1;
        at[v] = place;
        c.entry[v] = entry_of(to, now + 1);
        c.left[v] = int(core | sharers << SHARERS_SHIFT);
        for (uint32_t i = 0; i < min(entries, space); ++i) {
            parts(round + 1)[first + i] = {v, (unsigned short)(1 + PARTS * i), (unsigned short)sharers};
        }
    }
};

// Of a vertex that has been lowered: counts its support and what comes after it, and takes its own support from those that it does not
// support any more, unless they were lowered in the same round, and so count again.
struct Withdraw {
    const Falls& falls;
    uint32_t v, k, before, old;  // its number, that before, and the place before
    uint64_t sum;
    __device__ Known read(uint32_t w) const { return {falls.c.entry[w], 0}; }
    __device__ uint32_t change(uint32_t w, Known& its) {
        const uint32_t place = place_of(its.entry), marked = core_of(its.entry);
        const bool falls_now = place == falls.now + 1;
        const uint32_t core = (marked & ~AGAIN) + falls_now;
        if (w == v || core < k) return NOTHING;
        const bool fell = falls_now ? marked & AGAIN : place == falls.now;
        sum += 1 | uint64_t(core > k || fell) << LATER_SHIFT;
        if (fell || falls_now || core == k || core > before) return NOTHING;
        its.mark = degree(falls.c.g, w);  // mostly for nothing, but its way to memory overlaps with that of the support
        asm volatile("" : : "r"(its.mark));  // so that it is read here
        if (core < before || place <= old) atomicSub(&falls.c.later[w], 1u);
        return atomicSub(&falls.c.support[w], 1u);
    }
    __device__ void act(uint32_t w, const Known& its, uint32_t had) const {
        const uint32_t core = core_of(its.entry);
        if (had == core) falls.fall(w, its.mark, core, place_of(its.entry), core - 1);
    }
};

// A round: parts of rows, a warp for each. The warps of a vertex add up in sums[v]: the last to arrive, by its upper bits, knows the sum.
// Block 0 alone shares out its warps by itself.
struct Lower {
    const Cores& c;
    uint32_t* at;
    uint32_t n;
    uint32_t base;  // the epoch before the first round

    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next) {
        const uint32_t round = next.epoch - base - 1;
        const Falls falls = {c, at, n, round, c.clock + 1 + round, next};
        if (thread_id() == 0) c.state->parts[(round + 2) % 3] = 0;
        if (warps != thread_count() / 32) {
            const uint32_t most = max(warps / count, 1u);
            for (uint32_t task = warp; task < count * most; task += warps) {
                const uint32_t v = list[task / most], neighbors = degree(c.g, v),
                               sharers = min(most, sharers_of(neighbors));
                if (task % most < sharers) serve(falls, v, neighbors, uint32_t(c.left[v]), task % most, sharers);
            }
            return;
        }
        const uint32_t others = PARTS * falls.listed(round);
        const Parts* const parts = falls.parts(round);
        for (uint32_t task = warp; task < others + count; task += warps) {
            if (task < others) {
                const Parts its = parts[task / PARTS];
                const uint32_t v = its.v, part = its.first + task % PARTS;
                if (part < its.sharers) serve(falls, v, degree(c.g, v), uint32_t(c.left[v]), part, its.sharers);
            } else {
                const uint32_t v = list[task - others], before = uint32_t(c.left[v]);
                serve(falls, v, degree(c.g, v), before, 0, before >> SHARERS_SHIFT);
            }
        }
    }

    __device__ void serve(const Falls& falls, uint32_t v, uint32_t neighbors, uint32_t before, uint32_t part,
                          uint32_t sharers) {
        const uint32_t marked = c.core(v), k = marked & ~AGAIN;
        Withdraw visit = {falls, v, k, before & ((1u << SHARERS_SHIFT) - 1), at[v], 0};
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
            falls.fall(v, neighbors, k, falls.now, (k - 1) | AGAIN);
        } else if (marked != k) {
            c.entry[v] = entry_of(k, falls.now);
        }
    }
};

__device__ __forceinline__ void lower_all(Cores& c, const Arcs& deleted, uint32_t n, uint32_t* at, Rounds& r) {
    const Next next = open_round(r);
    const Falls seeds = {c, at, n, 0xFFFFFFFFu, c.clock, next};  // before round 0
    for_arcs(deleted, [&](uint32_t, uint32_t v) {
        const uint64_t entry = c.entry[v];
        if (fresh(c.support[v]) >= core_of(entry) || atomicExch(&next.stamp[v], next.epoch) == next.epoch) return;
        const uint32_t core = core_of(entry), neighbors = degree(c.g, v);
        seeds.fall(v, neighbors, core, place_of(entry), min(core - 1, neighbors));
    });
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const uint32_t base = r.epoch;
    Lower lower = {c, at, n, base};
    while (count > 0 && r.served <= r.most) {
        const bool wide =
            counted(c.state->parts[(r.epoch - base) % 3]) > count;  // who has many parts has many neighbours
        list = wide ? share_round(r, list, count, lower) : run_round(c.g, r, list, count, lower);
    }
    c.clock += 1 + (r.epoch - base);
}
