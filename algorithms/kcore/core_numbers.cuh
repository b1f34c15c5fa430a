// Core numbers from scratch, by the blocks of one cooperative launch: level-synchronous peeling.
#pragma once
#include "core_block_rounds.cuh"

constexpr uint32_t UNKNOWN = 0xFFFFFFFFu;  // a core number that is not known yet
constexpr uint32_t NARROW = 16;  // numbers up to which few have many neighbours: rounds may be short

// Where a vertex stands: its number, in the lower half, and its place in the order of its level. One word, read and written at once.
__device__ __forceinline__ uint64_t entry_of(uint32_t core, uint32_t place) { return core | uint64_t(place) << 32; }
__device__ __forceinline__ uint32_t core_of(uint64_t entry) { return uint32_t(entry); }
__device__ __forceinline__ uint32_t place_of(uint64_t entry) { return uint32_t(entry >> 32); }

#ifdef BOTH_WAYS
#define VIEWS OneWay out, OneWay into  // arguments of kernels
#define WALKED const View g = {out, into};
constexpr int LOOP = 2;  // entries of a self-loop in its row
#else
#define VIEWS View g
#define WALKED
constexpr int LOOP = 1;
#endif

// Thread per arc of a list: calls f(u, v) for an arc from u to v; where rows have both ways, f(v, u), too.
template <class F> __device__ __forceinline__ void for_arcs(const Arcs& arcs, F&& f) {
    for (long long i = thread_id(); i < arcs.size; i += thread_count()) {
        if (arcs.status && arcs.status[i] != arcs.wanted) continue;
        f(arcs.src[i], arcs.dst[i]);
#ifdef BOTH_WAYS
        f(arcs.dst[i], arcs.src[i]);
#endif
    }
}

// left[v] = the number of neighbours besides v itself. A thread per vertex asks for the self-loop, or a tile looks for it.
__device__ __forceinline__ void count_neighbors(const View& g, uint32_t n, int* left) {
#if FIND_IS_LINEAR
    for (uint32_t base = thread_id() / 32 * 32; base < n; base += thread_count()) {  // the same in a warp
        for (uint32_t v = base; v < min(base + 32, n); ++v) {
            const bool loop = any_neighbor(g, v, [&](uint32_t w) { return w == v; });
            if ((threadIdx.x & 31) == 0) left[v] = int(degree(g, v)) - LOOP * loop;
        }
    }
#else
    for (uint32_t v = thread_id(); v < n; v += thread_count())
        left[v] = int(degree(g, v)) - LOOP * (find(g, v, v) >= 0);
#endif
}

// One neighbour less is left to those of a vertex that is taken away at a number k; who has k left then goes in the next round.
struct TakeAway {
    int* left;
    uint64_t* entry;
    uint32_t k, base;
    Next next;
    __device__ Known read(uint32_t) const { return {}; }
    __device__ uint32_t change(uint32_t w, const Known&) const { return uint32_t(atomicSub(&left[w], 1)); }
    __device__ void act(uint32_t w, const Known&, uint32_t had) const {
        if (had != k + 1) return;
        entry[w] = entry_of(k, ORIGIN + (next.epoch - base));
        append(next.queue, next.count, w);
    }
};

// Where all v stand, the place being ORIGIN and the round in which it goes: for k = 0, 1, ... all vertices with at most k neighbours
// left are taken away, in rounds, until none is; k is their core number. Those that remain are listed again for each k, in `rest` and `buffer` by turns. left int32[n]: neighbours
// left, exact for what remains. All threads of the grid call it, once per launch.
__device__ __forceinline__ void peel_all(const View& g, uint32_t n, uint64_t* entry, int* left, uint32_t* rest,
                                         uint32_t* buffer, Rounds& r) {
    RoundState* state = r.state;
    const uint32_t base = r.epoch;
    count_neighbors(g, n, left);
    if (thread_id() < 3) state->least[thread_id()] = UNKNOWN;
    grid_barrier(r);
    for (uint32_t v = thread_id(); v < n; v += thread_count()) {
        entry[v] = entry_of(left[v] > 0 ? UNKNOWN : 0, 0);
        if (left[v] > 0) append(rest, &state->remaining[0], v);
    }
    grid_barrier(r);
    uint32_t remaining = counted(state->remaining[0]), k = 1;
    RoundTurns turns = {};
    for (uint32_t turn = 1; remaining > 0; turn = turn == 2 ? 0 : turn + 1) {
        if (thread_id() == 0) {  // read for the last time two passes ago
            const uint32_t after = turn == 2 ? 0 : turn + 1;
            state->remaining[after] = 0;
            state->least[after] = UNKNOWN;
        }
        const Next next = open_round(r);
        uint32_t least = UNKNOWN;
        for (uint32_t i = thread_id(); i < remaining; i += thread_count()) {
            const uint32_t v = rest[i];
            if (core_of(entry[v]) != UNKNOWN) continue;
            const uint32_t has = fresh(left[v]);
            if (has <= k) {
                entry[v] = entry_of(k, ORIGIN + (next.epoch - base));
                append(next.queue, next.count, v);
            } else {
                append(buffer, &state->remaining[turn], v);
                least = min(least, has);
            }
        }
        if (least < fresh(state->least[turn])) atomicMin(&state->least[turn], least);
        uint32_t count;
        const uint32_t* list = close_round(r, count);
        remaining = counted(state->remaining[turn]);
        uint32_t* const done = rest;
        rest = buffer;
        buffer = done;
        if (count == 0) {
            k = counted(state->least[turn]);  // nothing has changed since it was found
            continue;
        }
        const auto take = [&](uint32_t w, uint32_t epoch) {
            if (atomicSub(&left[w], 1) != int(k) + 1) return false;
            entry[w] = entry_of(k, ORIGIN + (epoch - base));
            return true;
        };
        auto serve = by_neighbor(g, [&](uint32_t, const Next& later) { return TakeAway{left, entry, k, base, later}; });
        for (bool spread = true; count > 0; spread = !spread) {
            const bool by_blocks = spread && k <= NARROW && count > ALONE && count <= PER_BLOCK * gridDim.x;
            list = by_blocks ? block_rounds(g, r, turns, list, count, take) : run_round(g, r, list, count, serve);
        }
        ++k;
    }
}

// What begins and ends a launch.
// states: two RoundStates that launches use by turns, each clears that of the next, and whose turn it is.
__device__ __forceinline__ Rounds begin(uint32_t* states, uint32_t* stamp, uint32_t* queue0, uint32_t* queue1,
                                        unsigned long long* kept, uint32_t n) {
    const uint32_t turn = states[2 * ROUND_WORDS];
    if (thread_id() < ROUND_WORDS) states[(turn ^ 1) * ROUND_WORDS + thread_id()] = 0;
    RoundState* const state = reinterpret_cast<RoundState*>(states + turn * ROUND_WORDS);
    Rounds r = {state, stamp, {queue0, queue1}, uint32_t(kept[0]), 0, 0, 0};
    renew_epochs(r, n);
    return r;
}

// One thread, behind a barrier.
__device__ __forceinline__ void end(uint32_t* states, const Rounds& r) {
    states[2 * ROUND_WORDS] = reinterpret_cast<uint32_t*>(r.state) == states;
}
