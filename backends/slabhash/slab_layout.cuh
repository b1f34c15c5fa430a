// Geometry of slabs and hashing, shared by the engine's kernels and by the cursor; the CUDA twin of layout.py.
// Macros: SLAB_WORDS (8, 16, 32), SLAB_KEYS, SLAB_LANES (lanes that load keys and link, 16 bytes each), WEIGHT_WORDS
// (0, 1, 2), WEIGHT_OFFSET (word of the first weight).
#pragma once
#include "suricate.cuh"

// Bucket count that a 16-bit code stands for: 11 bits of mantissa, 4 of exponent; the top bit is a flag.
__device__ __forceinline__ uint32_t bucket_count(uint32_t code) { return (code & 0x7FFu) << ((code >> 11) & 15u); }

// Smallest code whose bucket count is not below `count`.
__device__ __forceinline__ uint32_t bucket_code(uint32_t count) {
    uint32_t exponent = 0;
    while (count >= 2048u) {
        count = (count + 1) >> 1;
        ++exponent;
    }
    return exponent << 11 | count;
}

// Bucket, below `count`, of destination v: multiply, mix, scale.
__device__ __forceinline__ uint32_t bucket_of(uint32_t v, uint32_t count) {
    uint32_t h = v * 0x9E3779B1u;
    h ^= h >> 15;
    h *= 0x85EBCA77u;
    h ^= h >> 13;
    return __umulhi(h, count);
}

// Word of the weight of the edge whose key is in word `slot` of the pool.
__device__ __forceinline__ long long weight_word(long long slot) {
    long long j = slot & (SLAB_WORDS - 1);
    return slot - j + WEIGHT_OFFSET + j * WEIGHT_WORDS;
}

// Whether part `c` (0 to 3) of the 16 bytes of `lane` is a key slot; known at compile time for most parts.
__device__ __forceinline__ bool is_key(int lane, int c) {
    return (SLAB_LANES - 1) * 4 + c < SLAB_KEYS || lane * 4 + c < SLAB_KEYS;
}
