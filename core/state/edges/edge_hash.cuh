// The hash table of an edge set: the CUDA twin of edge_hash.py, whose DECLARATIONS come before it (the struct EdgeTable
// and constants). Looked up by single threads; nothing here synchronises.
#pragma once
#include "suricate.cuh"

// Where the search for a key begins: the upper half of its hash, scaled to the capacity.
__device__ __forceinline__ uint32_t home_of_key(unsigned long long key, uint32_t capacity) {
    return __umulhi(uint32_t(((key ^ (key >> 32)) * KEY_FACTOR) >> 32), capacity);
}

// The key of an edge; of an undirected one the smaller id comes first.
__device__ __forceinline__ unsigned long long key_of_edge(uint32_t u, uint32_t x, uint32_t directed) {
    const bool swapped = !directed && u > x;
    return (unsigned long long)(swapped ? x : u) << 32 | (swapped ? u : x);
}

// The place of the edge in the arrays of the set, or -1. One probe is a load of 8 bytes.
__device__ __forceinline__ long long place_of(const EdgeTable& t, uint32_t u, uint32_t x) {
    const unsigned long long key = key_of_edge(u, x, t.directed);
    uint32_t at = home_of_key(key, t.capacity);
    for (unsigned long long held = t.key[at]; held != NO_KEY; held = t.key[at]) {
        if (held == key) return FIRST_ENTRY - t.entry[at];
        if (++at == t.capacity) at = 0;
    }
    return -1;
}

__device__ __forceinline__ bool contains(const EdgeTable& t, uint32_t u, uint32_t x) { return place_of(t, u, x) >= 0; }

// The degree of a vertex, of a table of answers.
__device__ __forceinline__ uint32_t degree_of(const EdgeTable& t, uint32_t u) {
    return reinterpret_cast<const uint32_t*>(t.value)[u];
}

// The value of the edge, or `fallback`; T is the type of the values.
template <class T>
__device__ __forceinline__ T value_of(const EdgeTable& t, uint32_t u, uint32_t x, T fallback) {
    const long long place = place_of(t, u, x);
    return place < 0 ? fallback : reinterpret_cast<const T*>(t.value)[place];
}
