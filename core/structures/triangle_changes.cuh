// What change_triangles (triangle_changes.cu) builds of a batch: tables of its edges, lists of its pairs, rows of its deleted arcs.
#pragma once
#include "edge_fill.cuh"

constexpr int TILE = 8;  // threads per pair
constexpr uint32_t NARROW = 48;  // up to this many neighbours a tile walks them
constexpr uint32_t WIDE = 512;  // up to this many a warp, above it the buckets are split across the grid
constexpr int BUCKET_LANES = SCAN_LANES > 0 ? SCAN_LANES : 32;
constexpr int HEAVY_SHIFT = 38;  // of the packed number of heavy pairs: their buckets are below
enum { ARRIVED, TAKEN, NARROWS, WIDES };  // counters, one less than what they say, as is *heavy

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

// Append to a list whose counter is one less than its length, with one atomic for the threads that are here together.
__device__ __forceinline__ uint32_t next_place(uint32_t* counter) {
    const uint32_t here = __activemask(), leader = __ffs(here) - 1, lane = threadIdx.x & 31;
    uint32_t place = 0;
    if (lane == leader) place = atomicAdd(counter, __popc(here)) + 1u;
    return __shfl_sync(here, place, leader) + __popc(here & ((1u << lane) - 1u));
}

// Put pair `number` into one of the lists: narrow ones from the front of m.pair, wide ones from its end.
__device__ __forceinline__ void list_pair(const Work& w, uint32_t number, uint32_t u, uint32_t v) {
    const uint32_t left = degree(w.g, u), right = degree(w.g, v), smaller = min(left, right);
    if (smaller == 0) return;
    if (smaller <= NARROW) {
        w.m.pair[next_place(w.m.counter + NARROWS)] = number;
    } else if (smaller <= WIDE) {
        w.m.pair[w.m.pairs - 1 - next_place(w.m.counter + WIDES)] = number;
    } else {
        const unsigned long long parts = buckets(w.g, left <= right ? u : v);
        const unsigned long long before = atomicAdd(w.m.heavy, (1ull << HEAVY_SHIFT) + parts) + 1ull;
        w.m.heavy_pair[before >> HEAVY_SHIFT] = number;
        w.m.heavy_base[before >> HEAVY_SHIFT] = (long long)(before & ((1ull << HEAVY_SHIFT) - 1));
    }
}

// Enter the arcs that count; `first` is the number of the first one, `by` what they add to degrees.
__device__ __forceinline__ void enter(const Work& w, const Arcs& arcs, uint32_t first, int by,
                                      unsigned long long* table, uint32_t capacity) {
    for (long long i = thread_id(); i < arcs.size; i += thread_count()) {
        if (!is_counted(arcs, i)) continue;
        const uint32_t u = arcs.src[i], v = arcs.dst[i];
        if (u == v) continue;
        atomicAdd((unsigned long long*)w.degrees + u, (unsigned long long)(long long)by);
        if (by < 0) atomicAdd(w.m.row + slot_for_source(w.m.source, w.m.slots, u), 1u);
        if (u > v) continue;
        slot_for_key(table, capacity, key_of_edge(u, v, 0));
        list_pair(w, first + uint32_t(i), u, v);
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
    return w.m.row[slot_for_source(w.m.source, w.m.slots, u)];
}

__device__ __forceinline__ void fill_rows(const Work& w) {
    for (long long i = thread_id(); i < w.gone.size; i += thread_count()) {
        const uint32_t u = w.gone.src[i], v = w.gone.dst[i];
        if (!is_counted(w.gone, i) || u == v) continue;
        const uint32_t row = row_of(w, u);
        w.m.rows[row + 1u + atomicAdd(w.m.rows + row, 1u)] = v;
    }
}
