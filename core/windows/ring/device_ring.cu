// The events of a window on the device, and the net change of a slide (see device_ring.py).
// A table with linear probing has the pairs: table uint64[2 * slots], slots a power of two. Slot s holds the key of a
// pair, source << 32 | destination, and then two words: how many live events it has (low), and what the slide adds to
// that so far (high, signed; 0 between slides). Keys stay until the table is made again. No kernel synchronises.
#include "lists.cuh"

constexpr uint64_t FREE = ~0ull;
constexpr int TOUCHED = 0, GAINED = 1, LOST = 2, LARGEST = 3, USED = 4;  // counters uint32[5]

__device__ __forceinline__ uint64_t first_place(uint64_t key) {
    key = (key ^ (key >> 32)) * 0x9E3779B97F4A7C15ull;
    return key ^ (key >> 32);
}

// The slot of a key, which is put into the table if it is not there; a slot is taken by compare-and-swap.
__device__ __forceinline__ uint64_t slot_of(uint64_t* table, uint64_t mask, uint64_t key, uint32_t* counters) {
    for (uint64_t at = first_place(key) & mask;; at = (at + 1) & mask) {
        uint64_t found = fresh(table[2 * at]);
        if (found == FREE) {
            found = atomicCAS((unsigned long long*)&table[2 * at], (unsigned long long)FREE, (unsigned long long)key);
            if (found == FREE) {
                next_place(counters + USED);
                return at;
            }
        }
        if (found == key) return at;
    }
}

__device__ __forceinline__ uint32_t* live_of(uint64_t* table, uint64_t slot) {
    return (uint32_t*)(table + 2 * slot + 1);
}

// Count the events that enter and those that leave; keys uint64[mask + 1] is a ring of the keys of events. Thread per event,
// grid-stride: the first `entering` of them, src and dst uint32[entering], are written to the ring from `back` on, the others
// are read from `front` on. An atomic per event on the pair. touched uint32[entering + leaving]: slots of pairs, some repeatedly.
extern "C" __global__ void count_events(uint64_t* keys, long long front, long long back, long long mask,
                                        const uint32_t* src, const uint32_t* dst, long long entering, long long leaving,
                                        int undirected, uint64_t* table, uint64_t table_mask, uint32_t* touched,
                                        uint32_t* counters) {
    for (long long i = wide_thread_id(); i < entering + leaving; i += wide_thread_count()) {
        uint64_t key;
        if (i < entering) {
            const uint32_t u = src[i], v = dst[i];
            key = undirected && v < u ? uint64_t(v) << 32 | u : uint64_t(u) << 32 | v;
            keys[(back + i) & mask] = key;
        } else {
            key = keys[(front + i - entering) & mask];
        }
        const uint64_t slot = slot_of(table, table_mask, key, counters);
        // 0 before: nobody has listed the pair, or it was listed and all of it was undone; to list it twice is harmless
        if (atomicAdd(live_of(table, slot) + 1, i < entering ? 1u : ~0u) == 0)
            append(touched, counters + TOUCHED, uint32_t(slot));
    }
}

// List the pairs whose last live event left, gone uint32[2 * gone_capacity] (sources, then destinations), and those that are new, and
// make their counts current. Thread per entry of touched, grid-stride; of repeated entries the first to take the sum counts.
extern "C" __global__ void net_change(uint64_t* table, const uint32_t* touched, uint32_t* gone, long long gone_capacity,
                                      uint32_t* come, long long come_capacity, uint32_t* counters) {
    const uint32_t count = counters[TOUCHED];
    for (uint32_t i = thread_id(); i < count; i += thread_count()) {
        const uint64_t slot = touched[i], key = table[2 * slot];
        uint32_t* live = live_of(table, slot);
        const uint32_t change = atomicExch(live + 1, 0u);
        if (!change) continue;
        const uint32_t before = *live, after = before + change;
        *live = after;
        const uint32_t u = uint32_t(key >> 32), v = uint32_t(key);
        if (!before) {
            const uint32_t at = next_place(counters + GAINED);
            come[at] = u;
            come[come_capacity + at] = v;
            const uint32_t larger = u < v ? v : u;
            if (larger > fresh(counters[LARGEST])) atomicMax(counters + LARGEST, larger);
        } else if (!after) {
            const uint32_t at = next_place(counters + LOST);
            gone[at] = u;
            gone[gone_capacity + at] = v;
        }
    }
}

// Put the pairs with live events of one table into another, `counts` with their counts; thread per slot, grid-stride.
extern "C" __global__ void move_pairs(uint64_t* from, long long slots, uint64_t* table, uint64_t table_mask,
                                      uint32_t* counters) {
    for (long long s = wide_thread_id(); s < slots; s += wide_thread_count()) {
        const uint32_t live = *live_of(from, s);
        if (live) *live_of(table, slot_of(table, table_mask, from[2 * s], counters)) = live;
    }
}

// List the pairs with live events, come uint32[2 * capacity] (sources, then destinations); thread per slot, grid-stride.
extern "C" __global__ void list_pairs(uint64_t* table, long long slots, uint32_t* come, long long capacity,
                                      uint32_t* counters) {
    for (long long s = wide_thread_id(); s < slots; s += wide_thread_count()) {
        if (!*live_of(table, s)) continue;
        const uint32_t at = next_place(counters + GAINED);
        come[at] = uint32_t(table[2 * s] >> 32);
        come[capacity + at] = uint32_t(table[2 * s]);
    }
}
