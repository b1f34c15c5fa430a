// What follows every insertion in the same launch, and mostly finds nothing to do: vertices whose chains have grown move
// to more buckets, then deferred edges are inserted. All blocks are resident and synchronise with each other.
#pragma once
#include "slabs.cuh"

constexpr uint32_t PART = PART_BUCKETS;  // buckets of a vertex that one tile moves

// A part of a vertex to move: its place in the queue, its heads, and which part of how many it is.
struct Section {
    uint32_t item, head, count, index, parts;
};

// An insertion: its edges uint32[n], weights and outcome, then scratch. Laid out as cuda.py packs it.
struct Insertion {
    const uint32_t* src;
    const uint32_t* dst;
    const bits_t* weight;
    const uint32_t* guard;  // null, or not zero: nothing is to be changed
    uint8_t* status;
    bits_t* before;
    uint32_t* table;    // weighted stores: uint32[mask + 1], a power of two, at least 2 n: last index of an edge ...
    uint32_t* place;    // ... and uint32[n]: where in the table an edge is
    uint32_t* queue;    // uint32[vertices]: those to re-bucket; null: buckets are fixed
    uint32_t* target;   // like queue: first of the new heads, EMPTY if the vertex stays where it is
    uint32_t* code;     // like queue: encoded new bucket count
    Section* sections;  // [length of queue + capacity / PART + 1]
    uint32_t* pending;  // uint32[vertices]: deferred edges; null: none is deferred
    uint64_t* mirror;   // [16] in host memory: the counters after the batch, each with its number in the upper half
    long long n;
    long long num_vertices;
    unsigned long long quota;  // slabs that moves may use
    double per_bucket;
    uint32_t mask, chunk, limit, number, share, unused;
};

// Inclusive sum over the lanes of the warp.
template <class T> __device__ __forceinline__ T warp_sum(T x) {
    for (int d = 1; d < 32; d <<= 1) {
        T below = __shfl_up_sync(WARP, x, d);
        if ((threadIdx.x & 31) >= d) x += below;
    }
    return x;
}

// Warp: give each lane `x` places of a counter; returns the first. One atomic, by the lane that knows the sum.
template <class T> __device__ __forceinline__ T claim(T* counter, T x) {
    const T sum = warp_sum(x);
    T base = 0;
    if ((threadIdx.x & 31) == 31 && sum) base = atomicAdd(counter, sum);
    return __shfl_sync(WARP, base, 31) + sum - x;
}

// Warp: choose the new heads of those of the queued vertices from `first` on, one per lane, that have outgrown their
// buckets (others have keys that collide), and list their parts. A vertex claims
// its slabs, heads and what may overflow, from the quota: slabs that insertions count on are never taken. Heads are
// contiguous, so they come from the end of the pool, which moves on when all are planned (see settle).
__device__ void plan_moves(const View& g, const Insertion& b, long long first, uint32_t queued) {
    const uint32_t item = uint32_t(first) + (threadIdx.x & 31);
    const bool there = item < queued;
    uint32_t v = 0, old = 0, heads = 0;
    uint64_t need = 0;
    if (there) {
        v = b.queue[item];
        old = table_of(g, v).buckets;
        const uint32_t edges = *degree_word(g, v) + (b.pending ? b.pending[v] : 0u);
        const uint32_t code = bucket_code(uint32_t(ceil(edges * GROWTH_ROOM / b.per_bucket)));
        b.code[item] = code;
        heads = edges > GROWTH * old * b.per_bucket ? bucket_count(code) : 0u;
        need = heads ? heads + edges / SLAB_KEYS : 0u;
    }
    const uint64_t spent = claim(reinterpret_cast<uint64_t*>(g.counters + SPENT), need);
    const bool granted = heads && spent + need <= b.quota;
    const uint64_t at = uint64_t(g.counters[BUMP]) + claim(g.counters + HEADS, granted ? heads : 0u);
    const bool fits = granted && at + heads <= uint64_t(g.capacity);
    if (granted && !fits && at < uint64_t(g.capacity)) atomicAdd(g.counters + FREED, uint32_t(g.capacity - at));
    claim(g.counters + WANTED, heads && !fits ? uint32_t(min(need, uint64_t(1) << 20)) : 0u);
    const uint32_t parts = fits ? (old + PART - 1) / PART : 0u, place = claim(g.counters + WORK, parts);
    if (there) b.target[item] = fits ? uint32_t(at) : EMPTY;
    const uint32_t head = fits ? table_of(g, v).head : 0u;
    for (uint32_t p = 0; p < parts; ++p)
        b.sections[place + p] = Section{item, head + p * PART, min(PART, old - p * PART), p, parts};
}

// The section of a tile among those from `first` on; `count` is 0 beyond the last.
__device__ __forceinline__ Section section_of(const Insertion& b, const Tile& t, long long first, uint32_t work) {
    return first + t.index() < work ? b.sections[first + t.index()] : Section{0, 0, 0, 0, 1};
}

// Tile: write the owners of this section's share of the new heads.
__device__ void own_heads(const View& g, const Tile& t, const Insertion& b, const Section& s) {
    if (!s.count) return;
    const uint64_t heads = bucket_count(b.code[s.item]);
    const uint32_t begin = uint32_t(heads * s.index / s.parts), end = uint32_t(heads * (s.index + 1) / s.parts);
    const uint32_t target = b.target[s.item], v = b.queue[s.item];
    for (uint32_t k = begin + t.lane; k < end; k += SLAB_LANES) g.owner[target + k] = v;
}

// Tile: copy the edges of a section to the new heads.
__device__ void move_section(const View& g, const Tile& t, const Insertion& b, const Section& s) {
    const bool there = s.count > 0;
    const uint32_t v = there ? b.queue[s.item] : 0u, head = there ? b.target[s.item] : 0u;
    const uint32_t buckets = there ? bucket_count(b.code[s.item]) : 1u;
    uint32_t slab = there ? s.head : EMPTY, k = 0;
    while (__any_sync(WARP, slab != EMPTY)) {
        const bool active = slab != EMPTY;
        const uint32_t next = active ? load_word(g.pool + (long long)slab * SLAB_WORDS + SLAB_KEYS) : EMPTY;
        move_slab(g, t, active, slab, g, v, head, buckets);
        slab = next;
        if (active && next == EMPTY && ++k < s.count) slab = s.head + k;
    }
}

// Tile per deferred edge of the batch; now without a limit.
__device__ void insert_deferred(const View& g, const Tile& t, const Insertion& b) {
    Spare none = {1};
    const Watch never = {nullptr, NO_LIMIT, 0.0f};
    for (long long base = warp_index() * TILES; base < b.n; base += warp_count() * TILES) {
        const long long i = base + t.index();
        const bool active = i < b.n && b.status[i] == DEFERRED;
        uint32_t u = 0, v = 0, slab = EMPTY;
        bits_t w = 0;
        if (active) {
            u = b.src[i];
            v = b.dst[i];
            slab = head_of(g, u, v);
#if WEIGHT_WORDS
            w = b.weight[i];
#endif
        }
        Placed placed = place_edges(g, t, active, u, v, w, slab, g.marked, never, none);
        if (placed.mine) {
            b.status[i] = placed.status;
#if WEIGHT_WORDS
            b.before[i] = placed.before;
#endif
        }
        add_per_vertex(degree_word(g, u), u, placed.mine && placed.status == NEW, 1u);
    }
}

// Re-bucket the queued vertices, then insert the deferred edges; all blocks together.
__device__ __noinline__ void settle(const View& g, const Insertion& b) {
    const Tile t;
    const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x, threads = (long long)gridDim.x * blockDim.x;
    const uint32_t queued = load_word(g.counters + QUEUED);
    const bool deferred = load_word(g.counters + PENDING);
    uint32_t* const arrived = g.counters + ARRIVED;

    for (long long item = warp_index() * 32; item < queued; item += warp_count() * 32) plan_moves(g, b, item, queued);
    grid_barrier(arrived);
    if (thread == 0) {
        const uint64_t end = uint64_t(load_word(g.counters + BUMP)) + load_word(g.counters + HEADS);
        store_word(g.counters + BUMP, uint32_t(min(end, uint64_t(g.capacity))));
    }
    grid_barrier(arrived);

    const uint32_t work = load_word(g.counters + WORK);
    const long long first = warp_index() * TILES, step = warp_count() * TILES;
    for (long long p = first; p < work; p += step) {
        const Section s = section_of(b, t, p, work);
        own_heads(g, t, b, s);
        move_section(g, t, b, s);
    }
    grid_barrier(arrived);

    for (long long p = first; p < work; p += step) {
        const Section s = section_of(b, t, p, work);
        release_chains(g, t, s.head, s.head + s.count, 1);
    }
    for (long long item = thread; item < queued; item += threads) {
        const uint32_t v = b.queue[item], target = b.target[item];
        const uint32_t code = target == EMPTY ? g.buckets[v] & 0x7FFFu : b.code[item];
        if (target != EMPTY) *head_word(g, v) = bucket_count(code) > 1 ? target | SEVERAL : target;
        g.buckets[v] = (unsigned short)code;
    }
    if (deferred) {
        grid_barrier(arrived);
        insert_deferred(g, t, b);
    }
    grid_barrier(arrived);
}
