// Batched insertion. Arrays: src, dst uint32[n], weight and before bits_t[n], status uint8[n].
#include "slabs.cuh"

// Find the last duplicate of each edge of the batch: table[place[i]] becomes the last index with the edge of index i.
// One thread per edge. `table` (uint32[mask + 1], a power of two, at least 2 n) is all EMPTY before; open addressing.
// Atomics: CAS to take a place, max on the index. Does nothing if the guard is set.
extern "C" __global__ void claim_last(const uint32_t* src, const uint32_t* dst, long long n, const uint32_t* guard,
                                      uint32_t* table, uint32_t mask, uint32_t* place) {
    if (guard && *guard) return;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uint32_t u = src[i], v = dst[i], h = u * 0x9E3779B1u ^ v * 0x85EBCA77u;
        h = (h ^ h >> 15) * 0x2C1B3C6Du;
        uint32_t at = (h ^ h >> 13) & mask;
        for (;; at = (at + 1) & mask) {
            uint32_t other = load_word(table + at);
            if (other == EMPTY) other = atomicCAS(table + at, EMPTY, uint32_t(i));
            if (other == EMPTY) break;
            if (src[other] == u && dst[other] == v) {  // a place never changes its edge, only the index
                atomicMax(table + at, uint32_t(i));
                break;
            }
        }
        place[i] = at;
    }
}

// Insert the batch: a tile per edge, in grid stride; see place_edges() for atomics and duplicates. On a weighted store
// only the last duplicate (table, place) acts. Vertices with long chains go to `queue` (null: buckets are fixed); with
// `pending` (zeroed, per vertex), edges beyond `limit` slabs are deferred and counted there. A warp takes new slabs from
// the pool `chunk` at a time. Does not synchronise.
extern "C" __global__ void __launch_bounds__(256)
insert(View g, const uint32_t* src, const uint32_t* dst, const bits_t* weight, long long n, const uint32_t* guard,
       const uint32_t* table, const uint32_t* place, uint32_t* queue, uint32_t* pending, uint32_t limit,
       float per_bucket, uint32_t chunk, uint8_t* status, bits_t* before) {
    const Tile t;
    Spare spare = {chunk};
    const bool barred = guard && *guard;
    const Watch watch = {queue, limit, per_bucket};
    for (long long base = warp_index() * TILES; base < n; base += warp_count() * TILES) {
        const long long i = base + t.index();
        const bool there = i < n;
        bool active = there && !barred;
        uint32_t u = 0, v = 0, head = EMPTY, buckets = 1;
        bits_t w = 0;
#if WEIGHT_WORDS
        if (active) active = table[place[i]] == uint32_t(i);
        if (active) w = weight[i];
#endif
        if (active) {
            u = src[i];
            v = dst[i];
            head = load_word(g.first_slab + u);
            buckets = bucket_count(g.buckets[u]);
            if (head == LOCKED) head = EMPTY;
        }
        Placed placed = place_edges(g, t, active, u, v, w, head, buckets, g.epoch != 0, watch, spare);
        if (placed.mine) {
            status[i] = placed.status;
#if WEIGHT_WORDS
            before[i] = placed.before;
#endif
        } else if (there && !active && t.lane == 0) {
            status[i] = UNCHANGED;
        }
        add_per_vertex(g.degree, u, placed.mine && placed.status == NEW, 1u);
        if (pending) {
            bool deferred = placed.mine && placed.status == DEFERRED;
            add_per_vertex(pending, u, deferred, 1u);
            if (deferred) store_word(g.counters + PENDING, 1u);
        }
    }
    give_back(g, spare);
}
