// Geometry of slabs, bucket codes and hashing: shared by the kernels of the backend and by the cursor.
//
// Macros: SLAB_WORDS (4, 8, 16, 32), SLAB_KEYS, SLAB_LANES (lanes that load keys and link, LANE_WORDS words each),
// WEIGHT_WORDS (0, 1, 2), WEIGHT_OFFSET (word of the first weight).
// The enum of counters and the constants of the layout are generated from layout.py: see programs.py.
#pragma once
#include "suricate.cuh"

constexpr uint32_t LEADING_ONE = 1u << MANTISSA_BITS;

// Bucket count of a code: exact below 2 * LEADING_ONE, then MANTISSA_BITS bits behind the leading one, and an exponent.
__device__ __forceinline__ uint32_t bucket_count(uint32_t code) {
    const uint32_t exponent = code >> MANTISSA_BITS & ((1u << EXPONENT_BITS) - 1u),
                   mantissa = code & (LEADING_ONE - 1u);
    return exponent ? (LEADING_ONE | mantissa) << (exponent - 1) : mantissa;
}

// Smallest code whose bucket count is not below `count`.
__device__ __forceinline__ uint32_t bucket_code(uint32_t count) {
    uint32_t exponent = 0;
    while (count >= 2u * LEADING_ONE) {
        count = (count + 1) >> 1;
        ++exponent;
    }
    return count < LEADING_ONE ? count : (exponent + 1) << MANTISSA_BITS | (count & (LEADING_ONE - 1u));
}

// Where the head word of a vertex is stored, and the word that is stored for it, and back: with all bits inverted, so that
// zeros are a vertex without storage.
template <class View>
__device__ __forceinline__ uint32_t* head_word(const View& g, uint32_t u) {
    return g.vertex + 2 * size_t(u);
}
__device__ __forceinline__ uint32_t inverted(uint32_t word) { return ~word; }

// The head word of `count` buckets from slab `head` on, as it is stored.
__device__ __forceinline__ uint32_t stored_head(uint32_t head, uint32_t count) {
    return inverted(count > 1 ? head | SEVERAL : head);
}
template <class View>
__device__ __forceinline__ uint32_t* degree_word(const View& g, uint32_t u) {
    return g.vertex + 2 * size_t(u) + 1;
}

// Buckets of a vertex: their heads are `count` slabs from `head` on (EMPTY: the vertex has no storage).
struct Buckets {
    uint32_t head, count;
};

// Buckets of vertex u, whose head word is known.
template <class View>
__device__ __forceinline__ Buckets buckets_behind(const View& g, uint32_t u, uint32_t head) {
    if (head == EMPTY || !(head & SEVERAL)) return {head, 1};
    return {head & ~SEVERAL, bucket_count(g.buckets[u])};
}
template <class View>
__device__ __forceinline__ Buckets buckets_of(const View& g, uint32_t u) {
    return buckets_behind(g, u, inverted(*head_word(g, u)));
}

// Number of buckets; 0 without storage.
__device__ __forceinline__ uint32_t stored_buckets(const Buckets& buckets) {
    return buckets.head == EMPTY ? 0u : buckets.count;
}

// Bucket, below `count`, of destination v: multiply, mix, scale.
__device__ __forceinline__ uint32_t bucket_of(uint32_t v, uint32_t count) {
    uint32_t h = v * HASH_FACTOR;
    h ^= h >> HASH_SHIFT;
    h *= MIX_FACTOR;
    h ^= h >> MIX_SHIFT;
    return __umulhi(h, count);
}

// Head slab of the bucket of destination v, or EMPTY if the vertex has no storage.
__device__ __forceinline__ uint32_t head_in(const Buckets& buckets, uint32_t v) {
    return buckets.head == EMPTY ? EMPTY : buckets.head + bucket_of(v, buckets.count);
}

// The same for edge (u, v).
template <class View>
__device__ __forceinline__ uint32_t head_of(const View& g, uint32_t u, uint32_t v) {
    return head_in(buckets_of(g, u), v);
}

// Word of the weight of the edge whose key is in word `slot` of the pool.
__device__ __forceinline__ long long weight_word(long long slot) {
    const long long j = slot & (SLAB_WORDS - 1);
    return slot - j + WEIGHT_OFFSET + j * WEIGHT_WORDS;
}

// Whether word `c` of those that `lane` loads is a key slot; known at compile time for most.
__device__ __forceinline__ bool is_key(int lane, int c) {
    return (SLAB_LANES - 1) * LANE_WORDS + c < SLAB_KEYS || lane * LANE_WORDS + c < SLAB_KEYS;
}
