// Planning buckets and slabs for all vertices, and counting. No kernel synchronises with the host.
#include "tile.cuh"

// total += degrees of n vertices. A thread per vertex, one atomic per warp.
extern "C" __global__ void sum_degrees(const uint32_t* vertex, long long n, unsigned long long* total) {
    unsigned long long sum = 0;
    for (long long v = thread_index(); v < n; v += grid_size()) sum += vertex[2 * v + 1];
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0 && sum) atomicAdd(total, sum);
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
extern "C" __global__ void plan_buckets(const uint32_t* expected, long long n, double per_bucket, uint32_t fits,
                                        int hashing, unsigned short* codes, long long* heads) {
    for (long long v = thread_index(); v < n; v += grid_size()) {
        const bool several = hashing && expected[v] > fits;
        uint32_t count = several ? max(1u, uint32_t(ceil(expected[v] / per_bucket))) : 1u;
        uint32_t code = expected[v] ? bucket_code(count) : 1u;
        codes[v] = (unsigned short)code;
        heads[v] = expected[v] ? bucket_count(code) : 0u;
    }
}

// Words and bucket codes of those of n vertices that get buckets; the others are zeros already. Degrees as in the words
// `old`. A thread per vertex.
extern "C" __global__ void write_tables(const unsigned short* codes, const long long* heads, const long long* ends,
                                        long long n, const uint32_t* old, uint32_t* vertex, unsigned short* buckets) {
    for (long long v = thread_index(); v < n; v += grid_size()) {
        const long long count = heads[v];
        if (!count) continue;
        vertex[2 * v] = stored_head(uint32_t(ends[v] - count), uint32_t(count));
        vertex[2 * v + 1] = old[2 * v + 1];
        buckets[v] = codes[v];
    }
}

// owner[s] = v for the heads of v, which are ends[v] - heads[v] to ends[v]; the counter BUMP is set behind all of them. A
// thread per vertex with up to 32 heads, else the whole warp.
extern "C" __global__ void place_heads(const long long* heads, const long long* ends, long long n, uint32_t* owner,
                                       uint32_t* counters) {
    if (thread_index() == 0) counters[BUMP] = n ? uint32_t(ends[n - 1]) : 0u;
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
extern "C" __global__ void count_batch(View g, long long bump, const uint32_t* src, const uint32_t* dst, long long n,
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
        uint32_t need = warp_sum<uint32_t>((edges + SLAB_KEYS - 1) / SLAB_KEYS);
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
