// Kernels of hornet_like, over a located batch (see batch.cuh). The structs Graph and Migrations and all constants come from
// layout.py. The steps of an update are those of loops.py:
//   locate_short, locate_long, flag, (inclusive sum -> rank), plan | reserve on the host, report |
//   for a deletion mark_deleted, pair_holes, (inclusive sum -> pairs), list_holes, fill_holes |
//   hand_out, move_short, move_long, commit, (append for an insertion)
// Everything before the reservation only reads the graph. In an invalid batch no entry counts, and nothing is written.
// Atomics: tickets and stack heights, counted per block in shared memory first, and one per long adjacency on the number of its parts. No kernel
// waits for the host or for other blocks; those that count have barriers of the block.
#include "batch.cuh"
#include "migrate.cuh"

// ---- locate -----------------------------------------------------------------------------------------------------------

// LANES threads per entry: its kind and slot (-1 if it is not stored), by a scan of the adjacency if that is short. Heads of
// long ones list their parts (entry << 32 | part).
extern "C" __global__ void locate_short(Graph g, LocatedBatch b, uint64_t* parts, unsigned long long* part_count) {
    long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    if (i >= b.size) return;  // the whole tile
    if (is_invalid(b)) {
        if (lane == 0) {
            b.kind[i] = DUPLICATE;
            b.slot[i] = -1;
        }
        return;
    }
    uint32_t u = source(b.keys[i]), v = uint32_t(b.keys[i]);
    long long lo = g.begin[u], degree = g.end[u] - lo, slot = -1;
    if (degree > LONG_DEGREE && is_head(b, i)) {
        uint32_t count = uint32_t((degree + SCAN_PART - 1) / SCAN_PART);
        unsigned long long at = lane == 0 ? atomicAdd(part_count, (unsigned long long)count) : 0;
        at = __shfl_sync(tile_mask<LANES>(), at, 0, LANES);
        for (uint32_t k = lane; k < count; k += LANES) parts[at + k] = (uint64_t(i) << 32) | k;
    }
    const bool counts = is_last(b, i);
    if (counts && degree <= LONG_DEGREE) {
        for (long long base = 0; base < degree && slot < 0; base += LANES) {
            bool hit = base + lane < degree && g.dst[lo + base + lane] == v;
            uint32_t hits = __ballot_sync(tile_mask<LANES>(), hit) & tile_mask<LANES>();
            if (hits) slot = lo + base + (__ffs(hits) - 1) % LANES;
        }
    }
    if (lane == 0) {
        b.kind[i] = !counts ? DUPLICATE : slot >= 0 ? PRESENT : ABSENT;
        b.slot[i] = slot;
    }
}

// Warp per listed part, in a grid-stride loop: each destination of the part is searched among the entries of the vertex,
// so that an adjacency is read once however many entries it has. Edges are unique, so one thread at most finds an entry.
extern "C" __global__ void locate_long(Graph g, LocatedBatch b, const uint64_t* parts,
                                       const unsigned long long* part_count) {
    unsigned long long count = *part_count;
    for (unsigned long long p = thread_id() / 32; p < count; p += thread_count() / 32) {
        uint32_t head = uint32_t(parts[p] >> 32), u = source(b.keys[head]), end = run_end(b, head);
        long long lo = g.begin[u] + (long long)uint32_t(parts[p]) * SCAN_PART;
        long long hi = min(g.end[u], lo + SCAN_PART);
        for (long long slot = lo + threadIdx.x % 32; slot < hi; slot += 32) {
            uint64_t key = (uint64_t(u) << 32) | g.dst[slot];
            uint32_t j = upper_bound(b.keys, head, end, key);
            if (j > head && b.keys[j - 1] == key) {
                b.kind[j - 1] = PRESENT;
                b.slot[j - 1] = slot;
            }
        }
    }
}

// ---- insertion --------------------------------------------------------------------------------------------------------

// Thread per entry, after commit: write new edges to the end of the adjacency, in order. Reports, if there are no weights:
// with weights report_insertion has done that, while the old ones were in their slots.
extern "C" __global__ void append(Graph g, LocatedBatch b, const bits_t* batch_weight, uint8_t* status) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    if (!WEIGHT_BITS) status[b.order[i]] = b.kind[i] == ABSENT ? NEW : UNCHANGED;
    if (b.kind[i] != ABSENT) return;
    long long at = g.end[source(b.keys[i])] - (b.rank[run_end(b, i) - 1] - rank_before(b, i));
    g.dst[at] = uint32_t(b.keys[i]);
    if (WEIGHT_BITS) g.weight[at] = batch_weight[b.order[i]];
}

// ---- deletion ---------------------------------------------------------------------------------------------------------

// Thread per entry: mark the slot, report the deletion and the weight before it.
extern "C" __global__ void mark_deleted(Graph g, LocatedBatch b, uint8_t* status, bits_t* before) {
    uint32_t i = thread_id();
    if (i < b.size && report_deleted(b, i, g.weight, status, before)) g.dst[b.slot[i]] = TOMBSTONE;
}

// A deleted entry of a vertex that loses r of d edges stands for two slots: its own, a hole if below d - r, and one of the
// last r, which holds a survivor unless that was deleted, too. A vertex has as many holes as survivors, so the j-th hole
// of the whole batch is paired with the j-th survivor, and no vertex needs a loop.
struct Pair {
    long long hole, survivor;  // slots, -1: none
};

__device__ __forceinline__ Pair pair_of(const Graph& g, const LocatedBatch& b, uint32_t i) {
    Pair pair = {-1, -1};
    if (b.kind[i] != PRESENT) return pair;
    uint32_t u = source(b.keys[i]);
    int before = rank_before(b, run_begin(b, i)), removed = b.rank[run_end(b, i) - 1] - before;
    long long tail = g.end[u] - removed, own = b.slot[i], last = tail + rank_before(b, i) - before;
    if (own < tail) pair.hole = own;
    if (g.dst[last] != TOMBSTONE) pair.survivor = last;
    return pair;
}

// Thread per entry, after mark_deleted: pairs[i] = hole | survivor << 32 (0 or 1 each), so that one sum ranks both.
extern "C" __global__ void pair_holes(Graph g, LocatedBatch b, long long* pairs) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    Pair pair = pair_of(g, b, i);
    pairs[i] = (long long)(pair.hole >= 0) | ((long long)(pair.survivor >= 0) << 32);
}

// Thread per entry: list holes and survivors by rank (``sums``: the inclusive sum of pairs).
extern "C" __global__ void list_holes(Graph g, LocatedBatch b, const long long* sums, long long* holes,
                                      long long* survivors) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    Pair pair = pair_of(g, b, i);
    if (pair.hole >= 0) holes[uint32_t(sums[i]) - 1] = pair.hole;
    if (pair.survivor >= 0) survivors[uint32_t(sums[i] >> 32) - 1] = pair.survivor;
}

// Thread per entry: fill the i-th hole. Holes and survivors are disjoint, so nothing is read that another thread writes.
extern "C" __global__ void fill_holes(Graph g, LocatedBatch b, const long long* sums, const long long* holes,
                                      const long long* survivors) {
    uint32_t i = thread_id();
    if (i >= uint32_t(sums[b.size - 1])) return;
    g.dst[holes[i]] = g.dst[survivors[i]];
    if (WEIGHT_BITS) g.weight[holes[i]] = g.weight[survivors[i]];
}

// ---- vertices ---------------------------------------------------------------------------------------------------------

// Thread per vertex of a list without repeats: free its block.
extern "C" __global__ void free_vertices(Graph g, uint32_t count, const uint32_t* vertices) {
    __shared__ ClassCount classes;
    __shared__ Pressure sums;
    __shared__ unsigned long long edges;
    if (threadIdx.x == 0) edges = 0;
    clear(classes);
    clear_pressure(sums);
    uint32_t i = thread_id(), freed = CLASSES;
    long long old = 0;
    if (i < count && g.klass[vertices[i]] != NONE) {
        uint32_t u = vertices[i];
        old = g.begin[u];
        freed = g.klass[u];
        add_pressure(sums, g.end[u] - old, freed, -1);
        atomicAdd(&edges, (unsigned long long)(g.end[u] - old));
        g.begin[u] = g.end[u] = 0;
        g.klass[u] = NONE;
    }
    unsigned long long at = count_class(classes, freed, (unsigned long long*)&g.counters[FREE]);
    if (freed < CLASSES) push_block(g, freed, at, old);
    flush_pressure(sums, g.counters);
    if (threadIdx.x == 0 && edges) atomicAdd((unsigned long long*)&g.counters[EDGES], 0ull - edges);
}
