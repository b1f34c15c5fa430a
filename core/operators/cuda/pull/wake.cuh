// The end of a round of converge: vertices publish what they computed, stay active, and wake their neighbours.
// WAKE_BOTH: over two views, wake and wake2; else over one. HAS_WAKE 0: over none.
#pragma once
#include "loop.cuh"
#include "scan.cuh"

#if WAKE_BOTH
#define WAKE_VIEWS View wake, View wake2
#define WAKE const View &wake, const View &wake2
#define WAKE_GIVEN wake, wake2
#else
#define WAKE_VIEWS View wake
#define WAKE const View& wake
#define WAKE_GIVEN wake
#endif

#define LOCAL_QUEUE 1024  // active vertices kept in shared memory before they are queued

// What a round notes of position i of its list: what `then` said, and whether a vertex was computed.
enum { STAYS = 1, WAKES = 2, COMPUTED = 4 };

// How the vertices of the next round are noted. stamp[v] is `next` for each of them. Few of them are also listed in queue[0 .. *count);
// of many (`dense`) only the stamps tell. With `bits` the stamps tell only who stays active, and bits who wakes its neighbours: they
// will see it when they pull.
struct NextRound {
    uint32_t* stamp;
    uint32_t next;
    uint32_t* queue;
    uint32_t* count;
    bool dense;
    bool wakes;  // else no vertex is activated
    uint32_t* bits;  // one per vertex, uint32[ceil(num_vertices / 32)], or null
};

struct ActiveShared {
    uint32_t local_queue[LOCAL_QUEUE];
    uint32_t filled, place;
};

// Make v active in the next round. Many threads may do so at once: without a list all of them store the same. LOOKS: most calls find
// the stamp there, hubs' in the L1 cache: a cached stamp may be older than that of another block, which costs a store, but never newer.
// Without a list a store alone is cheaper where few make the same vertices active: a store to a line that is being loaded holds up the SM.
template <bool LOOKS>
__device__ __forceinline__ void activate(const NextRound& round, ActiveShared& shared, uint32_t v) {
    if (!LOOKS && round.dense) {
        round.stamp[v] = round.next;
        return;
    }
    if (round.stamp[v] == round.next) return;
    if (round.dense) {
        round.stamp[v] = round.next;
        return;
    }
    if (atomicExch(round.stamp + v, round.next) == round.next) return;
    const uint32_t place = atomicAdd(&shared.filled, 1u);
    if (place < LOCAL_QUEUE) shared.local_queue[place] = v;
    else append(round.queue, round.count, v);
}

// Move the local queue to the queue, with one atomic. All threads of the block call it; it begins and ends with a barrier.
__device__ __forceinline__ void flush_active(const NextRound& round, ActiveShared& shared) {
    __syncthreads();  // everything is in it
    const uint32_t entries = min(shared.filled, (uint32_t)LOCAL_QUEUE);
    __syncthreads();  // everybody knows how much
    if (threadIdx.x == 0) {
        shared.filled = 0;
        shared.place = entries ? atomicAdd(round.count, entries) : 0;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < entries; i += blockDim.x) round.queue[shared.place + i] = shared.local_queue[i];
    __syncthreads();  // `local_queue` is free again, and the block sees the queue
}

__device__ __forceinline__ uint32_t wake_degree(WAKE, uint32_t x) {
#if WAKE_BOTH
    return degree(wake, x) + degree(wake2, x);
#else
    return degree(wake, x);
#endif
}

__device__ __forceinline__ uint32_t wake_buckets(WAKE, uint32_t x) {
#if WAKE_BOTH
    return buckets(wake, x) + buckets(wake2, x);
#else
    return buckets(wake, x);
#endif
}

// Activate the neighbours of x; LANES threads share them.
template <int LANES>
__device__ __forceinline__ void wake_neighbors(WAKE, uint32_t x, int lane, const NextRound& round,
                                               ActiveShared& shared) {
    constexpr bool LOOKS = LANES > 1;
    for_neighbors<LANES>(wake, x, lane, [&](uint32_t y, long long) { activate<LOOKS>(round, shared, y); });
#if WAKE_BOTH
    for_neighbors<LANES>(wake2, x, lane, [&](uint32_t y, long long) { activate<LOOKS>(round, shared, y); });
#endif
}

// The same for the neighbours in bucket k of x, by BUCKET_LANES threads.
__device__ __forceinline__ void wake_bucket(WAKE, uint32_t x, uint32_t k, int lane, const NextRound& round,
                                            ActiveShared& shared) {
#if WAKE_BOTH
    const uint32_t before = buckets(wake, x);
    if (k >= before) {
        for_bucket<BUCKET_LANES>(wake2, x, k - before, lane, [&](uint32_t y, long long) {
            activate<true>(round, shared, y);
        });
        return;
    }
#endif
    for_bucket<BUCKET_LANES>(wake, x, k, lane, [&](uint32_t y, long long) { activate<true>(round, shared, y); });
}

// Wake the neighbours of the huge vertices that a block has kept; all of its threads call it.
template <int THREADS>
__device__ __forceinline__ void wake_huge(WAKE, const NextRound& round, PullShared<THREADS>& shared,
                                          ActiveShared& activated) {
    __syncthreads();  // all are listed
    const uint32_t number = min(shared.huges, HUGE_VERTICES);
    for (uint32_t j = 0; j < number; ++j) {
        const uint32_t x = shared.huge[j], parts = wake_buckets(WAKE_GIVEN, x);
        for (uint32_t k = threadIdx.x / BUCKET_LANES; k < parts; k += THREADS / BUCKET_LANES)
            wake_bucket(WAKE_GIVEN, x, k, threadIdx.x % BUCKET_LANES, round, activated);
    }
}

// Commit the vertices at positions 0 .. number - 1 for which notes[i] has COMPUTED set: ids[i], or i if ids is null; those that say so
// stay active or wake their neighbours. Threads, tiles, warps and blocks serve them as in pull_vertices, and vertices of more than
// `limit` neighbours go to `heavy` while there is space. With round.bits the position is the vertex, and `share` the threads of a
// block. The blocks `block` of `blocks` call it, with all threads; it synchronises the block, and ends with everything queued.
template <int THREADS>
__device__ __forceinline__ void finish_round(WAKE, const uint32_t* ids, long long number, const uint8_t* notes,
                                             uint32_t share, uint32_t block, uint32_t blocks, uint32_t limit,
                                             const Heavy& heavy, const NextRound& round, PullShared<THREADS>& shared,
                                             ActiveShared& activated FORMALS) {
    const uint32_t me = threadIdx.x, lane = me % 32, part = share / (THREADS / 32);
    [[maybe_unused]] const uint32_t warp = me / 32;
    if (me == 0) shared.huges = 0;
    __syncthreads();
    for (long long start = (long long)block * share; start < number; start += (long long)blocks * share) {
        const long long first = start + warp * part, i = first + lane;
        const bool serves = lane < part && i < number;
        const uint32_t x = !serves ? EMPTY : ids ? ids[i] : uint32_t(i), says = serves ? notes[i] : 0;
        const bool stays = (says & COMPUTED) && (says & STAYS);
#if HAS_WAKE
        const bool wakes = round.wakes && (says & COMPUTED) && (says & WAKES);
        const uint32_t neighbors =
            wakes && !round.bits ? wake_degree(WAKE_GIVEN, x) : 0;  // under way while x is committed
#endif
#if HAS_COMMIT
        if (says & COMPUTED) commit_fn(x ARGS);
#endif
        if (stays) activate<false>(round, activated, x);
#if HAS_WAKE
        if (round.bits) {  // the same in all threads
            const uint32_t word = __ballot_sync(ALL_LANES, wakes);
            if (lane == 0 && first < number) round.bits[first / 32] = word;
            continue;
        }
        bool later = neighbors > limit && list_heavy(heavy, x, 0, wake_buckets(WAKE_GIVEN, x));
        if (neighbors > WIDE && !later) {
            const uint32_t place = atomicAdd(&shared.huges, 1u);
            later = place < HUGE_VERTICES;
            if (later) shared.huge[place] = x;
        }
        const bool small = neighbors > TINY && neighbors <= SMALL && !later;
        const uint32_t smalls = __ballot_sync(ALL_LANES, small);
        uint32_t wides = __ballot_sync(ALL_LANES, neighbors > SMALL && !later);
        uint8_t* const list = shared.list + 32 * warp;
        if (small) list[__popc(smalls & lanes_below())] = uint8_t(lane);
        if (neighbors > 0 && neighbors <= TINY && !later) wake_neighbors<1>(WAKE_GIVEN, x, 0, round, activated);
        __syncwarp();
        for (uint32_t begin = 0; begin < __popc(smalls); begin += 32 / TILE) {
            const uint32_t j = begin + lane / TILE;
            const bool has = j < __popc(smalls);
            const uint32_t its = __shfl_sync(ALL_LANES, x, has ? list[j] : 0);
            if (has) wake_neighbors<TILE>(WAKE_GIVEN, its, lane % TILE, round, activated);
            __syncwarp();
        }
        for (; wides; wides &= wides - 1)
            wake_neighbors<32>(WAKE_GIVEN, __shfl_sync(ALL_LANES, x, __ffs(wides) - 1), lane, round, activated);
#endif
        if (!round.dense) {  // the same in all threads
            const bool full = me == 0 && activated.filled > LOCAL_QUEUE / 2;
            if (__syncthreads_or(full)) flush_active(round, activated);
        }
    }
#if HAS_WAKE
    wake_huge(WAKE_GIVEN, round, shared, activated);
#endif
    flush_active(round, activated);
}

// A counter behind a barrier; block 0 alone looks into L2, where it counts.
template <class T> __device__ __forceinline__ T seen(bool alone, const T& counter) {
    return alone ? fresh(counter) : counted(counter);
}

// What the threads of a block have counted in a round: vertices, and arcs over which they wake others.
struct RoundCount {
    uint32_t vertices;
    unsigned long long arcs;
};

// Add up what all threads of the block counted into *vertices and *arcs. All of them call it; it synchronises the block.
__device__ __forceinline__ void count_block(RoundCount mine, uint32_t* vertices, unsigned long long* arcs,
                                            RoundCount* sum) {
    if (threadIdx.x == 0) *sum = {0, 0};
    __syncthreads();
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        mine.vertices += __shfl_xor_sync(ALL_LANES, mine.vertices, step);
        mine.arcs += __shfl_xor_sync(ALL_LANES, mine.arcs, step);
    }
    if (threadIdx.x % 32 == 0 && mine.vertices) {
        atomicAdd(&sum->vertices, mine.vertices);
        atomicAdd(&sum->arcs, mine.arcs);
    }
    __syncthreads();
    if (threadIdx.x == 0 && sum->vertices) atomicAdd(vertices, sum->vertices);
    if (threadIdx.x == 0 && sum->arcs) atomicAdd(arcs, sum->arcs);
}
