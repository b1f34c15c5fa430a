// One slab: what each lane of a tile loads of it, which of its slots match, and leaving it clean.
#pragma once
#include "tile.cuh"
#if UNVALIDATED
#include "ingest.cuh"
#endif

// The argument of the kernel of a batch operation, of which `Batch` is the struct; `given` is the batch as its caller gave it.
template <class Batch>
struct Arguments {
    View g;
    Batch batch;
#if UNVALIDATED
    Unvalidated given;
#endif
};

constexpr int LINK_LANE = SLAB_KEYS / LANE_WORDS,
              LINK_WORD = SLAB_KEYS % LANE_WORDS;  // where the next pointer is loaded
constexpr uint32_t LOCKED = TOMBSTONE;  // a next pointer or head word that some lane is about to set

// What one lane holds of a slab.
struct LaneWords {
    uint32_t word[LANE_WORDS];
};

__device__ __forceinline__ LaneWords filled_words(uint32_t word) {
    LaneWords q;
#pragma unroll
    for (int c = 0; c < LANE_WORDS; ++c) q.word[c] = word;
    return q;
}

// The words of `lane`; other blocks may be writing.
__device__ __forceinline__ LaneWords load_words(const uint32_t* slab, int lane) {
    LaneWords q;
#if LANE_WORDS == 4
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3])
                 : "l"(slab + lane * 4)
                 : "memory");
#else
    q.word[0] = load_word(slab + lane);
#endif
    return q;
}

// The same where no thread writes during the kernel. Slabs are the first to leave the L2 cache then.
__device__ __forceinline__ LaneWords read_words(const uint32_t* slab, int lane) {
    LaneWords q;
#if LANE_WORDS == 4 && __CUDA_ARCH__ >= 800
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3])
        : "l"(slab + lane * 4), "l"(policy));
#elif LANE_WORDS == 4
    const uint4 words = __ldg(reinterpret_cast<const uint4*>(slab + lane * 4));
    q.word[0] = words.x, q.word[1] = words.y, q.word[2] = words.z, q.word[3] = words.w;
#else
    q.word[0] = __ldg(slab + lane);
#endif
    return q;
}

// Word c of a lane, c not known at compile time.
__device__ __forceinline__ uint32_t word_of(const LaneWords& q, int c) {
    uint32_t word = q.word[0];
#pragma unroll
    for (int k = 1; k < LANE_WORDS; ++k)
        if (k == c) word = q.word[k];
    return word;
}

// Mask of the key slots of a lane that hold v.
__device__ __forceinline__ uint32_t match_mask(const LaneWords& q, int lane, uint32_t v) {
    uint32_t mask = 0;
#pragma unroll
    for (int c = 0; c < LANE_WORDS; ++c) mask |= uint32_t(q.word[c] == v && is_key(lane, c)) << c;
    return mask;
}

// Mask of the key slots of a lane that are free (`edges` false) or hold an edge (true).
__device__ __forceinline__ uint32_t slot_mask(const LaneWords& q, int lane, bool edges) {
    uint32_t mask = 0;
#pragma unroll
    for (int c = 0; c < LANE_WORDS; ++c) mask |= uint32_t((q.word[c] < TOMBSTONE) == edges && is_key(lane, c)) << c;
    return mask;
}

// The bits of the weight of the edge in `slot`.
__device__ __forceinline__ bits_t* weight_at(const View& g, long long slot) {
    return reinterpret_cast<bits_t*>(g.pool + weight_word(slot));
}

// Ask for a slab ahead of time, where a tile serves several edges one after the other.
__device__ __forceinline__ void prefetch_slab(const View& g, uint32_t slab) {
    if (SLAB_LANES > 2 && slab != EMPTY)
        asm volatile("prefetch.global.L2 [%0];" : : "l"(g.pool + (long long)slab * SLAB_WORDS));
}

// The head word of vertex u, for batches: the vertices, which are fewer than the slabs and are asked for with every edge,
// are the last to leave the L2 cache.
__device__ __forceinline__ uint32_t load_head(const View& g, uint32_t u) {
#if __CUDA_ARCH__ >= 800
    uint64_t policy;
    uint32_t word;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.relaxed.gpu.global.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(word)
                 : "l"(head_word(g, u)), "l"(policy)
                 : "memory");
    return inverted(word);
#else
    return inverted(load_word(head_word(g, u)));
#endif
}

// Head slab of the bucket of edge (u, v), or EMPTY if u has no storage, for batches.
__device__ __forceinline__ uint32_t look_up(const View& g, uint32_t u, uint32_t v) {
    return head_in(buckets_behind(g, u, load_head(g, u)), v);
}

// Remember that key slot `j` of `slab` was inserted into since the mark; the first to do so lists the slab.
__device__ __forceinline__ void mark_slot(const View& g, uint32_t slab, uint32_t j) {
    const uint32_t before = atomicOr(g.fresh + slab, 1u << j | LISTED_BIT);
    if (!(before & LISTED_BIT)) g.touched[atomicAdd(g.counters + TOUCHED, 1u)] = slab;
}

// Tile or mover: leave a slab clean and free, if `active`, when all lanes have read it. A slab in the list of touched
// ones stays there, without slots.
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
