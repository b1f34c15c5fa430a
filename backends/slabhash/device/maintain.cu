// Maintenance of all storage: planning buckets, counting, moving, freeing. No kernel synchronises with the host.
#include "move.cuh"

// Warp: sum over the lanes, in every lane.
__device__ __forceinline__ uint32_t warp_sum(uint32_t x) {
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(WARP, x, d);
    return x;
}

// counts[v] += number of edges with source v. A thread per edge; one atomic per distinct source of a warp. Nothing if
// the guard is set.
extern "C" __global__ void count_sources(const uint32_t* src, long long n, const uint32_t* guard, uint32_t* counts) {
    if (guard && *guard) return;
    for (long long base = warp_index() * 32; base < n; base += warp_count() * 32) {
        const long long i = base + (threadIdx.x & 31);
        const uint32_t u = i < n ? src[i] : 0;
        add_per_place(counts + u, __match_any_sync(WARP, u), i < n, 1u);
    }
}

// Bucket counts for expected degrees (uint32[n]): codes uint16[n], heads int64[n] (0 for no edges). A thread per vertex.
extern "C" __global__ void plan_buckets(const uint32_t* expected, long long n, double per_bucket, int hashing,
                                        unsigned short* codes, long long* heads) {
    for (long long v = thread_index(); v < n; v += grid_size()) {
        uint32_t count = hashing ? max(1u, uint32_t(ceil(expected[v] / per_bucket))) : 1u;
        uint32_t code = expected[v] ? bucket_code(count) : 1u;
        codes[v] = (unsigned short)code;
        heads[v] = expected[v] ? bucket_count(code) : 0u;
    }
}

// Words and bucket codes of all `size` vertices, of which n are planned; degrees as in the words `old`. A thread per vertex.
extern "C" __global__ void write_tables(const unsigned short* codes, const long long* heads, const long long* ends,
                                        long long n, long long size, const uint32_t* old, uint32_t* vertex,
                                        unsigned short* buckets) {
    for (long long v = thread_index(); v < size; v += grid_size()) {
        const long long count = v < n ? heads[v] : 0;
        const uint32_t first = count ? uint32_t(ends[v] - count) : EMPTY;
        vertex[2 * v] = count > 1 ? first | SEVERAL : first;
        vertex[2 * v + 1] = old[2 * v + 1];
        buckets[v] = v < n ? codes[v] : 1;
    }
}

// owner[s] = v for the heads of v, which are ends[v] - heads[v] to ends[v]. A thread per vertex with up to 32 heads,
// else the whole warp.
extern "C" __global__ void place_heads(const long long* heads, const long long* ends, long long n, uint32_t* owner) {
    const int lane = threadIdx.x & 31;
    for (long long base = warp_index() * 32; base < n; base += warp_count() * 32) {
        const long long v = base + lane;
        const long long count = v < n ? heads[v] : 0, first = v < n ? ends[v] - count : 0;
        if (count <= 32)
            for (long long k = 0; k < count; ++k) owner[first + k] = uint32_t(v);
        uint32_t large = __ballot_sync(WARP, count > 32);
        for (; large; large &= large - 1) {
            const int who = __ffs(large) - 1;
            const long long many = __shfl_sync(WARP, count, who), start = __shfl_sync(WARP, first, who);
            for (long long k = lane; k < many; k += 32) owner[start + k] = uint32_t(base + who);
        }
    }
}

// Edges of a batch per bucket: counts is zeroed uint32[bump + vertices]; edges of vertices without storage are counted
// per vertex, behind the buckets. A thread per edge, one atomic each. Nothing if the guard is set.
extern "C" __global__ void count_edges(View g, long long bump, const uint32_t* src, const uint32_t* dst, long long n,
                                       const uint32_t* guard, uint32_t* counts) {
    if (guard && *guard) return;
    for (long long i = thread_index(); i < n; i += grid_size()) {
        uint32_t head = head_of(g, src[i], dst[i]);
        atomicAdd(counts + (head == EMPTY ? bump + src[i] : (long long)head), 1u);
    }
}

// total += slabs that the counted edges need at most beyond what their chains have left. A thread per count; with
// `fresh` all heads are known to be empty and the pool is not read. One atomic per warp.
extern "C" __global__ void sum_slabs(View g, long long bump, const uint32_t* counts, long long n, int fresh,
                                     unsigned long long* total) {
    for (long long base = warp_index() * 32; base < n; base += warp_count() * 32) {
        const long long at = base + (threadIdx.x & 31);
        uint32_t edges = at < n ? counts[at] : 0;
        if (edges && at < bump) {
            uint32_t used = 0;
            if (!fresh) {
                long long words = at * SLAB_WORDS;
                for (uint32_t next; (next = g.pool[words + SLAB_KEYS]) != EMPTY;) words = (long long)next * SLAB_WORDS;
                while (used < SLAB_KEYS && g.pool[words + used] != EMPTY) ++used;
            }
            edges -= min(edges, SLAB_KEYS - used);
        }
        uint32_t need = warp_sum((edges + SLAB_KEYS - 1) / SLAB_KEYS);
        if ((threadIdx.x & 31) == 0 && need) atomicAdd(total, (unsigned long long)need);
    }
}

// counts[b] += edges of `old` that belong to bucket b of g, of which only the vertices are read. A thread per word of the
// pool, one atomic per edge.
extern "C" __global__ void count_moves(View old, View g, uint32_t* counts) {
    const long long words = (long long)old.counters[BUMP] * SLAB_WORDS;
    for (long long i = thread_index(); i < words; i += grid_size()) {
        if ((i & (SLAB_WORDS - 1)) >= SLAB_KEYS) continue;
        const uint32_t v = old.pool[i];
        if (v < TOMBSTONE) atomicAdd(counts + head_of(g, old.owner[i / SLAB_WORDS], v), 1u);
    }
}

// Copy all edges of `old` to the buckets of g. A mover (KEY_LANES lanes) per slab, in address order.
extern "C" __global__ void __launch_bounds__(BLOCK) move_edges(View old, View g) {
    const Mover m;
    const long long bump = old.counters[BUMP];
    for (long long base = warp_index() * MOVERS; base < bump; base += warp_count() * MOVERS) {
        const long long slab = base + m.index();
        const uint32_t u = slab < bump ? old.owner[slab] : EMPTY;
        const bool active = u != EMPTY;
        const Buckets buckets = active ? buckets_of(g, u) : Buckets{0, 1};
        move_slab(old, m, active, uint32_t(slab), g, u, buckets.head, buckets.count);
    }
}

// Forget what was inserted since the mark: a thread per touched slab.
extern "C" __global__ void forget_touched(View g) {
    const long long count = g.counters[TOUCHED];
    for (long long i = thread_index(); i < count; i += grid_size()) g.fresh[g.touched[i]] = 0;
}

// Tile: clean and free the chains with heads begin to `end`; the warp together.
__device__ __forceinline__ void release_chains(const View& g, const Tile& t, uint32_t begin, uint32_t end) {
    uint32_t freed = 0, head = begin, slab = begin < end ? begin : EMPTY;
    while (__any_sync(WARP, slab != EMPTY)) {
        const bool active = slab != EMPTY;
        const uint32_t next = active ? load_word(g.pool + (long long)slab * SLAB_WORDS + SLAB_KEYS) : EMPTY;
        wipe_slab(g, t, active, slab);
        freed += __popc(__ballot_sync(WARP, active && t.lane == 0));
        slab = active && next == EMPTY && ++head < end ? head : next;
    }
    count_freed(g, freed);
}

// Number of sections of SECTION_BUCKETS buckets of distinct vertices (uint32[n]). A thread per vertex.
extern "C" __global__ void count_sections(View g, const uint32_t* vertices, long long n, long long* counts) {
    for (long long i = thread_index(); i < n; i += grid_size())
        counts[i] = (stored_buckets(buckets_of(g, vertices[i])) + SECTION_BUCKETS - 1) / SECTION_BUCKETS;
}

// Free the chains of distinct vertices; `ends` are the running sums of their sections. A tile per section, found by
// binary search: a heavy vertex is split between many tiles.
extern "C" __global__ void __launch_bounds__(BLOCK) free_sections(View g, const uint32_t* vertices,
                                                                  const long long* ends, long long n) {
    const Tile t;
    const long long total = ends[n - 1];
    for (long long base = warp_index() * TILES; base < total; base += warp_count() * TILES) {
        const long long section = base + t.index();
        uint32_t begin = 0, end = 0;
        if (section < total) {
            long long low = 0, high = n - 1;  // the first vertex whose sections end behind this one
            while (low < high) {
                const long long middle = (low + high) >> 1;
                if (ends[middle] > section) high = middle;
                else low = middle + 1;
            }
            const Buckets buckets = buckets_of(g, vertices[low]);
            const uint32_t from = uint32_t(section - (low ? ends[low - 1] : 0)) * SECTION_BUCKETS;
            begin = buckets.head + from;
            end = buckets.head + min(buckets.count, from + SECTION_BUCKETS);
        }
        release_chains(g, t, begin, end);
    }
}

// Leave distinct vertices without storage, after free_sections. A thread per vertex.
extern "C" __global__ void forget_vertices(View g, const uint32_t* vertices, long long n) {
    for (long long i = thread_index(); i < n; i += grid_size()) {
        const uint32_t v = vertices[i];
        *head_word(g, v) = EMPTY;
        *degree_word(g, v) = 0;
        g.buckets[v] = 1;
    }
}

// Write the free slabs below the bump counter to `list`, in any order; cursor is a zeroed uint32[1]. A thread per slab,
// one atomic per warp.
extern "C" __global__ void list_free(View g, uint32_t* list, uint32_t* cursor) {
    const long long bump = g.counters[BUMP];
    const int lane = threadIdx.x & 31;
    for (long long base = warp_index() * 32; base < bump; base += warp_count() * 32) {
        const bool free = base + lane < bump && g.owner[base + lane] == EMPTY;
        const uint32_t who = __ballot_sync(WARP, free);
        uint32_t at = 0;
        if (lane == 0 && who) at = atomicAdd(cursor, __popc(who));
        at = __shfl_sync(WARP, at, 0) + __popc(who & ((1u << lane) - 1u));
        if (free) list[at] = uint32_t(base + lane);
    }
}
