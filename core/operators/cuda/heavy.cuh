// Lists of heavy vertices, whose buckets are split across the whole grid, in two launches or phases: one lists the vertices
// that are too much work for a block, the next walks their buckets in equal runs. So no block walks more than its share of them, however many
// neighbours one vertex has. Pushes, pulls, rounds of converge, bottom-up steps, maps of edges and intersections share them this way.
//
// A thread lists an entry by one atomic addition to a total, which gives it its place and the number of buckets before it; so the bases
// ascend, and a worker (a tile or a warp) finds the entry of its first bucket by a binary search. Between the phases lies a barrier of the
// grid, or the end of a launch. What the workers find of one vertex they merge by atomics.
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

// How many entries were kept. `packed` is a *heavy.total.
__device__ __forceinline__ uint32_t kept_entries(unsigned long long packed, const HeavyList& heavy) {
    return min(packed >> heavy.shift, (unsigned long long)heavy.capacity);
}

// The buckets of all entries, those not kept included.
__device__ __forceinline__ long long buckets_in(unsigned long long packed, const HeavyList& heavy) {
    return (long long)(packed & ((1ull << heavy.shift) - 1));
}

// The last of `number` entries, one at least, whose buckets begin at or before `item`.
__device__ __forceinline__ uint32_t entry_at(const HeavyList& heavy, uint32_t number, long long item) {
    uint32_t k = 0;
    for (uint32_t high = number - 1; k < high;) {
        const uint32_t middle = k + (high - k + 1) / 2;
        if (heavy.base[middle] <= item) k = middle;
        else high = middle - 1;
    }
    return k;
}

// The buckets of all kept entries in equal runs of at least `least`, the `worker`-th of `workers` of them: f(k, entry, first, end) for
// buckets [first, end) of entry k. parts(entry) is how many it was listed with. All threads of a worker call it, as they all call f.
template <class Parts, class F>
__device__ __forceinline__ void for_heavy_runs(unsigned long long packed, const HeavyList& heavy, long long worker,
                                               long long workers, long long least, Parts&& parts, F&& f) {
    const uint32_t number = kept_entries(packed, heavy);
    if (number == 0) return;
    const long long all = heavy.base[number - 1] + parts(heavy.entry[number - 1]),
                    share = max(least, (all + workers - 1) / workers), stop = min(all, (worker + 1) * share);
    long long item = worker * share;
    if (item >= stop) return;
    for (uint32_t k = entry_at(heavy, number, item); item < stop; ++k) {
        const long long base = heavy.base[k], end = k + 1 < number ? min(stop, heavy.base[k + 1]) : stop;
        f(k, heavy.entry[k], uint32_t(item - base), uint32_t(end - base));
        item = end;
    }
}

// A run of a tile that goes through it bucket by bucket, in step with the others: buckets item .. stop of all entries; `entry` is the last whose
// buckets begin at or before `item`.
struct HeavyRun {
    long long item, stop, share;  // share: the most buckets of a run, the same in all tiles
    uint32_t entry, number;
};

// The run of the caller's tile of BUCKET_LANES threads, of as many equal runs as `blocks` blocks have tiles, of which the caller's is number
// `block`. `packed` is the final *heavy.total, not 0.
__device__ __forceinline__ HeavyRun heavy_run(unsigned long long packed, const HeavyList& heavy, uint32_t block,
                                              uint32_t blocks) {
    HeavyRun run;
    run.number = kept_entries(packed, heavy);
    const long long all_buckets = buckets_in(packed, heavy), tiles = blockDim.x / BUCKET_LANES;
    run.share = (all_buckets + blocks * tiles - 1) / (blocks * tiles);
    run.item = (block * tiles + threadIdx.x / BUCKET_LANES) * run.share;
    run.stop = min(all_buckets, run.item + run.share);
    run.entry = run.item < run.stop ? entry_at(heavy, run.number, run.item) : 0;
    return run;
}

// The entry of run.item, where that has grown by one since the last call.
__device__ __forceinline__ uint32_t entry_of(HeavyRun& run, const HeavyList& heavy) {
    if (run.entry + 1 < run.number && heavy.base[run.entry + 1] <= run.item) ++run.entry;
    return run.entry;
}
