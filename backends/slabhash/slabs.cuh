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
constexpr int KEY_LANES = SLAB_KEYS < 4 ? 4 : SLAB_KEYS < 8 ? 8 : SLAB_KEYS < 16 ? 16 : 32;  // a lane per key, one for the link
constexpr int MOVERS = 32 / KEY_LANES;
constexpr uint32_t TILE_BITS = WARP >> (32 - SLAB_LANES);
constexpr int LINK_LANE = SLAB_KEYS / LANE_WORDS, LINK_PART = SLAB_KEYS % LANE_WORDS;  // where the next pointer is loaded
constexpr uint32_t LOCKED = TOMBSTONE;  // a next pointer or head word that somebody is about to set
constexpr uint8_t DEFERRED = 255;       // status of an edge that waits until its vertex has more buckets
constexpr uint8_t FOUND = WEIGHT_WORDS ? 254 : UNCHANGED;  // of one that is there; its weight is looked at in reweigh()
constexpr uint32_t NO_LIMIT = 0xFFFFFFFFu;

// When vertices are re-bucketed: see layout.py. A chain is long with LONG_CHAIN times the keys that its bucket may grow to;
// then its vertex is looked at.
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

template <int LANES> struct Lanes {
    int lane;   // of the group
    int shift;  // first lane of the group in the warp
    __device__ Lanes() : lane(threadIdx.x % LANES), shift((threadIdx.x & 31) - threadIdx.x % LANES) {}
    __device__ int index() const { return shift / LANES; }
};
typedef Lanes<SLAB_LANES> Tile;  // works on a slab with LANE_WORDS words to a lane
typedef Lanes<KEY_LANES> Mover;  // empties a slab, with one word to a lane

__device__ __forceinline__ long long thread_index() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ long long grid_size() { return (long long)gridDim.x * blockDim.x; }
__device__ __forceinline__ long long warp_index() { return thread_index() >> 5; }
__device__ __forceinline__ long long warp_count() { return grid_size() >> 5; }

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

// What atomicAdd() does, for one lane: the compiler would have a warp vote on who does it, and wait for the answer at once.
__device__ __forceinline__ uint32_t add_to_word(uint32_t* p, uint32_t more) {
    uint32_t before;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(more) : "memory");
    return before;
}

// The head word of vertex u, for the batches: the vertices, which are fewer than the slabs and are asked for with every edge,
// are the last to leave the L2 cache.
__device__ __forceinline__ uint32_t load_head(const View& g, uint32_t u) {
#if __CUDA_ARCH__ >= 800
    uint64_t policy;
    uint32_t word;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.relaxed.gpu.global.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(word) : "l"(head_word(g, u)), "l"(policy) : "memory");
    return word;
#else
    return load_word(head_word(g, u));
#endif
}

// Head slab of the bucket of edge (u, v), or EMPTY if u has no storage, for the batches.
__device__ __forceinline__ uint32_t look_up(const View& g, uint32_t u, uint32_t v) {
    return head_in(table_behind(g, u, load_head(g, u)), v);
}

// Two words that lie side by side, in one load.
__device__ __forceinline__ uint64_t load_pair(const uint32_t* p) {
    uint64_t words;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words) : "l"(p) : "memory");
    return words;
}

static_assert(ARRIVED % 2 == 0 && REFUSED == ARRIVED + 1 && ENDED % 2 == 0 && UNDONE == ENDED + 1, "grid_wait() loads both at once");

// A grid-wide barrier in two halves, between which a block may do what depends on no other one. The first: say that the block is
// here. The top bit of the counter `at` flips with each barrier; the rest is zero between barriers, however many blocks there are.
__device__ __forceinline__ uint32_t grid_arrive(const View& g, int at, bool all) {
    uint32_t before = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        if (all) __threadfence();
        before = add_to_word(g.counters + at, blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u);
    }
    return before;
}

// The second half: wait until all blocks are here. Returns in all threads whether the word behind the counter is `word`, as one
// thread of the block sees it then: whatever a block has stored there comes with the news that all are here. With `all` everything
// that blocks have written is visible then, else only what they have done by atomics whose results they have waited for.
__device__ __forceinline__ bool grid_wait(const View& g, int at, bool all, uint32_t before, uint32_t word) {
    bool same = false;
    if (threadIdx.x == 0) {
        uint64_t now = load_pair(g.counters + at);
        while (!((before ^ uint32_t(now)) & 0x80000000u)) now = load_pair(g.counters + at);
        if (all) __threadfence();
        same = uint32_t(now >> 32) == word;
    }
    return __syncthreads_or(same);
}

// Both halves.
__device__ __forceinline__ void grid_barrier(const View& g) { grid_wait(g, ARRIVED, true, grid_arrive(g, ARRIVED, true), 0); }

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
// The same where nobody writes during the kernel. Slabs are the first to leave the L2 cache then.
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

// Warp: add `step` to *place for each lane with `counted`; `peers` are the lanes of the same place. One atomic per distinct place,
// so that hubs do not serialise.
__device__ __forceinline__ void add_per_place(uint32_t* place, uint32_t peers, bool counted, uint32_t step) {
    const uint32_t who = __ballot_sync(WARP, counted) & peers;
    if (counted && (threadIdx.x & 31) == __ffs(who) - 1) atomicAdd(place, step * __popc(who));
}

// Clean slabs that a warp took from the end of the pool in advance, `chunk` at a time, so that its next allocations need
// no atomic: the counter of the pool is one address for the whole grid. Equal in all lanes of the warp but for `kept`, a slab
// that the lane took ahead of its need, or did not need after all, or EMPTY.
struct Spare {
    uint32_t chunk, listed;  // the length of the free list, constant during a kernel
    uint32_t next = 0, left = 0, kept = EMPTY;
    __device__ Spare(const View& g, uint32_t chunk) : chunk(chunk), listed(g.counters[LISTED]) {}
};

// Warp: a clean slab for each lane that wants one: what it has kept, one from the free list, or a new one; at most two atomics.
// The host has made sure that there are enough.
__device__ __forceinline__ uint32_t allocate(const View& g, bool wants, Spare& spare) {
    uint32_t slab = EMPTY;
    const int lane = threadIdx.x & 31;
    const uint32_t below = (1u << lane) - 1u;
    if (wants && spare.kept != EMPTY) {
        slab = spare.kept;
        spare.kept = EMPTY;
        wants = false;
    }
    uint32_t who = __ballot_sync(WARP, wants);
    if (!who) return slab;
    if (spare.listed) {
        int leader = __ffs(who) - 1;
        uint32_t taken = spare.listed;
        if (lane == leader && load_word(g.counters + TAKEN) < spare.listed) taken = add_to_word(g.counters + TAKEN, __popc(who));
        taken = __shfl_sync(WARP, taken, leader) + __popc(who & below);
        if (wants && taken < spare.listed) slab = g.free_list[taken];
        wants = wants && slab == EMPTY;
        who = __ballot_sync(WARP, wants);
        if (!who) return slab;
    }
    const uint32_t rank = __popc(who & below), count = __popc(who);
    const uint32_t there = min(count, spare.left), more = count - there;
    uint32_t bump = spare.next + there;  // after those
    if (more) {
        const uint32_t taken = max(more, spare.chunk);
        if (lane == 0) bump = add_to_word(g.counters + BUMP, taken);
        bump = __shfl_sync(WARP, bump, 0);
        spare.left = there + taken;
    }
    if (wants) slab = rank < there ? spare.next + rank : bump + rank - there;
    spare.next = bump + more;
    spare.left -= count;
    return slab;
}

// Slabs that the warps of a block take from the end of the pool together, by one atomic: its counter takes one in a nanosecond, and
// the grid of a small batch has thousands of warps. In shared memory; `taken` is 0 when the first warp comes.
struct Claims {
    uint32_t taken;  // slabs, and from bit 16 on how many warps have been here
    uint32_t first;
};

// Warp: claim what allocate() would take for lanes with `wants`; the last warp of the block takes all of it. Where there is a free
// list, each warp goes to that.
__device__ __forceinline__ void claim_ahead(const View& g, bool wants, Spare& spare, Claims& claims) {
    if (spare.listed) {
        spare.kept = allocate(g, wants, spare);
        return;
    }
    const uint32_t count = __popc(__ballot_sync(WARP, wants)), takes = count ? max(count, spare.chunk) : 0;
    uint32_t before = 0;
    if (threadIdx.x % 32 == 0) {
        before = atomicAdd(&claims.taken, 1u << 16 | takes);
        const uint32_t all = (before + takes) & 0xFFFFu;
        if (before >> 16 == blockDim.x / 32 - 1 && all) claims.first = add_to_word(g.counters + BUMP, all);
    }
    spare.next = __shfl_sync(WARP, before, 0) & 0xFFFFu;  // behind claims.first
    spare.left = takes;
}

// Warp: behind a barrier of the block, a slab of those for each lane that wants one; the others are spare.
__device__ __forceinline__ void take_claimed(bool wants, Spare& spare, const Claims& claims) {
    const uint32_t who = __ballot_sync(WARP, wants);
    if (spare.listed || !who) return;
    spare.next += claims.first;
    if (wants) spare.kept = spare.next + __popc(who & ((1u << threadIdx.x % 32) - 1u));
    spare.next += __popc(who);
    spare.left -= __popc(who);
}

// Warp: the head word of the lane's vertex u, if `active`, which was `head`. Where that is EMPTY the first lane to come
// gives the vertex a slab. With a slab that was taken in advance, that takes one atomic, which counts the lane's edge in the
// degree as well (`counted`), and a lane that comes too late keeps its slab for later. Else no slab is taken in vain: the head
// is LOCKED while another lane is about to set it.
__device__ __forceinline__ uint32_t ensure_head(const View& g, bool active, uint32_t u, uint32_t head, Spare& spare,
                                                bool& counted) {
    const bool in_advance = spare.chunk > 1 || spare.kept != EMPTY;
    bool wants = active && head == EMPTY;
    if (wants && !in_advance) {
        head = atomicCAS(head_word(g, u), EMPTY, LOCKED);
        wants = head == EMPTY;
    }
    if (!__any_sync(WARP, wants)) return head;
    const uint32_t slab = allocate(g, wants, spare);
    if (!wants) return head;
    if (in_advance) {
        constexpr uint64_t NONE = EMPTY;  // no head, no edges
        head = uint32_t(atomicCAS(reinterpret_cast<uint64_t*>(head_word(g, u)), NONE, uint64_t(1) << 32 | slab));
        counted = head == EMPTY;
        if (!counted) {
            spare.kept = slab;
            return head;
        }
    } else {
        store_word(head_word(g, u), slab);
    }
    g.owner[slab] = u;
    return slab;
}

// Warp: when the warp is through, what it took in advance and did not use counts as freed.
__device__ __forceinline__ void give_back(const View& g, const Spare& spare) {
    const uint32_t unused = spare.left + __popc(__ballot_sync(WARP, spare.kept != EMPTY));
    if ((threadIdx.x & 31) == 0 && unused) atomicAdd(g.counters + FREED, unused);
}

// Remember that key slot `j` of `slab` was inserted into since the mark; the first to do so lists the slab.
__device__ __forceinline__ void mark_slot(const View& g, uint32_t slab, uint32_t j) {
    const uint32_t before = atomicOr(g.fresh + slab, 1u << j | LISTED_BIT);
    if (!(before & LISTED_BIT)) g.touched[atomicAdd(g.counters + TOUCHED, 1u)] = slab;
}

// The first entry of a list that is looked at behind the last barrier says so, by one thread.
__device__ __forceinline__ void note_undone(const View& g) {
    store_word(g.counters + UNDONE, 1u);
    __threadfence();
}

// Queue vertex u for re-bucketing, once; the top bit of its bucket code says that it is queued.
__device__ __forceinline__ void flag_vertex(const View& g, uint32_t u, uint32_t* queue) {
    uint32_t* const pair = reinterpret_cast<uint32_t*>(g.buckets) + (u >> 1);
    const uint32_t bit = 0x8000u << 16 * (u & 1);
    if (atomicOr(pair, bit) & bit) return;
    const uint32_t at = atomicAdd(g.counters + QUEUED, 1u);
    queue[at] = u;
    if (at == 0) note_undone(g);
}

// When place_edges() reports vertices to re-bucket. `queue` null: never; else per vertex, once.
struct Watch {
    uint32_t* queue;
    uint32_t limit;    // slabs of a chain, and lost races for a slot, beyond which an edge is deferred
    float per_bucket;  // keys that a bucket is sized for
};

// Whether a vertex with `edges` edges has outgrown its buckets.
__device__ __forceinline__ bool outgrown(uint32_t edges, uint32_t buckets, float per_bucket) {
    return float(edges) > GROWTH * float(buckets) * per_bucket;
}

// What place_edges() did for the edge of a tile; `mine` in exactly one lane of a tile that was active.
struct Placed {
    bool mine;
    uint8_t status;  // NEW, FOUND or DEFERRED
};

// Tile: insert edge (u, v) with weight w into the bucket whose head is `slab` (EMPTY: u is being given one), if `active`.
//
// The chain is walked to its end. A key that is there is left, with its weight; else it goes to the first free slot
// of the chain, EMPTY or TOMBSTONE, by compare-and-swap, and if that fails the chain is looked at again from there. A
// free slot is only ever filled while this runs and keys never move, so two tiles with one key try the same slot: one
// that went past it found it taken, and then nobody takes it any more. At the end of a full chain one tile locks the next
// pointer, puts a clean slab there, and tries its first slot like everybody who comes along; the one that holds the lock
// never waits. Nothing has to be published in order: the new slab is clean since before the kernel.
// A vertex that has outgrown its buckets is queued when a chain grows long. An edge that would go beyond the limit is
// DEFERRED, and so is one that has lost too many races for a slot: where a batch has a hub, all its edges try the same
// slot, one after the other. With `crowd` the first lost race is enough.
__device__ __forceinline__ Placed place_edges(const View& g, const Tile& t, bool active, uint32_t u, uint32_t v, bits_t w,
                                              uint32_t slab, bool fresh, const Watch& watch, bool crowd,
                                              Spare& spare) {
    Placed placed = {false, FOUND};
    uint32_t depth = 1, races = crowd ? watch.limit : 0;
    uint32_t spot_slab = EMPTY, spot = EMPTY, spot_word = EMPTY;  // first free slot: its slab; in one lane the rest
    while (__any_sync(WARP, active)) {
        const bool has_slab = active && slab != EMPTY;
        uint32_t* const base = g.pool + (long long)slab * SLAB_WORDS;
        Part q = filled_part(EMPTY);
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
        bool wants = false, tries = false;
        if (active && hits) {
            placed.mine = t.lane == __ffs(hits) - 1;
        } else if (active && next < LOCKED) {
            depth += has_slab;
            slab = next;
        } else if (active && spot_slab != EMPTY) {
            tries = true;
        } else if (active && next == EMPTY) {
            wants = t.lane == 0 && atomicCAS(base + SLAB_KEYS, EMPTY, LOCKED) == EMPTY;
        }
        const uint32_t who = __ballot_sync(WARP, wants);
        if (who) {
            const uint32_t extra = allocate(g, wants, spare);
            if (wants) {
                g.owner[extra] = u;
                store_word(base + SLAB_KEYS, extra);
                if (watch.queue && depth + 1 >= FLAG_CHAIN &&
                    float(depth) * SLAB_KEYS > LONG_CHAIN * GROWTH * watch.per_bucket &&
                    outgrown(load_word(degree_word(g, u)), table_of(g, u).buckets, watch.per_bucket))
                    flag_vertex(g, u, watch.queue);
                spot = 0;
            }
            const uint32_t got = __shfl_sync(WARP, extra, t.shift);
            if (who >> t.shift & 1) {
                ++depth;
                spot_slab = got;
                tries = true;
            }
        }
        if (tries) {
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
            spot_slab = spot = spot_word = EMPTY;
            ++races;
        }
        const uint32_t done = tile_ballot(t, placed.mine);  // all lanes vote, active or not
        active = active && !done;
        const bool gives_up = active && max(depth, races) > watch.limit, reports = gives_up && t.lane == 0;
        const uint32_t reporters = __ballot_sync(WARP, reports);
        if (reports) {
            placed.mine = true;
            placed.status = DEFERRED;
            if ((threadIdx.x & 31) == __ffs(__match_any_sync(reporters, u)) - 1) flag_vertex(g, u, watch.queue);
        }
        active = active && !gives_up;
    }
    return placed;
}

// Mask without its `count` lowest bits that are set.
__device__ __forceinline__ uint32_t without_lowest(uint32_t mask, uint32_t count) {
    for (; count && mask; --count) mask &= mask - 1;
    return mask;
}

// Warp: append `key`, which is not there, with weight w to the chain of vertex u from `slab` on, one key per lane with
// `active`. Each lane looks at LANE_WORDS words of the chain at a time; those that look at the same words share out the
// free slots, so that the first ones are taken first, and take them by compare-and-swap.
__device__ __forceinline__ void append_keys(const View& g, bool active, uint32_t u, uint32_t key, bits_t w, uint32_t slab,
                                            bool fresh) {
    const uint32_t below = (1u << (threadIdx.x & 31)) - 1u;
    int part = 0;
    while (__any_sync(WARP, active)) {
        const long long base = (long long)slab * SLAB_WORDS;
        const uint32_t peers = __match_any_sync(WARP, active ? base + part * LANE_WORDS : -1LL);
        Part q = filled_part(EMPTY);
        if (active) q = load_part(g.pool + base, part);
        __syncwarp();  // a lane that saw what its peers are about to take would leave a slot free behind it
        bool wants = false;
        if (active) {
            const uint32_t next = q.word[LINK_PART], free = slot_mask(q, part, false);
            const uint32_t mine = without_lowest(free, __popc(peers & below));
            if (mine) {
                const int c = __ffs(mine) - 1, j = part * LANE_WORDS + c;
                const uint32_t before = word_of(q, c);
                if (atomicCAS(g.pool + base + j, before, key) == before) {
#if WEIGHT_WORDS
                    *weight_at(g, base + j) = w;
#endif
                    if (fresh) mark_slot(g, slab, j);
                    active = false;
                }
            } else if (part < LINK_LANE) {
                ++part;
            } else if (!free && next < LOCKED) {
                slab = next;
                part = 0;
            } else if (!free && next == EMPTY) {
                wants = atomicCAS(g.pool + base + SLAB_KEYS, EMPTY, LOCKED) == EMPTY;
            }
        }
        if (!__any_sync(WARP, wants)) continue;
        Spare none(g, 0);
        const uint32_t extra = allocate(g, wants, none);
        if (wants) {
            g.owner[extra] = u;
            store_word(g.pool + base + SLAB_KEYS, extra);
            slab = extra;
            part = 0;
        }
    }
}

// Mover: copy the edges of `slab` of `old`, if `active`, to the buckets of vertex u from slab `head` on; returns the next
// slab of the chain.
__device__ __forceinline__ uint32_t move_slab(const View& old, const Mover& m, bool active, uint32_t slab, const View& g,
                                              uint32_t u, uint32_t head, uint32_t buckets) {
    const long long slot = (long long)slab * SLAB_WORDS + m.lane;
    uint32_t word = EMPTY;
    if (active && m.lane <= SLAB_KEYS) word = load_word(old.pool + slot);
    const uint32_t next = __shfl_sync(WARP, word, m.shift + SLAB_KEYS);
    const bool moves = m.lane < SLAB_KEYS && word < TOMBSTONE;
    const bool fresh = moves && old.marked && old.fresh[slab] >> m.lane & 1;
    bits_t w = 0;
#if WEIGHT_WORDS
    if (moves) w = *weight_at(old, slot);
#endif
    append_keys(g, moves, u, word, w, head + bucket_of(word, buckets), fresh);
    return next;
}

// Tile or mover: leave a slab clean and free, if `active`, when all lanes have read it. A slab in the list of touched ones
// stays there, without slots.
template <int LANES>
__device__ __forceinline__ void wipe_slab(const View& g, const Lanes<LANES>& t, bool active, uint32_t slab) {
    __syncwarp();
    if (!active) return;
    uint4* const words = reinterpret_cast<uint4*>(g.pool + (long long)slab * SLAB_WORDS);
    for (int q = t.lane; q < SLAB_WORDS / 4; q += LANES) words[q] = uint4{EMPTY, EMPTY, EMPTY, EMPTY};
    if (t.lane != 0) return;
    g.owner[slab] = EMPTY;
    if (g.marked) g.fresh[slab] &= LISTED_BIT;
}

// Warp: count the slabs that its tiles have freed.
__device__ __forceinline__ void count_freed(const View& g, uint32_t freed) {
    if ((threadIdx.x & 31) == 0 && freed) atomicAdd(g.counters + FREED, freed);
}
