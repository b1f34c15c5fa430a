// Batched insertion: check, copy, insert, and rehash, in one cooperative launch. With UNVALIDATED 1 the batch is as the
// caller gave it (see ingest.cuh), and the copies that its check makes are inserted; with UNVALIDATED 0 it was checked
// before.
#include "rehash.cuh"
#if WEIGHT_WORDS
#include "reweigh.cuh"
#endif
#if UNVALIDATED
#include "unvalidated.cuh"
#endif

constexpr uint32_t CROWD = 4;

// An edge of the batch, in the lane that looks up the head slab of its bucket.
struct Edge {
    uint32_t u, v, head;
    bool active;
};

// Index of the k-th edge of the batch; with DEFERRALS_ONLY of its deferred edges.
template <bool DEFERRALS_ONLY>
__device__ __forceinline__ long long edge_index(const Insertion& b, long long k) {
    return DEFERRALS_ONLY ? b.deferred[k] : k;
}

// Load edge k into this lane; only the first `share` lanes are active.
template <bool DEFERRALS_ONLY>
__device__ __forceinline__ Edge fetch(const View& g, const Insertion& b, long long k, long long count) {
    Edge e = {0, 0, EMPTY, (threadIdx.x & 31) < b.share && k < count};
    if (!e.active) return e;
    const long long i = edge_index<DEFERRALS_ONLY>(b, k);
    e.u = __ldcs(b.src + i);
    e.v = __ldcs(b.dst + i);
    e.head = load_head(g, e.u);
    return e;
}

// Head slab of the bucket of the lane's edge, EMPTY while its vertex has none.
__device__ __forceinline__ uint32_t slab_of(const View& g, const Edge& e, uint32_t head) {
    return head < LOCKED ? head_in(buckets_behind(g, e.u, head), e.v) : EMPTY;
}

// Warp: prefetch the head slab of that edge; with `ahead` reserve a slab for its vertex if it has none.
__device__ __forceinline__ void look_ahead(const View& g, const Insertion& b, const Edge& e, WarpSlabs& slabs,
                                           BlockSlabs& block) {
    prefetch_slab(g, slab_of(g, e, e.head));
    if (b.ahead) reserve_slabs(g, e.active && e.head == EMPTY, slabs, block);
}

// Warp: after __syncthreads(), collect the slabs reserved by look_ahead().
__device__ __forceinline__ void collect_ahead(const View& g, const Insertion& b, const Edge& e, WarpSlabs& slabs,
                                              const BlockSlabs& block) {
    if (b.ahead) collect_slabs(e.active && e.head == EMPTY, slabs, block);
    prefetch_slab(g, slabs.kept);
}

// Warp: append index i of each lane with `listed` to a list, whose length is the counter `length`.
__device__ __forceinline__ void append_index(const View& g, uint32_t* list, int length, bool listed, long long i) {
    const uint32_t who = __ballot_sync(WARP, listed);
    if (!who) return;
    uint32_t at = 0;
    if ((threadIdx.x & 31) == 0) {
        at = add_to_word(g.counters + length, __popc(who));
        if (at == 0) request_epilogue(g);
    }
    at = __shfl_sync(WARP, at, 0) + __popc(who & ((1u << (threadIdx.x & 31)) - 1u));
    if (listed) list[at] = uint32_t(i);
}

// Grid: insert the batch, in grid stride; see place_edge() for atomics and duplicates. On a weighted store those that were
// there, before the batch or since, are listed for reweigh(). `ahead` is the first edge of the lane. The next edges are
// loaded while these are placed. New slabs come from `slabs`. A deferred edge counts in the degree of its source until,
// with DEFERRALS_ONLY, all of them are inserted. Where CROWD edges of a warp have one source, there are many more in the
// grid, so that the first lost race is enough.
template <bool DEFERRALS_ONLY>
__device__ __forceinline__ void insert_edges(const View& g, const Insertion& b, Edge ahead, WarpSlabs& slabs) {
    const Tile t;
    const int lane = threadIdx.x & 31, rounds = b.share / TILES;
    const RehashRule rule = {
        DEFERRALS_ONLY ? nullptr : b.queue, DEFERRALS_ONLY ? NO_LIMIT : b.limit, float(b.per_bucket)};
    const long long count = DEFERRALS_ONLY ? load_word(g.counters + DEFERRALS) : b.n, step = warp_count() * b.share;
    long long base = warp_index() * b.share;
    for (; base < count; base += step) {
        const Edge e = ahead;
        bool counted = false;
        const uint32_t first = slab_of(g, e, ensure_head(g, e.active, e.u, e.head, slabs, counted));
        prefetch_slab(g, first);
        ahead = fetch<DEFERRALS_ONLY>(g, b, base + step + lane, count);
        const uint32_t peers = __match_any_sync(WARP, e.active ? e.u : EMPTY);  // lanes with edges of the same vertex
        const uint32_t flags = uint32_t(e.active) | uint32_t(__popc(peers) >= CROWD) << 1;
        uint8_t status = UNCHANGED;
#pragma unroll 1
        for (int r = 0; r < rounds; ++r) {
            const int from = edge_lane(t, r);
            const uint32_t flag = __shfl_sync(WARP, flags, from);
            const bool active = flag & 1u;
            const uint32_t u = __shfl_sync(WARP, e.u, from), v = __shfl_sync(WARP, e.v, from);
            const uint32_t slab = __shfl_sync(WARP, first, from);
            bits_t w = 0;
#if WEIGHT_WORDS
            if (active) w = b.weight[edge_index<DEFERRALS_ONLY>(b, base + from)];
#endif
            const Placement placed = place_edge(g, t, active, u, v, w, slab, g.marked, rule, flag >> 1, slabs);
            if (voted(r, placed.mine && placed.status == NEW)) status = NEW;
            if (voted(r, placed.mine && placed.status == DEFERRED)) status = DEFERRED;
#if WEIGHT_WORDS
            if (voted(r, placed.mine && placed.status == FOUND)) status = FOUND;
#endif
        }
        if (lane < b.share && base + lane < count)
            __stcs(b.status + edge_index<DEFERRALS_ONLY>(b, base + lane), status);
        if (DEFERRALS_ONLY) {
            add_per_place(degree_word(g, e.u), peers, e.active && status != NEW, 0xFFFFFFFFu);
        } else {
            const bool counts = status == NEW || status == DEFERRED;
            add_per_place(degree_word(g, e.u), peers, counts && !counted, 1u);
            if (counted && !counts)
                atomicAdd(degree_word(g, e.u), 0xFFFFFFFFu);  // another lane was first with the same edge
            append_index(g, b.deferred, DEFERRALS, status == DEFERRED, base + lane);
        }
#if WEIGHT_WORDS
        const bool there = e.active && status == FOUND;
        append_index(g, b.existing, EXISTING, there, there ? edge_index<DEFERRALS_ONLY>(b, base + lane) : 0);
#endif
    }
}

// One thread: send the host the number of free slabs, that of slabs in use (or a few more), and that of slabs denied to
// rehashing, each in one store with the ticket of this batch in the upper half, by which the host knows what they
// include.
__device__ __forceinline__ void send_counts(const View& g, const Insertion& b) {
    if (thread_index() != 0) return;
    const uint32_t bump = load_word(g.counters + BUMP), freed = load_word(g.counters + FREED);
    const uint32_t denied = load_word(g.counters + DENIED), listed = g.counters[LISTED];
    const uint32_t left = listed - min(load_word(g.counters + TAKEN), listed);
    const uint64_t ticket = uint64_t(b.ticket) << 32;
    b.pinned[0] = ticket | uint32_t(g.capacity - bump + left);
    b.pinned[1] = ticket | (bump - left - freed);
    b.pinned[2] = ticket | denied;
}

// Grid: the epilogue, usually not needed: rehash the vertices that the batch has queued, insert the deferred edges, and give
// edges that were there their weights. Two to ten grid-wide barriers.
__device__ __noinline__ void epilogue(const View& g, const Insertion& b) {
    grid_barrier(g);
    rehash(g, b);
    if (load_word(g.counters + DEFERRALS)) {
        const long long k = warp_index() * b.share + (threadIdx.x & 31);
        WarpSlabs none(g, 0);
        insert_edges<true>(g, b, fetch<true>(g, b, k, load_word(g.counters + DEFERRALS)), none);
        grid_barrier(g);
    }
#if WEIGHT_WORDS
    if (load_word(g.counters + EXISTING)) reweigh(g, b);
#endif
    grid_barrier(g);
    if (thread_index() == 0) {
        g.counters[QUEUED] = g.counters[DEFERRALS] = g.counters[MOVES] = g.counters[EXISTING] = 0;
        g.counters[SPENT] = g.counters[SPENT + 1] = g.counters[HEADS] = g.counters[EPILOGUE] = 0;
    }
}

// One grid-wide barrier, two if the batch is unvalidated, then those of epilogue() if there is anything to do. Changes no
// edge if the batch is rejected; slabs that were taken ahead are returned.
extern "C" __global__ void __launch_bounds__(BLOCK, INSERT_BLOCKS)
insert(const __grid_constant__ Arguments<Insertion> a) {
    const View& g = a.g;
    const Insertion& b = a.batch;
    __shared__ BlockSlabs block;
    if (threadIdx.x == 0) block.taken = 0;
    WarpSlabs slabs(g, b.ahead);
#if UNVALIDATED
    const bool alone = !(WEIGHT_WORDS && MIRRORED) && warp_count() * b.share >= b.n;
    const long long k = (threadIdx.x & 31) < b.share ? warp_index() * b.share + (threadIdx.x & 31) : b.n;
    const FirstEdge own = load_first(a.given, k, b.n);
    const Copies to = {b.src, b.dst, reinterpret_cast<weight_t*>(b.weight)};
    const uint32_t arrived = check_batch<4>(g, a.given, to, alone, own);
    const Edge first = {own.u, own.v, own.good ? load_head(g, own.u) : EMPTY, own.good};
    look_ahead(g, b, first, slabs, block);
    const bool rejected = is_rejected(g, a.given, alone, arrived);
#else
    const Edge first = fetch<false>(g, b, warp_index() * b.share + (threadIdx.x & 31), b.n);
    __syncthreads();
    look_ahead(g, b, first, slabs, block);
    const bool rejected = __syncthreads_or(b.guard && *b.guard);
#endif
    collect_ahead(g, b, first, slabs, block);
    if (rejected) {
        for (long long i = thread_index(); i < b.n; i += grid_size()) b.status[i] = UNCHANGED;
    } else {
        insert_edges<false>(g, b, first, slabs);
    }
    return_unused(g, slabs);
    const uint32_t ended = grid_arrive(g, ENDED, false);
    if (grid_wait(g, ENDED, false, ended, 1)) epilogue(g, b);
    send_counts(g, b);
}
