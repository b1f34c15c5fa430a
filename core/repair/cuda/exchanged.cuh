// What the ranks of a divided search exchange: bits and counts of a level, and offers to vertices of others.
#pragma once
#include "bottom_up.cuh"

// Generated from levels.py: Level, Offers, and the places of counts: VERTICES reached; IN_ARCS, those that lead to them; VIOLATED, not 0 if an offer
// was not above its maker; from BY_RANK on, PER_RANK for each rank: OUT_ARCS of what it reached, and a word of those, the complements of its LOW_PART
// and HIGH_PART. Behind the counts that are sent: HEAVY, a list's total; LISTED_OWN and CHANGED, the numbers of listed vertices.

struct Reached {  // by a thread, of its rank's vertices
    uint32_t vertices = 0, last = EMPTY;
    unsigned long long in_arcs = 0, out_arcs = 0;
};

struct Section {
    uint32_t *number, *broken;  // of offers; whether one was not above its maker
    unsigned long long* arcs;  // from and to what the rank has in the frontier
    value_t* word;
    uint32_t* id;
};

__device__ __forceinline__ Section section_of(const Offers& offers, uint32_t rank) {
    uint8_t* const begin = offers.data + (unsigned long long)rank * offers.size;
    value_t* const word = reinterpret_cast<value_t*>(begin + SECTION_HEAD);
    uint32_t* const head = reinterpret_cast<uint32_t*>(begin);
    return {head, head + 1, reinterpret_cast<unsigned long long*>(begin + 8), word,
            reinterpret_cast<uint32_t*>(word + offers.capacity)};
}

__device__ __forceinline__ bool is_own(const Level& level, uint32_t v) { return v >= level.low && v < level.high; }

// Which of the 32 vertices from `first` on are this rank's.
__device__ __forceinline__ uint32_t own_bits(const Level& level, unsigned long long first) {
    const unsigned long long low = max(first, (unsigned long long)level.low),
                             high = min(first + 32, (unsigned long long)level.high);
    if (low >= high) return 0;
    return 0xFFFFFFFFu << uint32_t(low - first) & 0xFFFFFFFFu >> uint32_t(first + 32 - high);
}

__device__ __forceinline__ unsigned long long* counts_of(const Level& level, const uint32_t* bits) {
    return reinterpret_cast<unsigned long long*>(const_cast<uint32_t*>(bits) + level.counts);
}
__device__ __forceinline__ unsigned long long* counts_of(const Level& level) { return counts_of(level, level.next); }

__device__ __forceinline__ uint32_t* number_in(const Level& level, uint32_t place) {
    return reinterpret_cast<uint32_t*>(counts_of(level) + level.sent + place);
}

// A word of the frontier. Its parts may be of two vertices, whose words differ in the payload only.
__device__ __forceinline__ value_t sample_of(const Level& level) {
    union {
        unsigned long long part[sizeof(value_t) / 8];
        value_t word;
    } found = {};
    const unsigned long long* const counts = counts_of(level, level.frontier);
    for (uint32_t rank = 0; rank < level.ranks; ++rank) {
        const unsigned long long* const of_rank = counts + BY_RANK + PER_RANK * rank;
        if (of_rank[LOW_PART] == 0) continue;  // no parent is EMPTY
        found.part[0] = ~of_rank[LOW_PART];
        if constexpr (sizeof(value_t) > 8) found.part[1] = ~of_rank[HIGH_PART];
        break;
    }
    return found.word;
}

// The word of v is one of the level that is computed.
__device__ __forceinline__ void set_sample(const Level& level, const value_t* tree, uint32_t v) {
    volatile unsigned long long* const own = counts_of(level) + BY_RANK + PER_RANK * level.rank;
    union {
        value_t word;
        unsigned long long part[sizeof(value_t) / 8];
    } found = {words::load_now(tree + v)};
    own[LOW_PART] = ~found.part[0];
    if constexpr (sizeof(value_t) > 8) own[HIGH_PART] = ~found.part[1];
}

// v, of this rank, is reached, by one thread or several.
__device__ __forceinline__ void reach(const Level& level, const View& g, const View& back, uint32_t v, Reached& mine) {
    const uint32_t bit = 1u << v % 32;
    if (atomicOr(level.next + v / 32, bit) & bit) return;
    const uint32_t arcs = degree(back, v);
    mine.vertices += 1;
    mine.in_arcs += arcs;
    mine.out_arcs += level.directed ? degree(g, v) : arcs;
    mine.last = v;
}

// Add what the threads of the block have found to the counts. All of them call it.
__device__ __forceinline__ void add_found(const Level& level, const value_t* tree, const Reached& mine) {
    __shared__ unsigned long long sums[3];
    __shared__ uint32_t last;
    if (threadIdx.x < 3) sums[threadIdx.x] = 0;
    __syncthreads();
    if (mine.vertices) {
        atomicAdd(&sums[0], (unsigned long long)mine.vertices);
        atomicAdd(&sums[1], mine.in_arcs);
        atomicAdd(&sums[2], mine.out_arcs);
        atomicExch(&last, mine.last);  // any of them
    }
    __syncthreads();
    if (threadIdx.x != 0 || sums[0] == 0) return;
    unsigned long long* const counts = counts_of(level);
    atomicAdd(&counts[VERTICES], sums[0]);
    atomicAdd(&counts[IN_ARCS], sums[1]);
    atomicAdd(&counts[BY_RANK + PER_RANK * level.rank + OUT_ARCS], sums[2]);
    set_sample(level, tree, last);
}

// What a level that pulls or pushes changes: in LoopMemory `near` lists the vertices to push from, `buffer` those that were pushed to.
__device__ __forceinline__ Changed changes_of(const Level& level, const LoopMemory& memory) {
    uint32_t* const violated = reinterpret_cast<uint32_t*>(counts_of(level) + VIOLATED);
    return {memory.stamp, 0, memory.buffer, number_in(level, CHANGED), violated, true};
}

__device__ __forceinline__ HeavyList heavy_of(const Level& level, const LoopMemory& memory) {
    return {
        memory.heavy_vertex, memory.heavy_base, counts_of(level) + level.sent + HEAVY, level.num_vertices, HEAVY_SHIFT};
}
