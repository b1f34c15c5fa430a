// Primitives of the slabhash kernels. A tile of SLAB_LANES lanes works on one slab; the tiles of a warp advance in step:
// every function that takes a Tile, or says "warp", must be called by all 32 lanes together, with idle tiles told so by
// an argument. So every sync primitive has the full mask, whatever the tiles are doing.
#pragma once
#include "slab_layout.cuh"

constexpr uint32_t WARP = 0xFFFFFFFFu;
constexpr int TILES = 32 / SLAB_LANES;  // tiles of a warp
constexpr uint32_t TILE_BITS = (1u << SLAB_LANES) - 1u;
constexpr int LINK_LANE = SLAB_KEYS / 4, LINK_PART = SLAB_KEYS % 4;  // where the next pointer is loaded
constexpr uint32_t LOCKED = TOMBSTONE;  // a next pointer that somebody is about to set
constexpr uint8_t DEFERRED = 255;       // status of an edge that waits until its vertex has more buckets
constexpr uint32_t NO_LIMIT = 0xFFFFFFFFu;

// Places in the counters; see layout.py.
enum { BUMP, LISTED, TAKEN, FREED, WANTED, TOUCHED, QUEUED, PENDING, WORK, ARRIVED, LEFT, SPENT = 12, HEADS = 14 };

constexpr uint32_t FLAG_CHAIN = 3;  // when vertices are re-bucketed: see layout.py
constexpr float LONG_CHAIN = 8.0f, GROWTH = 1.7f;
constexpr double GROWTH_ROOM = 1.5;

#if WEIGHT_WORDS == 2
typedef uint64_t bits_t;  // a weight, bit for bit
#elif WEIGHT_WORDS == 1
typedef uint32_t bits_t;
#else
typedef uint8_t bits_t;  // never read or written
#endif

struct Tile {
    int lane;   // of the tile
    int shift;  // first lane of the tile in the warp
    __device__ Tile() : lane(threadIdx.x % SLAB_LANES), shift((threadIdx.x & 31) - threadIdx.x % SLAB_LANES) {}
    __device__ int index() const { return shift / SLAB_LANES; }
};

__device__ __forceinline__ long long warp_index() { return ((long long)blockIdx.x * blockDim.x + threadIdx.x) >> 5; }
__device__ __forceinline__ long long warp_count() { return ((long long)gridDim.x * blockDim.x) >> 5; }

__device__ __forceinline__ uint32_t tile_ballot(const Tile& t, bool p) {
    return (__ballot_sync(WARP, p) >> t.shift) & TILE_BITS;
}

// Loads and stores that see, and are seen by, the atomics of other blocks in the same kernel (they go to L2).
__device__ __forceinline__ uint4 load_quad(const uint32_t* p) {
    uint4 q;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "l"(p) : "memory");
    return q;
}
__device__ __forceinline__ uint32_t load_word(const uint32_t* p) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    return word;
}
__device__ __forceinline__ void store_word(uint32_t* p, uint32_t word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(word) : "memory");
}

__device__ __forceinline__ uint32_t part_of(uint4 q, int c) {
    return c == 0 ? q.x : c == 1 ? q.y : c == 2 ? q.z : q.w;
}

// Mask of the parts of a lane's quad that are key slots and hold v.
__device__ __forceinline__ uint32_t match_mask(uint4 q, int lane, uint32_t v) {
    return uint32_t(q.x == v && is_key(lane, 0)) | uint32_t(q.y == v && is_key(lane, 1)) << 1 |
           uint32_t(q.z == v && is_key(lane, 2)) << 2 | uint32_t(q.w == v && is_key(lane, 3)) << 3;
}

__device__ __forceinline__ bits_t* weight_at(const View& g, long long slot) {
    return reinterpret_cast<bits_t*>(g.pool + weight_word(slot));
}

// Head slab of the bucket of edge (u, v), or EMPTY if u has no storage; outside of insertions.
__device__ __forceinline__ uint32_t head_of(const View& g, uint32_t u, uint32_t v) {
    uint32_t head = g.first_slab[u], count = bucket_count(g.buckets[u]);
    return head == EMPTY ? EMPTY : head + bucket_of(v, count);
}

// Warp: add `step` to counts[u] for each lane with `counted`; one atomic per distinct u, so that hubs do not serialise.
__device__ __forceinline__ void add_per_vertex(uint32_t* counts, uint32_t u, bool counted, uint32_t step) {
    uint32_t who = __ballot_sync(WARP, counted);
    if (!counted) return;
    uint32_t peers = __match_any_sync(who, u);
    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(counts + u, step * __popc(peers));
}

// Clean slabs that a warp took from the end of the pool in advance, `chunk` at a time, so that its next allocations need
// no atomic: the counter of the pool is one address for the whole grid. Equal in all lanes of the warp.
struct Spare {
    uint32_t chunk;
    uint32_t next = 0, left = 0;
};

// Warp: a clean slab for each lane that wants one, from the free list, else new; at most two atomics. The host has made
// sure that there are enough.
__device__ __forceinline__ uint32_t allocate(const View& g, bool wants, Spare& spare) {
    uint32_t who = __ballot_sync(WARP, wants), slab = EMPTY;
    if (!who) return slab;
    const int lane = threadIdx.x & 31;
    const uint32_t below = (1u << lane) - 1u, listed = g.counters[LISTED];  // constant during a kernel
    if (listed) {
        int leader = __ffs(who) - 1;
        uint32_t taken = listed;
        if (lane == leader && load_word(g.counters + TAKEN) < listed) taken = atomicAdd(g.counters + TAKEN, __popc(who));
        taken = __shfl_sync(WARP, taken, leader) + __popc(who & below);
        if (wants && taken < listed) slab = g.free_list[taken];
        wants = wants && slab == EMPTY;
        who = __ballot_sync(WARP, wants);
        if (!who) return slab;
    }
    const uint32_t rank = __popc(who & below), count = __popc(who);
    const uint32_t kept = min(count, spare.left), more = count - kept;
    uint32_t bump = spare.next + kept;  // after the kept ones
    if (more) {
        const uint32_t taken = max(more, spare.chunk);
        if (lane == 0) bump = atomicAdd(g.counters + BUMP, taken);
        bump = __shfl_sync(WARP, bump, 0);
        spare.left = kept + taken;
    }
    if (wants) slab = rank < kept ? spare.next + rank : bump + rank - kept;
    spare.next = bump + more;
    spare.left -= count;
    return slab;
}

// Warp: at the end of a kernel, what was taken in advance and not used counts as freed.
__device__ __forceinline__ void give_back(const View& g, const Spare& spare) {
    if ((threadIdx.x & 31) == 0 && spare.left) atomicAdd(g.counters + FREED, spare.left);
}

// Remember that key slot `j` of `slab` was inserted into since the mark; the first to do so lists the slab.
__device__ __forceinline__ void stamp_slot(const View& g, uint32_t slab, uint32_t j) {
    uint32_t epoch = uint32_t(g.epoch);
    uint32_t before = atomicMax(g.stamp + slab, epoch << 5 | (31u - j));
    if (before >> 5 != epoch) g.touched[atomicAdd(g.counters + TOUCHED, 1u)] = slab;
}

// First key slot of `slab` inserted into since the mark; SLAB_KEYS if there is none.
__device__ __forceinline__ uint32_t fresh_from(const View& g, uint32_t slab) {
    uint32_t stamp = g.stamp[slab];
    return stamp >> 5 == uint32_t(g.epoch) ? min(31u - (stamp & 31u), uint32_t(SLAB_KEYS)) : SLAB_KEYS;
}

// Queue vertex u for re-bucketing, once; the top bit of its bucket code says that it is queued.
__device__ __forceinline__ void flag_vertex(const View& g, uint32_t u, uint32_t* queue) {
    uint32_t* pair = reinterpret_cast<uint32_t*>(g.buckets) + (u >> 1);
    uint32_t bit = 0x8000u << (16 * (u & 1));
    if (!(atomicOr(pair, bit) & bit)) queue[atomicAdd(g.counters + QUEUED, 1u)] = u;
}

// When place_edges() reports vertices to re-bucket. `queue` null: never.
struct Watch {
    uint32_t* queue;
    uint32_t limit;    // slabs of a chain beyond which an edge is deferred
    float per_bucket;  // edges that a bucket is sized for
};

__device__ __forceinline__ bool should_rebucket(const View& g, const Watch& watch, uint32_t u, uint32_t buckets,
                                                uint32_t depth) {
    if (!watch.queue || depth < FLAG_CHAIN) return false;
    if (float(depth) * SLAB_KEYS >= LONG_CHAIN * fmaxf(watch.per_bucket, SLAB_KEYS)) return true;
    return float(load_word(g.degree + u)) > GROWTH * float(buckets) * watch.per_bucket;
}

// What place_edges() did for the edge of a tile; `mine` in exactly one lane of a tile that was active.
struct Placed {
    bool mine;
    uint8_t status;  // UNCHANGED, NEW, REPLACED or DEFERRED
    bits_t before;   // the weight before, where REPLACED
};

// Tile: insert edge (u, v) with weight w into the buckets from `head` on (EMPTY: u has no storage yet), if `active`.
//
// The chain is walked to its end. A key that is there is left (its weight replaced); else it goes to the first EMPTY
// slot by compare-and-swap, and if that fails the slab is looked at again: slots fill in order and keys never move, so
// two tiles with one key meet at the same slot. At the end of a full chain one tile locks the next pointer, fills slot
// 0 of a new slab and publishes it; the others look again until it is there. The one that holds the lock never waits.
// Publishing: the fence orders the slab's content before the pointer; readers get both from L2.
// A chain that grows too long has its vertex queued; an edge that would go beyond the limit is DEFERRED.
__device__ __forceinline__ Placed place_edges(const View& g, const Tile& t, bool active, uint32_t u, uint32_t v, bits_t w,
                                              uint32_t head, uint32_t buckets, bool fresh, const Watch& watch,
                                              Spare& spare) {
    Placed placed = {false, UNCHANGED, 0};
    uint32_t slab = head == EMPTY ? EMPTY : head + bucket_of(v, buckets), depth = 1;
    while (__any_sync(WARP, active)) {
        const bool has_slab = active && slab != EMPTY;
        const long long base = (long long)slab * SLAB_WORDS;
        uint4 q = {TOMBSTONE, TOMBSTONE, TOMBSTONE, TOMBSTONE};
        if (has_slab) q = load_quad(g.pool + base + t.lane * 4);
        uint32_t next = __shfl_sync(WARP, part_of(q, LINK_PART), t.shift + LINK_LANE);
        if (active && !has_slab) next = load_word(g.first_slab + u);
        const uint32_t hit = match_mask(q, t.lane, v), empty = match_mask(q, t.lane, EMPTY);
        const uint32_t hits = tile_ballot(t, has_slab && hit), empties = tile_ballot(t, has_slab && empty);
        bool wants = false;
        if (active && hits) {
            if (t.lane == __ffs(hits) - 1) {
                placed.mine = true;
#if WEIGHT_WORDS
                bits_t* at = weight_at(g, base + t.lane * 4 + __ffs(hit) - 1);
                placed.before = *at;
                if (placed.before != w) {
                    *at = w;
                    placed.status = REPLACED;
                }
#endif
            }
        } else if (active && empties) {
            if (t.lane == __ffs(empties) - 1) {
                long long slot = base + t.lane * 4 + __ffs(empty) - 1;
                uint32_t there = atomicCAS(g.pool + slot, EMPTY, v);
                placed.mine = there == EMPTY || there == v;
                if (there == EMPTY) {
                    placed.status = NEW;
#if WEIGHT_WORDS
                    *weight_at(g, slot) = w;
#endif
                    if (fresh) stamp_slot(g, slab, uint32_t(slot - base));
                }
            }
        } else if (active && next == EMPTY) {
            uint32_t* link = has_slab ? g.pool + base + SLAB_KEYS : g.first_slab + u;
            wants = t.lane == 0 && atomicCAS(link, EMPTY, LOCKED) == EMPTY;
        } else if (active && next != LOCKED) {
            depth += has_slab;
            slab = has_slab ? next : next + bucket_of(v, buckets);
            if (depth > watch.limit && t.lane == 0) {
                placed.mine = true;
                placed.status = DEFERRED;
                flag_vertex(g, u, watch.queue);
            }
        }
        const uint32_t extra = allocate(g, wants, spare);
        if (wants) {
            g.owner[extra] = u;
            g.pool[(long long)extra * SLAB_WORDS] = v;
#if WEIGHT_WORDS
            *weight_at(g, (long long)extra * SLAB_WORDS) = w;
#endif
            __threadfence();
            store_word(has_slab ? g.pool + base + SLAB_KEYS : g.first_slab + u, extra);
            placed.mine = true;
            placed.status = NEW;
            if (fresh) stamp_slot(g, extra, 0);
            if (has_slab && should_rebucket(g, watch, u, buckets, depth + 1)) flag_vertex(g, u, watch.queue);
        }
        const uint32_t done = tile_ballot(t, placed.mine);  // all lanes vote, active or not
        active = active && !done;
    }
    return placed;
}

// Tile: insert the keys [begin, end) of `slab` of `old`, if `active`, into the buckets from `head` on of g.
__device__ __forceinline__ void move_slab(const View& old, const Tile& t, bool active, uint32_t slab, uint32_t begin,
                                          uint32_t end, const View& g, uint32_t u, uint32_t head, uint32_t buckets,
                                          bool fresh) {
    const long long base = (long long)slab * SLAB_WORDS;
    uint4 q = {EMPTY, EMPTY, EMPTY, EMPTY};
    if (active) q = load_quad(old.pool + base + t.lane * 4);
    Spare none = {1};
#pragma unroll 1
    for (uint32_t j = 0; j < SLAB_KEYS; ++j) {
        uint32_t key = __shfl_sync(WARP, part_of(q, j & 3), t.shift + (j >> 2));
        bool moves = active && j >= begin && j < end && key < TOMBSTONE;
        bits_t w = 0;
#if WEIGHT_WORDS
        if (moves) w = *weight_at(old, base + j);
#endif
        place_edges(g, t, moves, u, key, w, head, buckets, fresh, Watch{nullptr, NO_LIMIT, 0.0f}, none);
    }
}

// Tile: clean and free the chains with heads begin, begin + step, ... below `end`; the warp together. The stamp of a slab
// that is in the list of touched ones stays, without slots.
__device__ __forceinline__ void release_chains(const View& g, const Tile& t, uint32_t begin, uint32_t end, uint32_t step) {
    uint32_t freed = 0, head = begin, slab = begin < end ? begin : EMPTY;
    while (__any_sync(WARP, slab != EMPTY)) {
        const bool active = slab != EMPTY;
        const long long base = (long long)slab * SLAB_WORDS;
        const uint32_t next = active ? load_word(g.pool + base + SLAB_KEYS) : EMPTY;
        freed += __popc(__ballot_sync(WARP, active && t.lane == 0));
        __syncwarp();  // all lanes have the pointer before it is wiped
        if (active) {
            for (int q = t.lane; q < SLAB_WORDS / 4; q += SLAB_LANES)
                *reinterpret_cast<uint4*>(g.pool + base + q * 4) = uint4{EMPTY, EMPTY, EMPTY, EMPTY};
            if (t.lane == 0) {
                g.owner[slab] = EMPTY;
                if (g.epoch && g.stamp[slab] >> 5 == uint32_t(g.epoch)) g.stamp[slab] = uint32_t(g.epoch) << 5;
            }
            slab = next;
            if (next == EMPTY && end - head > step) slab = head += step;
        }
    }
    if ((threadIdx.x & 31) == 0 && freed) atomicAdd(g.counters + FREED, freed);
}
