// Searches in ascending rows of destinations: several by one thread, or one by several threads, as each step waits for memory.
#pragma once
#include "suricate.cuh"

constexpr int AT_ONCE = 4;  // entries of a thread that are looked for together
constexpr uint32_t LOCATE_LANES = 8;  // threads that look for an entry, where there are enough of them

// AT_ONCE searches of one thread, in ranges of ``size[k]`` slots from lo[k] on: lo[k] becomes the first index whose value is not below
// value[k], else the end. Returns bits: whether it is the value. The values are looked at in aligned groups of four: a search goes by the
// first ones, then the group is read at once (what it has outside of the range is in the same allocation, as those end at such groups).
__device__ __forceinline__ uint32_t lower_bounds(const uint32_t* a, long long (&lo)[AT_ONCE],
                                                 const uint32_t (&size)[AT_ONCE], const uint32_t (&value)[AT_ONCE]) {
    uint32_t group[AT_ONCE], more[AT_ONCE],
        any = 0, found = 0;  // groups in which the value may lie: this one and so many more
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
        group[k] = uint32_t(lo[k] / 4);
        more[k] = size[k] ? uint32_t((lo[k] + size[k] - 1) / 4) - group[k] : 0;
        any |= more[k];
    }
    while (any) {
        uint32_t probe[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) probe[k] = more[k] ? a[4ll * (group[k] + (more[k] + 1) / 2)] : 0;
        any = 0;
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            if (!more[k]) continue;
            const uint32_t half = (more[k] + 1) / 2;
            const bool above = probe[k] <= value[k];
            group[k] += above ? half : 0;
            more[k] = above ? more[k] - half : half - 1;
            any |= more[k];
        }
    }
    uint4 words[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k)
        if (size[k]) words[k] = reinterpret_cast<const uint4*>(a)[group[k]];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
        if (!size[k]) continue;
        const long long before = 4ll * group[k] - lo[k];  // of the range's first slot
        const uint32_t word[4] = {words[k].x, words[k].y, words[k].z, words[k].w};
        long long at = 4ll * group[k];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const bool inside = before + j >= 0 && before + j < size[k];
            at += before + j < 0 || (inside && word[j] < value[k]);
            found |= uint32_t(inside && word[j] == value[k]) << k;
        }
        lo[k] = at;
    }
    return found;
}

// LOCATE_LANES threads: first index in [lo, hi) whose value is not below ``value``, else hi. In each step they read that many values,
// evenly spread.
__device__ __forceinline__ long long lower_bound_by_lanes(const uint32_t* a, long long lo, long long hi,
                                                          uint32_t value) {
    const long long lane = threadIdx.x % LOCATE_LANES;
    while (lo < hi) {
        const long long step = (hi - lo + LOCATE_LANES) / (LOCATE_LANES + 1), probe = lo + (lane + 1) * step - 1;
        const bool below = probe < hi && a[probe] < value;
        const uint32_t count = __popc(__ballot_sync(tile_mask<LOCATE_LANES>(), below) & tile_mask<LOCATE_LANES>());
        hi = count < LOCATE_LANES ? min(hi, lo + (count + 1) * step - 1) : hi;
        lo += count * step;
    }
    return lo;
}
