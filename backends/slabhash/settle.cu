// What follows every insertion, in one cooperative launch that mostly finds nothing to do: vertices whose chains have
// grown move to more buckets, then deferred edges are inserted. All blocks are resident; five grid-wide barriers at most.
#include "slabs.cuh"

constexpr uint32_t PART = 16;  // buckets of a vertex that one tile moves

// A part of a vertex to move: its place in the queue, its heads, and which part of how many it is.
struct Part {
    uint32_t item, head, count, index, parts;
};

// Scratch arrays: queue, target and code uint32[queue length], parts Part[queue length + capacity / PART + 1].
struct Moves {
    uint32_t* queue;
    uint32_t* target;  // first of the new heads, EMPTY if the vertex stays where it is
    uint32_t* code;    // encoded new bucket count
    Part* parts;
};

// Wait until all blocks are here. `round` counts the barriers of this launch, from 1.
__device__ __forceinline__ void grid_barrier(uint32_t* arrived, uint32_t round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (load_word(arrived) < round * gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
}

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

// Warp: choose the new heads of the queued vertices from `first` on, one per lane, and list their parts. A vertex claims
// its slabs, heads and what may overflow, from the quota: slabs that insertions count on are never taken. Heads are
// contiguous, so they come from the end of the pool, which moves on when all are planned (see settle).
__device__ void plan_moves(const View& g, const Moves& m, long long first, uint32_t queued, const uint32_t* pending,
                           uint64_t quota, double per_bucket) {
    const uint32_t item = uint32_t(first) + (threadIdx.x & 31);
    const bool there = item < queued;
    uint32_t v = 0, old = 0, heads = 0;
    uint64_t need = 0;
    if (there) {
        v = m.queue[item];
        old = bucket_count(g.buckets[v]);
        const uint32_t edges = g.degree[v] + (pending ? pending[v] : 0u);
        const bool grew = edges > GROWTH * old * per_bucket;
        const uint32_t code = bucket_code(max(1u, uint32_t(ceil(edges * (grew ? GROWTH_ROOM : 1.0) / per_bucket))));
        m.code[item] = code;
        heads = bucket_count(code);
        need = heads + edges / SLAB_KEYS;
    }
    const uint64_t spent = claim(reinterpret_cast<uint64_t*>(g.counters + SPENT), need);
    const bool granted = there && spent + need <= quota;
    const uint64_t at = uint64_t(g.counters[BUMP]) + claim(g.counters + HEADS, granted ? heads : 0u);
    const bool fits = granted && at + heads <= uint64_t(g.capacity);
    if (granted && !fits && at < uint64_t(g.capacity)) atomicAdd(g.counters + FREED, uint32_t(g.capacity - at));
    claim(g.counters + WANTED, there && !fits ? uint32_t(min(need, uint64_t(1) << 20)) : 0u);
    const uint32_t parts = fits ? (old + PART - 1) / PART : 0u, place = claim(g.counters + WORK, parts);
    if (there) m.target[item] = fits ? uint32_t(at) : EMPTY;
    const uint32_t head = fits ? g.first_slab[v] : 0u;
    for (uint32_t p = 0; p < parts; ++p)
        m.parts[place + p] = Part{item, head + p * PART, min(PART, old - p * PART), p, parts};
}

// The part of a tile among those from `first` on; `count` is 0 beyond the last.
__device__ __forceinline__ Part part_of_tile(const Moves& m, const Tile& t, long long first, uint32_t work) {
    return first + t.index() < work ? m.parts[first + t.index()] : Part{0, 0, 0, 0, 1};
}

// Tile: write the owners of this part's share of the new heads.
__device__ void own_heads(const View& g, const Tile& t, const Moves& m, const Part& part) {
    if (!part.count) return;
    const uint64_t heads = bucket_count(m.code[part.item]);
    const uint32_t begin = uint32_t(heads * part.index / part.parts), end = uint32_t(heads * (part.index + 1) / part.parts);
    const uint32_t target = m.target[part.item], v = m.queue[part.item];
    for (uint32_t k = begin + t.lane; k < end; k += SLAB_LANES) g.owner[target + k] = v;
}

// Tile: copy the edges of a part to the new heads, those from before the mark or those since.
__device__ void move_part(const View& g, const Tile& t, const Moves& m, const Part& part, bool fresh) {
    const bool there = part.count > 0;
    const uint32_t v = there ? m.queue[part.item] : 0u, head = there ? m.target[part.item] : 0u;
    const uint32_t buckets = there ? bucket_count(m.code[part.item]) : 1u;
    uint32_t slab = there ? part.head : EMPTY, k = 0;
    while (__any_sync(WARP, slab != EMPTY)) {
        const bool active = slab != EMPTY;
        const uint32_t split = active && g.epoch ? fresh_from(g, slab) : SLAB_KEYS;
        const uint32_t next = active ? load_word(g.pool + (long long)slab * SLAB_WORDS + SLAB_KEYS) : EMPTY;
        move_slab(g, t, active, slab, fresh ? split : 0, fresh ? SLAB_KEYS : split, g, v, head, buckets, fresh);
        slab = next;
        if (active && next == EMPTY && ++k < part.count) slab = part.head + k;
    }
}

// Tile per deferred edge of the batch; now without a limit.
__device__ void insert_deferred(const View& g, const Tile& t, const uint32_t* src, const uint32_t* dst,
                                const bits_t* weight, long long n, uint8_t* status, bits_t* before) {
    Spare none = {1};
    for (long long base = warp_index() * TILES; base < n; base += warp_count() * TILES) {
        const long long i = base + t.index();
        const bool active = i < n && status[i] == DEFERRED;
        uint32_t u = 0, v = 0, head = EMPTY, buckets = 1;
        bits_t w = 0;
        if (active) {
            u = src[i];
            v = dst[i];
            head = load_word(g.first_slab + u);
            buckets = bucket_count(g.buckets[u]);
#if WEIGHT_WORDS
            w = weight[i];
#endif
        }
        const Watch never = {nullptr, NO_LIMIT, 0.0f};
        Placed placed = place_edges(g, t, active, u, v, w, head, buckets, g.epoch != 0, never, none);
        if (placed.mine) {
            status[i] = placed.status;
#if WEIGHT_WORDS
            before[i] = placed.before;
#endif
        }
        add_per_vertex(g.degree, u, placed.mine && placed.status == NEW, 1u);
    }
}

// After an insertion of n edges. `table` and `place` (weighted stores only) are brought back to EMPTY. `queue`, or null
// where vertices are never re-bucketed; `pending` (per vertex, or null) counts deferred edges. `quota`: slabs that moves
// may use. The counters of the batch are zero again at the end.
extern "C" __global__ void __launch_bounds__(256, 2)
settle(View g, const uint32_t* src, const uint32_t* dst, const bits_t* weight, long long n, const uint32_t* guard,
       uint32_t* table, const uint32_t* place, uint32_t* queue, uint32_t* target, uint32_t* code, Part* parts,
       const uint32_t* pending, unsigned long long quota, double per_bucket, uint8_t* status, bits_t* before) {
    if (guard && *guard) return;
    const Tile t;
    const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x, threads = (long long)gridDim.x * blockDim.x;
    if (place)
        for (long long i = thread; i < n; i += threads) table[place[i]] = EMPTY;
    const uint32_t queued = queue ? g.counters[QUEUED] : 0u;
    if (!queued) return;  // the same in all blocks; a deferred edge has its vertex in the queue
    const bool deferred = g.counters[PENDING];
    const Moves m = {queue, target, code, parts};
    uint32_t round = 0;

    for (long long item = warp_index() * 32; item < queued; item += warp_count() * 32)
        plan_moves(g, m, item, queued, pending, quota, per_bucket);
    grid_barrier(g.counters + ARRIVED, ++round);
    if (thread == 0) {
        const uint64_t end = uint64_t(load_word(g.counters + BUMP)) + load_word(g.counters + HEADS);
        store_word(g.counters + BUMP, uint32_t(min(end, uint64_t(g.capacity))));
    }
    grid_barrier(g.counters + ARRIVED, ++round);

    const uint32_t work = load_word(g.counters + WORK);
    const long long first = warp_index() * TILES, step = warp_count() * TILES;
    for (long long p = first; p < work; p += step) {
        const Part part = part_of_tile(m, t, p, work);
        own_heads(g, t, m, part);
        move_part(g, t, m, part, false);
    }
    grid_barrier(g.counters + ARRIVED, ++round);
    if (g.epoch) {
        for (long long p = first; p < work; p += step) move_part(g, t, m, part_of_tile(m, t, p, work), true);
        grid_barrier(g.counters + ARRIVED, ++round);
    }

    for (long long p = first; p < work; p += step) {
        const Part part = part_of_tile(m, t, p, work);
        release_chains(g, t, part.head, part.head + part.count, 1);
    }
    for (long long item = thread; item < queued; item += threads) {
        const uint32_t v = queue[item];
        const bool moved = target[item] != EMPTY;
        if (moved) g.first_slab[v] = target[item];
        g.buckets[v] = (unsigned short)(moved ? code[item] : g.buckets[v] & 0x7FFFu);
    }
    if (deferred) {
        grid_barrier(g.counters + ARRIVED, ++round);
        insert_deferred(g, t, src, dst, weight, n, status, before);
    }

    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(g.counters + LEFT, 1u) == gridDim.x - 1) {  // the last block cleans up
        g.counters[QUEUED] = g.counters[PENDING] = g.counters[WORK] = g.counters[ARRIVED] = g.counters[LEFT] = 0;
        g.counters[SPENT] = g.counters[SPENT + 1] = g.counters[HEADS] = 0;
    }
}
