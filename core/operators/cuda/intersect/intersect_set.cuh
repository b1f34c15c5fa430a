// A set of vertex ids in shared memory: buckets of four slots, read 16 bytes at a time. No more than half of the slots are used,
// so a search ends: at a bucket whose last slot is EMPTY, since slots of a bucket are filled in order.
#pragma once
#include "suricate.cuh"

struct IdSet {
    uint32_t* slot;  // 16-byte aligned, 4 * (mask + 1) of them
    long long* place;  // with OF_TWO: parallel to `slot`, where each id is in its view
    uint32_t mask;  // the number of buckets, a power of two, less one
};

// The set of `expected` ids in memory for `most` buckets (a power of two): a bucket per id, as far as there are as many.
__device__ __forceinline__ IdSet set_for(uint32_t* slot, long long* place, uint32_t expected, uint32_t most) {
    const uint32_t wanted = expected <= 1 ? 1u : 1u << (32 - __clz(expected - 1));
    return {slot, place, min(wanted, most) - 1};
}

__device__ __forceinline__ uint32_t home_of(const IdSet& set, uint32_t x) {
    uint32_t h = x * 0x9E3779B1u;
    h ^= h >> 15;
    return h & set.mask;
}

// Empty the set, by `threads` threads of which this is number `me`; they synchronise afterwards.
__device__ __forceinline__ void clear_set(const IdSet& set, uint32_t me, uint32_t threads) {
    for (uint32_t b = me; b <= set.mask; b += threads)
        reinterpret_cast<uint4*>(set.slot)[b] = make_uint4(EMPTY, EMPTY, EMPTY, EMPTY);
}

// Insert x, which is not in the set and not EMPTY; threads synchronise before they search. `place`: its slot in the view.
__device__ __forceinline__ void insert_id(const IdSet& set, uint32_t x, long long place) {
    for (uint32_t b = home_of(set, x);; b = (b + 1) & set.mask) {
        for (uint32_t at = 4 * b; at < 4 * b + 4; ++at) {
            if (*(volatile uint32_t*)(set.slot + at) != EMPTY || atomicCAS(set.slot + at, EMPTY, x) != EMPTY) continue;
            if (OF_TWO) set.place[at] = place;
            return;
        }
    }
}

// The slot of x, which is not EMPTY, or -1. One branch per bucket: nearly all searches end at the first.
__device__ __forceinline__ int slot_of(const IdSet& set, uint32_t x) {
    for (uint32_t b = home_of(set, x);; b = (b + 1) & set.mask) {
        const uint4 quad = reinterpret_cast<const uint4*>(set.slot)[b];
        const bool is_x = quad.x == x, is_y = quad.y == x, is_z = quad.z == x, is_w = quad.w == x;
        if (is_x | is_y | is_z | is_w | (quad.w == EMPTY)) {
            const int at = is_x ? 0 : is_y ? 1 : is_z ? 2 : is_w ? 3 : -1;
            return at < 0 ? -1 : int(4 * b) + at;
        }
    }
}
