// What the mode and the vote share: each finds the best of a vertex' neighbours' values, or labels. A thread keeps up to TINY of them and compares
// them; of more neighbours a warp sums up in its part of a hash table in shared memory, of more than WIDE the block in all of it. A pass over
// the neighbours takes the values that a hash assigns to it, so that they fit; the passes of a heavy vertex are shared out among all
// blocks, in the launch or phase behind the one that listed them.
//
// Included by mode.cuh and vote.cuh, which bring a Best, better(a, b, kept) of two, nothing_found(), reduced_to(best); the types of keys and sums in
// the table; a Scale, scale_for and Scales; best_of_pass and add_best.
#pragma once

#define TABLE_PLACES 2048  // of the hash table of a block
#define TABLE_LOAD 1024  // different values per pass of a block at most, on the average
// Neighbours vote for fewer labels than they are, in most rounds: a block tries to add up in one pass, which ends where the table is nearly
// full, what takes up to so many passes.
#if IS_VOTE && MAY_TRY
#define PASSES_OF_PART 4
#else
#define PASSES_OF_PART 1
#endif
#define PROBES 64  // places that are looked at in such a pass

// The value that the lane of a warp has whose number differs in the bits of `step`.
template <class T> __device__ __forceinline__ T of_lane(T value, int step) {
    static_assert(sizeof(T) % 4 == 0, "whole words");
#pragma unroll
    for (int i = 0; i < int(sizeof(T) / 4); ++i)
        ((uint32_t*)&value)[i] = __shfl_xor_sync(ALL_LANES, ((uint32_t*)&value)[i], step);
    return value;
}

// The best that the threads of a warp have, in all of them.
__device__ __forceinline__ Best best_of_warp(Best best, long long kept) {
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) best = better(best, of_lane(best, step), kept);
    return best;
}

struct ValueTable {
    table_key key[TABLE_PLACES];  // FREE_PLACE: of none
    table_sum sum[TABLE_PLACES];
    Best best[32];  // per warp
    uint32_t marked[32];  // per warp, or the block: what sums up for the key that is FREE_PLACE, if it may occur
    uint32_t full[32];  // likewise: whether a value found no place
    Scales scales;
};

// What sums up for one vertex: `places` of the table, a power of two, and two words; of a warp or of the block.
struct Places {
    table_key* key;
    table_sum* sum;
    uint32_t *marked, *full;
    uint32_t places;
};

// Of `most` places from `first` on, a power of two, twice as many as a vertex has neighbours, if there are so many.
__device__ __forceinline__ Places places_for(ValueTable& table, uint32_t first, uint32_t most, uint32_t flag,
                                             uint32_t neighbors) {
    const uint32_t wanted = neighbors < most / 2 ? 1u << (32 - __clz(2 * max(neighbors, 2u) - 1)) : most;
    return {table.key + first, table.sum + first, table.marked + flag, table.full + flag, wanted};
}

// Empty the table; each of the THREADS threads a part of it. They are not synchronised.
template <int THREADS> __device__ __forceinline__ void clear_places(const Places& table) {
    for (uint32_t at = rank_among<THREADS>(); at < table.places; at += THREADS) {
        table.key[at] = FREE_PLACE;
        table.sum[at] = 0;
    }
    if (rank_among<THREADS>() == 0) *table.marked = *table.full = 0;
}

// Add to a sum in shared memory; any threads. Of 64 bits there is no such instruction: a loop of compare-and-swap, in which threads that
// add to one sum wait for each other, would take its place. So the low word is added, and the high one where it changes.
__device__ __forceinline__ void add_amount(uint32_t* sum, uint32_t amount) { atomicAdd(sum, amount); }
__device__ __forceinline__ void add_amount(unsigned long long* sum, unsigned long long amount) {
    uint32_t* const words = (uint32_t*)sum;
    const uint32_t low = uint32_t(amount), before = atomicAdd(words, low);
    const uint32_t high = uint32_t(amount >> 32) + (before + low < low);
    if (high != 0) atomicAdd(words + 1, high);
}

// Add to what sums up for a key; any threads. Linear probing from a place that its hash gives, up to `probes` places; return whether that
// finds one.
__device__ __forceinline__ bool may_add(const Places& table, table_key key, uint32_t hash, table_sum amount,
                                        uint32_t probes) {
    for (uint32_t i = 0; i < min(probes, table.places); ++i) {
        const uint32_t at = (hash + i) & (table.places - 1);
        table_key there = *(const volatile table_key*)(table.key + at);
        if (there == FREE_PLACE) there = atomicCAS(table.key + at, FREE_PLACE, key);
        if (there == FREE_PLACE || there == key) {
            add_amount(table.sum + at, amount);
            return true;
        }
    }
    return false;
}

__device__ __forceinline__ void add_to(const Places& table, table_key key, uint32_t hash, table_sum amount,
                                       uint32_t probes) {
    if (!may_add(table, key, hash, amount, probes)) atomicExch(table.full, 1u);
}

// The number of parts into which a block divides the values of this number of neighbours: those of a heavy vertex.
__device__ __forceinline__ uint32_t parts_of_values(uint32_t neighbors) {
    return neighbors / (PASSES_OF_PART * TABLE_LOAD) + 1;
}

// The best of the values of a pass over the neighbours of x: the part of each of the THREADS calling threads, a warp or the block, which it
// synchronises. probes: below TABLE_PLACES if the pass is a try: its result does not count where table.full is set.
template <int THREADS>
__device__ __forceinline__ Best best_of_pass(WALK, uint32_t x, const Places& table, uint32_t pass, uint32_t passes,
                                             uint32_t probes, const Scale& scale FORMALS);
__device__ __forceinline__ void add_best(Reduced* sum, uint32_t x, const Best& best FORMALS);
template <int THREADS> __device__ __forceinline__ Scale scale_for(WALK, uint32_t x, Scales& scales FORMALS);

// Of the at most WIDE neighbours of x, in all threads of the calling warp, one of WARPS in its block; each has a part of the table.
template <int WARPS> __device__ __forceinline__ Reduced value_by_warp(WALK, uint32_t x, ValueTable& table FORMALS) {
    constexpr uint32_t MOST = TABLE_PLACES / WARPS;
    const uint32_t warp = threadIdx.x / 32, neighbors = degree_of(WALKED, x);
    const Places mine = places_for(table, warp * MOST, MOST, warp, neighbors);
    const uint32_t passes = neighbors <= MOST ? 1 : neighbors / (MOST / 2) + 1;
    const Scale scale = scale_for<32>(WALKED, x, table.scales ARGS);
    Best best = nothing_found();
    for (uint32_t pass = 0; pass < passes; ++pass)
        best = better(best, best_of_pass<32>(WALKED, x, mine, pass, passes, TABLE_PLACES, scale ARGS), KEPT(x));
    return reduced_to(best_of_warp(best, KEPT(x)));
}

// The best that the threads of a block have, in its thread 0.
template <int THREADS>
__device__ __forceinline__ Best best_of_block(ValueTable& table, Best best, long long kept) {
    best = best_of_warp(best, kept);
    if (threadIdx.x % 32 == 0) table.best[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 1; k < THREADS / 32; ++k) best = better(best, table.best[k], kept);
    return best;
}

// The best of the values of one of `parts` parts, as best_of_pass: those whose hashes are `part` modulo `parts`.
template <int THREADS>
__device__ __forceinline__ Best best_of_part(WALK, uint32_t x, const Places& table, uint32_t part, uint32_t parts,
                                             const Scale& scale FORMALS) {
    Best best = nothing_found();
#pragma unroll 1
    for (int k = PASSES_OF_PART > 1 ? -1 : 0; k < PASSES_OF_PART; ++k) {
        const bool tries = k < 0;
        const uint32_t pass = part + (tries ? 0 : k * parts), passes = tries ? parts : PASSES_OF_PART * parts;
        const Best found =
            best_of_pass<THREADS>(WALKED, x, table, pass, passes, tries ? PROBES : TABLE_PLACES, scale ARGS);
        if (!tries) best = better(best, found, KEPT(x));
        if (!tries) continue;
        const bool fits = *(const volatile uint32_t*)table.full == 0;
        join_threads<THREADS>();  // everybody has read it
        if (fits) return found;
    }
    return best;
}

// Of all neighbours of x, in thread 0 of the block; all of its THREADS threads call it, and it synchronises them.
template <int THREADS> __device__ __forceinline__ Reduced value_by_block(WALK, uint32_t x, ValueTable& table FORMALS) {
    const uint32_t neighbors = degree_of(WALKED, x), parts = parts_of_values(neighbors);
    const Places all = places_for(table, 0, TABLE_PLACES, 0, neighbors);
    const Scale scale = scale_for<THREADS>(WALKED, x, table.scales ARGS);
    Best best = nothing_found();
    for (uint32_t part = 0; part < parts; ++part)
        best = better(best, best_of_part<THREADS>(WALKED, x, all, part, parts, scale ARGS), KEPT(x));
    return reduced_to(best_of_block<THREADS>(table, best, KEPT(x)));
}

#if !HAS_TABLES
// The parts of all listed vertices, in turns by the blocks `block` of `blocks`, all threads of which call it. The thread that completes
// a vertex calls finish(place, vertex, reduced). `packed` is the final *heavy.list.total, where parts stand for buckets.
template <int THREADS, class F>
__device__ __forceinline__ void values_of_heavy(WALK, unsigned long long packed, const Heavy& heavy, uint32_t block,
                                                uint32_t blocks, ValueTable& table, F&& finish FORMALS) {
    const HeavyList& list = heavy.list;
    const uint32_t number = kept_entries(packed, list);
    if (number == 0) return;
    const long long all = list.base[number - 1] + parts_of_values(degree_of(WALKED, list.entry[number - 1]));
    for (long long item = block; item < all; item += blocks) {
        const uint32_t k = entry_at(list, number, item), x = list.entry[k];
        const uint32_t neighbors = degree_of(WALKED, x), parts = parts_of_values(neighbors);
        const uint32_t number = uint32_t(item - list.base[k]);
        const Places places = places_for(table, 0, TABLE_PLACES, 0, neighbors);
        const Scale scale = scale_for<THREADS>(WALKED, x, table.scales ARGS);
        const Best part = best_of_part<THREADS>(WALKED, x, places, number, parts, scale ARGS);
        const Best best = best_of_block<THREADS>(table, part, KEPT(x));
        if (threadIdx.x == 0) {
            add_best(heavy.sum + k, x, best ARGS);
            __threadfence();  // the part is in place before it counts as done
            if (atomicSub(heavy.left + k, 1u) == 1u) {
                __threadfence();  // what the others added is seen
                Reduced whole;
                for (uint32_t i = 0; i < sizeof(Reduced) / 4; ++i)
                    ((uint32_t*)&whole)[i] = read_fresh((const uint32_t*)(heavy.sum + k) + i);
                finish(heavy.place[k], x, whole);
            }
        }
        __syncthreads();  // table.best is free again
    }
}
#endif
