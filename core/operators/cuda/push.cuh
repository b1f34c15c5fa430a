// Pushing along edges: what advance, propagate and the dependence forest share. Vertices are served by degree: a tile of TILE lanes
// up to SMALL neighbours, a warp above it, and heavy ones by all tiles of the grid, in a second phase after the first is complete.
#pragma once

// Features that a program lacks unless it says so.
#ifndef HAS_ORDER
#define HAS_ORDER 0
#endif
#ifndef HAS_LAYERS
#define HAS_LAYERS 0
#endif
#ifndef OVER_BOTH_VIEWS
#define OVER_BOTH_VIEWS 0
#endif
#ifndef IS_UNIFORM
#define IS_UNIFORM 0
#endif
#ifndef HAS_PULL
#define HAS_PULL 0
#endif
#ifndef IS_FOREST
#define IS_FOREST 0
#endif
#ifndef HAS_WORDS
#define HAS_WORDS 0
#endif

#include "heavy.cuh"
#include "loop.cuh"

#define TILE 4
#define SMALL 64
#define WIDE 1024  // a vertex with more neighbours is heavy
#define MAX_TILES 256  // tiles of a block: blockDim.x / TILE is at most this
#define FEW \
    4096  // of so many vertices at most those with more than SMALL neighbours are heavy: else some warps work alone
#define GATHERED 4096  // changed vertices gathered in shared memory before they are queued

// -- the values that are pushed ----------------------------------------------------------------------------------------

#if HAS_WORDS
// A smaller word is better; only a change of the keys makes a vertex push again.
typedef word_t value_t;
#define EDGE_VALUE(u, v, w) edge_fn(u, v, w ARGS)
__device__ __forceinline__ bool keys_less(const value_t& a, const value_t& b) {
    return words::less(a, b) && !words::same_keys<PAYLOAD_BITS>(a, b);
}
__device__ __forceinline__ value_t stored(const value_t* p) { return words::load(p); }
__device__ __forceinline__ bool improves(const value_t& old, const value_t& value) { return words::less(value, old); }
__device__ __forceinline__ bool alters(const value_t& old, const value_t& value) { return keys_less(value, old); }
__device__ __forceinline__ value_t reduce_into(value_t* p, const value_t& value) {
    return words::atomic_min_word(p, value);
}
#else
typedef out_t value_t;
#define EDGE_VALUE(u, v, w) out_t(edge_fn(u, v, w ARGS))
__device__ __forceinline__ value_t stored(const value_t* p) { return *p; }
__device__ __forceinline__ bool improves(value_t old, value_t value) { return wins(old, value); }
__device__ __forceinline__ bool alters(value_t old, value_t value) {
    return REDUCE == SUM ? combine(old, value) != old : wins(old, value);
}
__device__ __forceinline__ value_t reduce_into(value_t* p, value_t value) { return atomic_combine(p, value); }
#endif

// Where changed vertices go: queue uint32[num_vertices], *count of them so far. `stamp[v] == step` if v is queued already.
// `violated` is for the dependence forest only. `once`: no vertex is altered twice in the launch.
struct Changed {
    uint32_t* stamp;
    uint32_t step;
    uint32_t* queue;
    uint32_t* count;
    uint32_t* violated;
    bool once;
};

struct Shared {
    uint32_t gathered[GATHERED];
    uint32_t wide[MAX_TILES];
    uint32_t filled;  // entries of `gathered`; beyond GATHERED they went to the queue
    uint32_t place;  // where they go in the queue
    uint32_t widths[2];  // entries of `wide`, by parity of the round
    uint32_t has_heavy;  // a heavy vertex was listed
    uint32_t deferred;  // vertices that did not push, as they were put aside
};

// Called by one thread before anything else; the block synchronises afterwards.
__device__ __forceinline__ void reset(Shared& shared) {
    shared.filled = shared.widths[0] = shared.widths[1] = shared.has_heavy = shared.deferred = 0;
}

// Queue v unless it is queued.
__device__ __forceinline__ void queue_vertex(uint32_t v, const Changed& changed, Shared& shared) {
    if (changed.once) changed.stamp[v] = changed.step;
    else if (!claim(changed.stamp, v, changed.step)) return;
    const uint32_t place = atomicAdd(&shared.filled, 1u);
    if (place < GATHERED) shared.gathered[place] = v;
    else append(changed.queue, changed.count, v);
}

// Reduce `value` into out[v]; queue v if that altered it and it is not queued yet. The plain read may be older than other
// threads' updates, so it can only let through what the atomic then refuses: values move one way, and within a launch a value
// that cannot win against an old one cannot win against a newer one. (A sum has nothing to skip but zeros.)
__device__ __forceinline__ void push_value(value_t* out, uint32_t v, const value_t& value, const Changed& changed,
                                           Shared& shared) {
    if (!improves(stored(out + v), value)) return;
    if (alters(reduce_into(out + v, value), value)) queue_vertex(v, changed, shared);
}

#if IS_FOREST
// What u offers v over an edge of weight w; false if it offers nothing. The function loads the word of u itself, perhaps another one
// than this loads before: words change meanwhile. So an offer that seems not to be above its maker is compared again, with
// the word that is there after the function has run; what that word replaced was above it.
__device__ __forceinline__ bool offer(const value_t* tree, uint32_t u, uint32_t v, weight_t w, uint32_t* violated,
                                      value_t& value FORMALS) {
    const value_t own = stored(tree + u);
    if (word_parent(own) == EMPTY) return false;
    value = EDGE_VALUE(u, v, w);
    if (keys_less(own, value)) return true;
    const value_t now = words::load_now(tree + u);
    if (word_parent(now) == EMPTY) return false;
    if (keys_less(now, value)) return true;
    *violated = 1;
    return false;
}
#endif

__device__ __forceinline__ void push_edge(uint32_t u, uint32_t v, weight_t w, value_t* out, const Changed& changed,
                                          Shared& shared FORMALS) {
#if IS_FOREST
    value_t value;
    if (offer(out, u, v, w, changed.violated, value ARGS)) push_value(out, v, value, changed, shared);
#else
    push_value(out, v, EDGE_VALUE(u, v, w), changed, shared);
#endif
}

// Push along all edges of u; the LANES threads of a tile call it together. SECOND: g is the second view of a push over both
// directions, whose self-loops the first one has served.
template <int LANES, bool SECOND>
__device__ __forceinline__ void push_neighbors(const View& g, uint32_t u, int lane, value_t* out,
                                               const Changed& changed, Shared& shared FORMALS) {
#if IS_FOREST && IS_UNIFORM
    value_t value;  // the same along all edges
    if (!offer(out, u, u, weight_t(1), changed.violated, value ARGS)) return;
    for_neighbors<LANES>(g, u, lane, [&](uint32_t v, long long) { push_value(out, v, value, changed, shared); });
#else
    for_neighbors<LANES>(g, u, lane, [&](uint32_t v, long long slot) {
        if (!SECOND || u != v) push_edge(u, v, WEIGHT(g, slot), out, changed, shared ARGS);
    });
#endif
}

// Move what was gathered to the queue, with one atomic. All threads of the block call it; it ends with a barrier.
__device__ __forceinline__ void flush(const Changed& changed, Shared& shared) {
    __syncthreads();  // everything is gathered
    const uint32_t entries = min(shared.filled, (uint32_t)GATHERED);
    __syncthreads();  // everybody knows how much
    if (threadIdx.x == 0) {
        shared.filled = shared.widths[0] = shared.widths[1] = 0;
        shared.place = entries ? atomicAdd(changed.count, entries) : 0;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < entries; i += blockDim.x) changed.queue[shared.place + i] = shared.gathered[i];
    __syncthreads();  // `gathered` is free again, and the block sees the queue
}

// First phase: push from frontier[0 .. count) (null: the vertices below count) except heavy ones, of more than `wide`
// neighbours, which are listed, and those that admit(u, lane) refuses, which all TILE lanes of a tile ask together. The blocks
// `block` of `blocks` take turns in rounds of as many vertices as they have tiles, fewer if there is little to do. All threads of
// the block call it; it synchronises the block, and ends with everything queued.
template <bool SECOND, class Admit>
__device__ __forceinline__ void push_frontier(const View& g, uint32_t num_vertices, const uint32_t* frontier,
                                              uint32_t count, uint32_t wide, uint32_t block, uint32_t blocks,
                                              value_t* out, const HeavyList& heavy, const Changed& changed,
                                              Shared& shared, Admit&& admit FORMALS) {
    constexpr uint32_t PER_WARP = 32 / TILE;
    const uint32_t tile = threadIdx.x / TILE, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const unsigned long long fair = ((unsigned long long)count + blocks - 1) / blocks;
    const uint32_t round = min((unsigned long long)(blockDim.x / TILE), (fair + PER_WARP - 1) / PER_WARP * PER_WARP);
    uint32_t parity = 0;
    for (unsigned long long base = (unsigned long long)block * round; base < count;
         base += (unsigned long long)blocks * round, parity ^= 1) {
        if (tile < round && base + tile < count) {
            const uint32_t u = frontier ? frontier[base + tile] : uint32_t(base + tile);
            const uint32_t all = u < num_vertices ? degree(g, u) : 0;  // loaded while admit() loads
            const uint32_t neighbors = u < num_vertices && admit(u, base + tile) ? all : 0;
            if (neighbors <= SMALL) {
                if (neighbors > 0) push_neighbors<TILE, SECOND>(g, u, threadIdx.x % TILE, out, changed, shared ARGS);
            } else if (threadIdx.x % TILE == 0) {
                if (neighbors <= wide || !add_heavy(heavy, u, buckets(g, u))) {
                    shared.wide[atomicAdd(&shared.widths[parity], 1u)] = u;
                } else {
                    shared.has_heavy = 1;
                }
            }
        }
        __syncthreads();  // this round's wide vertices are listed
        const uint32_t wides = shared.widths[parity];
        if (threadIdx.x == 0) shared.widths[parity ^ 1] = 0;  // the list of the round before is done with
        for (uint32_t i = warp; i < wides; i += warps) {
            push_neighbors<32, SECOND>(g, shared.wide[i], threadIdx.x % 32, out, changed, shared ARGS);
        }
        const bool full = threadIdx.x == 0 && shared.filled > GATHERED / 2;
        if (__syncthreads_or(full)) flush(changed, shared);  // also keeps `wide` until everybody has read it
    }
    flush(changed, shared);
}

// Second phase: the buckets of all heavy vertices, in equal runs, by all tiles of the grid. `packed` is the final *heavy.total, not 0. All
// threads of the grid call it; it synchronises the block, and ends with everything queued.
template <bool SECOND>
__device__ __forceinline__ void push_heavy(const View& g, unsigned long long packed, value_t* out,
                                           const HeavyList& heavy, const Changed& changed, Shared& shared FORMALS) {
    for_heavy_runs(g, packed, heavy, nullptr, [&](uint32_t, uint32_t u, uint32_t first, uint32_t end) {
#if IS_FOREST && IS_UNIFORM
        value_t value;
        if (!offer(out, u, u, weight_t(1), changed.violated, value ARGS)) return;
#endif
        for (uint32_t k = first; k < end; ++k) {
            for_bucket<BUCKET_LANES>(g, u, k, threadIdx.x % BUCKET_LANES, [&](uint32_t v, long long slot) {
#if IS_FOREST && IS_UNIFORM
                push_value(out, v, value, changed, shared);
#else
                if (!SECOND || u != v) push_edge(u, v, WEIGHT(g, slot), out, changed, shared ARGS);
#endif
            });
        }
    });
    flush(changed, shared);
}
