// Pushing along edges: what advance, propagate and the dependence forest share. Vertices are served by degree: a tile of TILE lanes
// up to SMALL neighbours, a warp above it, and heavy ones by all tiles of the grid, in a second phase after the first is complete.
#pragma once

// Features that a program lacks unless it says so.
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
#ifndef HAS_WINDOW
#define HAS_WINDOW 0
#endif
#ifndef IS_FOREST
#define IS_FOREST 0
#endif
#ifndef HAS_WORDS
#define HAS_WORDS 0
#endif

#define LISTS_SLOTS (WEIGHTED && !IS_UNIFORM)

#include "heavy.cuh"
#include "loop.cuh"

#define TILE 4
#define SMALL 64  // in a propagation a vertex with more neighbours is heavy
#define WIDE 1024  // in a single step of many vertices
#define MAX_THREADS 1024  // of a block
#define TILED 16  // up to this many neighbours are served by a tile
#define NONE_NEAR ~0ull
#define LOCAL_TURNS 8  // in which a block goes on by itself
#define LOCAL 128  // vertices that a block goes on with
#define LISTED 2048  // edges that a block lists at once
#define LOCAL_QUEUE 1024  // changed vertices kept in shared memory before they are queued

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
#if HAS_WINDOW
    unsigned long long* nearest;  // nearness of the nearest vertex that is queued, of all blocks
    unsigned long long* mine;  // the same of the thread alone
    unsigned long long near_from;  // the block goes on with vertices of at least this nearness by itself
    uint32_t turn;  // of its going on
#endif
};

struct Shared {
    uint32_t local_queue[LOCAL_QUEUE];
    uint32_t picked[MAX_THREADS];  // vertices that push: narrow ones from the front, wide ones from the back
    uint32_t filled;  // entries of `local_queue`; beyond LOCAL_QUEUE they went to the queue
    uint32_t place;  // where they go in the queue
    uint32_t narrows[2], wides[2];  // their numbers, by parity of the round
    uint32_t has_heavy;  // a heavy vertex was listed
#if HAS_WINDOW
    uint32_t deferred;  // vertices that did not push, as they were beyond the window
    unsigned long long nearest, nearness[2][LOCAL];  // of the vertices listed to go on with
    uint32_t went_on, nears[3], near[2][LOCAL];  // their numbers, rotating over three turns, and ids
#endif
    uint32_t listed[32], from[LISTED], to[LISTED];  // edges: how many each warp has listed, and where they go
#if LISTS_SLOTS
    long long slot[LISTED];
#endif
};

// Called by one thread before anything else; the block synchronises afterwards.
__device__ __forceinline__ void reset(Shared& shared) {
    shared.filled = shared.has_heavy = 0;
    shared.narrows[0] = shared.narrows[1] = shared.wides[0] = shared.wides[1] = 0;
#if HAS_WINDOW
    shared.deferred = shared.nearest = shared.went_on = shared.nears[0] = shared.nears[1] = shared.nears[2] = 0;
#endif
    for (int warp = 0; warp < 32; ++warp) shared.listed[warp] = 0;
}

#if HAS_WINDOW
__device__ __forceinline__ unsigned long long nearness_of(const value_t& word) {
    return ~words::encode(FIRST_KEY(word));
}

__device__ __forceinline__ void note_nearness(const value_t& word, const Changed& changed) {
    const unsigned long long nearness = nearness_of(word);
    if (nearness > *changed.mine) *changed.mine = nearness;
}
#endif

// Queue v unless it is queued.
__device__ __forceinline__ void queue_vertex(uint32_t v, const Changed& changed, Shared& shared) {
    if (changed.once) changed.stamp[v] = changed.step;
    else if (!claim(changed.stamp, v, changed.step)) return;
    const uint32_t place = next_place(&shared.filled);
    if (place < LOCAL_QUEUE) shared.local_queue[place] = v;
    else append(changed.queue, changed.count, v);
}

__device__ __forceinline__ void store_value(value_t* out, uint32_t v, const value_t& value, const Changed& changed,
                                            Shared& shared) {
    if (!alters(reduce_into(out + v, value), value)) return;
#if HAS_WINDOW
    if (nearness_of(value) >= changed.near_from) {
        const uint32_t place = next_place(&shared.nears[changed.turn % 3]);
        if (place < LOCAL) {
            shared.near[changed.turn & 1][place] = v;
            shared.nearness[changed.turn & 1][place] = nearness_of(value);
            return;
        }
    }
    note_nearness(value, changed);
#endif
    queue_vertex(v, changed, shared);
}

// Reduce `value` into out[v]; queue v if that altered it and it is not queued yet. The plain read may be older than other
// threads' updates, so it can only let through what the atomic then refuses: values move one way, and within a launch a value
// that cannot win against an old one cannot win against a newer one. (A sum has nothing to skip but zeros.)
__device__ __forceinline__ void push_value(value_t* out, uint32_t v, const value_t& value, const Changed& changed,
                                           Shared& shared) {
    if (improves(stored(out + v), value)) store_value(out, v, value, changed, shared);
}

#if IS_FOREST
__device__ __forceinline__ bool is_offer(const value_t* tree, uint32_t u, const value_t& own, const value_t& value,
                                         uint32_t* violated) {
    if (word_parent(own) == EMPTY) return false;
    if (keys_less(own, value)) return true;
    const value_t now = words::load_now(tree + u);
    if (word_parent(now) == EMPTY) return false;
    if (keys_less(now, value)) return true;
    *violated = 1;
    return false;
}

// What u offers v over an edge of weight w; false if it offers nothing. The function loads the word of u itself, perhaps another one
// than this loads before: words change meanwhile. So an offer that seems not to be above its maker is compared again, with
// the word that is there after the function has run; what that word replaced was above it.
__device__ __forceinline__ bool offer(const value_t* tree, uint32_t u, uint32_t v, weight_t w, uint32_t* violated,
                                      value_t& value FORMALS) {
    const value_t own = stored(tree + u);
    if (word_parent(own) == EMPTY) return false;
    value = EDGE_VALUE(u, v, w);
    return is_offer(tree, u, own, value, violated);
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

#if HAS_WINDOW
// What the threads of the block have noted, in shared.nearest; a barrier of the block must follow.
__device__ __forceinline__ void share_nearness(const Changed& changed, Shared& shared) {
    unsigned long long mine = *changed.mine;
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        const unsigned long long other = __shfl_xor_sync(ALL_LANES, mine, step);
        if (other > mine) mine = other;
    }
    if (mine && threadIdx.x % 32 == 0) atomicMax(&shared.nearest, mine);
    *changed.mine = 0;
}
#endif

// Move the local queue to the queue, with one atomic. All threads of the block call it; it ends with a barrier.
__device__ __forceinline__ void flush(const Changed& changed, Shared& shared) {
#if HAS_WINDOW
    share_nearness(changed, shared);
#endif
    __syncthreads();  // everything is in it
    const uint32_t entries = min(shared.filled, (uint32_t)LOCAL_QUEUE);
    if (threadIdx.x == 0) {
        shared.place = entries ? atomicAdd(changed.count, entries) : 0;
#if HAS_WINDOW
        if (shared.nearest) atomicMax(changed.nearest, shared.nearest);
        shared.nearest = 0;
#endif
    }
    __syncthreads();  // everybody knows how much, and where it goes
    for (uint32_t i = threadIdx.x; i < entries; i += blockDim.x)
        changed.queue[shared.place + i] = shared.local_queue[i];
    if (threadIdx.x == 0) {
        shared.filled = 0;
        shared.narrows[0] = shared.narrows[1] = shared.wides[0] = shared.wides[1] = 0;
    }
    __syncthreads();  // `local_queue` is free again, and the block sees the queue
}
