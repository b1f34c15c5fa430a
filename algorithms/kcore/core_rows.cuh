// Rows of vertices, served by the blocks of a cooperative launch: what a round of core numbers does with the neighbours of a list.
//
// A visitor says what happens to the neighbours that one thread meets: `read(w)` loads what is known of w, `change(w, known)` may
// issue an atomic operation and returns its result, and `act(w, known, result)` does the rest. A thread reads a part of a row, then
// does each of these for BATCH neighbours before the next, so that their trips to memory overlap.
#pragma once
#include "rounds.cuh"

constexpr int TILE = 8;  // lanes that serve a vertex of at most SMALL neighbours, else a warp does
constexpr uint32_t SMALL = 64;  // neighbours
constexpr uint32_t BATCH = 4;
constexpr uint32_t HELD = 16;  // neighbours that a thread holds in shared memory; where it meets more it walks again
constexpr uint32_t GROUP = SCAN_LANES > 0 ? 3 : 1;  // buckets that mostly do not hold more than HELD for a thread
constexpr uint32_t HUB = 256,
                   HUBS = 64;  // vertices of more neighbours than HUB are served by a block, HUBS of them in a round
constexpr uint32_t FAR_HUB = 1024;  // by all blocks, rather than at once by the one that finds them
constexpr uint32_t TEAMS = 32 / SEARCH_LANES;  // of a warp: each takes a bucket at a time
static_assert(CORE_BLOCK >= 64, "a thread for each vertex of a block's own");
constexpr uint32_t MOST_OWN = 64,
                   FEW_OWN = 16;  // vertices that a block keeps, and up to which it serves them itself: a warp for each
constexpr uint32_t NOTHING = 0xFFFFFFFFu;  // the result of `change` where there was no operation

// Vertices that a block serves together, and what it has found of one.
struct Hubs {
    uint32_t list[HUBS], number;
    unsigned long long sum;
};
__device__ __forceinline__ Hubs& block_hubs() {
    __shared__ Hubs hubs;
    return hubs;
}
// All threads of the block, before the first is listed.
__device__ __forceinline__ void no_hubs(Hubs& hubs) {
    if (threadIdx.x == 0) hubs.number = hubs.sum = 0;
    __syncthreads();
}
// Put v on the list of the block, if it has that many neighbours and there is space; a warp calls it, and gets one answer.
__device__ __forceinline__ bool listed_as_hub(const View& g, uint32_t v, Hubs& hubs) {
    if (degree(g, v) <= HUB) return false;
    uint32_t place = 0;
    if ((threadIdx.x & 31) == 0) place = atomicAdd(&hubs.number, 1u);
    place = __shfl_sync(WARP, place, 0);
    if (place < HUBS && (threadIdx.x & 31) == 0) hubs.list[place] = v;
    return place < HUBS;
}

// What is read of a neighbour.
struct Known {
    uint64_t entry;
    uint32_t mark;
};

// Where the calling thread holds neighbours, CORE_BLOCK words apart.
__device__ __forceinline__ uint32_t* held_words() {
    __shared__ uint32_t words[HELD * CORE_BLOCK];
    return words + threadIdx.x;
}

// Hands the neighbours that walk(f) calls f(w, slot) for, in this thread, to a visitor.
template <class Walk, class Visit> __device__ __forceinline__ void visit_walk(Walk&& walk, Visit& visit) {
    uint32_t* const held = held_words();
    uint32_t seen, before = 0;
    do {
        seen = 0;
        walk([&](uint32_t w, long long) {
            const uint32_t at = seen++ - before;
            if (at < HELD) held[at * CORE_BLOCK] = w;
        });
        const uint32_t number = min(seen - before, HELD);
        for (uint32_t first = 0; first < number; first += BATCH) {
            uint32_t w[BATCH], result[BATCH];
            Known known[BATCH];
#pragma unroll
            for (uint32_t j = 0; j < BATCH; ++j) w[j] = first + j < number ? held[(first + j) * CORE_BLOCK] : EMPTY;
#pragma unroll
            for (uint32_t j = 0; j < BATCH; ++j) known[j] = w[j] != EMPTY ? visit.read(w[j]) : Known{0, 0};
#pragma unroll
            for (uint32_t j = 0; j < BATCH; ++j) result[j] = w[j] != EMPTY ? visit.change(w[j], known[j]) : NOTHING;
#pragma unroll
            for (uint32_t j = 0; j < BATCH; ++j) {
                if (result[j] != NOTHING) visit.act(w[j], known[j], result[j]);
            }
        }
        before += HELD;
    } while (seen > before);
}

// Walks a row, or up to GROUP of its buckets from k on: walk(f) calls f(w, slot) for what falls to the calling one of LANES lanes.
template <int LANES> struct WalkRow {
    const View& g;
    uint32_t v;
    int lane;
    template <class F> __device__ void operator()(F&& each) const { for_neighbors<LANES>(g, v, lane, each); }
};
struct WalkBuckets {
    const View& g;
    uint32_t v, k, stride, end;
    int lane;
    template <class F> __device__ void operator()(F&& each) const {
#pragma unroll 1
        for (uint32_t i = 0, at = k; i < GROUP && at < end; ++i, at += stride) {
            for_bucket<SEARCH_LANES>(g, v, at, lane, each);
        }
    }
};

// Visits the neighbours of v that fall to one of `sharers` warps: its part of the buckets.
template <class Visit>
__device__ __forceinline__ void visit_part(const View& g, uint32_t v, uint32_t part, uint32_t sharers, Visit& visit) {
    const uint32_t lane = threadIdx.x & 31, number = buckets(g, v), stride = sharers * TEAMS;
    for (uint32_t k = part * TEAMS + lane / SEARCH_LANES; k < number; k += GROUP * stride) {
        visit_walk(WalkBuckets{g, v, k, stride, number, int(lane % SEARCH_LANES)}, visit);
    }
}

// Serves a list: visitor(v, next) visits the neighbours of v, in the threads that share v. With at least twice as many warps as
// vertices several warps share each, bucket by bucket.
template <class Visitor> struct ByNeighbor {
    const View& g;
    Visitor visitor;

    template <class Queue>
    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Queue& next) {
        Hubs& hubs = block_hubs();
        const uint32_t sharers = warps / count;
        if (sharers > 1) {
            const uint32_t i = warp / sharers;
            if (i < count) share(list[i], warp % sharers, sharers, next);
            return;
        }
        no_hubs(hubs);
        by_tiles(list, warp, warps, count, next, hubs);
        __syncthreads();
        const uint32_t found = min(hubs.number, HUBS);
        for (uint32_t i = 0; i < found; ++i) share(hubs.list[i], threadIdx.x / 32, blockDim.x / 32, next);
        __syncthreads();  // before `hubs` is used again
    }

    template <class Queue>
    __device__ void share(uint32_t v, uint32_t part, uint32_t sharers, const Queue& next) {
        if (part > 0 && part * TEAMS >= buckets(g, v)) return;
        auto visit = visitor(v, next);
        visit_part(g, v, part, sharers, visit);
    }

    // A tile per vertex, a warp if it has more neighbours; hubs are listed for the whole block.
    template <class Queue>
    __device__ void by_tiles(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Queue& next,
                             Hubs& hubs) {
        constexpr uint32_t TILES = 32 / TILE;
        const uint32_t lane = threadIdx.x & 31, tile = lane / TILE;
        for (uint32_t base = warp; base < count; base += warps * TILES) {
            const uint32_t i = base + tile * warps, v = i < count ? list[i] : EMPTY;
            const uint32_t neighbors = v == EMPTY ? 0 : degree(g, v);
            if (neighbors > 0 && neighbors <= SMALL) {
                auto visit = visitor(v, next);
                visit_walk(WalkRow<TILE>{g, v, int(lane % TILE)}, visit);
            }
            uint32_t wide = __ballot_sync(WARP, neighbors > SMALL && lane % TILE == 0);
            for (; wide; wide &= wide - 1) {
                const uint32_t u = __shfl_sync(WARP, v, __ffs(wide) - 1);
                if (listed_as_hub(g, u, hubs)) continue;
                auto visit = visitor(u, next);
                visit_part(g, u, 0, 1, visit);
            }
        }
    }
};
template <class Visitor>
__device__ __forceinline__ ByNeighbor<Visitor> by_neighbor(const View& g, Visitor visitor) {
    return {g, visitor};
}

// Vertices that a block has found itself, and serves itself before the round ends: lists that take turns.
struct Own {
    uint32_t list[2][MOST_OWN], count[2];
};

// Where vertices are queued by a block that serves its own. `append` keeps v if there is space.
struct OwnNext : Next {
    Own* own;
    uint32_t side;
};
__device__ __forceinline__ void queue(const OwnNext& next, uint32_t v) {
    const uint32_t place = atomicAdd(&next.own->count[next.side], 1u);
    if (place < MOST_OWN) {
        next.own->list[next.side][place] = v;
    } else {
        append(next.queue, next.count, v);
    }
}
__device__ __forceinline__ void queue(const Next& next, uint32_t v) { append(next.queue, next.count, v); }

// As ByNeighbor where the order does not matter in which vertices are served: those that a block queues it serves at once, without a
// barrier of the grid, while they are few and not hubs; then all blocks share them in the next round.
template <class Visitor> struct OwnFirst {
    ByNeighbor<Visitor> serve;

    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next) {
        __shared__ Own own;
        if (threadIdx.x < 2) own.count[threadIdx.x] = 0;
        __syncthreads();
        serve(list, warp, warps, count, OwnNext{next, &own, 0});
        for (uint32_t side = 0;; side ^= 1) {
            __syncthreads();  // all that the block has found is there
            const uint32_t number = min(own.count[side], MOST_OWN), me = threadIdx.x / 32;
            if (number == 0) break;
            const uint32_t mine = threadIdx.x < number ? own.list[side][threadIdx.x] : EMPTY;
            const bool wide = number <= FEW_OWN && mine != EMPTY && degree(serve.g, mine) > FAR_HUB;
            if (__syncthreads_or(number > FEW_OWN || wide)) {
                if (mine != EMPTY) append(next.queue, next.count, mine);
                break;
            }
            const uint32_t sharers = blockDim.x / 32 / number;
            const OwnNext further = {next, &own, side ^ 1};
            if (me / sharers < number) serve.share(own.list[side][me / sharers], me % sharers, sharers, further);
            __syncthreads();  // the list has been served
            if (threadIdx.x == 0) own.count[side] = 0;
        }
    }
};
template <class Visitor>
__device__ __forceinline__ OwnFirst<Visitor> own_first(const View& g, Visitor visitor) {
    return {{g, visitor}};
}
