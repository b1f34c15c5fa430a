// The mode: the most frequent value of a vertex' neighbours. Included by pull.cuh where IS_MODE is 1.
#pragma once

// Values of the neighbours of one vertex: the smallest that is still to be counted, and how often it is there (0: there is none).
struct Counted {
    out_t value;
    uint32_t count;
};

// What two threads found in different neighbours, together.
__device__ __forceinline__ Counted joined(const Counted& a, const Counted& b) {
    if (b.count == 0 || (a.count != 0 && a.value < b.value)) return a;
    if (a.count == 0 || b.value < a.value) return b;
    return {a.value, a.count + b.count};
}

// The smallest value above `last` (of all values if `any`) in the neighbours of x, in each of the LANES threads of the calling tile.
// A NaN is no value.
template <int LANES>
__device__ __forceinline__ Counted next_value(WALK, uint32_t x, int lane, bool any, out_t last FORMALS) {
    Counted found = {identity(), 0};
    walk_neighbors<LANES>(WALKED, x, lane, [&](uint32_t y, weight_t w) {
        const out_t value = EDGE(x, y, w);
        if (value == value && (any || last < value)) found = joined(found, {value, 1});
    });
#pragma unroll
    for (int step = LANES / 2; step > 0; step >>= 1) {
        const Counted other = {__shfl_xor_sync(tile_mask<LANES>(), found.value, step, LANES),
                               __shfl_xor_sync(tile_mask<LANES>(), found.count, step, LANES)};
        found = joined(found, other);
    }
    return found;
}

// The most frequent value of all neighbours of x, of several the smallest, or the identity; in each of the LANES threads of the
// calling tile. One pass per different value, in ascending order, until those left cannot be as many as the best.
template <int LANES> __device__ __forceinline__ out_t reduce_neighbors(WALK, uint32_t x, int lane FORMALS) {
    Counted best = {identity(), 0};
    out_t last = identity();
    uint32_t left = degree_of(WALKED, x);
    for (bool any = true; left > best.count; any = false) {  // the same in all threads of the tile
        const Counted found = next_value<LANES>(WALKED, x, lane, any, last ARGS);
        if (found.count == 0) break;
        if (found.count > best.count) best = found;
        left -= min(left, found.count);
        last = found.value;
    }
    return best.value;
}
