// The mode: the most frequent value of a vertex' neighbours. Included by at_once.cuh where IS_MODE is 1. A thread keeps up to TINY values and
// compares them; of more neighbours a warp counts the values in its part of a hash table in shared memory, of more than WIDE the block in
// all of it. A pass over the neighbours counts the values that a hash assigns to it, so that they fit; the passes of a heavy vertex are
// shared out among all blocks.
#pragma once

#define MODE_PLACES 2048  // of the hash table of a block
#define MODE_LOAD 1024  // different values per pass of a block at most, on the average

// A value, and how many neighbours have it (0: no value).
struct Counted {
    out_t value;
    uint32_t count;
};

__device__ __forceinline__ Counted nothing_counted() { return {identity(), 0}; }

// The more frequent of two values, of equally frequent ones the smaller.
__device__ __forceinline__ Counted better(const Counted& a, const Counted& b) {
    if (a.count != b.count) return a.count > b.count ? a : b;
    return b.value < a.value ? b : a;
}

// The best that the threads of a warp have, in all of them.
__device__ __forceinline__ Counted best_of_warp(Counted best) {
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        const Counted other = {
            __shfl_xor_sync(ALL_LANES, best.value, step), __shfl_xor_sync(ALL_LANES, best.count, step)};
        best = better(best, other);
    }
    return best;
}

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

__device__ __forceinline__ uint32_t hash_of(unsigned long long bits) {
    return uint32_t((bits * 0x9E3779B97F4A7C15ull) >> 32);
}

// -- a thread for a vertex ------------------------------------------------------------------------------------------------

// The mode of the at most TINY neighbours of x. A NaN is no value.
__device__ __forceinline__ out_t value_by_thread(WALK, uint32_t x FORMALS) {
    out_t found[TINY];
    uint32_t number = 0;
    walk_neighbors<1>(WALKED, x, 0, [&](uint32_t y, weight_t w) {
        const out_t value = EDGE(x, y, w);
        if (value == value && number < TINY) found[number++] = value;
    });
    Counted best = nothing_counted();
    for (uint32_t i = 0; i < number; ++i) {
        uint32_t count = 0;
        for (uint32_t j = i; j < number; ++j) count += found[j] == found[i];
        best = better(best, {found[i], count});
    }
    return best.value;
}

// -- a warp or a block for a vertex ---------------------------------------------------------------------------------------

[[maybe_unused]] constexpr unsigned long long FREE_PLACE = ~0ull;

struct ValueTable {
    unsigned long long key[MODE_PLACES];  // bits of a value, or FREE_PLACE
    uint32_t count[MODE_PLACES];
    Counted best[32];  // per warp
    uint32_t marked[32];  // per warp, or the block: how often the value is there whose bits are FREE_PLACE
    uint32_t full[32];  // likewise: whether a value found no place
};

// What counts for one vertex: `places` of the table, a power of two, and two flags; of a warp or of the block.
struct Places {
    unsigned long long* key;
    uint32_t *count, *marked, *full;
    uint32_t places;
};

// Of `most` places from `first` on, a power of two, twice as many as a vertex has neighbours, if there are so many.
__device__ __forceinline__ Places places_for(ValueTable& table, uint32_t first, uint32_t most, uint32_t flag,
                                             uint32_t neighbors) {
    const uint32_t wanted = neighbors < most / 2 ? 1u << (32 - __clz(2 * max(neighbors, 2u) - 1)) : most;
    return {table.key + first, table.count + first, table.marked + flag, table.full + flag, wanted};
}

// The number of passes of a block over this number of neighbours: the parts of a heavy vertex.
__device__ __forceinline__ uint32_t parts_of_values(uint32_t neighbors) { return neighbors / MODE_LOAD + 1; }

// Count a value; any threads. Linear probing from a place that its hash gives.
__device__ __forceinline__ void count_value(const Places& table, unsigned long long bits, uint32_t hash) {
    if (bits == FREE_PLACE) {
        atomicAdd(table.marked, 1u);
        return;
    }
    for (uint32_t i = 0; i < table.places; ++i) {
        const uint32_t at = (hash + i) & (table.places - 1);
        unsigned long long there = *(const volatile unsigned long long*)(table.key + at);
        if (there == FREE_PLACE) there = atomicCAS(table.key + at, FREE_PLACE, bits);
        if (there == FREE_PLACE || there == bits) {
            atomicAdd(table.count + at, 1u);
            return;
        }
    }
    atomicExch(table.full, 1u);
}

// The best of the values of a pass, in each thread of the calling warp, which counts one value after the other in ascending order: for
// values that share their hashes on purpose.
__device__ __noinline__ Counted best_without_table(WALK, uint32_t x, uint32_t pass, uint32_t passes FORMALS) {
    Counted best = nothing_counted();
    out_t last = identity();
    for (bool any = true;; any = false) {  // the same in all threads of the warp
        Counted found = nothing_counted();  // the smallest value above `last`
        walk_values<32>(WALKED, x, [&](out_t value) {
            if (!(any || last < value) || hash_of(bits_of(value)) % passes != pass) return;
            if (found.count == 0 || value < found.value) found = {value, 1};
            else if (value == found.value) ++found.count;
        } ARGS);
        __syncwarp();
#pragma unroll
        for (int step = 16; step > 0; step >>= 1) {
            const Counted other = {
                __shfl_xor_sync(ALL_LANES, found.value, step), __shfl_xor_sync(ALL_LANES, found.count, step)};
            if (other.count != 0 && (found.count == 0 || other.value < found.value)) found = other;
            else if (other.count != 0 && other.value == found.value) found.count += other.count;
        }
        if (found.count == 0) return best;
        best = better(best, found);
        last = found.value;
    }
}

// The best of the values of a pass over the neighbours of x: the part of each of the THREADS calling threads, a warp or the block, which it
// synchronises.
template <int THREADS>
__device__ __forceinline__ Counted best_of_pass(WALK, uint32_t x, const Places& table, uint32_t pass,
                                                uint32_t passes FORMALS) {
    const uint32_t me = rank_among<THREADS>();
    for (uint32_t at = me; at < table.places; at += THREADS) {
        table.key[at] = FREE_PLACE;
        table.count[at] = 0;
    }
    if (me == 0) *table.marked = *table.full = 0;
    join_threads<THREADS>();
    walk_values<THREADS>(WALKED, x, [&](out_t value) {
        const unsigned long long bits = bits_of(value);
        const uint32_t hash = hash_of(bits);
        if (passes == 1) count_value(table, bits, hash);
        else if (hash % passes == pass) count_value(table, bits, hash / passes);
    } ARGS);
    join_threads<THREADS>();
    Counted best = nothing_counted();
    for (uint32_t at = me; at < table.places; at += THREADS)
        if (table.count[at]) best = better(best, {value_of_bits(table.key[at]), table.count[at]});
    if (me == 0 && *table.marked) best = better(best, {value_of_bits(FREE_PLACE), *table.marked});
    if (*table.full) best = me < 32 ? best_without_table(WALKED, x, pass, passes ARGS) : nothing_counted();
    join_threads<THREADS>();  // the table is free again
    return best;
}

// The mode of the at most WIDE neighbours of x, in all threads of the calling warp, one of WARPS in its block; each has a part of the table.
template <int WARPS>
__device__ __forceinline__ out_t value_by_warp(WALK, uint32_t x, ValueTable& table FORMALS) {
    constexpr uint32_t MOST = MODE_PLACES / WARPS;
    const uint32_t warp = threadIdx.x / 32, neighbors = degree_of(WALKED, x);
    const Places mine = places_for(table, warp * MOST, MOST, warp, neighbors);
    const uint32_t passes = neighbors <= MOST ? 1 : neighbors / (MOST / 2) + 1;
    Counted best = nothing_counted();
    for (uint32_t pass = 0; pass < passes; ++pass)
        best = better(best, best_of_pass<32>(WALKED, x, mine, pass, passes ARGS));
    return best_of_warp(best).value;
}

// The best that the threads of a block have, in its thread 0.
template <int THREADS> __device__ __forceinline__ Counted best_of_block(ValueTable& table, Counted best) {
    best = best_of_warp(best);
    if (threadIdx.x % 32 == 0) table.best[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 1; k < THREADS / 32; ++k) best = better(best, table.best[k]);
    return best;
}

// The mode of all neighbours of x, in thread 0 of the block; all of its THREADS threads call it, and it synchronises them.
template <int THREADS>
__device__ __forceinline__ out_t value_by_block(WALK, uint32_t x, ValueTable& table FORMALS) {
    const uint32_t neighbors = degree_of(WALKED, x), passes = parts_of_values(neighbors);
    const Places all = places_for(table, 0, MODE_PLACES, 0, neighbors);
    Counted best = nothing_counted();
    for (uint32_t pass = 0; pass < passes; ++pass)
        best = better(best, best_of_pass<THREADS>(WALKED, x, all, pass, passes ARGS));
    return best_of_block<THREADS>(table, best).value;
}
