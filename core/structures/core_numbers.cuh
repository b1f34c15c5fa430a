// Core numbers from scratch, by the blocks of one cooperative launch: level-synchronous peeling.
#pragma once
#include "core_thin.cuh"

constexpr uint32_t UNKNOWN = 0xFFFFFFFFu;  // a core number that is not known yet
constexpr uint32_t HUB = 1024,
                   HUBS = 64;  // vertices of more neighbours than HUB are served by a block, HUBS of them in a round
constexpr uint32_t NARROW = 16;  // numbers up to which few have many neighbours: rounds may be thin

// Calls each(w, slot) for the neighbours of v that fall to one of `sharers` warps: its part of the buckets; the first takes all of a
// vertex with few neighbours.
template <class F>
__device__ __forceinline__ void for_part(const View& g, uint32_t v, uint32_t part, uint32_t sharers, F&& each) {
    constexpr uint32_t TEAMS = 32 / SEARCH_LANES;
    const uint32_t lane = threadIdx.x & 31;
    if (sharers == 1 || degree(g, v) <= SMALL) {
        if (part == 0) for_neighbors<32>(g, v, lane, each);
        return;
    }
    const uint32_t parts = buckets(g, v);
    for (uint32_t k = part * TEAMS + lane / SEARCH_LANES; k < parts; k += sharers * TEAMS) {
        for_bucket<SEARCH_LANES>(g, v, k, lane % SEARCH_LANES, each);
    }
}

// Serves a list: calls visit(v, w, next) for each neighbour w of each v, in one of the threads that share v. With at least twice
// as many warps as vertices several warps share each, bucket by bucket.
template <class F> struct ByNeighbor {
    const View& g;
    F visit;

    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next) {
        __shared__ uint32_t hubs[HUBS];
        __shared__ uint32_t num_hubs;
        const uint32_t sharers = warps / count;
        if (sharers > 1) {
            const uint32_t i = warp / sharers;
            if (i < count) share(list[i], warp % sharers, sharers, next);
            return;
        }
        if (threadIdx.x == 0) num_hubs = 0;
        __syncthreads();
        by_tiles(list, warp, warps, count, next, hubs, &num_hubs);
        __syncthreads();
        const uint32_t found = min(num_hubs, HUBS);
        for (uint32_t i = 0; i < found; ++i) share(hubs[i], threadIdx.x / 32, blockDim.x / 32, next);
        __syncthreads();  // before `hubs` is used again
    }

    __device__ void share(uint32_t v, uint32_t part, uint32_t sharers, const Next& next) {
        for_part(g, v, part, sharers, [&](uint32_t w, long long) { visit(v, w, next); });
    }

    // A tile per vertex, a warp if it has more neighbours; hubs are listed for the whole block.
    __device__ void by_tiles(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next,
                             uint32_t* hubs, uint32_t* num_hubs) {
        constexpr uint32_t TILES = 32 / TILE;
        const uint32_t lane = threadIdx.x & 31, tile = lane / TILE;
        for (uint32_t base = warp * TILES; base < count; base += warps * TILES) {
            const uint32_t v = base + tile < count ? list[base + tile] : EMPTY;
            const uint32_t neighbors = v == EMPTY ? 0 : degree(g, v);
            const auto each = [&](uint32_t w, long long) { visit(v, w, next); };
            if (neighbors > 0 && neighbors <= SMALL) for_neighbors<TILE>(g, v, lane % TILE, each);
            uint32_t wide = __ballot_sync(WARP, neighbors > SMALL && lane % TILE == 0);
            for (; wide; wide &= wide - 1) {
                const uint32_t u = __shfl_sync(WARP, v, __ffs(wide) - 1);
                if (degree(g, u) > HUB && listed_as_hub(u, hubs, num_hubs)) continue;
                for_neighbors<32>(g, u, lane, [&](uint32_t w, long long) { visit(u, w, next); });
            }
        }
    }

    // Put u on the list of the block, if there is space; a warp calls it, and gets one answer.
    __device__ static bool listed_as_hub(uint32_t u, uint32_t* hubs, uint32_t* num_hubs) {
        uint32_t place = 0;
        if ((threadIdx.x & 31) == 0) place = atomicAdd(num_hubs, 1u);
        place = __shfl_sync(WARP, place, 0);
        if (place < HUBS && (threadIdx.x & 31) == 0) hubs[place] = u;
        return place < HUBS;
    }
};
template <class F> __device__ __forceinline__ ByNeighbor<F> by_neighbor(const View& g, F f) { return {g, f}; }

template <class T>
__device__ __forceinline__ T warp_sum(T mine) {
    for (int step = 16; step > 0; step >>= 1) mine += __shfl_xor_sync(WARP, mine, step);
    return mine;
}

// For the vertices v = vertex(i), i < count: done(v, sum) in one thread, with the sum of value(v, w) over the neighbours w of v
// besides itself. A tile per vertex, a warp if it has many neighbours or there are few vertices.
template <class Vertex, class Value, class Done>
__device__ __forceinline__ void sum_rows(const View& g, uint32_t count, Vertex&& vertex, Value&& value, Done&& done) {
    using Sum = decltype(value(0u, 0u));
    const uint32_t lane = threadIdx.x & 31, warps = thread_count() / 32;
    const uint32_t tiles = min(32u / TILE, (count + warps - 1) / warps);
    for (unsigned long long base = (unsigned long long)(thread_id() / 32) * tiles; base < count;
         base += (unsigned long long)warps * tiles) {
        const uint32_t v =
            lane / TILE < tiles && base + lane / TILE < count ? vertex(uint32_t(base) + lane / TILE) : EMPTY;
        const bool wide = v != EMPTY && (tiles == 1 || degree(g, v) > SMALL);
        Sum mine = 0;
        if (v != EMPTY && !wide) {
            for_neighbors<TILE>(g, v, lane % TILE, [&](uint32_t w, long long) {
                if (w != v) mine += value(v, w);
            });
        }
        for (int step = TILE / 2; step > 0; step >>= 1) mine += __shfl_xor_sync(WARP, mine, step);
        if (v != EMPTY && !wide && lane % TILE == 0) done(v, mine);
        for (uint32_t left = __ballot_sync(WARP, wide && lane % TILE == 0); left; left &= left - 1) {
            const uint32_t u = __shfl_sync(WARP, v, __ffs(left) - 1);
            mine = 0;
            for_neighbors<32>(g, u, lane, [&](uint32_t w, long long) {
                if (w != u) mine += value(u, w);
            });
            const Sum found = warp_sum(mine);
            if (lane == 0) done(u, found);
        }
    }
}

// left[v] = the number of neighbours besides v itself. A thread per vertex asks for the self-loop, or a tile looks for it.
__device__ __forceinline__ void count_neighbors(const View& g, uint32_t n, int* left) {
#if FIND_IS_LINEAR
    for (uint32_t base = thread_id() / 32 * 32; base < n; base += thread_count()) {  // the same in a warp
        for (uint32_t v = base; v < min(base + 32, n); ++v) {
            const bool loop = any_neighbor(g, v, [&](uint32_t w) { return w == v; });
            if ((threadIdx.x & 31) == 0) left[v] = int(degree(g, v)) - loop;
        }
    }
#else
    for (uint32_t v = thread_id(); v < n; v += thread_count()) left[v] = int(degree(g, v)) - (find(g, v, v) >= 0);
#endif
}

// core[v] and place[v], ORIGIN and the round in which it goes, for all v: for k = 0, 1, ... all vertices with at most k neighbours left are taken away, in rounds, until none is; k is
// their core number. Those that remain are listed anew for each k, in `rest` and `spare` by turns. left int32[n]: neighbours
// left, exact for what remains. All threads of the grid call it, once per launch.
__device__ __forceinline__ void peel_all(const View& g, uint32_t n, uint32_t* core, uint32_t* place, int* left,
                                         uint32_t* rest, uint32_t* spare, Rounds& r) {
    RoundState* state = r.state;
    const uint32_t base = r.epoch;
    count_neighbors(g, n, left);
    if (thread_id() < 3) state->least[thread_id()] = UNKNOWN;
    grid_barrier(r);
    for (uint32_t v = thread_id(); v < n; v += thread_count()) {
        core[v] = left[v] > 0 ? UNKNOWN : 0;
        place[v] = 0;
        if (left[v] > 0) append(rest, &state->remaining[0], v);
    }
    grid_barrier(r);
    uint32_t remaining = counted(state->remaining[0]), k = 1;
    ThinTurns turns = {};
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
            if (core[v] != UNKNOWN) continue;
            const uint32_t has = fresh(left[v]);
            if (has <= k) {
                core[v] = k;
                place[v] = ORIGIN + (next.epoch - base);
                append(next.queue, next.count, v);
            } else {
                append(spare, &state->remaining[turn], v);
                least = min(least, has);
            }
        }
        if (least < fresh(state->least[turn])) atomicMin(&state->least[turn], least);
        uint32_t count;
        const uint32_t* list = close_round(r, count);
        remaining = counted(state->remaining[turn]);
        uint32_t* const done = rest;
        rest = spare;
        spare = done;
        if (count == 0) {
            k = counted(state->least[turn]);  // nothing has changed since it was found
            continue;
        }
        const auto take = [&](uint32_t w, uint32_t epoch) {
            if (atomicSub(&left[w], 1) != int(k) + 1) return false;
            core[w] = k;
            place[w] = ORIGIN + (epoch - base);
            return true;
        };
        const auto take_away = [&](uint32_t, uint32_t w, const Next& later) {
            if (take(w, later.epoch)) append(later.queue, later.count, w);
        };
        auto serve = by_neighbor(g, take_away);
        for (bool spread = true; count > 0; spread = !spread) {
            const bool thin = spread && k <= NARROW && count > ALONE && count <= THIN * gridDim.x;
            list = thin ? thin_rounds(g, r, turns, list, count, take) : run_round(g, r, list, count, serve);
        }
        ++k;
    }
}
