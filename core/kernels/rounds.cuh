// Rounds: lists of vertices that the blocks of one cooperative launch serve together, a warp per vertex, with one grid-wide
// barrier between a round and the next. While a list is short block 0 serves it alone, without any grid-wide barrier.
//
// Defined before it is included: a view's prelude, and ROUND_WORDS. Blocks are 1-D and all resident. Values that other
// blocks write are read by `fresh` or behind a barrier (grid_barrier.cuh).
#pragma once
#include "grid_barrier.cuh"
#include "lists.cuh"

constexpr uint32_t WARP = 0xFFFFFFFFu;
constexpr uint32_t ALONE = 48;  // vertices that block 0 serves alone
constexpr uint32_t MANY = 128;  // neighbours, above which a search goes bucket by bucket
constexpr int SEARCH_LANES = SCAN_LANES > 0 ? SCAN_LANES : 32;

// Zero at launch. count rotates over three turns; epoch, side and served are what block 0 reached alone; the rest is for the kernel's own
// lists.
struct RoundState {
    unsigned long long taken[2];
    uint32_t arrived;
    uint32_t count[3];
    uint32_t epoch;
    uint32_t side;
    uint32_t served;
    uint32_t listed[3];
    uint32_t remaining[3];
    uint32_t least[3];
    uint32_t parts[3];
    uint32_t gone;
};
static_assert(sizeof(RoundState) <= 4 * ROUND_WORDS, "the host allocates the memory for it");

// Where vertices are queued for the next round: queue uint32[num_vertices], *count of them so far; stamp[v] == epoch if v is there.
struct Next {
    uint32_t* stamp;
    uint32_t epoch;
    uint32_t* queue;
    uint32_t* count;
};

// Queue v, once.
__device__ __forceinline__ void enqueue(const Next& next, uint32_t v) {
    if (atomicExch(&next.stamp[v], next.epoch) != next.epoch) append(next.queue, next.count, v);
}

// What all threads of the grid hold in common. `state` is zero at launch; epochs follow on that of the launch before.
struct Rounds {
    RoundState* state;
    uint32_t* stamp;
    uint32_t* queue[2];
    uint32_t epoch;
    uint32_t expected;  // arrivals at barriers, in thread 0 of each block
    uint32_t turn;  // of the three counters: one is read, one written, one cleared
    uint32_t side;  // which queue is written
    uint32_t served;  // vertices so far
    uint32_t most = 0xFFFFFFFFu;  // run_rounds stops when it has served more
};

// Grid-wide barrier; every thread of every block calls it.
__device__ __forceinline__ void grid_barrier(Rounds& r) { grid_barrier(&r.state->arrived, r.expected); }

// Begin a round: return where it queues vertices. A barrier lies between two rounds.
__device__ __forceinline__ Next open_round(Rounds& r) {
    ++r.epoch;
    if (thread_id() == 0) r.state->count[r.turn == 2 ? 0 : r.turn + 1] = 0;  // last read two rounds ago
    return {r.stamp, r.epoch, r.queue[r.side], &r.state->count[r.turn]};
}

// End it with a barrier; return the list that it queued, and how long it is.
__device__ __forceinline__ const uint32_t* close_round(Rounds& r, uint32_t& count) {
    grid_barrier(r);
    const uint32_t* list = r.queue[r.side];
    count = counted(r.state->count[r.turn]);
    r.turn = r.turn == 2 ? 0 : r.turn + 1;
    r.side ^= 1;
    return list;
}

// Whether block 0 should serve a list alone: it is short, and no vertex in it has many neighbours. Every thread of the block calls it.
__device__ __forceinline__ bool is_little(const View& g, const uint32_t* list, uint32_t count) {
    if (count > ALONE) return false;
    const bool wide = threadIdx.x < count && degree(g, list[threadIdx.x]) > MANY;
    return !__syncthreads_or(wide);
}

// Wait until the other blocks have come to the next barrier; one thread calls it.
__device__ __forceinline__ void await_others(const Rounds& r) {
    while (int(fresh(r.state->arrived) - r.expected) < int(gridDim.x) - 1) {}
}

// Block 0 serves rounds alone while there is little to do; then all blocks know what it reached. The others have looked at `list`
// before its place is taken by another.
template <class Serve>
__device__ __forceinline__ const uint32_t* rounds_alone(const View& g, Rounds& r, const uint32_t* list, uint32_t& count,
                                                        Serve&& serve) {
    __shared__ uint32_t queued;
    RoundState* state = r.state;
    uint32_t* const result = &state->count[r.turn];
    if (thread_id() == 0) state->count[r.turn == 2 ? 0 : r.turn + 1] = 0;
    if (blockIdx.x == 0) {
        uint32_t now = count;
        bool first = true;
        do {
            if (threadIdx.x == 0) queued = 0;
            __syncthreads();
            r.served += now;
            const Next next = {r.stamp, ++r.epoch, r.queue[r.side], &queued};
            serve(list, threadIdx.x / 32, blockDim.x / 32, now, next);
            if (first && threadIdx.x == 0) await_others(r);
            first = false;
            __syncthreads();  // everything is queued
            list = r.queue[r.side];
            r.side ^= 1;
            now = queued;
            __syncthreads();  // everybody has read the count
        } while (now > 0 && r.served <= r.most && is_little(g, list, now));
        if (threadIdx.x == 0) {
            *result = now;
            state->epoch = r.epoch;
            state->side = r.side;
            state->served = r.served;
        }
    }
    grid_barrier(r);
    count = counted(*result);
    r.epoch = counted(state->epoch);
    r.side = counted(state->side);
    r.served = counted(state->served);
    r.turn = r.turn == 2 ? 0 : r.turn + 1;
    return r.queue[r.side ^ 1];
}

// Serve the vertices of `list` in a round of all blocks: serve(list, warp, warps, count, next), by all threads of some blocks together.
// Returns what was queued meanwhile. All threads of the grid call it with equal arguments; between two calls lies a barrier.
template <class Serve>
__device__ __forceinline__ const uint32_t* share_round(Rounds& r, const uint32_t* list, uint32_t& count,
                                                       Serve&& serve) {
    r.served += count;
    const Next next = open_round(r);
    serve(list, thread_id() / 32, thread_count() / 32, count, next);
    return close_round(r, count);
}

// The same, or several rounds of block 0.
template <class Serve>
__device__ __forceinline__ const uint32_t* run_round(const View& g, Rounds& r, const uint32_t* list, uint32_t& count,
                                                     Serve&& serve) {
    if (is_little(g, list, count)) return rounds_alone(g, r, list, count, serve);  // the same in all blocks
    return share_round(r, list, count, serve);
}

// The same with what was queued meanwhile, and so on until nothing is.
template <class Serve>
__device__ __forceinline__ void run_rounds(const View& g, Rounds& r, const uint32_t* list, uint32_t count,
                                           Serve&& serve) {
    while (count > 0 && r.served <= r.most) list = run_round(g, r, list, count, serve);
}

// Serves a list by warps: calls f(v, next).
template <class F> struct ByWarp {
    F f;
    __device__ void operator()(const uint32_t* list, uint32_t warp, uint32_t warps, uint32_t count, const Next& next) {
        for (uint32_t i = warp; i < count; i += warps) f(list[i], next);
    }
};
template <class F> __device__ __forceinline__ ByWarp<F> by_warp(F f) { return {f}; }

// Clear the stamps if the epochs may run out in this launch. All threads of the grid call it at the start.
__device__ __forceinline__ void renew_epochs(Rounds& r, uint32_t num_vertices) {
    if (r.epoch < 0x80000000u) return;
    for (uint32_t v = thread_id(); v < num_vertices; v += thread_count()) r.stamp[v] = 0;
    r.epoch = 0;
    grid_barrier(r);
}

// Whether test(w) holds for a neighbour w of v; a warp calls it. Stops soon after the first hit at vertices with many neighbours.
template <class Test>
__device__ __forceinline__ bool any_neighbor(const View& g, uint32_t v, Test&& test) {
    const int lane = threadIdx.x & 31;
    bool hit = false;
    if (degree(g, v) <= MANY) {
        for_neighbors<32>(g, v, lane, [&](uint32_t w, long long) { hit = hit || test(w); });
        return __any_sync(WARP, hit);
    }
    const uint32_t parts = buckets(g, v), teams = 32 / SEARCH_LANES;
    for (uint32_t first = 0; first < parts; first += teams) {
        const uint32_t k = first + lane / SEARCH_LANES;
        if (k < parts) {
            for_bucket<SEARCH_LANES>(g, v, k, lane % SEARCH_LANES, [&](uint32_t w, long long) {
                hit = hit || test(w);
            });
        }
        if (__any_sync(WARP, hit)) return true;
    }
    return false;
}
