// Primitives of the slabhash kernels. A tile of SLAB_LANES lanes works on one slab; the tiles of a warp advance in step:
// every function that takes a Tile, or says "warp", must be called by all 32 lanes together, with idle tiles told so by
// an argument. So every sync primitive has the full mask, whatever the tiles are doing.
//
// A warp takes `share` edges of a batch at a time, a multiple of TILES up to 32. Each lane looks up the head slab of one
// edge, so that all are under way at once; then, in share / TILES rounds, the tiles serve the edges: in round r the k-th
// tile that of lane r * TILES + k. Small batches have a share of TILES, so that they spread over the device, and so have
// slabs of two lanes or less, which have tiles enough.
#pragma once
#include "slab_layout.cuh"

constexpr uint32_t WARP = 0xFFFFFFFFu;
constexpr int TILES = 32 / SLAB_LANES;  // tiles of a warp
constexpr uint32_t TILE_BITS = WARP >> (32 - SLAB_LANES);
constexpr int LINK_LANE = SLAB_KEYS / LANE_WORDS, LINK_PART = SLAB_KEYS % LANE_WORDS;  // where the next pointer is loaded
constexpr uint32_t LOCKED = TOMBSTONE;  // a next pointer or head word that somebody is about to set
constexpr uint8_t DEFERRED = 255;       // status of an edge that waits until its vertex has more buckets
constexpr uint32_t NO_LIMIT = 0xFFFFFFFFu;

// When vertices are re-bucketed: see layout.py. A chain is long with LONG_CHAIN times the keys that its bucket may grow to.
constexpr uint32_t FLAG_CHAIN = 3;
constexpr float GROWTH = 1.7f, LONG_CHAIN = 1.5f;
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

// Lane of the warp whose edge the tile serves in round r; and, the other way round, where a lane finds what the tile that
// serves its edge in round lane / TILES has to say: in the first lane of tile lane % TILES.
__device__ __forceinline__ int edge_lane(const Tile& t, int r) { return r * TILES + t.index(); }
__device__ __forceinline__ int serving_lane() { return (threadIdx.x & 31) % TILES * SLAB_LANES; }

// Warp: whether the lane's edge was served in round r, and the tile voted for it.
__device__ __forceinline__ bool voted(int r, bool p) {
    const uint32_t votes = __ballot_sync(WARP, p);
    return (threadIdx.x & 31) / TILES == r && votes >> serving_lane() & TILE_BITS;
}

// Ask for a slab ahead of time, where a tile serves several edges one after the other.
__device__ __forceinline__ void prefetch_slab(const View& g, uint32_t slab) {
    if (SLAB_LANES > 2 && slab != EMPTY)
        asm volatile("prefetch.global.L2 [%0];" : : "l"(g.pool + (long long)slab * SLAB_WORDS));
}

// Loads and stores that see, and are seen by, the atomics of other blocks in the same kernel (they go to L2).
__device__ __forceinline__ uint32_t load_word(const uint32_t* p) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    return word;
}
__device__ __forceinline__ void store_word(uint32_t* p, uint32_t word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(word) : "memory");
}

// Wait until all blocks are here. The top bit of `arrived` flips with each barrier; the rest is zero between barriers,
// however many blocks a launch has.
__device__ __forceinline__ void grid_barrier(uint32_t* arrived) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t step = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
        __threadfence();
        const uint32_t before = atomicAdd(arrived, step);
        while (!((before ^ load_word(arrived)) & 0x80000000u)) {}
        __threadfence();
    }
    __syncthreads();
}

// What one lane holds of a slab.
struct Part {
    uint32_t word[LANE_WORDS];
};

__device__ __forceinline__ Part filled_part(uint32_t word) {
    Part q;
#pragma unroll
    for (int c = 0; c < LANE_WORDS; ++c) q.word[c] = word;
    return q;
}
// The part of `lane`; other blocks may be writing.
__device__ __forceinline__ Part load_part(const uint32_t* slab, int lane) {
    Part q;
#if LANE_WORDS == 4
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3]) : "l"(slab + lane * 4) : "memory");
#else
    q.word[0] = load_word(slab + lane);
#endif
    return q;
}
// The same where nobody writes during the kernel. Slabs are the first to leave the L2 cache then, so that the vertices,
// which are fewer and asked for with every edge, stay.
__device__ __forceinline__ Part read_part(const uint32_t* slab, int lane) {
    Part q;
#if LANE_WORDS == 4 && __CUDA_ARCH__ >= 800
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3]) : "l"(slab + lane * 4), "l"(policy));
#elif LANE_WORDS == 4
    const uint4 words = __ldg(reinterpret_cast<const uint4*>(slab + lane * 4));
    q.word[0] = words.x, q.word[1] = words.y, q.word[2] = words.z, q.word[3] = words.w;
#else
    q.word[0] = __ldg(slab + lane);
#endif
    return q;
}

// Word c of a part, c not known at compile time.
__device__ __forceinline__ uint32_t word_of(const Part& q, int c) {
    uint32_t word = q.word[0];
#pragma unroll
    for (int k = 1; k < LANE_WORDS; ++k)
        if (k == c) word = q.word[k];
    return word;
}

// Mask of the key slots of a part that hold v.
__device__ __forceinline__ uint32_t match_mask(const Part& q, int lane, uint32_t v) {
    uint32_t mask = 0;
#pragma unroll
    for (int c = 0; c < LANE_WORDS; ++c) mask |= uint32_t(q.word[c] == v && is_key(lane, c)) << c;
    return mask;
}

// Mask of the key slots of a part that are free (`edges` false) or hold an edge (true).
__device__ __forceinline__ uint32_t slot_mask(const Part& q, int lane, bool edges) {
    uint32_t mask = 0;
#pragma unroll
    for (int c = 0; c < LANE_WORDS; ++c) mask |= uint32_t((q.word[c] < TOMBSTONE) == edges && is_key(lane, c)) << c;
    return mask;
}

__device__ __forceinline__ bits_t* weight_at(const View& g, long long slot) {
    return reinterpret_cast<bits_t*>(g.pool + weight_word(slot));
}

// Warp: add `step` to *place for each lane with `counted`, the same place for equal u; one atomic per distinct u, so that
// hubs do not serialise.
__device__ __forceinline__ void add_per_vertex(uint32_t* place, uint32_t u, bool counted, uint32_t step) {
    uint32_t who = __ballot_sync(WARP, counted);
    if (!counted) return;
    uint32_t peers = __match_any_sync(who, u);
    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(place, step * __popc(peers));
}

// Clean slabs that a warp took from the end of the pool in advance, `chunk` at a time, so that its next allocations need
// no atomic: the counter of the pool is one address for the whole grid. Equal in all lanes of the warp.
struct Spare {
    uint32_t chunk;
    uint32_t next = 0, left = 0;
};

// Warp: a clean slab for each lane that wants one (`who` is their mask), from the free list, else new; at most two
// atomics. The host has made sure that there are enough.
__device__ __forceinline__ uint32_t allocate(const View& g, bool wants, uint32_t who, Spare& spare) {
    uint32_t slab = EMPTY;
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

// Warp: when the warp is through, what it took in advance and did not use counts as freed.
__device__ __forceinline__ void give_back(const View& g, const Spare& spare) {
    if ((threadIdx.x & 31) == 0 && spare.left) atomicAdd(g.counters + FREED, spare.left);
}

// Remember that key slot `j` of `slab` was inserted into since the mark; the first to do so lists the slab.
__device__ __forceinline__ void mark_slot(const View& g, uint32_t slab, uint32_t j) {
    const uint32_t before = atomicOr(g.fresh + slab, 1u << j | LISTED_BIT);
    if (!(before & LISTED_BIT)) g.touched[atomicAdd(g.counters + TOUCHED, 1u)] = slab;
}

// Queue vertex u for re-bucketing, once; the top bit of its bucket code says that it is queued.
__device__ __forceinline__ void flag_vertex(const View& g, uint32_t u, uint32_t* queue) {
    uint32_t* const pair = reinterpret_cast<uint32_t*>(g.buckets) + (u >> 1);
    const uint32_t bit = 0x8000u << 16 * (u & 1);
    if (!(atomicOr(pair, bit) & bit)) queue[atomicAdd(g.counters + QUEUED, 1u)] = u;
}

// When place_edges() reports vertices to re-bucket. `queue` null: never.
struct Watch {
    uint32_t* queue;
    uint32_t limit;    // slabs of a chain beyond which an edge is deferred
    float long_chain;  // keys of a chain beyond which its vertex is queued; settle() then looks at the degree
};

// What place_edges() did for the edge of a tile; `mine` in exactly one lane of a tile that was active.
struct Placed {
    bool mine;
    uint8_t status;  // UNCHANGED, NEW, REPLACED or DEFERRED
    bits_t before;   // the weight before, where REPLACED
};

// Tile: insert edge (u, v) with weight w into the bucket whose head is `slab` (EMPTY: u has no storage yet), if `active`.
//
// The chain is walked to its end. A key that is there is left (its weight replaced); else it goes to the first free slot
// of the chain, EMPTY or TOMBSTONE, by compare-and-swap, and if that fails the chain is looked at again from there. A
// free slot is only ever filled while this runs and keys never move, so two tiles with one key try the same slot: one
// that went past it found it taken, and then nobody takes it any more. At the end of a full chain one tile locks the next
// pointer, puts a clean slab there, and goes on like the others; the one that holds the lock never waits. Nothing has to
// be published in order: the new slab is clean since before the kernel.
// A chain that grows too long has its vertex queued; an edge that would go beyond the limit is DEFERRED.
__device__ __forceinline__ Placed place_edges(const View& g, const Tile& t, bool active, uint32_t u, uint32_t v, bits_t w,
                                              uint32_t slab, bool fresh, const Watch& watch, Spare& spare) {
    Placed placed = {false, UNCHANGED, 0};
    uint32_t depth = 1;
    uint32_t spot_slab = EMPTY, spot = EMPTY, spot_word = EMPTY;  // first free slot: its slab; in one lane the rest
    while (__any_sync(WARP, active)) {
        const bool has_slab = active && slab != EMPTY;
        uint32_t* const base = g.pool + (long long)slab * SLAB_WORDS;
        Part q = filled_part(0);
        if (has_slab) q = load_part(base, t.lane);
        uint32_t next = __shfl_sync(WARP, q.word[LINK_PART], t.shift + LINK_LANE);
        if (active && !has_slab) next = load_word(head_word(g, u));
        const uint32_t hit = match_mask(q, t.lane, v), free = slot_mask(q, t.lane, false);
        const uint32_t hits = tile_ballot(t, has_slab && hit), frees = tile_ballot(t, has_slab && free);
        if (frees && spot_slab == EMPTY) {
            spot_slab = slab;
            if (t.lane == __ffs(frees) - 1) {
                const int c = __ffs(free) - 1;
                spot = t.lane * LANE_WORDS + c;
                spot_word = word_of(q, c);
            }
        }
        bool wants = false;
        if (active && hits) {
            if (t.lane == __ffs(hits) - 1) {
                placed.mine = true;
#if WEIGHT_WORDS
                bits_t* at = weight_at(g, base - g.pool + t.lane * LANE_WORDS + __ffs(hit) - 1);
                placed.before = *at;
                if (placed.before != w) {
                    *at = w;
                    placed.status = REPLACED;
                }
#endif
            }
        } else if (active && next < LOCKED) {
            depth += has_slab;
            slab = next;
            if (depth > watch.limit && t.lane == 0) {
                placed.mine = true;
                placed.status = DEFERRED;
                flag_vertex(g, u, watch.queue);
            }
        } else if (active && spot_slab != EMPTY) {
            if (spot != EMPTY) {
                const long long slot = (long long)spot_slab * SLAB_WORDS + spot;
                const uint32_t there = atomicCAS(g.pool + slot, spot_word, v);
                placed.mine = there == spot_word || there == v;
                if (there == spot_word) {
                    placed.status = NEW;
#if WEIGHT_WORDS
                    *weight_at(g, slot) = w;
#endif
                    if (fresh) mark_slot(g, spot_slab, spot);
                }
            }
            slab = spot_slab;
            spot_slab = spot = EMPTY;
        } else if (active && next == EMPTY) {
            wants = t.lane == 0 && atomicCAS(has_slab ? base + SLAB_KEYS : head_word(g, u), EMPTY, LOCKED) == EMPTY;
        }
        const uint32_t who = __ballot_sync(WARP, wants);
        if (who) {
            const uint32_t extra = allocate(g, wants, who, spare);
            if (wants) {
                g.owner[extra] = u;
                store_word(has_slab ? base + SLAB_KEYS : head_word(g, u), extra);
                if (has_slab && watch.queue && depth + 1 >= FLAG_CHAIN && float(depth) * SLAB_KEYS > watch.long_chain)
                    flag_vertex(g, u, watch.queue);
            }
            const uint32_t got = __shfl_sync(WARP, extra, t.shift);
            if (who >> t.shift & 1) {
                depth += has_slab;
                slab = got;
            }
        }
        const uint32_t done = tile_ballot(t, placed.mine);  // all lanes vote, active or not
        active = active && !done;
    }
    return placed;
}

// Tile: copy the edges of `slab` of `old`, if `active`, to the buckets of vertex u from slab `head` on.
__device__ __forceinline__ void move_slab(const View& old, const Tile& t, bool active, uint32_t slab, const View& g,
                                          uint32_t u, uint32_t head, uint32_t buckets) {
    const long long base = (long long)slab * SLAB_WORDS;
    Part q = filled_part(EMPTY);
    if (active) q = load_part(old.pool + base, t.lane);
    const uint32_t fresh = active && old.marked ? old.fresh[slab] : 0u;
    Spare none = {1};
#pragma unroll 1
    for (uint32_t j = 0; j < SLAB_KEYS; ++j) {
        const uint32_t key = __shfl_sync(WARP, word_of(q, j % LANE_WORDS), t.shift + j / LANE_WORDS);
        const bool moves = active && key < TOMBSTONE;
        bits_t w = 0;
#if WEIGHT_WORDS
        if (moves) w = *weight_at(old, base + j);
#endif
        const uint32_t target = head + bucket_of(key, buckets);
        place_edges(g, t, moves, u, key, w, target, fresh >> j & 1, Watch{nullptr, NO_LIMIT, 0.0f}, none);
    }
}

// Tile: clean and free the chains with heads begin, begin + step, ... below `end`; the warp together. A slab in the list
// of touched ones stays there, without slots.
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
                if (g.marked) g.fresh[slab] &= LISTED_BIT;
            }
            slab = next;
            if (next == EMPTY && end - head > step) slab = head += step;
        }
    }
    if ((threadIdx.x & 31) == 0 && freed) atomicAdd(g.counters + FREED, freed);
}
