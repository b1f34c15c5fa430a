// Core numbers on CUDA (see core_numbers.py): two cooperative kernels. core uint32[n]; left int32[n]; rest, spare, both queues and
// stamp uint32[n]. The graph is undirected; self-loops do not count. The numbers do not depend on the schedule.
#include "core_numbers.cuh"

__device__ __forceinline__ Rounds begin(RoundState* state, uint32_t* stamp, uint32_t* queue0, uint32_t* queue1,
                                        unsigned long long* kept, uint32_t n) {
    Rounds r = {state, stamp, {queue0, queue1}, uint32_t(kept[0]), 0, 0, 0};
    renew_epochs(r, n);
    return r;
}

extern "C" __global__ void __launch_bounds__(CORE_BLOCK, 1)
peel(View g, uint32_t n, uint32_t* core, int* left, uint32_t* rest, uint32_t* spare, uint32_t* queue0, uint32_t* queue1,
     uint32_t* stamp, RoundState* state, unsigned long long* kept) {
    Rounds r = begin(state, stamp, queue0, queue1, kept, n);
    peel_all(g, n, core, left, rest, spare, r);
    if (thread_id() == 0) kept[0] = r.epoch;
}

// The number of neighbours w of v, besides itself, for which test(w) holds; exact below `enough`. A warp calls it.
template <class Test>
__device__ __forceinline__ uint32_t count_until(const View& g, uint32_t v, uint32_t enough, Test&& test) {
    const int lane = threadIdx.x & 31;
    uint32_t mine = 0;
    const auto each = [&](uint32_t w, long long) { mine += w != v && test(w); };
    if (degree(g, v) <= MANY) {
        for_neighbors<32>(g, v, lane, each);
        return warp_sum(mine);
    }
    const uint32_t parts = buckets(g, v), teams = 32 / SEARCH_LANES;
    uint32_t total = 0;
    for (uint32_t first = 0; first < parts && total < enough; first += 4 * teams) {
        for (uint32_t k = first + lane / SEARCH_LANES; k < min(parts, first + 4 * teams); k += teams) {
            for_bucket<SEARCH_LANES>(g, v, k, lane % SEARCH_LANES, each);
        }
        total = warp_sum(mine);
    }
    return total;
}

// -- deletions: lower until every vertex has as many supporters as its number says -----------------------------------

// v is lowered if fewer than core[v] neighbours have at least its number. It is asked again, and so are those that it no longer
// supports. Numbers only fall, and one that is read before its fall is seen by whoever falls, so that no order matters.
__device__ __forceinline__ void lower(const View& g, uint32_t v, uint32_t* core, const Next& next) {
    const uint32_t k = fresh(core[v]);
    if (k == 0 || count_until(g, v, k, [&](uint32_t w) { return fresh(core[w]) >= k; }) >= k) return;
    const uint32_t lower_k = min(k - 1, degree(g, v));
    if ((threadIdx.x & 31) == 0) {
        *(volatile uint32_t*)&core[v] = lower_k;
        enqueue(next, v);
    }
    __threadfence();
    __syncwarp();
    for_neighbors<32>(g, v, threadIdx.x & 31, [&](uint32_t w, long long) {
        const uint32_t its = fresh(core[w]);
        if (its > lower_k && its <= k) enqueue(next, w);
    });
}

__device__ __forceinline__ void lower_all(const View& g, const Arcs& deleted, uint32_t* core, Rounds& r) {
    const Next next = open_round(r);
    for (long long i = thread_id(); i < deleted.size; i += thread_count()) {
        if (deleted.status && deleted.status[i] != deleted.wanted) continue;
        const uint32_t u = deleted.src[i], v = deleted.dst[i];
        if (u != v && core[u] >= core[v]) enqueue(next, v);  // v has lost a supporter
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const auto lower_one = [&](uint32_t v, const Next& later) { lower(g, v, core, later); };
    run_rounds(g, r, list, count, by_warp(lower_one));
}

// -- insertions: candidates rise by one, and so again until none does ------------------------------------------------

// What a search of candidates knows. mark[v]: `search` if v was seen, search + 1 if it is a candidate; searches are numbered.
struct Search {
    uint32_t* core;
    int* left;
    uint32_t* mark;
    uint32_t number;
    uint32_t* listed;
    uint32_t* total;
    uint32_t limit;
};

__device__ __forceinline__ bool first_seen(const Search& s, uint32_t v) {
    return fresh(s.mark[v]) < s.number && atomicMax(&s.mark[v], s.number) < s.number;
}

// v, of core k, is a candidate if it has more than k neighbours of at least k; then those of exactly k are seen as well.
__device__ __forceinline__ void seek(const View& g, uint32_t v, const Search& s, const Next& next) {
    const uint32_t k = s.core[v];
    const bool too_many = __shfl_sync(WARP, fresh(*s.total) > s.limit, 0);  // one answer for the warp
    if (too_many || count_until(g, v, k + 1, [&](uint32_t w) { return s.core[w] >= k; }) <= k) return;
    if ((threadIdx.x & 31) == 0) {
        s.mark[v] = s.number + 1;
        const uint32_t place = atomicAdd(s.total, 1u);
        if (place < s.limit) s.listed[place] = v;
    }
    for_neighbors<32>(g, v, threadIdx.x & 31, [&](uint32_t w, long long) {
        if (s.core[w] == k && first_seen(s, w)) append(next.queue, next.count, w);
    });
}

// Of the candidates listed[begin .. end) take away those that cannot have k + 1 neighbours of at least k + 1, until none is left.
__device__ __forceinline__ void sift(const View& g, const Search& s, uint32_t begin, uint32_t end, Rounds& r) {
    const Next next = open_round(r);
    const uint32_t lane = threadIdx.x & 31;
    for (uint32_t i = begin + thread_id() / 32; i < end; i += thread_count() / 32) {
        const uint32_t v = s.listed[i], k = s.core[v];
        const uint32_t has = count_until(g, v, EMPTY, [&](uint32_t w) {
            return s.core[w] > k || (s.core[w] == k && s.mark[w] == s.number + 1);
        });
        if (lane == 0) s.left[v] = int(has);
        if (lane == 0 && has <= k) append(next.queue, next.count, v);
    }
    uint32_t count;
    const uint32_t* list = close_round(r, count);
    const auto take_away = [&](uint32_t v, uint32_t w, const Next& later) {
        const uint32_t k = s.core[v];
        if (w == v || s.core[w] != k || s.mark[w] != s.number + 1) return;
        if (atomicSub(&s.left[w], 1) == int(k) + 1) append(later.queue, later.count, w);
    };
    run_rounds(g, r, list, count, by_neighbor(g, take_away));
}

// Raise what is left of the candidates; they are the seeds of the next search.
__device__ __forceinline__ const uint32_t* raise(const Search& s, uint32_t begin, uint32_t end, Rounds& r,
                                                 uint32_t& count) {
    const Next next = open_round(r);
    for (uint32_t i = begin + thread_id(); i < end; i += thread_count()) {
        const uint32_t v = s.listed[i];
        if (fresh(s.left[v]) <= int(s.core[v])) continue;
        ++s.core[v];
        s.mark[v] = s.number + 2;
        append(next.queue, next.count, v);
    }
    return close_round(r, count);
}

// kept: epoch of the stamps, number of searches. `limit` is below n. If there are more candidates than that, all is computed
// from scratch.
extern "C" __global__ void __launch_bounds__(CORE_BLOCK, 1)
maintain(View g, uint32_t n, Arcs deleted, Arcs inserted, uint32_t limit, uint32_t* core, uint32_t* mark, int* left,
         uint32_t* rest, uint32_t* spare, uint32_t* queue0, uint32_t* queue1, uint32_t* stamp, RoundState* state,
         unsigned long long* kept) {
    const uint32_t searches = uint32_t(kept[1]);
    Rounds r = begin(state, stamp, queue0, queue1, kept, n);
    Search s = {core, left, mark, searches + 2, rest, &state->listed[0], limit};
    if (searches > 0x80000000u) {
        for (uint32_t v = thread_id(); v < n; v += thread_count()) mark[v] = 0;
        s.number = 2;
        grid_barrier(r);
    }
    if (deleted.size) lower_all(g, deleted, core, r);
    const Next next = open_round(r);
    for (long long i = thread_id(); i < inserted.size; i += thread_count()) {
        if (inserted.status && inserted.status[i] != inserted.wanted) continue;
        const uint32_t u = inserted.src[i], v = inserted.dst[i];
        if (u != v && core[u] >= core[v] && first_seen(s, v)) append(next.queue, next.count, v);
    }
    uint32_t count, done = 0;
    const uint32_t* list = close_round(r, count);
    while (count > 0) {
        const auto seek_one = [&](uint32_t v, const Next& later) { seek(g, v, s, later); };
        run_rounds(g, r, list, count, by_warp(seek_one));
        const uint32_t end = fresh(state->listed[0]);
        if (end > limit) {
            peel_all(g, n, core, left, rest, spare, r);
            break;
        }
        if (end == done) break;
        sift(g, s, done, end, r);
        list = raise(s, done, end, r, count);
        done = end;
        s.number += 2;
    }
    if (thread_id() == 0) {
        kept[0] = r.epoch;
        kept[1] = s.number + 2;
    }
}
