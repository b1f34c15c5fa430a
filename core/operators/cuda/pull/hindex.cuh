// The h-index: the largest h such that at least h neighbours of a vertex have values of at least h. Included by at_once.cuh where IS_MODE is 0.
// A thread keeps up to TINY values in the digits of a word. Of more neighbours a warp counts values in its part of shared memory, of more
// than WIDE the block in all of it, those of heavy vertices in turns. Where a vertex has more neighbours than there are places, a place
// counts values of a range, and a further pass over the neighbours looks into the range that has the h-index.
#pragma once

#define HINDEX_PLACES 2048  // of a block

struct ValueTable {
    uint32_t count[HINDEX_PLACES];
    uint32_t above[32];  // per warp
    int found;
};

// Of at most `most` the values up to `low` count nothing, those above `most` as `most`.
__device__ __forceinline__ uint32_t clipped(out_t value, uint32_t most) {
    return value <= out_t(0) ? 0 : (unsigned long long)value > most ? most : uint32_t(value);
}

// Of the at most TINY neighbours of x: digit k of a word counts the values above k.
__device__ __forceinline__ out_t value_by_thread(WALK, uint32_t x FORMALS) {
    static_assert(TINY == 8, "a digit for each of eight values");
    uint32_t digits = 0, index = 0;
    walk_neighbors<1>(WALKED, x, 0, [&](uint32_t y, weight_t w) {
        const uint32_t value = clipped(EDGE(x, y, w), TINY);
        if (value > 0) digits += 0x11111111u >> (4 * (TINY - value));
    });
    while (index < TINY && (digits >> (4 * index) & 15) > index) ++index;
    return out_t(index);
}

// The last place k of [begin, end), whole warps of them, such that at least low + 1 + k * width values are in the places from k on, `above`
// of them behind `end`; -1 if there is none. All threads of a warp call it.
__device__ __forceinline__ int last_reached(const uint32_t* count, uint32_t begin, uint32_t end,
                                            unsigned long long above, uint32_t low, uint32_t width) {
    const uint32_t lane = threadIdx.x % 32;
    for (; end > begin; end -= 32) {
        const uint32_t k = end - 1 - lane;
        unsigned long long sum = count[k];
#pragma unroll
        for (int step = 1; step < 32; step <<= 1) {
            const unsigned long long other = __shfl_up_sync(ALL_LANES, sum, step);
            if (lane >= step) sum += other;
        }
        sum += above;
        const uint32_t reached = __ballot_sync(ALL_LANES, sum >= low + 1ull + (unsigned long long)k * width);
        if (reached) return int(end - __ffs(reached));
        above = __shfl_sync(ALL_LANES, sum, 31);
    }
    return -1;
}

// The same of all `places`, in all of the THREADS calling threads, a warp or the block, which it synchronises.
template <int THREADS>
__device__ __forceinline__ int last_of_all(ValueTable& table, const uint32_t* count, uint32_t places, uint32_t low,
                                           uint32_t width) {
    if (THREADS == 32) return last_reached(count, 0, places, 0, low, width);
    constexpr uint32_t WARPS = THREADS / 32;
    static_assert(HINDEX_PLACES % THREADS == 0, "each warp has whole warps of places");
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, part = places / WARPS, begin = warp * part;
    uint32_t mine = 0;
    for (uint32_t k = begin + lane; k < begin + part; k += 32) mine += count[k];
    mine = tile_reduce<32>(mine);
    if (lane == 0) table.above[warp] = mine;
    if (threadIdx.x == 0) table.found = -1;
    __syncthreads();
    unsigned long long above = 0;
    for (uint32_t k = warp + 1; k < WARPS; ++k) above += table.above[k];
    const int found = last_reached(count, begin, begin + part, above, low, width);
    if (lane == 0 && found >= 0) atomicMax(&table.found, found);
    __syncthreads();
    return table.found;
}

// The h-index of the neighbours of x, in all of the THREADS calling threads, a warp or the block, which it synchronises. They have
// `most_places` from `count` on.
template <int THREADS>
__device__ __forceinline__ out_t hindex_of(WALK, uint32_t x, ValueTable& table, uint32_t* count,
                                           uint32_t most_places FORMALS) {
    const uint32_t me = rank_among<THREADS>();
    uint32_t low = 0, high = degree_of(WALKED, x);  // low <= h <= high
    const uint32_t places = high < most_places ? (high + THREADS - 1) / THREADS * THREADS : most_places;
    while (low < high) {  // the same in all threads
        const uint32_t width = (high - low - 1) / places + 1, last = (high - low - 1) / width;
        for (uint32_t k = me; k < places; k += THREADS) count[k] = 0;
        join_threads<THREADS>();
        uint32_t most = 0;  // values of the last place
        walk_values<THREADS>(WALKED, x, [&](out_t given) {
            const uint32_t value = clipped(given, high);
            if (value <= low) return;
            const uint32_t k = (value - low - 1) / width;
            if (k == last) ++most;
            else atomicAdd(count + k, 1u);
        } ARGS);
        if (most) atomicAdd(count + last, most);
        join_threads<THREADS>();
        const int found = last_of_all<THREADS>(table, count, places, low, width);
        join_threads<THREADS>();  // the places are free again
        if (found < 0) break;
        low += 1 + uint32_t(found) * width;
        high = min(high, low + width - 1);
    }
    return out_t(low);
}

// Of the at most WIDE neighbours of x, in all threads of the calling warp, one of WARPS in its block; each has a part of the places.
template <int WARPS>
__device__ __forceinline__ out_t value_by_warp(WALK, uint32_t x, ValueTable& table FORMALS) {
    constexpr uint32_t PART = HINDEX_PLACES / WARPS;
    return hindex_of<32>(WALKED, x, table, table.count + threadIdx.x / 32 * PART, PART ARGS);
}

// Of all neighbours of x, in all threads of the block, which it synchronises.
template <int THREADS>
__device__ __forceinline__ out_t value_by_block(WALK, uint32_t x, ValueTable& table FORMALS) {
    return hindex_of<THREADS>(WALKED, x, table, table.count, HINDEX_PLACES ARGS);
}

// A heavy vertex is left to one block: in how many passes, only they tell.
__device__ __forceinline__ uint32_t parts_of_values(uint32_t) { return 1; }

// All listed vertices, in turns by the blocks `block` of `blocks`, all threads of which call it; calls finish(place, vertex, reduced) in
// one thread. `packed` is the final *heavy.list.total.
template <int THREADS, class F>
__device__ __forceinline__ void values_of_heavy(WALK, unsigned long long packed, const Heavy& heavy, uint32_t block,
                                                uint32_t blocks, ValueTable& table, F&& finish FORMALS) {
    const uint32_t number = kept_entries(packed, heavy.list);
    for (uint32_t k = block; k < number; k += blocks) {
        Reduced whole = nothing_reduced();
        whole.value = value_by_block<THREADS>(WALKED, heavy.list.entry[k], table ARGS);
        if (threadIdx.x == 0) finish(heavy.place[k], heavy.list.entry[k], whole);
    }
}
