// Lists of heavy vertices, whose buckets are split across all tiles of the grid, in two launches or phases: one lists
// the vertices that are too much work for a block, the next walks their buckets in equal runs.
#pragma once
#include "operators.cuh"

// entry uint32[capacity], and base int64[capacity]: the buckets of all entries before it. *total, 0 at the beginning, packs the
// number of entries (above) and that of their buckets (the lowest `shift` bits), so that one atomic gives an entry its place in
// both arrays. What does not fit is counted in *total but not kept.
struct HeavyList {
    uint32_t* entry;
    long long* base;
    unsigned long long* total;
    uint32_t capacity;
    int shift;
};
#define HEAVY_SHIFT 38  // few vertices, at most 2^26, with many buckets
#define BUCKET_SHIFT 32  // any vertex may be listed, but only once: no device has memory for 2^32 buckets

__device__ __forceinline__ unsigned long long packed_entry(const HeavyList& heavy, unsigned long long parts) {
    return (1ull << heavy.shift) | parts;
}

// Keep an entry at the place that `before`, the packed total without it, gives it; return whether it fits.
__device__ __forceinline__ bool keep_heavy(const HeavyList& heavy, unsigned long long before, uint32_t entry) {
    const unsigned long long place = before >> heavy.shift;
    if (place >= heavy.capacity) return false;
    heavy.entry[place] = entry;
    heavy.base[place] = (long long)(before & ((1ull << heavy.shift) - 1));
    return true;
}

__device__ __forceinline__ bool add_heavy(const HeavyList& heavy, uint32_t entry, uint32_t parts) {
    return keep_heavy(heavy, atomicAdd(heavy.total, packed_entry(heavy, parts)), entry);
}

// The same for a warp, all lanes of which call it together: with one atomic for those whose `parts` are not 0.
__device__ __forceinline__ bool add_heavy_of_warp(const HeavyList& heavy, uint32_t entry, uint32_t parts) {
    if (!__any_sync(ALL_LANES, parts > 0)) return false;
    const unsigned long long mine = parts > 0 ? packed_entry(heavy, parts) : 0;
    unsigned long long sum = mine;  // of the lanes up to this one
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const unsigned long long other = __shfl_up_sync(ALL_LANES, sum, step);
        if (threadIdx.x % 32 >= step) sum += other;
    }
    unsigned long long before = 0;
    if (threadIdx.x % 32 == 31) before = atomicAdd(heavy.total, sum);
    before = __shfl_sync(ALL_LANES, before, 31);
    return parts > 0 && keep_heavy(heavy, before + sum - mine, entry);
}

// Whether an entry would fit, as far as this thread knows. Asked first where there may be too many, so that *total stays small.
__device__ __forceinline__ bool has_space(const HeavyList& heavy) {
    return *(const volatile unsigned long long*)heavy.total >> heavy.shift < heavy.capacity;
}

// A run of buckets of heavy vertices: buckets item .. stop of all of them; `entry` is the last whose buckets begin at or before `item`.
struct HeavyRun {
    long long item, stop, share;  // share: the most buckets of a run, the same in all tiles
    uint32_t entry, number;
};

// The buckets of all entries. `packed` is a *heavy.total.
__device__ __forceinline__ long long buckets_in(unsigned long long packed, const HeavyList& heavy) {
    return (long long)(packed & ((1ull << heavy.shift) - 1));
}

// The run of the caller's tile of BUCKET_LANES threads, of as many equal runs as `blocks` blocks have tiles, of which the caller's is number
// `block`. `packed` is the final *heavy.total, not 0.
__device__ __forceinline__ HeavyRun heavy_run(unsigned long long packed, const HeavyList& heavy, uint32_t block,
                                              uint32_t blocks) {
    HeavyRun run;
    run.number = min(packed >> heavy.shift, (unsigned long long)heavy.capacity);
    const long long all_buckets = buckets_in(packed, heavy), tiles = blockDim.x / BUCKET_LANES;
    run.share = (all_buckets + blocks * tiles - 1) / (blocks * tiles);
    run.item = (block * tiles + threadIdx.x / BUCKET_LANES) * run.share;
    run.stop = min(all_buckets, run.item + run.share);
    run.entry = 0;
    if (run.item < run.stop) {
        for (uint32_t high = run.number - 1; run.entry < high;) {
            const uint32_t middle = run.entry + (high - run.entry + 1) / 2;
            if (heavy.base[middle] <= run.item) run.entry = middle;
            else high = middle - 1;
        }
    }
    return run;
}

// The entry of run.item, where that has grown by one since the last call.
__device__ __forceinline__ uint32_t entry_of(HeavyRun& run, const HeavyList& heavy) {
    if (run.entry + 1 < run.number && heavy.base[run.entry + 1] <= run.item) ++run.entry;
    return run.entry;
}
