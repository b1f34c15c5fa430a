// Lists of vertices whose storage units all tiles of the grid share out, in two launches or phases: one lists the vertices
// that are too much work for a block, the next walks their units in equal runs.
#pragma once
#include "operators.cuh"

// entry uint32[capacity], and base int64[capacity]: the units of all entries before it. *total, 0 at the beginning, packs the
// number of entries (above) and that of their units (the lowest `shift` bits), so that one atomic gives an entry its place in
// both arrays. What does not fit is counted in *total but not kept.
struct Hubs {
    uint32_t* entry;
    long long* base;
    unsigned long long* total;
    uint32_t capacity;
    int shift;
};
#define HUB_SHIFT 38   // hubs are few, at most 2^26, and have many units
#define UNIT_SHIFT 32  // any vertex may be listed, but only once: no device has memory for 2^32 units

__device__ __forceinline__ unsigned long long packed_hub(const Hubs& hubs, unsigned long long parts) {
    return (1ull << hubs.shift) | parts;
}

// Keep an entry at the place that `before`, the packed total without it, gives it; return whether it fits.
__device__ __forceinline__ bool keep_hub(const Hubs& hubs, unsigned long long before, uint32_t entry) {
    const unsigned long long place = before >> hubs.shift;
    if (place >= hubs.capacity) return false;
    hubs.entry[place] = entry;
    hubs.base[place] = (long long)(before & ((1ull << hubs.shift) - 1));
    return true;
}

__device__ __forceinline__ bool add_hub(const Hubs& hubs, uint32_t entry, uint32_t parts) {
    return keep_hub(hubs, atomicAdd(hubs.total, packed_hub(hubs, parts)), entry);
}

// Whether an entry would fit, as far as this thread knows. Asked first where there may be too many, so that *total stays small.
__device__ __forceinline__ bool has_room(const Hubs& hubs) {
    return *(const volatile unsigned long long*)hubs.total >> hubs.shift < hubs.capacity;
}

// The units of all entries in equal runs, by all tiles of UNIT_LANES threads of the grid. `packed` is the final *hubs.total,
// not 0. The tile that calls it calls f(entry, u, first, end) for each entry it meets, for units [first, end) of its vertex u:
// vertices[entry], or the entry itself if `vertices` is null.
template <class F>
__device__ __forceinline__ void
for_hub_runs(const View& g, unsigned long long packed, const Hubs& hubs, const uint32_t* vertices, F&& f) {
    const uint32_t number = min(packed >> hubs.shift, (unsigned long long)hubs.capacity);
    const long long all_units = (long long)(packed & ((1ull << hubs.shift) - 1)), tiles = thread_count() / UNIT_LANES;
    const long long share = (all_units + tiles - 1) / tiles;
    long long item = thread_id() / UNIT_LANES * share;
    const long long stop = min(all_units, item + share);
    uint32_t hub = 0;
    if (item < stop) {  // the last hub whose units begin at or before `item`
        for (uint32_t high = number - 1; hub < high;) {
            const uint32_t middle = hub + (high - hub + 1) / 2;
            if (hubs.base[middle] <= item) hub = middle; else high = middle - 1;
        }
    }
    for (; item < stop && hub < number; ++hub) {
        const uint32_t entry = hubs.entry[hub], u = vertices ? vertices[entry] : entry;
        const long long base = hubs.base[hub], end = min(stop, base + (long long)units(g, u));
        if (item < end) f(entry, u, uint32_t(item - base), uint32_t(end - base));
        item = max(item, end);
    }
}
