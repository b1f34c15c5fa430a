// Core numbers after insertions: the order of every level, and the candidates (see core_numbers.py).
#pragma once
#include "core_numbers.cuh"
#include "core_sums.cuh"

// What the phases share. support, later: see core_numbers_cpu.py; entry: see core_numbers.cuh. mark[v]: the number of the last search
// of which v was a candidate, plus 1 if it rose. left, removed and sums are scratch, sums 0 before and after. listed: the candidates,
// and the seeds of the next search, by turns.
struct Cores {
    const View& g;
    uint64_t* entry;
    uint32_t* support;
    uint32_t* later;
    uint32_t* mark;
    int* left;
    uint32_t* removed;
    uint64_t* sums;
    uint32_t* listed[2];
    RoundState* state;
    uint32_t number;  // of the search
    uint32_t clock;   // greatest place
    uint32_t head;    // every place is at least that, but for isolated vertices
    uint32_t turn;    // which list holds the candidates

    __device__ uint32_t core(uint32_t v) const { return core_of(entry[v]); }
};

__device__ __forceinline__ uint32_t lane_id() { return threadIdx.x & 31; }

// v becomes a candidate, and its neighbours are looked at next.
template <class Queue>
__device__ __forceinline__ void nominate(const Cores& c, uint32_t v, uint32_t turn, uint32_t number,
                                         const Queue& next) {
    *(volatile uint32_t*)&c.mark[v] = number;
    queue(next, v);
    append(c.listed[turn], &c.state->listed[turn], v);
}

// The ends of inserted arcs that have too many after them are candidates.
__device__ __forceinline__ const uint32_t* seed(const Cores& c, const Arcs& inserted, Rounds& r, uint32_t& count) {
    const Next next = open_round(r);
    for_arcs(inserted, [&](uint32_t u, uint32_t v) {
        if (v == u || fresh(c.later[v]) <= c.core(v)) return;
        if (atomicExch(&c.mark[v], c.number) != c.number) nominate(c, v, c.turn, c.number, next);
    });
    return close_round(r, count);
}

// Of a candidate: those that come after it on its level have one more before them that may rise.
struct Seek {
    const Cores& c;
    OwnNext next;
    uint64_t own;
    __device__ Known read(uint32_t w) const { return {c.entry[w], 0}; }
    __device__ uint32_t change(uint32_t w, const Known& its) const {
        const bool after = core_of(its.entry) == core_of(own) && place_of(its.entry) > place_of(own);
        return after ? atomicAdd(&c.later[w], 1u) : NOTHING;
    }
    __device__ void act(uint32_t w, const Known&, uint32_t had) const {
        if (had == core_of(own)) nominate(c, w, c.turn, c.number, next);
    }
};

// So is whoever has too many after it if all candidates before it go. later is right then for those that stay.
__device__ __forceinline__ uint32_t seek(const Cores& c, Rounds& r, const uint32_t* list, uint32_t count) {
    const auto visitor = [&](uint32_t v, const OwnNext& next) { return Seek{c, next, c.entry[v]}; };
    const uint32_t before = r.served;
    run_rounds(c.g, r, list, count, own_first(c.g, visitor));
    const uint32_t candidates = counted(c.state->listed[c.turn]);
    r.served = before + candidates;
    return candidates;
}

// Counts the candidates and higher vertices among the neighbours of v.
struct CountStaying {
    const Cores& c;
    uint32_t v, k;
    uint64_t sum;
    __device__ Known read(uint32_t w) const { return {c.entry[w], c.mark[w]}; }
    __device__ uint32_t change(uint32_t w, const Known& its) {
        const uint32_t core = core_of(its.entry);
        sum += w != v && (core > k || (core == k && its.mark == c.number));
        return NOTHING;
    }
    __device__ void act(uint32_t, const Known&, uint32_t) const {}
};

// Of a candidate that goes: others of its level with this mark have one neighbour less left. Those with so `few` go next: whoever
// goes because of others has a greater removed[w] than they. That is the number of the round, or the next of `turns`, if not null.
template <class Queue> struct Drop {
    const Cores& c;
    Queue next;
    uint32_t v, k, mark, few, first;
    uint32_t* turns;
    __device__ Known read(uint32_t w) const { return {c.entry[w], c.mark[w]}; }
    __device__ uint32_t change(uint32_t w, const Known& its) const {
        if (w == v || core_of(its.entry) != k || its.mark != mark) return NOTHING;
        return uint32_t(atomicSub(&c.left[w], 1));
    }
    __device__ void act(uint32_t w, const Known&, uint32_t had) const {
        if (had != few + 1) return;
        c.removed[w] = first + (turns ? atomicAdd(turns, 1u) : next.epoch);
        queue(next, w);
    }
};

// Take away the candidates that cannot have more candidates and higher neighbours than their number. removed[v]: a place after all
// others, in the order in which they go, or 0; c.clock rises. left[v] is what is left of these neighbours.
__device__ __forceinline__ void sift(Cores& c, uint32_t candidates, Rounds& r) {
    const uint32_t first = c.clock + 1, number = c.number, *listed = c.listed[c.turn];
    const uint32_t gone = counted(c.state->gone);
    const Next next = open_round(r);
    const auto note = [&](uint32_t v, uint64_t has) {
        const bool goes = has <= c.core(v);
        c.left[v] = int(has);
        c.removed[v] = goes ? first : 0;
        if (goes) append(next.queue, next.count, v);
    };
    const auto staying = [&](uint32_t v) { return CountStaying{c, v, c.core(v), 0}; };
    sum_rows(c.g, candidates, [&](uint32_t i) { return listed[i]; }, staying, note);
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const auto drop = [&](uint32_t v, const OwnNext& after) {
        const uint32_t k = c.core(v);
        return Drop<OwnNext>{c, after, v, k, number, k, first + 1 - gone, &c.state->gone};
    };
    run_rounds(c.g, r, list, count, own_first(c.g, drop));
    c.clock = first + (counted(c.state->gone) - gone);
}

// Of the candidates that are left, which all rise, peel those that have at most their new number left, in rounds: the order in which
// they come on the new level. removed[v]: the round from 1 on, or 0 for those that the peel leaves. Returns the number of rounds.
__device__ __forceinline__ uint32_t peel_risen(const Cores& c, uint32_t candidates, Rounds& r) {
    const uint32_t risen = c.number + 1, *listed = c.listed[c.turn];
    const Next next = open_round(r);
    const uint32_t base = r.epoch;
    for (uint32_t i = thread_id(); i < candidates; i += thread_count()) {
        const uint32_t v = listed[i];
        if (c.removed[v]) continue;
        const uint32_t has = fresh(c.left[v]);
        c.mark[v] = risen;
        c.support[v] = has;
        if (has > c.core(v) + 1) continue;
        c.removed[v] = 1;
        append(next.queue, next.count, v);
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const auto drop = [&](uint32_t v, const Next& after) {
        const uint32_t k = c.core(v);
        return Drop<Next>{c, after, v, k, risen, k + 1, 1 - base, nullptr};
    };
    run_rounds(c.g, r, list, count, by_neighbor(c.g, drop));
    return r.epoch - base + 1;
}

// Candidates that are left rise, and come first on their new level; the others come last on theirs.
__device__ __forceinline__ void rise(Cores& c, uint32_t candidates, uint32_t rounds) {
    const uint32_t* listed = c.listed[c.turn];
    c.head -= rounds + 1;
    for (uint32_t i = thread_id(); i < candidates; i += thread_count()) {
        const uint32_t v = listed[i], turn = c.removed[v], core = c.core(v);
        const bool goes = turn >= ORIGIN;
        c.entry[v] = entry_of(core + !goes, goes ? turn : c.head + (turn ? turn - 1 : rounds));
    }
    if (thread_id() == 0) c.state->listed[c.turn ^ 1] = 0;
}

// Counts what comes after v, once a candidate; if it has risen it supports others of its new level that have not.
struct CountAfter {
    const Cores& c;
    uint32_t v;
    bool rose;
    uint64_t own, sum;
    __device__ Known read(uint32_t w) const { return {c.entry[w], fresh(c.mark[w])}; }
    __device__ uint32_t change(uint32_t w, const Known& its) {
        const uint32_t core = core_of(its.entry), k = core_of(own);
        if (w == v) return NOTHING;
        if (rose && core == k && its.mark <= c.number) atomicAdd(&c.support[w], 1u);
        sum += core > k || (core == k && place_of(its.entry) >= place_of(own));
        return NOTHING;
    }
    __device__ void act(uint32_t, const Known&, uint32_t) const {}
};

// Count again what comes after candidates. A vertex that has risen and has too many after it is a candidate of the next search.
__device__ __forceinline__ const uint32_t* arrange(Cores& c, uint32_t candidates, Rounds& r, uint32_t& count) {
    const uint32_t number = c.number, *listed = c.listed[c.turn];
    const Next next = open_round(r);
    const auto after = [&](uint32_t v) { return CountAfter{c, v, fresh(c.mark[v]) > number, c.entry[v], 0}; };
    const auto note = [&](uint32_t v, uint64_t has) {
        c.later[v] = uint32_t(has);
        if (has > c.core(v)) nominate(c, v, c.turn ^ 1, number + 2, next);
    };
    sum_rows(c.g, candidates, [&](uint32_t i) { return listed[i]; }, after, note);
    c.number += 2;
    c.turn ^= 1;
    return close_round(r, count);
}

// The whole repair after `inserted`. Returns whether the vertices that `r` may serve sufficed.
__device__ __forceinline__ bool raise_all(Cores& c, Rounds& r, const Arcs& inserted) {
    uint32_t count;
    const uint32_t* list = seed(c, inserted, r, count);
    while (count > 0) {
        const uint32_t candidates = seek(c, r, list, count);
        if (r.served > r.most) return false;
        sift(c, candidates, r);
        const uint32_t rounds = peel_risen(c, candidates, r);
        if (r.served > r.most) return false;
        rise(c, candidates, rounds);
        grid_barrier(r);
        list = arrange(c, candidates, r, count);
    }
    return true;
}
