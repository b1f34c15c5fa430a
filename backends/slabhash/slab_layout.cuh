// Geometry of slabs and hashing, shared by the backend's kernels and by the cursor; the CUDA twin of layout.py.
// Macros: SLAB_WORDS (8, 16, 32), SLAB_KEYS, SLAB_LANES (lanes that load keys and link, LANE_WORDS words each),
// WEIGHT_WORDS (0, 1, 2), WEIGHT_OFFSET (word of the first weight).
#pragma once
#include "suricate.cuh"

constexpr uint32_t LISTED_BIT = 0x80000000u;  // of g.fresh: the slab is in the list of touched ones

// Places in the counters: see layout.py. Within one insertion, zero before and after: vertices to re-bucket (QUEUED), edges put
// off until their vertex has more buckets (PENDING), buckets to move (WORK), edges that were there already (MET), slabs claimed
// by re-buckets (SPENT, 64 bits), and heads among them (HEADS).
enum {
    BUMP, LISTED, TAKEN, FREED, WANTED, TOUCHED, QUEUED, PENDING, WORK, MET, SPENT = 12, HEADS = 14,
    ARRIVED = 32, REFUSED, ENDED, UNDONE
};

constexpr uint32_t SEVERAL = 0x80000000u;  // flag of a head word: the vertex has more than one bucket
constexpr int MANTISSA_BITS = 5;

// Bucket count that a code stands for: exact up to 63, then 5 bits behind the leading one, and an exponent.
__device__ __forceinline__ uint32_t bucket_count(uint32_t code) {
    const uint32_t exponent = code >> MANTISSA_BITS & 31u, mantissa = code & 31u;
    return exponent ? (32u | mantissa) << (exponent - 1) : mantissa;
}

// Smallest code whose bucket count is not below `count`.
__device__ __forceinline__ uint32_t bucket_code(uint32_t count) {
    uint32_t exponent = 0;
    while (count >= 64u) {
        count = (count + 1) >> 1;
        ++exponent;
    }
    return count < 32u ? count : (exponent + 1) << MANTISSA_BITS | (count & 31u);
}

template <class View>
__device__ __forceinline__ uint32_t* head_word(const View& g, uint32_t u) { return g.vertex + 2 * size_t(u); }
template <class View>
__device__ __forceinline__ uint32_t* degree_word(const View& g, uint32_t u) { return g.vertex + 2 * size_t(u) + 1; }

// First slab of a vertex (EMPTY without storage), and its number of buckets.
struct Table {
    uint32_t head, buckets;
};
template <class View>
__device__ __forceinline__ Table table_behind(const View& g, uint32_t u, uint32_t head) {
    if (head == EMPTY || !(head & SEVERAL)) return {head, 1};
    return {head & ~SEVERAL, bucket_count(g.buckets[u])};
}
template <class View>
__device__ __forceinline__ Table table_of(const View& g, uint32_t u) {
    return table_behind(g, u, *head_word(g, u));
}

// Bucket, below `count`, of destination v: multiply, mix, scale.
__device__ __forceinline__ uint32_t bucket_of(uint32_t v, uint32_t count) {
    uint32_t h = v * 0x9E3779B1u;
    h ^= h >> 15;
    h *= 0x85EBCA77u;
    h ^= h >> 13;
    return __umulhi(h, count);
}

// Head slab of the bucket of destination v, or EMPTY if the vertex has no storage.
__device__ __forceinline__ uint32_t head_in(const Table& table, uint32_t v) {
    return table.head == EMPTY ? EMPTY : table.head + bucket_of(v, table.buckets);
}

// The same for edge (u, v).
template <class View>
__device__ __forceinline__ uint32_t head_of(const View& g, uint32_t u, uint32_t v) { return head_in(table_of(g, u), v); }

// Word of the weight of the edge whose key is in word `slot` of the pool.
__device__ __forceinline__ long long weight_word(long long slot) {
    long long j = slot & (SLAB_WORDS - 1);
    return slot - j + WEIGHT_OFFSET + j * WEIGHT_WORDS;
}

// Whether word `c` of those that `lane` loads is a key slot; known at compile time for most.
__device__ __forceinline__ bool is_key(int lane, int c) {
    return (SLAB_LANES - 1) * LANE_WORDS + c < SLAB_KEYS || lane * LANE_WORDS + c < SLAB_KEYS;
}
