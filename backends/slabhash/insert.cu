// Batched insertion: check, copy, insert, and re-bucket, in one cooperative launch. With RAW 1 the batch is as the caller
// gave it (see ingest.cuh), and the copies that its check makes are what is inserted; with RAW 0 it has been checked.
#include "settle.cuh"
#if RAW
#include "ingest.cuh"
#endif

static_assert(sizeof(Insertion) == BATCH_BYTES, "cuda.py packs it");

struct Arguments {
    View g;
#if RAW
    Raw raw;
#endif
    Insertion batch;
};

__device__ __forceinline__ long long thread_index() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ long long grid_size() { return (long long)gridDim.x * blockDim.x; }

// Grid: set words[0, n) to `word`.
__device__ __forceinline__ void fill(uint32_t* words, long long n, uint32_t word) {
    for (long long i = thread_index(); i < n; i += grid_size()) words[i] = word;
}

#if WEIGHT_WORDS
// Grid: find the last duplicate of each edge of the batch: table[place[i]] becomes the last index with the edge of index
// i. One thread per edge; open addressing. Atomics: CAS to take a place, max on the index.
__device__ __forceinline__ void claim_last(const Insertion& b) {
    for (long long i = thread_index(); i < b.n; i += grid_size()) {
        uint32_t u = b.src[i], v = b.dst[i], h = u * 0x9E3779B1u ^ v * 0x85EBCA77u;
        h = (h ^ h >> 15) * 0x2C1B3C6Du;
        uint32_t at = (h ^ h >> 13) & b.mask;
        for (;; at = (at + 1) & b.mask) {
            uint32_t other = load_word(b.table + at);
            if (other == EMPTY) other = atomicCAS(b.table + at, EMPTY, uint32_t(i));
            if (other == EMPTY) break;
            if (b.src[other] == u && b.dst[other] == v) {  // a place never changes its edge, only the index
                atomicMax(b.table + at, uint32_t(i));
                break;
            }
        }
        b.place[i] = at;
    }
}
#endif

// An edge of the batch, in the lane that looks up the head slab of its bucket.
struct Edge {
    uint32_t u, v, head;
    bool active;
};

__device__ __forceinline__ Edge fetch(const View& g, const Insertion& b, long long base) {
    const int lane = threadIdx.x & 31;
    const long long i = base + lane;
    Edge e = {0, 0, EMPTY, lane < b.share && i < b.n};
#if WEIGHT_WORDS
    if (e.active) e.active = b.table[b.place[i]] == uint32_t(i);
#endif
    if (e.active) {
        e.u = b.src[i];
        e.v = b.dst[i];
        e.head = load_word(head_word(g, e.u));
    }
    return e;
}

// Grid: insert the batch, in grid stride; see place_edges() for atomics and duplicates. On a weighted store only the last
// duplicate acts. The next edges are asked for while these are placed. A warp takes new slabs from the pool `chunk` at a
// time.
__device__ __forceinline__ void insert_edges(const View& g, const Insertion& b) {
    const Tile t;
    const int lane = threadIdx.x & 31, rounds = b.share / TILES;
    Spare spare = {b.chunk};
    const Watch watch = {b.queue, b.limit, LONG_CHAIN * GROWTH * float(b.per_bucket)};
    const long long step = warp_count() * b.share;
    long long base = warp_index() * b.share;
    Edge ahead = fetch(g, b, base);
    for (; base < b.n; base += step) {
        const Edge e = ahead;
        uint32_t first = e.head & ~SEVERAL;
        if (e.head >= LOCKED) first = EMPTY;
        else if (e.head & SEVERAL) first += bucket_of(e.v, bucket_count(g.buckets[e.u]));
        prefetch_slab(g, first);
        ahead = fetch(g, b, base + step);
        uint8_t status = UNCHANGED;
#pragma unroll 1
        for (int r = 0; r < rounds; ++r) {
            const int from = edge_lane(t, r);
            const bool active = __shfl_sync(WARP, e.active, from);
            const uint32_t u = __shfl_sync(WARP, e.u, from), v = __shfl_sync(WARP, e.v, from);
            const uint32_t slab = __shfl_sync(WARP, first, from);
            bits_t w = 0;
#if WEIGHT_WORDS
            if (active) w = b.weight[base + from];
#endif
            const Placed placed = place_edges(g, t, active, u, v, w, slab, g.marked, watch, spare);
            if (voted(r, placed.mine && placed.status == NEW)) status = NEW;
            if (voted(r, placed.mine && placed.status == DEFERRED)) status = DEFERRED;
#if WEIGHT_WORDS
            if (voted(r, placed.mine && placed.status == REPLACED)) status = REPLACED;
            if (placed.mine) b.before[base + from] = placed.before;
#endif
        }
        if (lane < b.share && base + lane < b.n) b.status[base + lane] = status;
        add_per_vertex(degree_word(g, e.u), e.u, status == NEW, 1u);
        if (b.pending) {
            add_per_vertex(b.pending + e.u, e.u, status == DEFERRED, 1u);
            if (status == DEFERRED) store_word(g.counters + PENDING, 1u);
        }
    }
    give_back(g, spare);
}

// Block 0: send the counters to the host, each in one store with the number of this batch.
__device__ __forceinline__ void send_counters(const View& g, const Insertion& b) {
    if (blockIdx.x == 0 && threadIdx.x < 16)
        b.mirror[threadIdx.x] = uint64_t(b.number) << 32 | load_word(g.counters + threadIdx.x);
}

// Grid: prepare scratch memory and counters, check and copy a raw batch, find duplicates; ends with a barrier.
__device__ __forceinline__ void prepare(const Arguments& a) {
    const View& g = a.g;
    const Insertion& b = a.batch;
    if (thread_index() == 0) {
        g.counters[QUEUED] = g.counters[PENDING] = g.counters[WORK] = 0;
        g.counters[SPENT] = g.counters[SPENT + 1] = g.counters[HEADS] = 0;
#if RAW
        begin_call(a.raw);
#endif
    }
    if (b.pending) fill(b.pending, b.num_vertices, 0);
#if RAW
    for (long long i = thread_index(); i < a.raw.n; i += grid_size()) take_edge(a.raw, i);
#endif
#if WEIGHT_WORDS
    fill(b.table, (long long)b.mask + 1, EMPTY);
    grid_barrier(g.counters + ARRIVED);
    claim_last(b);
#endif
    grid_barrier(g.counters + ARRIVED);
}

// Two to eight grid-wide barriers. Changes nothing if the guard is set.
extern "C" __global__ void __launch_bounds__(256, BLOCKS_PER_SM) insert(const __grid_constant__ Arguments a) {
    const View& g = a.g;
    const Insertion& b = a.batch;
    prepare(a);
    if (b.guard && load_word(b.guard)) {
        for (long long i = thread_index(); i < b.n; i += grid_size()) b.status[i] = UNCHANGED;
    } else {
        insert_edges(g, b);
        grid_barrier(g.counters + ARRIVED);
        if (b.queue && load_word(g.counters + QUEUED)) settle(g, b);
    }
    send_counters(g, b);
}
