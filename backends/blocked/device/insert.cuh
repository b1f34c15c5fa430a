// Inserting a located batch: the steps of update.cu, each by all threads of the grid. Degrees and counters stay as they are until
// commit_insertion.
#pragma once
#include "graph.cuh"

// Thread: how many blocks entry i, the first one of a vertex, takes for all of them (others: 0); `tail`: the last block of the vertex before.
__device__ __forceinline__ int count_blocks(const Graph& g, const LocatedBatch& b, uint32_t* tail, uint32_t i) {
    if (is_invalid(b) || !is_head(b, i)) return 0;
    int before;
    const uint32_t fresh = changes_of(b, i, before), u = source(b.keys[i]), degree = g.degree[u];
    if (fresh && degree) tail[i] = g.back[~g.head[u]];
    return blocks_of(g, degree + fresh) - blocks_of(g, degree);
}

// Thread: report entry i, and replace its weight.
__device__ __forceinline__ void report_insertion(const Graph& g, const LocatedBatch& b, const Update& c, uint32_t i) {
    if (report_inserted(b, i, g.weight, c.batch_weight, c.status, c.before)) touch(g, uint32_t(b.slot[i] >> g.shift));
}

// The t-th block that a batch takes: free ones first, then carved ones.
__device__ __forceinline__ uint32_t taken_block(const Graph& g, uint32_t t) {
    const long long free = g.counters[FREE];
    return t < free ? g.free[free - 1 - t] : uint32_t(g.counters[USED] + t - free);
}

__device__ __forceinline__ uint32_t blocks_before(const int* ends, uint32_t i) { return i ? ends[i - 1] : 0; }

// Write the absent entry i behind the edges of its vertex.
__device__ __forceinline__ void append(const Graph& g, const LocatedBatch& b, const int* ends, const uint32_t* tail,
                                       uint32_t i, const bits_t* batch_weight) {
    const uint32_t head = run_begin(b, i), degree = g.degree[source(b.keys[i])];
    const uint32_t at = degree + rank_before(b, i) - rank_before(b, head), old = blocks_of(g, degree);
    const uint32_t number = at >> g.shift;
    const uint32_t block = number < old ? tail[head] : taken_block(g, blocks_before(ends, head) + number - old);
    const long long slot = ((long long)block << g.shift) + (at & (capacity(g) - 1));
    g.dst[slot] = uint32_t(b.keys[i]);
    if (WEIGHT_BITS) g.weight[slot] = batch_weight[b.order[i]];
    touch(g, block);
}

// How many blocks of u follow each other in memory from the first on, once those that it takes are in its chain.
__device__ __forceinline__ uint32_t longer_run(const Graph& g, uint32_t begin, uint32_t end, uint32_t u, bool is_new) {
    const uint32_t run = is_new ? 0 : g.run[u];
    if (run != blocks_of(g, g.degree[u])) return run;
    const uint32_t next = is_new ? taken_block(g, begin) : ~g.head[u] + run;
    const long long free = g.counters[FREE];
    for (uint32_t t = begin; t < end; ++t) {
        if (taken_block(g, t) != next + (t - begin)) return run + t - begin;
        if (t >= free) break;  // carved blocks follow each other
    }
    return run + end - begin;
}

// Put the t-th block that is taken into its chain: the blocks of a vertex in order, behind the one that was its last.
__device__ __forceinline__ void link_block(const Graph& g, const int* ends, const uint32_t* tail, uint32_t head,
                                           uint32_t u, bool is_new, uint32_t t) {
    const uint32_t begin = blocks_before(ends, head), end = ends[head], block = taken_block(g, t);
    g.owner[block] = u;
    g.link[block] = t + 1 == end ? EMPTY : taken_block(g, t + 1);
    if (t == begin) g.run[u] = longer_run(g, begin, end, u, is_new);
    if (t > begin) {
        g.back[block] = taken_block(g, t - 1);
    } else if (is_new) {
        g.head[u] = ~block;
        g.back[block] = taken_block(g, end - 1);
    } else {
        g.back[block] = tail[head];
        g.link[tail[head]] = block;
        touch(g, tail[head]);
    }
    if (t + 1 == end && !is_new) {
        g.back[~g.head[u]] = block;
        touch(g, ~g.head[u]);
    }
    touch(g, block);
}

// Over the entries, which are appended; and over the slots of the blocks that are taken, which are linked, and emptied where no entry goes. No
// two threads write to the same place; `back` of a first block is written here and read from `tail`.
__device__ __forceinline__ void insert_entries(const Graph& g, const LocatedBatch& b, const Update& c) {
    const uint32_t m = uint32_t(b.size);
    for (uint32_t i = thread_id(); i < m; i += thread_count())
        if (b.kind[i] == ABSENT) append(g, b, c.ends, c.tail, i, c.batch_weight);
    const long long slots = (long long)c.ends[m - 1] << g.shift;
    for (long long s = thread_id(); s < slots; s += thread_count()) {
        const uint32_t t = uint32_t(s >> g.shift), offset = uint32_t(s & (capacity(g) - 1));
        const uint32_t head = upper_bound((const int*)c.ends, 0u, m, int(t)), u = source(b.keys[head]),
                       degree = g.degree[u];
        int before;
        const uint32_t fresh = changes_of(b, head, before);
        const uint64_t at = (uint64_t(blocks_of(g, degree) + t - blocks_before(c.ends, head)) << g.shift) + offset;
        if (at >= uint64_t(degree) + fresh) g.dst[((long long)taken_block(g, t) << g.shift) + offset] = EMPTY;
        if (offset == 0) link_block(g, c.ends, c.tail, head, u, degree == 0, t);
    }
}

// Over the entries: new degrees; the first thread counts edges and blocks.
__device__ __forceinline__ void commit_insertion(const Graph& g, const LocatedBatch& b, const Update& c) {
    if (is_invalid(b)) return;
    for (uint32_t i = thread_id(); i < b.size; i += thread_count()) {
        if (!is_head(b, i)) continue;
        int before;
        const uint32_t fresh = changes_of(b, i, before), u = source(b.keys[i]);
        if (!fresh) continue;
        g.degree[u] += fresh;
        touch_vertex(g, u);
    }
    if (thread_id()) return;
    const long long taken = c.ends[b.size - 1], free = g.counters[FREE], reused = min(taken, free);
    g.counters[FREE] = free - reused;
    g.counters[LOWEST] = min(g.counters[LOWEST], free - reused);
    g.counters[USED] += taken - reused;
    g.counters[EDGES] += b.rank[b.size - 1];
}
