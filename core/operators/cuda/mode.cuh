// The mode: the most frequent value of a vertex' neighbours. Included by pull.cuh where IS_MODE is 1. Up to WIDE neighbours a thread, a
// tile or a warp counts one value after the other; of more the whole block counts them in a hash table in shared memory.
#pragma once

#define MODE_PLACES 2048  // of the hash table
#define MODE_LOAD 1024  // different values per pass at most, on the average

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
template <int LANES>
__device__ __forceinline__ Reduced reduce_neighbors(WALK, const Wakers&, uint32_t x, int lane FORMALS) {
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
    return {best.value};
}

// -- a block for a vertex -------------------------------------------------------------------------------------------------

[[maybe_unused]] constexpr unsigned long long FREE_PLACE = ~0ull;

struct ModeTable {
    unsigned long long key[MODE_PLACES];  // bits of a value, or FREE_PLACE
    uint32_t count[MODE_PLACES];
    Counted best[32];  // per warp
    uint32_t marked;  // how often the value is there whose bits are FREE_PLACE
    bool full;
};

__device__ __forceinline__ unsigned long long bits_of(out_t value) {
    if (value == out_t(0)) value = out_t(0);  // both zeros are one value
    if constexpr (sizeof(out_t) == 4) return *(const uint32_t*)&value;
    else return *(const unsigned long long*)&value;
}

__device__ __forceinline__ out_t value_of_bits(unsigned long long bits) {
    if constexpr (sizeof(out_t) == 4) {
        const uint32_t low = uint32_t(bits);
        return *(const out_t*)&low;
    } else {
        return *(const out_t*)&bits;
    }
}

// The more frequent of two values, of equally frequent ones the smaller.
__device__ __forceinline__ Counted better(const Counted& a, const Counted& b) {
    if (a.count != b.count) return a.count > b.count ? a : b;
    return b.value < a.value ? b : a;
}

// Count a value in the table; any threads of the block. Linear probing from a place that its hash gives.
__device__ __forceinline__ void count_value(ModeTable& table, unsigned long long bits, uint32_t hash) {
    if (bits == FREE_PLACE) {
        atomicAdd(&table.marked, 1u);
        return;
    }
    for (uint32_t i = 0; i < MODE_PLACES; ++i) {
        const uint32_t at = (hash + i) % MODE_PLACES;
        const unsigned long long there = atomicCAS(&table.key[at], FREE_PLACE, bits);
        if (there == FREE_PLACE || there == bits) {
            atomicAdd(&table.count[at], 1u);
            return;
        }
    }
    table.full = true;
}

// The mode of all neighbours of x, in thread 0 of the block; all of its THREADS threads call it, and it synchronises them. In as many
// passes as keep the table half empty; a pass counts the values that a hash assigns to it. Should a table be full nevertheless, the
// first warp counts anew, one value after the other.
template <int THREADS>
__device__ __forceinline__ out_t mode_by_block(WALK, uint32_t x, ModeTable& table FORMALS) {
    const uint32_t me = threadIdx.x, warp = me / 32, lane = me % 32;
    const uint32_t parts = buckets_of_vertex(WALKED, x), passes = degree_of(WALKED, x) / MODE_LOAD + 1;
    Counted best = {identity(), 0};
    if (me == 0) table.full = false;
    for (uint32_t pass = 0; pass < passes; ++pass) {
        for (uint32_t at = me; at < MODE_PLACES; at += THREADS) {
            table.key[at] = FREE_PLACE;
            table.count[at] = 0;
        }
        if (me == 0) table.marked = 0;
        __syncthreads();
        for (uint32_t k = me / BUCKET_LANES; k < parts; k += THREADS / BUCKET_LANES) {
            walk_bucket(WALKED, x, k, me % BUCKET_LANES, [&](uint32_t y, weight_t w) {
                const out_t value = EDGE(x, y, w);
                if (value != value) return;
                const unsigned long long bits = bits_of(value);
                const uint32_t hash = uint32_t((bits * 0x9E3779B97F4A7C15ull) >> 32);
                if (hash % passes == pass) count_value(table, bits, hash / passes);
            });
        }
        __syncthreads();
        for (uint32_t at = me; at < MODE_PLACES; at += THREADS)
            if (table.count[at]) best = better(best, {value_of_bits(table.key[at]), table.count[at]});
        if (me == 0 && table.marked) best = better(best, {value_of_bits(FREE_PLACE), table.marked});
        __syncthreads();  // the table is free again
    }
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        const Counted other = {
            __shfl_xor_sync(ALL_LANES, best.value, step), __shfl_xor_sync(ALL_LANES, best.count, step)};
        best = better(best, other);
    }
    if (lane == 0) table.best[warp] = best;
    __syncthreads();
    if (me == 0)
        for (int k = 1; k < THREADS / 32; ++k) best = better(best, table.best[k]);
    out_t mode = best.value;
    if (table.full && warp == 0) mode = reduce_neighbors<32>(WALKED, {}, x, lane ARGS).value;
    return mode;
}
