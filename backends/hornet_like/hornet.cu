// Kernels of hornet_like. Layout and counters: layout.py. The steps of an update are those of cpu.py:
//   sort, locate_short, locate_long, flag, (inclusive sum -> rank), plan | reserve on the host | for a deletion mark_deleted,
//   pair_holes, (inclusive sum -> pairs), list_holes, fill_holes | grant, move_short, move_long, commit, (append for an insertion)
// Everything before the reservation only reads the graph. A batch is sorted: keys[i] = src << 32 | dst, ascending; order[i]
// is its place in the batch; of equal keys only the last counts. The first item of a source is its head and stands for
// the vertex. ``guard`` may be null; where *guard is not zero the batch is bad (ids may be out of range): no item counts
// and nothing is written but the statuses.
// Macros: WEIGHT_BITS (0, 32, 64; weights are moved and compared as bit patterns) and the constants of layout.py.
// Atomics: tickets and stack heights, counted per block in shared memory first. No kernel waits for the host.
#include "search.cuh"

#if WEIGHT_BITS == 64
typedef uint64_t bits_t;
#else
typedef uint32_t bits_t;
#endif

constexpr int LANES = 8;                // threads that share one adjacency
constexpr long long LONG_DEGREE = 256;  // longer adjacencies are cut into parts for warps
constexpr long long SCAN_PART = 512;    // slots of a part of a long adjacency
constexpr long long LONG_MOVE = 4096;   // longer moves are cut into parts of this size
constexpr uint8_t KEEP = 254;           // the block stays
constexpr uint8_t IDLE = 253;           // not a head, or its adjacency does not change
constexpr long long ABSENT = -1, SHADOWED = -2;

struct Graph {  // the arrays of the store
    long long* begin;
    long long* end;
    uint8_t* klass;
    uint32_t* dst;
    bits_t* weight;
    long long* counters;
    uint32_t* stacks;
    long long* stack_begin;
};

struct Batch {  // per item, in sorted order
    uint64_t* keys;
    uint32_t* order;
    long long* found;     // SHADOWED, ABSENT or index in the adjacency
    int* rank;            // inclusive number of items that change the graph
    uint8_t* target;      // of a head: KEEP, NONE, IDLE or the class it migrates to
    uint32_t* ticket;     // of a migrating head: its number among those of its class
    long long* place;     // of a migrating head: its new block
    uint32_t* guard;
    long long size;
};

__device__ __forceinline__ bool bad(const Batch& b) { return b.guard && *b.guard; }
__device__ __forceinline__ uint32_t source(uint64_t key) { return uint32_t(key >> 32); }
__device__ __forceinline__ bool is_head(const Batch& b, uint32_t i) {
    return i == 0 || source(b.keys[i - 1]) != source(b.keys[i]);
}
__device__ __forceinline__ uint32_t run_begin(const Batch& b, uint32_t i) {
    return gallop_down(b.keys, i, b.keys[i] & 0xFFFFFFFF00000000ull);
}
__device__ __forceinline__ uint32_t run_end(const Batch& b, uint32_t i) {
    return gallop_up(b.keys, i, uint32_t(b.size), b.keys[i] | 0xFFFFFFFFull);
}
__device__ __forceinline__ int rank_before(const Batch& b, uint32_t i) { return i ? b.rank[i - 1] : 0; }

__device__ __forceinline__ uint32_t class_of(long long degree) {  // degree >= 1
    uint32_t bits = degree > 1 ? 64 - __clzll(degree - 1) : 0;
    return max(bits, uint32_t(MIN_CLASS));
}

// ---- locate -----------------------------------------------------------------------------------------------------------

// LANES threads per item: found[i] by a scan of the adjacency where that is short. Heads of long ones put their parts
// (item << 32 | part) on a list; at most counters[EDGES] / LONG_DEGREE parts in all.
extern "C" __global__ void locate_short(Graph g, Batch b, uint64_t* parts, unsigned long long* part_count) {
    long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    if (i >= b.size) return;  // the whole tile
    if (bad(b)) {
        if (lane == 0) b.found[i] = SHADOWED;
        return;
    }
    uint32_t u = source(b.keys[i]), v = uint32_t(b.keys[i]);
    long long lo = g.begin[u], degree = g.end[u] - lo, result = ABSENT;
    if (degree > LONG_DEGREE && is_head(b, i)) {
        uint32_t count = uint32_t((degree + SCAN_PART - 1) / SCAN_PART);
        unsigned long long at = lane == 0 ? atomicAdd(part_count, (unsigned long long)count) : 0;
        at = __shfl_sync(tile_mask<LANES>(), at, 0, LANES);
        for (uint32_t k = lane; k < count; k += LANES) parts[at + k] = (uint64_t(i) << 32) | k;
    }
    if (i + 1 < b.size && b.keys[i + 1] == b.keys[i]) {
        result = SHADOWED;
    } else if (degree <= LONG_DEGREE) {
        for (long long base = 0; base < degree && result == ABSENT; base += LANES) {
            bool hit = base + lane < degree && g.dst[lo + base + lane] == v;
            uint32_t hits = __ballot_sync(tile_mask<LANES>(), hit) & tile_mask<LANES>();
            if (hits) result = base + (__ffs(hits) - 1) % LANES;
        }
    }
    if (lane == 0) b.found[i] = result;
}

// Warp per listed part, in a grid-stride loop: each destination of the part is searched among the items of the vertex,
// so that an adjacency is read once however many items it has. Edges are unique, so one thread at most writes found[j].
extern "C" __global__ void locate_long(Graph g, Batch b, const uint64_t* parts, const unsigned long long* part_count) {
    unsigned long long count = *part_count;
    for (unsigned long long p = thread_id() / 32; p < count; p += thread_count() / 32) {
        uint32_t head = uint32_t(parts[p] >> 32), u = source(b.keys[head]), end = run_end(b, head);
        long long lo = g.begin[u] + (long long)uint32_t(parts[p]) * SCAN_PART;
        long long hi = min(g.end[u], lo + SCAN_PART);
        for (long long slot = lo + threadIdx.x % 32; slot < hi; slot += 32) {
            uint64_t key = (uint64_t(u) << 32) | g.dst[slot];
            uint32_t j = upper_bound(b.keys, head, end, key);
            if (j > head && b.keys[j - 1] == key) b.found[j - 1] = slot - g.begin[u];
        }
    }
}

// Thread per item: flag[i] = 1 where the item changes the graph: it is stored (``stored`` = 1) or not (0).
extern "C" __global__ void flag(Batch b, uint32_t stored, int* flags) {
    uint32_t i = thread_id();
    if (i < b.size) flags[i] = stored ? b.found[i] >= 0 : b.found[i] == ABSENT;
}

// Thread per item of queries: all duplicates of an edge read the result of the last.
extern "C" __global__ void answer(Graph g, Batch b, bool* found, bits_t* result) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    long long at = b.found[gallop_up(b.keys, i, uint32_t(b.size), b.keys[i]) - 1];
    found[b.order[i]] = at >= 0;
#if WEIGHT_BITS
    if (at >= 0) result[b.order[i]] = g.weight[g.begin[source(b.keys[i])] + at];
#endif
}

// ---- plan, grant, migrate ---------------------------------------------------------------------------------------------

// Per-block sums by class, added to global counters once per block. All threads of the block take part.
struct ClassCount {
    unsigned long long sum[CLASSES];
    unsigned long long base[CLASSES];
};

__device__ __forceinline__ void clear(ClassCount& c) {
    if (threadIdx.x < CLASSES) c.sum[threadIdx.x] = 0;
    __syncthreads();
}

// Adds 1 to class k for the threads with k < CLASSES; returns the value of total[k] that is the thread's own.
__device__ __forceinline__ unsigned long long count_class(ClassCount& c, uint32_t k, unsigned long long* total) {
    unsigned long long own = k < CLASSES ? atomicAdd(&c.sum[k], 1ull) : 0;
    __syncthreads();
    if (threadIdx.x < CLASSES && c.sum[threadIdx.x]) c.base[threadIdx.x] = atomicAdd(&total[threadIdx.x], c.sum[threadIdx.x]);
    __syncthreads();
    return k < CLASSES ? c.base[k] + own : 0;
}

// Class after the change: up when it overflows, into the smallest block that holds all.
__device__ __forceinline__ uint8_t grown(long long degree, uint8_t k) {
    return k == NONE || degree > (1ll << k) ? class_of(degree) : KEEP;
}

// Down at a quarter of the block or less, into one that is at most half full (see cpu.py).
__device__ __forceinline__ uint8_t shrunk(long long degree, uint8_t k, bool may_shrink) {
    if (degree == 0) return NONE;
    return may_shrink && k > MIN_CLASS && 4 * degree <= (1ll << k) ? class_of(2 * degree) : KEEP;
}

// Thread per item, heads work: what happens to the vertex; need[k] counts the blocks of class k that migrations take.
// ``sign`` is 1 for an insertion, -1 for a deletion.
extern "C" __global__ void plan(Graph g, Batch b, long long sign, uint32_t may_shrink, unsigned long long* need) {
    __shared__ ClassCount classes;
    clear(classes);
    uint32_t i = thread_id();
    uint8_t target = IDLE;
    if (i < b.size && !bad(b) && is_head(b, i)) {
        uint32_t u = source(b.keys[i]);
        long long changed = b.rank[run_end(b, i) - 1] - rank_before(b, i), degree = g.end[u] - g.begin[u];
        if (changed && sign > 0) target = grown(degree + changed, g.klass[u]);
        if (changed && sign < 0) target = shrunk(degree - changed, g.klass[u], may_shrink);
    }
    unsigned long long ticket = count_class(classes, target, need);
    if (i >= b.size) return;
    b.target[i] = target;
    b.ticket[i] = uint32_t(ticket);
}

// One thread: take needed blocks from the free stacks, carve the rest. need[k] stays; tops[k] and taken[k] receive the old
// height of the stack and what is taken of it, carved[k] the first carved block.
extern "C" __global__ void grant(Graph g, Batch b, long long sign, const long long* need, long long* tops,
                                 long long* taken, long long* carved) {
    if (thread_id()) return;
    for (int k = 0; k < CLASSES; ++k) {
        tops[k] = g.counters[FREE + k];
        taken[k] = min(need[k], tops[k]);
        carved[k] = g.counters[USED];
        g.counters[FREE + k] -= taken[k];
        g.counters[BLOCKS + k] += need[k] - taken[k];
        g.counters[USED] += (need[k] - taken[k]) << k;
    }
    g.counters[EDGES] += sign * b.rank[b.size - 1];
}

// LANES threads per item, migrating heads work: find the new block, copy the adjacency (``sign`` < 0: what is left of it).
// Long moves are put on a list in parts. Reads the free stacks; nothing is pushed before ``commit``.
extern "C" __global__ void move_short(Graph g, Batch b, long long sign, const long long* tops, const long long* taken,
                                      const long long* carved, uint64_t* parts, unsigned long long* part_count) {
    long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    if (i >= b.size || b.target[i] >= CLASSES) return;  // the whole tile
    uint32_t k = b.target[i], u = source(b.keys[i]);
    long long ticket = b.ticket[i], old = g.begin[u], degree = g.end[u] - old;
    if (sign < 0) degree -= b.rank[run_end(b, i) - 1] - rank_before(b, i);
    long long fresh = ticket < taken[k] ? (long long)g.stacks[g.stack_begin[k] + tops[k] - 1 - ticket] << MIN_CLASS
                                        : carved[k] + ((ticket - taken[k]) << k);
    if (lane == 0) b.place[i] = fresh;
    if (degree > LONG_MOVE) {
        uint32_t count = uint32_t((degree + LONG_MOVE - 1) / LONG_MOVE);
        unsigned long long at = lane == 0 ? atomicAdd(part_count, (unsigned long long)count) : 0;
        at = __shfl_sync(tile_mask<LANES>(), at, 0, LANES);
        for (uint32_t part = lane; part < count; part += LANES) parts[at + part] = (uint64_t(i) << 32) | part;
        return;
    }
    for (long long e = lane; e < degree; e += LANES) {
        g.dst[fresh + e] = g.dst[old + e];
#if WEIGHT_BITS
        g.weight[fresh + e] = g.weight[old + e];
#endif
    }
}

// Block per listed part of a long move, in a grid-stride loop.
extern "C" __global__ void move_long(Graph g, Batch b, long long sign, const uint64_t* parts,
                                     const unsigned long long* part_count) {
    unsigned long long count = *part_count;
    for (unsigned long long p = blockIdx.x; p < count; p += gridDim.x) {
        uint32_t head = uint32_t(parts[p] >> 32), u = source(b.keys[head]);
        long long old = g.begin[u], degree = g.end[u] - old, fresh = b.place[head];
        if (sign < 0) degree -= b.rank[run_end(b, head) - 1] - rank_before(b, head);
        long long lo = (long long)uint32_t(parts[p]) * LONG_MOVE, hi = min(degree, lo + LONG_MOVE);
        for (long long e = lo + threadIdx.x; e < hi; e += blockDim.x) {
            g.dst[fresh + e] = g.dst[old + e];
#if WEIGHT_BITS
            g.weight[fresh + e] = g.weight[old + e];
#endif
        }
    }
}

// Pressure to migrate (see layout.py): slots that a vertex would carve, added to the entry of slots per update.
__device__ __forceinline__ void add_pressure(unsigned long long* sums, long long degree, uint8_t k, long long times) {
    if (k == NONE) return;
    long long slots = 2ll << k, cost = (1ll << k) - degree + 1;
    atomicAdd(&sums[63 - __clzll(max(1ll, slots / cost))], (unsigned long long)(times * slots));
    if (k == MIN_CLASS) return;
    slots = 1ll << (k - 1);
    cost = max(1ll, degree - (1ll << (k - 2)));
    atomicAdd(&sums[RATIOS + 63 - __clzll(max(1ll, slots / cost))], (unsigned long long)(times * slots));
}

__device__ __forceinline__ void clear_pressure(unsigned long long* sums) {
    for (int r = threadIdx.x; r < 2 * RATIOS; r += blockDim.x) sums[r] = 0;
    __syncthreads();
}

__device__ __forceinline__ void flush_pressure(unsigned long long* sums, long long* counters) {
    __syncthreads();
    for (int r = threadIdx.x; r < 2 * RATIOS; r += blockDim.x)  // GROW and SHRINK are neighbours
        if (sums[r]) atomicAdd((unsigned long long*)&counters[GROW + r], sums[r]);
}

__device__ __forceinline__ void push_block(const Graph& g, uint32_t k, unsigned long long at, long long block) {
    g.stacks[g.stack_begin[k] + at] = uint32_t(block >> MIN_CLASS);
}

// Thread per item, heads work: point the vertex at its block and new end, free the old block, keep the pressures.
extern "C" __global__ void commit(Graph g, Batch b, long long sign) {
    __shared__ ClassCount classes;
    __shared__ unsigned long long sums[2 * RATIOS];
    clear(classes);
    clear_pressure(sums);
    uint32_t i = thread_id(), freed = CLASSES;
    long long old = 0;
    uint8_t target = i < b.size ? b.target[i] : IDLE;
    if (target != IDLE) {
        uint32_t u = source(b.keys[i]);
        uint8_t k = g.klass[u], now = target == KEEP ? k : target;
        old = g.begin[u];
        long long degree = g.end[u] - old;
        long long after = degree + sign * (b.rank[run_end(b, i) - 1] - rank_before(b, i));
        long long begin = target == KEEP ? old : target == NONE ? 0 : b.place[i];
        add_pressure(sums, degree, k, -1);
        add_pressure(sums, after, now, 1);
        if (target != KEEP && k != NONE) freed = k;
        g.begin[u] = begin;
        g.end[u] = begin + after;
        g.klass[u] = now;
    }
    unsigned long long at = count_class(classes, freed, (unsigned long long*)&g.counters[FREE]);
    if (freed < CLASSES) push_block(g, freed, at, old);
    flush_pressure(sums, g.counters);
}

// ---- insertion --------------------------------------------------------------------------------------------------------

// Thread per item, after commit: write new edges to the end of the adjacency in order, replace weights, report.
extern "C" __global__ void append(Graph g, Batch b, const bits_t* batch_weight, uint8_t* status, bits_t* before) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    uint32_t item = b.order[i];
    uint8_t result = UNCHANGED;
    if (b.found[i] == ABSENT) {
        long long at = g.end[source(b.keys[i])] - (b.rank[run_end(b, i) - 1] - rank_before(b, i));
        g.dst[at] = uint32_t(b.keys[i]);
#if WEIGHT_BITS
        g.weight[at] = batch_weight[item];
#endif
        result = NEW;
    }
#if WEIGHT_BITS
    if (b.found[i] >= 0) {
        long long at = g.begin[source(b.keys[i])] + b.found[i];
        bits_t old = g.weight[at], now = batch_weight[item];
        before[item] = old;
        if (old != now) {
            g.weight[at] = now;
            result = REPLACED;
        }
    }
#endif
    status[item] = result;
}

// ---- deletion ---------------------------------------------------------------------------------------------------------

// Thread per item: mark the slot, report the deletion and the weight before it.
extern "C" __global__ void mark_deleted(Graph g, Batch b, uint8_t* status, bits_t* before) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    bool deleted = b.found[i] >= 0;
    if (deleted) {
        long long at = g.begin[source(b.keys[i])] + b.found[i];
#if WEIGHT_BITS
        before[b.order[i]] = g.weight[at];
#endif
        g.dst[at] = TOMBSTONE;
    }
    status[b.order[i]] = deleted ? REMOVED : UNCHANGED;
}

// A deleted item of a vertex that loses r of d edges stands for two slots: its own, a hole if below d - r, and one of the
// last r, which holds a survivor unless that was deleted, too. A vertex has as many holes as survivors, so the j-th hole
// of the whole batch is paired with the j-th survivor, and no vertex needs a loop.
struct Pair {
    long long hole, survivor;  // slots, -1: none
};

__device__ __forceinline__ Pair pair_of(const Graph& g, const Batch& b, uint32_t i) {
    Pair pair = {-1, -1};
    if (b.found[i] < 0) return pair;
    uint32_t u = source(b.keys[i]);
    int before = rank_before(b, run_begin(b, i)), removed = b.rank[run_end(b, i) - 1] - before;
    long long tail = g.end[u] - removed, own = g.begin[u] + b.found[i], last = tail + rank_before(b, i) - before;
    if (own < tail) pair.hole = own;
    if (g.dst[last] != TOMBSTONE) pair.survivor = last;
    return pair;
}

// Thread per item, after mark_deleted: pairs[i] = hole | survivor << 32 (0 or 1 each), so that one sum ranks both.
extern "C" __global__ void pair_holes(Graph g, Batch b, long long* pairs) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    Pair pair = pair_of(g, b, i);
    pairs[i] = (long long)(pair.hole >= 0) | ((long long)(pair.survivor >= 0) << 32);
}

// Thread per item: list holes and survivors by rank (``sums``: the inclusive sum of pairs).
extern "C" __global__ void list_holes(Graph g, Batch b, const long long* sums, long long* holes, long long* survivors) {
    uint32_t i = thread_id();
    if (i >= b.size) return;
    Pair pair = pair_of(g, b, i);
    if (pair.hole >= 0) holes[uint32_t(sums[i]) - 1] = pair.hole;
    if (pair.survivor >= 0) survivors[uint32_t(sums[i] >> 32) - 1] = pair.survivor;
}

// Thread per item: fill the i-th hole. Holes and survivors are disjoint, so nothing is read that another thread writes.
extern "C" __global__ void fill_holes(Graph g, Batch b, const long long* sums, const long long* holes,
                                      const long long* survivors) {
    uint32_t i = thread_id();
    if (i >= uint32_t(sums[b.size - 1])) return;
    g.dst[holes[i]] = g.dst[survivors[i]];
#if WEIGHT_BITS
    g.weight[holes[i]] = g.weight[survivors[i]];
#endif
}

// ---- vertices ---------------------------------------------------------------------------------------------------------

// Thread per vertex of a list without repeats: free its block.
extern "C" __global__ void free_vertices(Graph g, uint32_t count, const uint32_t* vertices) {
    __shared__ ClassCount classes;
    __shared__ unsigned long long sums[2 * RATIOS], edges;
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
