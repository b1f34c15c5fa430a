// Locating a batch, and inserting it, over a located batch (see batch.cuh). The steps are those of loops.py:
//   locate | list_heads, locate_scan;  (inclusive sum -> rank)
//   count_blocks, (inclusive sum -> ends) | reserve on the host, report_insertion | insert, commit_insert
// Everything before the reservation only reads the graph. In an invalid batch no entry counts, and nothing is written. No
// kernel waits for the host.
#include "graph.cuh"

// ---- locate -----------------------------------------------------------------------------------------------------------

// LANES threads per entry: its kind and slot (-1 if it is not stored), by a walk of the chain.
extern "C" __global__ void locate(Graph g, LocatedBatch b) {
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const int lane = threadIdx.x % LANES;
    if (i >= b.size) return;  // the whole tile
    const bool counts = !is_invalid(b) && is_last(b, uint32_t(i));
    long long slot = -1;
    if (counts) {
        const uint32_t u = source(b.keys[i]), v = uint32_t(b.keys[i]);
        uint32_t left = blocks_of(g, g.degree[u]), block = g.head[u], count = g.run[u];
        while (left && slot < 0) {
            uint32_t next = EMPTY;
            if (!count) count = run_of_blocks<LANES>(g, block, left, lane, next);
            else if (count < left) next = g.link[block + count - 1];
            const long long lo = (long long)block << g.shift, hi = lo + ((long long)count << g.shift);
            for (long long base = lo; base < hi && slot < 0; base += 4 * LANES) {  // unused slots match no id
                uint32_t found[4];
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const long long at = base + k * LANES + lane;
                    found[k] = at < hi ? g.dst[at] : EMPTY;
                }
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const uint32_t hits = __ballot_sync(tile_mask<LANES>(), found[k] == v) & tile_mask<LANES>();
                    if (hits) slot = base + k * LANES + (__ffs(hits) - 1) % LANES;
                }
            }
            left -= count;
            block = next;
            count = 0;
        }
    }
    if (lane == 0) {
        b.kind[i] = !counts ? DUPLICATE : slot >= 0 ? PRESENT : ABSENT;
        b.slot[i] = slot;
    }
}

// For batches that are large for the graph. Thread per entry: no entry is stored yet, and `first` (EMPTY elsewhere) says
// where the entries of a vertex begin.
extern "C" __global__ void list_heads(LocatedBatch b, uint32_t* first) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    const bool invalid = is_invalid(b);
    b.kind[i] = !invalid && is_last(b, i) ? ABSENT : DUPLICATE;
    b.slot[i] = -1;
    if (!invalid && is_head(b, i)) first[source(b.keys[i])] = i;
}

// Thread per slot of the pool, in a grid-stride loop, after list_heads: each destination is searched among the entries of
// its vertex, so that the pool is read once, in address order, and no chain is followed. Edges are unique, so one thread at
// most finds an entry.
extern "C" __global__ void locate_scan(Graph g, LocatedBatch b, const uint32_t* first) {
    const long long slots = g.counters[USED] << g.shift, step = (long long)gridDim.x * blockDim.x;
    for (long long slot = (long long)blockIdx.x * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const uint32_t u = g.owner[slot >> g.shift];
        if (u == EMPTY) continue;
        const uint32_t head = first[u], v = g.dst[slot];
        if (head == EMPTY || v >= TOMBSTONE) continue;
        const uint64_t key = (uint64_t(u) << 32) | v;
        if (b.keys[head] > key) continue;
        const uint32_t entry = gallop_up(b.keys, head, uint32_t(b.size), key) - 1;
        if (b.keys[entry] == key) {
            b.kind[entry] = PRESENT;
            b.slot[entry] = slot;
        }
    }
}

// ---- insertion --------------------------------------------------------------------------------------------------------

// Thread per entry: how many blocks the first entry of a vertex takes for all of them (others: 0), and the last block of the
// vertex before.
extern "C" __global__ void count_blocks(Graph g, LocatedBatch b, int* need, uint32_t* tail) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    int blocks = 0;
    if (!is_invalid(b) && is_head(b, i)) {
        int before;
        const uint32_t fresh = changes_of(b, i, before), u = source(b.keys[i]), degree = g.degree[u];
        blocks = blocks_of(g, degree + fresh) - blocks_of(g, degree);
        if (fresh && degree) tail[i] = g.back[g.head[u]];
    }
    need[i] = blocks;
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
#if WEIGHT_BITS
    g.weight[slot] = batch_weight[b.order[i]];
#endif
    touch(g, block);
}

// How many blocks of u follow each other in memory from the first on, once those that it takes are in its chain.
__device__ __forceinline__ uint32_t longer_run(const Graph& g, uint32_t begin, uint32_t end, uint32_t u, bool is_new) {
    const uint32_t run = is_new ? 0 : g.run[u];
    if (run != blocks_of(g, g.degree[u])) return run;
    const uint32_t next = is_new ? taken_block(g, begin) : g.head[u] + run;
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
        g.head[u] = block;
        g.back[block] = taken_block(g, end - 1);
    } else {
        g.back[block] = tail[head];
        g.link[tail[head]] = block;
        touch(g, tail[head]);
    }
    if (t + 1 == end && !is_new) {
        g.back[g.head[u]] = block;
        touch(g, g.head[u]);
    }
    touch(g, block);
}

// Grid-stride loops: over the entries, which are appended and, without weights, reported; and over the slots of the blocks
// that are taken, which are linked, and emptied where no entry goes. No two threads write to the same place, and degrees
// and counters stay as they are until commit_insert; `back` of a first block is written here and read from `tail`.
extern "C" __global__ void insert(Graph g, LocatedBatch b, const int* ends, const uint32_t* tail,
                                  const bits_t* batch_weight, uint8_t* status) {
    const uint32_t m = uint32_t(b.size);
    for (uint32_t i = thread_id(); i < m; i += thread_count()) {
#if !WEIGHT_BITS
        status[b.order[i]] = b.kind[i] == ABSENT ? NEW : UNCHANGED;
#endif
        if (b.kind[i] == ABSENT) append(g, b, ends, tail, i, batch_weight);
#if WEIGHT_BITS
        else if (b.kind[i] == PRESENT && status[b.order[i]] == REPLACED) touch(g, uint32_t(b.slot[i] >> g.shift));
#endif
    }
    const long long slots = (long long)ends[m - 1] << g.shift, step = (long long)gridDim.x * blockDim.x;
    for (long long s = (long long)blockIdx.x * blockDim.x + threadIdx.x; s < slots; s += step) {
        const uint32_t t = uint32_t(s >> g.shift), offset = uint32_t(s & (capacity(g) - 1));
        const uint32_t head = upper_bound(ends, 0u, m, int(t)), u = source(b.keys[head]), degree = g.degree[u];
        int before;
        const uint32_t fresh = changes_of(b, head, before);
        const uint64_t at = (uint64_t(blocks_of(g, degree) + t - blocks_before(ends, head)) << g.shift) + offset;
        if (at >= uint64_t(degree) + fresh) g.dst[((long long)taken_block(g, t) << g.shift) + offset] = EMPTY;
        if (offset == 0) link_block(g, ends, tail, head, u, degree == 0, t);
    }
}

// Thread per entry: new degrees; the first thread counts edges and blocks.
extern "C" __global__ void commit_insert(Graph g, LocatedBatch b, const int* ends) {
    const uint32_t i = thread_id();
    if (i >= b.size || is_invalid(b)) return;
    if (is_head(b, i)) {
        int before;
        const uint32_t fresh = changes_of(b, i, before), u = source(b.keys[i]);
        if (fresh) {
            g.degree[u] += fresh;
            touch_vertex(g, u);
        }
    }
    if (i == 0) {
        const long long taken = ends[b.size - 1], free = g.counters[FREE], reused = min(taken, free);
        g.counters[FREE] = free - reused;
        g.counters[LOWEST] = min(g.counters[LOWEST], free - reused);
        g.counters[USED] += taken - reused;
        g.counters[EDGES] += b.rank[b.size - 1];
    }
}
