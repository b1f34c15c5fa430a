// The forest of components on CUDA (see component_forest.py): two cooperative kernels of rounds, and three plain ones for labels.
//
// word int64[n] (UNREACHED: no root yet), parent uint32[n]: a neighbour that may support the vertex, or EMPTY. Words fall by
// atomicMin, so that offers may come in any order; they rise only where a vertex is cut off. The partition that results does not
// depend on the schedule. `detached` and the queues are uint32[n], kept uint64[2]: epoch and greatest distance so far.
#include "rounds.cuh"

struct Forest {
    int64_t* word;
    uint32_t* parent;
    Layout layout;
    int64_t farthest;  // of the distances that this thread has given out
};

__device__ __forceinline__ int64_t distance(const Forest& f, int64_t word) {
    return word & ((1ll << f.layout.root_shift) - 1);
}

// How far v is from whatever supports it: a number from 1 on that depends on v alone.
__device__ __forceinline__ int64_t length(const Forest& f, uint32_t v) {
    return 1 + ((((int64_t)v * MIX) >> 16) & f.layout.length_mask);
}

__device__ __forceinline__ bool same_root(const Forest& f, int64_t a, int64_t b) {
    return (a >> f.layout.root_shift) == (b >> f.layout.root_shift);
}

// The word of v as a root: class, then the id, scrambled one to one so that the order of ids means nothing, then distance 0.
__device__ __forceinline__ int64_t root_word(const Forest& f, uint32_t v, int64_t rank) {
    const int bits = f.layout.root_bits;
    int64_t id = ((int64_t)v * MIX) & ((1ll << bits) - 1);
    id ^= id >> (bits / 2);
    return ((rank << bits) | id) << f.layout.root_shift;
}

// The class of a root by its degree: the more neighbours, the better (lower). Class 0 is kept for the largest component.
__device__ __forceinline__ int64_t rank_of(const Forest& f, uint32_t neighbors) {
    const int last = f.layout.last_rank;
    return last == 0 ? 0 : last - min(32 - __clz(neighbors), last - 1);
}

template <class F>
__device__ __forceinline__ void for_all_neighbors(const View& g, const View& h, int both, uint32_t v, F&& f) {
    for_neighbors<32>(g, v, threadIdx.x & 31, [&](uint32_t w, long long) { f(w); });
    if (both) for_neighbors<32>(h, v, threadIdx.x & 31, [&](uint32_t w, long long) { f(w); });
}

// u, whose word is `from`, offers itself to w: taken by a vertex that has no root or a worse one; in a tree that is being made
// by everyone who comes nearer. parent[w] is a plain store: of several that win in turn any is a neighbour, and that is all it says.
__device__ __forceinline__ void offer(Forest& f, uint32_t u, int64_t from, uint32_t w, bool nearer, const Next& next) {
    const int64_t held = fresh(f.word[w]), given = from + length(f, w);
    if (given >= held || (!nearer && held != UNREACHED && same_root(f, from, held))) return;
    if (atomicMin((long long*)&f.word[w], (long long)given) <= given) return;
    f.parent[w] = u;
    f.farthest = max(f.farthest, distance(f, given));
    enqueue(next, w);
}

__device__ __forceinline__ void spread(Forest& f, const View& g, const View& h, int both, Rounds& r,
                                       const uint32_t* list, uint32_t count, bool nearer) {
    const auto offer_all = [&](uint32_t v, const Next& next) {
        const int64_t from = fresh(f.word[v]);
        if (from == UNREACHED) return;
        for_all_neighbors(g, h, both, v, [&](uint32_t w) { offer(f, v, from, w, nearer, next); });
    };
    run_rounds(g, r, list, count, by_warp(offer_all));
}

__device__ __forceinline__ Rounds begin(RoundState* state, uint32_t* stamp, uint32_t* queue0, uint32_t* queue1,
                                        unsigned long long* kept, uint32_t n) {
    Rounds r = {state, stamp, {queue0, queue1}, uint32_t(kept[0]), 0, 0, 0};
    renew_epochs(r, n);
    return r;
}

__device__ __forceinline__ void finish(const Rounds& r, const Forest& f, unsigned long long* kept) {
    if (thread_id() == 0) kept[0] = r.epoch;
    if (f.farthest) atomicMax(kept + 1, (unsigned long long)f.farthest);
}

// -- a forest from scratch -------------------------------------------------------------------------------------------

// label uint32[n]: an element of the component of each vertex, the same for all; largest uint32[1]: a vertex of the component
// whose root gets class 0, or null. best uint64[n]. The vertex with most neighbours is the root of its component. One thread per vertex, then rounds.
extern "C" __global__ void __launch_bounds__(FOREST_BLOCK, 2)
build(View g, View h, int both, uint32_t n, const uint32_t* label, const uint32_t* largest, unsigned long long* best,
      int64_t* word, uint32_t* parent, Layout layout, uint32_t* queue0, uint32_t* queue1, uint32_t* stamp,
      RoundState* state, unsigned long long* kept) {
    Rounds r = begin(state, stamp, queue0, queue1, kept, n);
    Forest f = {word, parent, layout, 0};
    for (uint32_t v = thread_id(); v < n; v += thread_count()) {
        word[v] = UNREACHED;
        parent[v] = EMPTY;
        best[v] = 0;
    }
    if (thread_id() == 0) kept[1] = 0;
    grid_barrier(r);
    for (uint32_t v = thread_id(); v < n; v += thread_count()) {
        const unsigned long long bid = ((unsigned long long)degree(g, v) << 32) | (0xFFFFFFFFu - v);
        if (bid > fresh(best[label[v]])) atomicMax(best + label[v], bid);
    }
    grid_barrier(r);
    const Next next = open_round(r);
    for (uint32_t c = thread_id(); c < n; c += thread_count()) {
        if (best[c] == 0) continue;  // no vertex has this label
        const uint32_t root = 0xFFFFFFFFu - uint32_t(best[c]);
        word[root] = root_word(f, root, largest && label[*largest] == c ? 0 : rank_of(f, uint32_t(best[c] >> 32)));
        enqueue(next, root);
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    spread(f, g, h, both, r, list, count, true);
    finish(r, f, kept);
}

// -- repair ----------------------------------------------------------------------------------------------------------

// v has lost the arc from u. It is a suspect if u was nearer to the root and what parent[v] names does not support it as well.
__device__ __forceinline__ void suspect(Forest& f, uint32_t u, uint32_t v, const Next& next) {
    const int64_t own = f.word[v], above = f.word[u];
    uint32_t p = fresh(f.parent[v]);
    if (p == u) f.parent[v] = p = EMPTY;  // the arc is gone: nobody must rely on it
    if (above >= own || !same_root(f, above, own)) return;
    if (p != EMPTY && f.word[p] < own && same_root(f, f.word[p], own)) return;
    enqueue(next, v);  // (if the arc from p is gone as well, the thread that has it queues v)
}

// Whether a neighbour of v in g supports it: same root, nearer. It becomes the parent. A warp calls it.
__device__ __forceinline__ bool supported(Forest& f, const View& g, uint32_t v, int64_t own) {
    return any_neighbor(g, v, [&](uint32_t w) {
        const int64_t above = fresh(f.word[w]);
        const bool hit = above < own && same_root(f, above, own);
        if (hit) f.parent[v] = w;
        return hit;
    });
}

// Cut v off if nothing supports it; then all that it may have supported are suspects. A warp calls it. The fence makes it right
// that others are checked in the same round: either they see the new word of v, or v sees them and queues them.
__device__ __forceinline__ void check(Forest& f, const View& g, const View& h, int both, uint32_t v, uint32_t* detached,
                                      uint32_t* count, const Next& next) {
    const int64_t own = fresh(f.word[v]);
    if (own == UNREACHED || distance(f, own) == 0) return;
    if (supported(f, g, v, own) || (both && supported(f, h, v, own))) return;
    if ((threadIdx.x & 31) == 0) {
        *(volatile int64_t*)&f.word[v] = UNREACHED;
        f.parent[v] = EMPTY;
        detached[atomicAdd(count, 1u)] = v;
    }
    __threadfence();
    __syncwarp();
    for_all_neighbors(g, h, both, v, [&](uint32_t w) {
        const int64_t below = fresh(f.word[w]);
        if (below > own && same_root(f, below, own)) enqueue(next, w);
    });
}

// v, cut off, takes the best offer of its neighbours. A warp calls it.
__device__ __forceinline__ void adopt(Forest& f, const View& g, const View& h, int both, uint32_t v, const Next& next) {
    int64_t best = UNREACHED;
    uint32_t from = EMPTY;
    for_all_neighbors(g, h, both, v, [&](uint32_t w) {
        const int64_t word = fresh(f.word[w]);
        if (word < best) best = word, from = w;
    });
    if (best != UNREACHED) offer(f, from, best, v, true, next);  // each lane that has one: the least wins
}

// Every vertex is cut off: the distances have come near their limit.
__device__ __forceinline__ uint32_t cut_all(Forest& f, uint32_t n, uint32_t* detached, unsigned long long* kept) {
    for (uint32_t v = thread_id(); v < n; v += thread_count()) {
        f.word[v] = UNREACHED;
        f.parent[v] = EMPTY;
        detached[v] = v;
    }
    if (thread_id() == 0) kept[1] = 0;
    return n;
}

// The words after `deleted` and `inserted`; g, and the in-edges h if both is 1, hold the change already. Rounds of suspects, then
// offers to those that were cut off and across inserted arcs, then those left over become roots and join each other.
extern "C" __global__ void __launch_bounds__(FOREST_BLOCK, 2)
repair(View g, View h, int both, uint32_t n, Arcs deleted, Arcs inserted, int64_t* word, uint32_t* parent,
       Layout layout, uint32_t* detached, uint32_t* queue0, uint32_t* queue1, uint32_t* stamp, RoundState* state,
       unsigned long long* kept) {
    const bool exhausted = kept[1] > layout.limit;
    Rounds r = begin(state, stamp, queue0, queue1, kept, n);
    Forest f = {word, parent, layout, 0};
    uint32_t count, cut;
    const uint32_t* list;
    if (exhausted) {
        grid_barrier(r);  // everybody has read `kept`
        cut = cut_all(f, n, detached, kept);
        grid_barrier(r);
    } else {
        Next next = open_round(r);
        for (long long i = thread_id(); i < deleted.size; i += thread_count()) {
            if (deleted.status && deleted.status[i] != deleted.wanted) continue;
            suspect(f, deleted.src[i], deleted.dst[i], next);
            if (both) suspect(f, deleted.dst[i], deleted.src[i], next);
        }
        list = close_round(r, count);
        const auto check_one = [&](uint32_t v, const Next& later) {
            check(f, g, h, both, v, detached, &state->listed[0], later);
        };
        run_rounds(g, r, list, count, by_warp(check_one));
        cut = fresh(state->listed[0]);
        next = open_round(r);
        for (uint32_t i = thread_id() / 32; i < cut; i += thread_count() / 32) adopt(f, g, h, both, detached[i], next);
        for (long long i = thread_id(); i < inserted.size; i += thread_count()) {
            if (inserted.status && inserted.status[i] != inserted.wanted) continue;
            const uint32_t u = inserted.src[i], v = inserted.dst[i];
            const int64_t a = fresh(word[u]), b = fresh(word[v]);
            if (a != UNREACHED) offer(f, u, a, v, false, next);
            if (both && b != UNREACHED) offer(f, v, b, u, false, next);
        }
        list = close_round(r, count);
        spread(f, g, h, both, r, list, count, false);
    }
    const Next next = open_round(r);
    for (uint32_t i = thread_id(); i < cut; i += thread_count()) {
        const uint32_t v = detached[i];
        if (word[v] != UNREACHED) continue;
        word[v] = root_word(f, v, rank_of(f, degree(g, v)));
        enqueue(next, v);
    }
    list = close_round(r, count);
    spread(f, g, h, both, r, list, count, false);
    finish(r, f, kept);
}
