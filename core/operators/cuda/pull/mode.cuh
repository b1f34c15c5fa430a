// The mode: the most frequent value of a vertex' neighbours. Included by at_once.cuh where IS_MODE is 1; see tally.cuh.
#pragma once

#define KEPT(x) -1ll  // no value is preferred

// A value, and how many neighbours have it (0: no value).
struct Best {
    out_t value;
    uint32_t count;
};

__device__ __forceinline__ Best nothing_found() { return {identity(), 0}; }

// The more frequent of two values, of equally frequent ones the smaller.
__device__ __forceinline__ Best better(const Best& a, const Best& b, long long) {
    if (a.count != b.count) return a.count > b.count ? a : b;
    return b.value < a.value ? b : a;
}

__device__ __forceinline__ Reduced reduced_to(const Best& best) { return {best.value}; }

typedef unsigned long long table_key;  // bits of a value
typedef uint32_t table_sum;
[[maybe_unused]] constexpr table_key FREE_PLACE = ~0ull;
struct Scale {};
struct Scales {};

#include "tally.cuh"

template <int THREADS> __device__ __forceinline__ Scale scale_for(WALK, uint32_t, Scales& FORMALS) { return {}; }

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
__device__ __forceinline__ Reduced value_by_thread(WALK, uint32_t x FORMALS) {
    out_t found[TINY];
    uint32_t number = 0;
    walk_neighbors<1>(WALKED, x, 0, [&](uint32_t y, weight_t w) {
        const out_t value = EDGE(x, y, w);
        if (value == value && number < TINY) found[number++] = value;
    });
    Best best = nothing_found();
    for (uint32_t i = 0; i < number; ++i) {
        uint32_t count = 0;
        for (uint32_t j = i; j < number; ++j) count += found[j] == found[i];
        best = better(best, {found[i], count}, -1);
    }
    return reduced_to(best);
}

// -- a warp or a block for a vertex ---------------------------------------------------------------------------------------

__device__ __forceinline__ void count_value(const Places& table, unsigned long long bits, uint32_t hash) {
    if (bits == FREE_PLACE) atomicAdd(table.marked, 1u);
    else add_to(table, bits, hash, 1, TABLE_PLACES);
}

// The best of the values of a pass, in each thread of the calling warp, which counts one value after the other in ascending order: for
// values that share their hashes on purpose.
__device__ __noinline__ Best best_without_table(WALK, uint32_t x, uint32_t pass, uint32_t passes FORMALS) {
    Best best = nothing_found();
    out_t last = identity();
    for (bool any = true;; any = false) {  // the same in all threads of the warp
        Best found = nothing_found();  // the smallest value above `last`
        walk_values<32>(WALKED, x, [&](out_t value) {
            if (!(any || last < value) || hash_of(bits_of(value)) % passes != pass) return;
            if (found.count == 0 || value < found.value) found = {value, 1};
            else if (value == found.value) ++found.count;
        } ARGS);
        __syncwarp();
#pragma unroll
        for (int step = 16; step > 0; step >>= 1) {
            const Best other = of_lane(found, step);
            if (other.count != 0 && (found.count == 0 || other.value < found.value)) found = other;
            else if (other.count != 0 && other.value == found.value) found.count += other.count;
        }
        if (found.count == 0) return best;
        best = better(best, found, -1);
        last = found.value;
    }
}

template <int THREADS>
__device__ __forceinline__ Best best_of_pass(WALK, uint32_t x, const Places& table, uint32_t pass, uint32_t passes,
                                             uint32_t, const Scale& FORMALS) {
    const uint32_t me = rank_among<THREADS>();
    clear_places<THREADS>(table);
    join_threads<THREADS>();
    walk_values<THREADS>(WALKED, x, [&](out_t value) {
        const unsigned long long bits = bits_of(value);
        const uint32_t hash = hash_of(bits);
        if (passes == 1) count_value(table, bits, hash);
        else if (hash % passes == pass) count_value(table, bits, hash / passes);
    } ARGS);
    join_threads<THREADS>();
    Best best = nothing_found();
    for (uint32_t at = me; at < table.places; at += THREADS)
        if (table.sum[at]) best = better(best, {value_of_bits(table.key[at]), table.sum[at]}, -1);
    if (me == 0 && *table.marked) best = better(best, {value_of_bits(FREE_PLACE), *table.marked}, -1);
    if (*table.full) best = me < 32 ? best_without_table(WALKED, x, pass, passes ARGS) : nothing_found();
    join_threads<THREADS>();  // the table is free again
    return best;
}

#define BEING_CHANGED 0xFFFFFFFFu  // a count of a heavy vertex' best while a thread changes it

// One thread: make the better of `best` and a heavy vertex' best that vertex' best.
__device__ __forceinline__ void add_best(Reduced* sum, uint32_t, const Best& best FORMALS) {
    uint32_t* const count = &sum->count;
    uint32_t before;
    while ((before = atomicExch(count, BEING_CHANGED)) == BEING_CHANGED) {}
    __threadfence();  // the value is that of the count
    const Best both = better({*(volatile out_t*)&sum->value, before}, best, -1);
    *(volatile out_t*)&sum->value = both.value;
    __threadfence();
    atomicExch(count, both.count);
}
