// What change_triangles (triangle_changes.cu) builds of a batch: tables of its edges, lists of its pairs, rows of its deleted arcs.
#pragma once
#include "edge_fill.cuh"

constexpr int TILE = 8;  // threads per pair
constexpr uint32_t NARROW = 48;  // up to this many neighbours a tile walks them
constexpr int BUCKET_LANES = SCAN_LANES > 0 ? SCAN_LANES : 32, TEAMS = 32 / BUCKET_LANES;
constexpr int LEAST = TEAMS > 1 ? TEAMS / 2 : 1;  // buckets that a warp serves of the pairs with more neighbours
constexpr int HEAVY_SHIFT = 38;  // of the packed number of heavy pairs: their buckets are below
enum { ARRIVED, TAKEN, NARROWS };  // counters, one less than what they say, as is *heavy

// All that the phases share. `triangles` and `degrees` are int64[n].
struct Work {
    const View& g;
    const Arcs& gone;
    const Arcs& come;
    const Memory& m;
    long long* triangles;
    long long* degrees;

    __device__ bool is_gone(uint32_t u, uint32_t v) const { return holds(m.gone_key, m.gone_capacity, u, v); }
    __device__ bool is_new(uint32_t u, uint32_t v) const {
        return come.size > 0 && holds(m.come_key, m.come_capacity, u, v);
    }
    __device__ static bool holds(const unsigned long long* table, uint32_t capacity, uint32_t u, uint32_t v) {
        const unsigned long long key = key_of_edge(u, v, 0);
        uint32_t at = home_of_key(key, capacity);
        for (unsigned long long held = table[at]; held != NO_KEY; held = table[at]) {
            if (held == key) return true;
            if (++at == capacity) at = 0;
        }
        return false;
    }
    __device__ void count(uint32_t vertex, int number) const {
        if (number != 0) atomicAdd((unsigned long long*)triangles + vertex, (unsigned long long)(long long)number);
    }
};

__device__ __forceinline__ bool is_counted(const Arcs& arcs, long long i) {
    return !arcs.status || arcs.status[i] == arcs.wanted;
}

template <int LANES> __device__ __forceinline__ int tile_sum(int value) {
    const uint32_t mask = tile_mask<LANES>();
    __syncwarp(mask);
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) value += __shfl_xor_sync(mask, value, step, LANES);
    return value;
}

// -- tables and lists ---------------------------------------------------------------------------------------------

// Warp: the place of each lane for which `joins` holds in a list whose counter is one less than its length; one atomic.
__device__ __forceinline__ uint32_t next_place(uint32_t* counter, bool joins) {
    const uint32_t all = __ballot_sync(ALL_LANES, joins), lane = threadIdx.x & 31;
    uint32_t place = 0;
    if (all && lane == 0) place = atomicAdd(counter, __popc(all)) + 1u;
    return __shfl_sync(ALL_LANES, place, 0) + __popc(all & ((1u << lane) - 1u));
}

// Warp: the same for the list of heavy pairs, with the buckets of the lane's pair, 0 if it has none.
__device__ __forceinline__ void list_heavy(const Memory& m, uint32_t number, uint32_t parts) {
    if (!__any_sync(ALL_LANES, parts > 0)) return;
    const uint32_t lane = threadIdx.x & 31;
    const unsigned long long own = parts > 0 ? (1ull << HEAVY_SHIFT) + parts : 0;
    unsigned long long end = own, base = 0;
    for (int step = 1; step < 32; step <<= 1) {
        const unsigned long long below = __shfl_up_sync(ALL_LANES, end, step);
        if (lane >= step) end += below;
    }
    if (lane == 31) base = atomicAdd(m.heavy, end) + 1ull;
    const unsigned long long before = __shfl_sync(ALL_LANES, base, 31) + end - own;
    if (parts == 0) return;
    m.heavy_pair[before >> HEAVY_SHIFT] = number;
    m.heavy_base[before >> HEAVY_SHIFT] = (long long)(before & ((1ull << HEAVY_SHIFT) - 1));
}

// An edge u < v of the batch; the neighbours of `walked`, the end of the smaller degree, are looked up at `other`.
struct Pair {
    uint32_t u, v, smaller, walked, other;
    bool is_new;
};

__device__ __forceinline__ Pair pair_of(const View& g, uint32_t u, uint32_t v, bool is_new) {
    const uint32_t left = degree(g, u), right = degree(g, v);
    return {u, v, min(left, right), left <= right ? u : v, left <= right ? v : u, is_new};
}

// Warp: put the pair of each lane, if it has one, into the list that fits.
__device__ __forceinline__ void list_pairs(const Work& w, bool has_pair, uint32_t number, uint32_t u, uint32_t v) {
    Pair p = {};
    if (has_pair) p = pair_of(w.g, u, v, false);
    const bool narrow = p.smaller > 0 && p.smaller <= NARROW;
    const uint32_t place = next_place(w.m.counter + NARROWS, narrow);
    if (narrow) w.m.pair[place] = number;
    list_heavy(w.m, number, p.smaller > NARROW ? buckets(w.g, p.walked) : 0);
}

// Enter the arcs that count; `first` is the number of the first one, `by` what they add to degrees.
__device__ __forceinline__ void enter(const Work& w, const Arcs& arcs, uint32_t first, int by,
                                      unsigned long long* table, uint32_t capacity) {
    for (long long i = thread_id(); i - (threadIdx.x & 31) < arcs.size; i += thread_count()) {
        const uint32_t u = i < arcs.size ? arcs.src[i] : 0, v = i < arcs.size ? arcs.dst[i] : 0;
        const bool counts = i < arcs.size && is_counted(arcs, i) && u != v;
        if (counts) {
            atomicAdd((unsigned long long*)w.degrees + u, (unsigned long long)(long long)by);
            if (by < 0) atomicAdd(w.m.row + slot_for_source(w.m.source, w.m.slots, u), 1u);
            if (u < v) slot_for_key(table, capacity, key_of_edge(u, v, 0));
        }
        list_pairs(w, counts && u < v, first + uint32_t(i), u, v);
    }
}

// -- rows of deleted arcs -----------------------------------------------------------------------------------------------

// Say where the rows of deleted arcs begin: there lies the length, so far 0, and behind it the other ends.
__device__ __forceinline__ void begin_rows(const Work& w) {
    for (long long s = thread_id(); s - (threadIdx.x & 31) < w.m.slots; s += thread_count()) {
        const bool used = s < w.m.slots && w.m.source[s] != EMPTY;
        const uint32_t begin = take_words(w.m.counter + TAKEN, used ? w.m.row[s] + 2u : 0u);  // the length, and one
        if (!used) continue;
        w.m.rows[begin] = 0;
        w.m.row[s] = begin;
    }
}

__device__ __forceinline__ uint32_t row_of(const Work& w, uint32_t u) {
    return w.m.row[slot_of_source(w.m.source, w.m.slots, u)];
}

__device__ __forceinline__ void fill_rows(const Work& w) {
    for (long long i = thread_id(); i < w.gone.size; i += thread_count()) {
        const uint32_t u = w.gone.src[i], v = w.gone.dst[i];
        if (!is_counted(w.gone, i) || u == v) continue;
        const uint32_t row = row_of(w, u);
        w.m.rows[row + 1u + atomicAdd(w.m.rows + row, 1u)] = v;
    }
}
