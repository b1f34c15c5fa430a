// What follows every insertion, in one cooperative launch that mostly finds nothing to do: vertices whose chains have
// grown move to more buckets, then deferred edges are inserted. All blocks are resident; four grid-wide barriers.
#include "slabs.cuh"

constexpr uint32_t PART = 64;  // buckets of a vertex that one warp moves

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

// Choose the new heads of a queued vertex and list its parts; a thread per vertex. It claims its slabs, heads and what
// may overflow, from the quota: slabs that insertions count on are never taken.
__device__ void plan_move(const View& g, const Moves& m, uint32_t item, const uint32_t* pending, uint64_t quota,
                          double per_bucket) {
    const uint32_t v = m.queue[item], old = bucket_count(g.buckets[v]);
    const uint32_t edges = g.degree[v] + (pending ? pending[v] : 0u);
    const bool grew = edges > GROWTH * old * per_bucket;
    const double wanted = ceil(edges * (grew ? GROWTH_ROOM : 1.0) / per_bucket);
    const uint32_t code = bucket_code(max(1u, uint32_t(wanted))), heads = bucket_count(code);
    const uint64_t need = heads + edges / SLAB_KEYS;
    uint64_t* spent = reinterpret_cast<uint64_t*>(g.counters + SPENT);
    m.target[item] = EMPTY;
    m.code[item] = code;
    if (atomicAdd(spent, need) + need > quota) {
        atomicAdd(g.counters + WANTED, uint32_t(min(need, uint64_t(1) << 24)));
        return;
    }
    uint32_t bump = load_word(g.counters + BUMP), seen;
    do {  // heads are contiguous, so they come from the end of the pool
        seen = bump;
        if (uint64_t(seen) + heads > uint64_t(g.capacity)) {
            atomicAdd(g.counters + WANTED, uint32_t(min(need, uint64_t(1) << 24)));
            return;
        }
        bump = atomicCAS(g.counters + BUMP, seen, seen + heads);
    } while (bump != seen);
    m.target[item] = seen;
    const uint32_t parts = (old + PART - 1) / PART, head = g.first_slab[v];
    const uint32_t at = atomicAdd(g.counters + WORK, parts);
    for (uint32_t p = 0; p < parts; ++p)
        m.parts[at + p] = Part{item, head + p * PART, min(PART, old - p * PART), p, parts};
}

// Warp: write the owners of this part's share of the new heads.
__device__ void own_heads(const View& g, const Moves& m, const Part& part) {
    const uint64_t heads = bucket_count(m.code[part.item]);
    const uint32_t begin = uint32_t(heads * part.index / part.parts), end = uint32_t(heads * (part.index + 1) / part.parts);
    for (uint32_t k = begin + (threadIdx.x & 31); k < end; k += 32) g.owner[m.target[part.item] + k] = m.queue[part.item];
}

// Warp: copy the edges of a part to the new heads, those from before the mark or those since; tiles over its buckets.
__device__ void move_part(const View& g, const Tile& t, const Moves& m, const Part& part, bool fresh) {
    const uint32_t v = m.queue[part.item], head = m.target[part.item], buckets = bucket_count(m.code[part.item]);
    for (uint32_t k = 0; k < part.count; k += TILES) {
        uint32_t slab = k + t.index() < part.count ? part.head + k + t.index() : EMPTY;
        while (__any_sync(WARP, slab != EMPTY)) {
            const bool active = slab != EMPTY;
            const uint32_t split = active && g.epoch ? fresh_from(g, slab) : SLAB_KEYS;
            const uint32_t next = active ? load_word(g.pool + (long long)slab * SLAB_WORDS + SLAB_KEYS) : EMPTY;
            move_slab(g, t, active, slab, fresh ? split : 0, fresh ? SLAB_KEYS : split, g, v, head, buckets, fresh);
            slab = next;
        }
    }
}

// Tile per deferred edge of the batch; now without a limit.
__device__ void insert_deferred(const View& g, const Tile& t, const uint32_t* src, const uint32_t* dst,
                                const bits_t* weight, long long n, uint8_t* status, bits_t* before) {
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
        Placed placed = place_edges(g, t, active, u, v, w, head, buckets, g.epoch != 0, Watch{nullptr, NO_LIMIT, 0.0f});
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

    for (long long item = thread; item < queued; item += threads)
        plan_move(g, m, uint32_t(item), pending, quota, per_bucket);
    grid_barrier(g.counters + ARRIVED, ++round);

    const uint32_t work = load_word(g.counters + WORK);
    for (long long p = warp_index(); p < work; p += warp_count()) {
        own_heads(g, m, parts[p]);
        move_part(g, t, m, parts[p], false);
    }
    grid_barrier(g.counters + ARRIVED, ++round);
    if (g.epoch) {
        for (long long p = warp_index(); p < work; p += warp_count()) move_part(g, t, m, parts[p], true);
        grid_barrier(g.counters + ARRIVED, ++round);
    }

    for (long long p = warp_index(); p < work; p += warp_count()) release_chains(g, t, parts[p].head, parts[p].count);
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
        g.counters[SPENT] = g.counters[SPENT + 1] = 0;
    }
}
