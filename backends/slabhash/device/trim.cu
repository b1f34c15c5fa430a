// Trimming: storage that deletions have left behind is freed, of a range of the slabs; the CUDA twin of trim.py. Three launches
// after a deletion: trim_vertices, trim_listed, trim_chains. No kernel synchronises with the host, nor blocks with each other. `end`
// is at most what BUMP was before the launch, so that no slab that is taken meanwhile is in the range.
#include "move.cuh"

constexpr uint32_t MANY_BUCKETS = 64;  // from here on all warps share the work for a vertex, which is listed
constexpr uint32_t MOST_LISTED = 2048;  // the others are served by a warp each
constexpr uint32_t MOST_LINKED = 64;  // slabs of a chain that a thread closes up; longer ones are left as they are

// A vertex that all warps empty, its buckets before and after; EMPTY as target: none.
struct Listed {
    uint32_t vertex, head, count, target, code;
};

// The vertices of a round of trimming; `count` is zero before it, and may exceed their number.
struct List {
    uint32_t count;
    Listed entries[MOST_LISTED];
};

// Slab `slab`, if it is the first of a bucket: the buckets of its vertex, and whether it is.
struct Place {
    uint32_t vertex;
    Buckets buckets;
    bool is_head;
};

__device__ __forceinline__ Place place_of(const View& g, long long slab, long long end) {
    Place place = {slab < end ? g.owner[slab] : EMPTY, {EMPTY, 1}, false};
    if (place.vertex == EMPTY) return place;
    place.buckets = buckets_of(g, place.vertex);
    place.is_head = place.buckets.head != EMPTY && uint32_t(slab) - place.buckets.head < place.buckets.count;
    return place;
}

// One lane: the first of `count` new slabs in a row from the end of the pool, EMPTY if it has fewer. A launch takes at most `quota` there: as
// long as it has that many, an addition does; thousands of warps that compare and swap would get in each other's way for milliseconds.
__device__ __forceinline__ uint32_t carve(const View& g, uint32_t count, uint32_t quota) {
    uint32_t at = load_word(g.counters + BUMP);
    if (uint64_t(at) + quota <= uint64_t(g.capacity)) return atomicAdd(g.counters + BUMP, count);
    while (uint64_t(at) + count <= uint64_t(g.capacity)) {
        const uint32_t there = atomicCAS(g.counters + BUMP, at, at + count);
        if (there == at) return at;
        at = there;
    }
    return EMPTY;
}

// Warp `warp` of `warps`: move the edges of v, if it is given buckets, and free its old slabs, a mover per chain. Returns how many slabs
// were freed.
__device__ __forceinline__ uint32_t empty_buckets(const View& g, const Listed& v, uint32_t warp, uint32_t warps) {
    const Mover m;
    const uint32_t heads = bucket_count(v.code);
    uint32_t freed = 0;
    for (uint32_t first = warp * MOVERS; first < v.count; first += warps * MOVERS) {
        const uint32_t chain = first + m.index();
        freed += move_chain(g, m, chain < v.count ? v.head + chain : EMPTY, v.vertex, v.target, heads);
    }
    return freed;
}

// One thread: give v its buckets.
__device__ __forceinline__ void place_buckets(const View& g, const Listed& v) {
    *head_word(g, v.vertex) = stored_head(v.target, bucket_count(v.code));
    g.buckets[v.vertex] = (unsigned short)v.code;
}

// Warp: put v on the list if it has many buckets; returns whether it is there.
__device__ __forceinline__ bool is_listed(List* list, const Listed& v) {
    if (v.count < MANY_BUCKETS) return false;
    uint32_t at = MOST_LISTED;
    if ((threadIdx.x & 31) == 0 && (at = atomicAdd(&list->count, 1u)) < MOST_LISTED) list->entries[at] = v;
    return __shfl_sync(WARP, at, 0) < MOST_LISTED;
}

// Warp: free the storage of vertex u if it has no edges; give it fewer buckets if it has few for those it has, and `quota`, of
// which g.counters[SPENT] was used, allows what that may take. Returns how many slabs were freed.
__device__ __forceinline__ uint32_t trim_vertex(const View& g, uint32_t u, const Buckets& old, double per_bucket,
                                                uint32_t quota, List* list) {
    const uint32_t edges = *degree_word(g, u);
    uint32_t code = 0, target = EMPTY, heads = 1;
    if (edges) {
        code = bucket_code(uint32_t(ceil(edges * double(REHASH_GROWTH) / per_bucket)));
        heads = bucket_count(code);
        if (uint64_t(heads) * SHRINK_AT > old.count) return 0;
        if ((threadIdx.x & 31) == 0) {
            const uint64_t need = heads + edges / SLAB_KEYS;
            const uint64_t spent = atomicAdd(reinterpret_cast<unsigned long long*>(g.counters + SPENT), need);
            if (spent + need <= quota) target = carve(g, heads, quota);
        }
        target = __shfl_sync(WARP, target, 0);
        if (target == EMPTY) return 0;
        for (uint32_t k = threadIdx.x & 31; k < heads; k += 32) g.owner[target + k] = u;
    }
    const Listed v = {u, old.head, old.count, target, code};
    if (is_listed(list, v)) return 0;
    const uint32_t freed = empty_buckets(g, v, 0, 1);
    if ((threadIdx.x & 31) == 0) place_buckets(g, v);
    return freed;
}

// The vertices whose first heads are in [begin, end). A thread per slab finds them, a warp serves them one after the other.
// SPENT is zero before it; trim_chains clears it.
extern "C" __global__ void __launch_bounds__(BLOCK) trim_vertices(View g, double per_bucket, uint32_t quota, List* list,
                                                                  long long begin, long long end) {
    uint32_t freed = 0;
    for (long long base = begin + warp_index() * 32; base < end; base += warp_count() * 32) {
        const long long slab = base + (threadIdx.x & 31);
        const Place place = place_of(g, slab, end);
        bool wants = place.is_head && uint32_t(slab) == place.buckets.head;
        if (wants) {
            const uint32_t edges = *degree_word(g, place.vertex);
            wants = edges == 0 || double(edges) * REHASH_GROWTH * SHRINK_AT <= place.buckets.count * per_bucket;
        }
        uint32_t who = __ballot_sync(WARP, wants);
        for (; who; who &= who - 1) {
            const int from = __ffs(who) - 1;
            const uint32_t u = __shfl_sync(WARP, place.vertex, from);
            const Buckets old = {
                __shfl_sync(WARP, place.buckets.head, from), __shfl_sync(WARP, place.buckets.count, from)};
            freed += trim_vertex(g, u, old, per_bucket, quota, list);
        }
    }
    count_freed(g, freed);
}

// Empty the old buckets of the vertices on the list: all warps share those of each. Threads that append to the same chains do so by
// compare-and-swap.
extern "C" __global__ void __launch_bounds__(BLOCK) trim_listed(View g, const List* list) {
    const uint32_t count = min(list->count, MOST_LISTED), warps = uint32_t(warp_count());
    uint32_t freed = 0;
    for (uint32_t k = 0; k < count; ++k)
        freed += empty_buckets(g, list->entries[k], (uint32_t(warp_index()) + k * (warps / 8 + 1)) % warps, warps);
    if (freed) count_freed(g, freed);
}

// -- chains: a thread each, which no other one touches --------------------------------------------------------------------

// Mask of the key slots of a slab that hold an edge.
__device__ __forceinline__ uint32_t held_slots(const View& g, uint32_t slab) {
    const uint4* const from = reinterpret_cast<const uint4*>(g.pool + (long long)slab * SLAB_WORDS);
    uint32_t held = 0;
#pragma unroll
    for (int q = 0; q < (SLAB_KEYS + 3) / 4; ++q) {
        const uint4 quad = from[q];
        held |= (uint32_t(quad.x < TOMBSTONE) | uint32_t(quad.y < TOMBSTONE) << 1 | uint32_t(quad.z < TOMBSTONE) << 2 |
                 uint32_t(quad.w < TOMBSTONE) << 3)
                << 4 * q;
    }
    return held & ((1u << SLAB_KEYS) - 1u);
}

__device__ __forceinline__ uint32_t* link_of(const View& g, uint32_t slab) {
    return g.pool + (long long)slab * SLAB_WORDS + SLAB_KEYS;
}

// Move the key in slot j of slab `from`, with its weight and mark, to the free slot i of slab `into`.
__device__ __forceinline__ void move_key(const View& g, uint32_t from, int j, uint32_t into, int i) {
    const long long source = (long long)from * SLAB_WORDS + j, target = (long long)into * SLAB_WORDS + i;
    g.pool[target] = g.pool[source];
#if WEIGHT_WORDS
    *weight_at(g, target) = *weight_at(g, source);
#endif
    if (!g.marked) return;
    if (g.fresh[from] >> j & 1u) mark_slot(g, into, i);
    else atomicAnd(g.fresh + into, ~(1u << i));  // of a key that was deleted
}

// Move the keys of the chain of `head` to its first slabs and free the others; returns how many.
__device__ uint32_t close_up(const View& g, uint32_t head) {
    uint32_t live = 0, length = 0;
    for (uint32_t slab = head; slab != EMPTY && length <= MOST_LINKED; slab = *link_of(g, slab), ++length)
        live += __popc(held_slots(g, slab));
    if (length > MOST_LINKED) return 0;
    const uint32_t kept = max(1u, (live + SLAB_KEYS - 1) / SLAB_KEYS);
    if (kept == length) return 0;
    uint32_t last = head, into = head;
    for (uint32_t k = 1; k < kept; ++k) last = *link_of(g, last);
    uint32_t slab = *link_of(g, last), holes = ~held_slots(g, into) & ((1u << SLAB_KEYS) - 1u);
    *link_of(g, last) = EMPTY;
    while (slab != EMPTY) {
        for (uint32_t held = held_slots(g, slab); held; held &= held - 1) {
            while (!holes) {
                into = *link_of(g, into);
                holes = ~held_slots(g, into) & ((1u << SLAB_KEYS) - 1u);
            }
            move_key(g, slab, __ffs(held) - 1, into, __ffs(holes) - 1);
            holes &= holes - 1;
        }
        const uint32_t next = *link_of(g, slab);
        uint4* const words = reinterpret_cast<uint4*>(g.pool + (long long)slab * SLAB_WORDS);
        for (int q = 0; q < SLAB_WORDS / 4; ++q) words[q] = uint4{EMPTY, EMPTY, EMPTY, EMPTY};
        g.owner[slab] = EMPTY;
        if (g.marked) atomicAnd(g.fresh + slab, LISTED_BIT);
        slab = next;
    }
    return length - kept;
}

// The chains whose heads are in [begin, end): a thread per slab, one atomic per warp that frees any. First the vertices on the list, none of
// whose heads are there any more, are given their buckets, and the list is emptied, by block 0.
extern "C" __global__ void __launch_bounds__(BLOCK) trim_chains(View g, List* list, long long begin, long long end) {
    if (blockIdx.x == 0) {
        for (uint32_t k = threadIdx.x; k < min(list->count, MOST_LISTED); k += BLOCK)
            place_buckets(g, list->entries[k]);
        __syncthreads();
        if (threadIdx.x == 0) list->count = g.counters[SPENT] = g.counters[SPENT + 1] = 0;
    }
    uint32_t freed = 0;
    for (long long slab = begin + thread_index(); slab < end; slab += grid_size()) {
        if (!place_of(g, slab, end).is_head || *link_of(g, uint32_t(slab)) == EMPTY) continue;
        freed += close_up(g, uint32_t(slab));
    }
    __syncwarp();
    count_freed(g, warp_sum(freed));
}
