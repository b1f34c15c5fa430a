// Rows of vertices, served by the blocks of a cooperative launch: what a round of core numbers does with the neighbours of a list.
//
// A visitor says what happens to the neighbours that one thread meets: `read(w)` loads what is known of w, `change(w, known)` may
// issue an atomic operation and returns its result, and `act(w, known, result)` does the rest. A thread does each of these for BATCH
// neighbours before the next, so that their trips to memory overlap.
#pragma once
#include "rounds.cuh"

constexpr int TILE = 8;  // lanes that serve a vertex of at most SMALL neighbours, else a warp does
constexpr uint32_t SMALL = 64;  // neighbours
constexpr int BATCH = 4;
constexpr uint32_t HUB = 1024,
                   HUBS = 64;  // vertices of more neighbours than HUB are served by a block, HUBS of them in a round
constexpr uint32_t TEAMS = 32 / SEARCH_LANES;  // of a warp: each takes a bucket at a time
constexpr uint32_t NOTHING = 0xFFFFFFFFu;  // the result of `change` where there was no operation

// What is read of a neighbour.
struct Known {
    uint64_t standing;
    uint32_t mark;
};

template <class Visit>
__device__ __noinline__ void serve_batch(Visit& visit, uint32_t a, uint32_t b, uint32_t c, uint32_t d, int count) {
    const uint32_t w[BATCH] = {a, b, c, d};
    Known known[BATCH];
    uint32_t result[BATCH];
#pragma unroll
    for (int j = 0; j < BATCH; ++j) known[j] = j < count ? visit.read(w[j]) : Known{0, 0};
#pragma unroll
    for (int j = 0; j < BATCH; ++j) result[j] = j < count ? visit.change(w[j], known[j]) : NOTHING;
#pragma unroll
    for (int j = 0; j < BATCH; ++j) {
        if (result[j] != NOTHING) visit.act(w[j], known[j], result[j]);
    }
}

// Hands the neighbours that a thread meets to a visitor.
template <class Visit> struct Batch {
    Visit& visit;
    uint32_t w[BATCH];
    int count;

    __device__ explicit Batch(Visit& visit) : visit(visit), w{}, count(0) {}
    __device__ __forceinline__ void add(uint32_t neighbor) {
#pragma unroll
        for (int j = BATCH - 1; j > 0; --j) w[j] = w[j - 1];
        w[0] = neighbor;
        if (++count == BATCH) flush();
    }
    __device__ __forceinline__ void flush() {
        if (count) serve_batch(visit, w[0], w[1], w[2], w[3], count);
        count = 0;
    }
};

template <int LANES, class Visit>
__device__ __forceinline__ void visit_neighbors(const View& g, uint32_t v, int lane, Visit& visit) {
    Batch<Visit> batch(visit);
    for_neighbors<LANES>(g, v, lane, [&](uint32_t w, long long) { batch.add(w); });
    batch.flush();
}

// Visits the neighbours of v that fall to one of `sharers` warps: its part of the buckets.
template <class Visit>
__device__ __forceinline__ void visit_part(const View& g, uint32_t v, uint32_t part, uint32_t sharers, Visit& visit) {
    const uint32_t lane = threadIdx.x & 31, number = buckets(g, v);
    Batch<Visit> batch(visit);
    for (uint32_t k = part * TEAMS + lane / SEARCH_LANES; k < number; k += sharers * TEAMS) {
        for_bucket<SEARCH_LANES>(g, v, k, lane % SEARCH_LANES, [&](uint32_t w, long long) { batch.add(w); });
    }
    batch.flush();
}

// Serves a list: visitor(v, next) visits the neighbours of v, in the threads that share v. With at least twice as many warps as
// vertices several warps share each, bucket by bucket.
template <class Visitor> struct ByNeighbor {
    const View& g;
    Visitor visitor;

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
        if (part > 0 && part * TEAMS >= buckets(g, v)) return;
        auto visit = visitor(v, next);
        visit_part(g, v, part, sharers, visit);
    }

    // A tile per vertex, a warp if it has more neighbours; hubs are listed for the whole block.
    __device__ void by_tiles(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next,
                             uint32_t* hubs, uint32_t* num_hubs) {
        constexpr uint32_t TILES = 32 / TILE;
        const uint32_t lane = threadIdx.x & 31, tile = lane / TILE;
        for (uint32_t base = warp * TILES; base < count; base += warps * TILES) {
            const uint32_t v = base + tile < count ? list[base + tile] : EMPTY;
            const uint32_t neighbors = v == EMPTY ? 0 : degree(g, v);
            if (neighbors > 0 && neighbors <= SMALL) {
                auto visit = visitor(v, next);
                visit_neighbors<TILE>(g, v, lane % TILE, visit);
            }
            uint32_t wide = __ballot_sync(WARP, neighbors > SMALL && lane % TILE == 0);
            for (; wide; wide &= wide - 1) {
                const uint32_t u = __shfl_sync(WARP, v, __ffs(wide) - 1);
                if (degree(g, u) > HUB && listed_as_hub(u, hubs, num_hubs)) continue;
                auto visit = visitor(u, next);
                visit_neighbors<32>(g, u, lane, visit);
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
template <class Visitor>
__device__ __forceinline__ ByNeighbor<Visitor> by_neighbor(const View& g, Visitor visitor) {
    return {g, visitor};
}

template <class T>
__device__ __forceinline__ T warp_sum(T mine) {
    for (int step = 16; step > 0; step >>= 1) mine += __shfl_xor_sync(WARP, mine, step);
    return mine;
}

// For the vertices v = vertex(i), i < count: done(v, sum) in one thread, with the sum of what the visitors that visitor(v) makes have
// found in `sum`. A tile per vertex, a warp if it has many neighbours or there are few vertices.
template <class Vertex, class Visitor, class Done>
__device__ __forceinline__ void sum_rows(const View& g, uint32_t count, Vertex&& vertex, Visitor&& visitor,
                                         Done&& done) {
    const uint32_t lane = threadIdx.x & 31, warps = thread_count() / 32;
    const uint32_t tiles = min(32u / TILE, (count + warps - 1) / warps);
    for (unsigned long long base = (unsigned long long)(thread_id() / 32) * tiles; base < count;
         base += (unsigned long long)warps * tiles) {
        const uint32_t v =
            lane / TILE < tiles && base + lane / TILE < count ? vertex(uint32_t(base) + lane / TILE) : EMPTY;
        const bool wide = v != EMPTY && (tiles == 1 || degree(g, v) > SMALL);
        uint64_t mine = 0;
        if (v != EMPTY && !wide) {
            auto visit = visitor(v);
            visit_neighbors<TILE>(g, v, lane % TILE, visit);
            mine = visit.sum;
        }
        for (int step = TILE / 2; step > 0; step >>= 1) mine += __shfl_xor_sync(WARP, mine, step);
        if (v != EMPTY && !wide && lane % TILE == 0) done(v, mine);
        for (uint32_t left = __ballot_sync(WARP, wide && lane % TILE == 0); left; left &= left - 1) {
            const uint32_t u = __shfl_sync(WARP, v, __ffs(left) - 1);
            auto visit = visitor(u);
            visit_neighbors<32>(g, u, lane, visit);
            const uint64_t found = warp_sum(visit.sum);
            if (lane == 0) done(u, found);
        }
    }
}
