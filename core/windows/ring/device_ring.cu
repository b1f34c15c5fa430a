// The events of a window on the device, and the net change of a slide (see device_ring.py).
// A table with linear probing has the pairs: table uint64[2 * slots], slots a power of two. Slot s holds the key of a pair,
// source << 32 | destination, and then the number of its live events. Keys stay until the table is made again. Lists are uint32[2 * capacity],
// sources, then destinations. No kernel synchronises with the host, nor blocks with each other.
#include "lists.cuh"

constexpr uint64_t FREE = ~0ull;
// counters uint32[5]: pairs that were listed as new and as gone so far, modulo 2^32; the largest id listed as new in a slide; slots with a key;
// blocks of the current launch that are done.
constexpr int GAINED = 0, LOST = 1, LARGEST = 2, USED = 3, DONE = 4;
constexpr int BLOCK = 256, ITEMS = 4;  // threads of a block, events that a thread handles at a time
constexpr uint32_t UNLISTED = ~0u;

__device__ __forceinline__ uint64_t first_place(uint64_t key) {
    key = (key ^ (key >> 32)) * 0x9E3779B97F4A7C15ull;
    return key ^ (key >> 32);
}

// The slot of a key; `taken` says whether it is new in the table, whose slot was taken by compare-and-swap.
__device__ __forceinline__ uint64_t slot_for(uint64_t* table, uint64_t mask, uint64_t key, bool& taken) {
    for (uint64_t at = first_place(key) & mask;; at = (at + 1) & mask) {
        uint64_t found = fresh(table[2 * at]);
        if (found == FREE) {
            found = atomicCAS((unsigned long long*)&table[2 * at], (unsigned long long)FREE, (unsigned long long)key);
            taken = found == FREE;
            if (taken) return at;
        }
        if (found == key) return at;
    }
}

// The slot of a key that is in the table.
__device__ __forceinline__ uint64_t slot_of(const uint64_t* table, uint64_t mask, uint64_t key) {
    uint64_t at = first_place(key) & mask;
    while (table[2 * at] != key) at = (at + 1) & mask;
    return at;
}

__device__ __forceinline__ uint32_t* live_of(uint64_t* table, uint64_t slot) {
    return (uint32_t*)(table + 2 * slot + 1);
}

// What the threads of a block list at a time: one atomic on the list's counter for all of them. In shared memory; `count` is 0 in between.
struct TileList {
    uint32_t count, begin;

    // All threads of the block: write the keys whose place is not UNLISTED to a list, before which the counter was `before`.
    __device__ void write(const uint64_t (&keys)[ITEMS], const uint32_t (&places)[ITEMS], uint32_t* list,
                          long long capacity, uint32_t* counter, uint32_t before) {
        __syncthreads();
        if (threadIdx.x == 0) begin = atomicAdd(counter, count) - before;
        __syncthreads();
        if (threadIdx.x == 0) count = 0;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            if (places[k] == UNLISTED) continue;
            list[begin + places[k]] = uint32_t(keys[k] >> 32);
            list[capacity + begin + places[k]] = uint32_t(keys[k]);
        }
        __syncthreads();
    }
};

// All threads of a block, at the end of a kernel: the last block answers the host with the counters, if it is asked.
__device__ __forceinline__ void answer_with(uint32_t* counters, unsigned long long* answer, unsigned long long number) {
    if (!answer || !is_last_block(counters + DONE)) return;
    for (int i = GAINED; i <= USED; ++i) answer[1 + i] = fresh(counters[i]);
    counters[LARGEST] = 0;
    answer_call(answer, number);
}

// Let events enter: src and dst uint32[entering] are written to keys uint64[mask + 1], a ring, from `back` on; pairs without live events
// before are listed in `come`; `gained`: the counter of them before. If `answer` is not null, the last block answers the host. Up to four
// events per thread at a time, grid-stride; an atomic per event on its pair, four per block, one per block at a time.
extern "C" __global__ void __launch_bounds__(BLOCK)
enter_events(uint64_t* keys, long long back, long long mask, const uint32_t* src, const uint32_t* dst,
             long long entering, long long undirected, uint64_t* table, uint64_t table_mask, uint32_t* come,
             long long capacity, uint32_t* counters, long long gained, unsigned long long* answer,
             unsigned long long number) {
    __shared__ TileList list;
    __shared__ uint32_t used, largest;
    if (threadIdx.x == 0) list.count = used = largest = 0;
    __syncthreads();
    const long long step = (long long)gridDim.x * BLOCK;
    uint32_t claimed = 0, top = 0;
    for (long long first = (long long)blockIdx.x * BLOCK; first < entering; first += ITEMS * step) {
        uint64_t key[ITEMS];
        uint32_t place[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const long long i = first + k * step + threadIdx.x;
            if (i >= entering) continue;
            const uint32_t u = src[i], v = dst[i];
            key[k] = undirected && v < u ? uint64_t(v) << 32 | u : uint64_t(u) << 32 | v;
            keys[(back + i) & mask] = key[k];
        }
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            place[k] = UNLISTED;
            if (first + k * step + threadIdx.x >= entering) continue;
            bool taken = false;
            const uint64_t slot = slot_for(table, table_mask, key[k], taken);
            claimed += taken;
            if (atomicAdd(live_of(table, slot), 1u) != 0) continue;
            place[k] = next_place(&list.count);
            top = max(top, max(uint32_t(key[k] >> 32), uint32_t(key[k])));
        }
        list.write(key, place, come, capacity, counters + GAINED, uint32_t(gained));
    }
    if (claimed) atomicAdd(&used, claimed);
    if (top) atomicMax(&largest, top);
    __syncthreads();
    if (threadIdx.x == 0) {
        if (used) atomicAdd(counters + USED, used);
        if (largest > fresh(counters[LARGEST])) atomicMax(counters + LARGEST, largest);
    }
    answer_with(counters, answer, number);
}

// Let the `leaving` events from `front` on leave, behind enter_events: pairs whose last live event they are, are listed in `gone`. A pair that
// gets an event in the same slide has one more by now, so no pair is in both lists. Threads, atomics, `lost` and `answer` as there.
extern "C" __global__ void __launch_bounds__(BLOCK)
leave_events(const uint64_t* keys, long long front, long long mask, long long leaving, uint64_t* table,
             uint64_t table_mask, uint32_t* gone, long long capacity, uint32_t* counters, long long lost,
             unsigned long long* answer, unsigned long long number) {
    __shared__ TileList list;
    if (threadIdx.x == 0) list.count = 0;
    __syncthreads();
    const long long step = (long long)gridDim.x * BLOCK;
    for (long long first = (long long)blockIdx.x * BLOCK; first < leaving; first += ITEMS * step) {
        uint64_t key[ITEMS];
        uint32_t place[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const long long i = first + k * step + threadIdx.x;
            if (i < leaving) key[k] = keys[(front + i) & mask];
        }
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            place[k] = UNLISTED;
            if (first + k * step + threadIdx.x >= leaving) continue;
            if (atomicSub(live_of(table, slot_of(table, table_mask, key[k])), 1u) == 1)
                place[k] = next_place(&list.count);
        }
        list.write(key, place, gone, capacity, counters + LOST, uint32_t(lost));
    }
    answer_with(counters, answer, number);
}

// Put the pairs with live events of one table into another, an empty one, with their counts; thread per slot, grid-stride.
extern "C" __global__ void move_pairs(uint64_t* from, long long slots, uint64_t* table, uint64_t table_mask) {
    for (long long s = wide_thread_id(); s < slots; s += wide_thread_count()) {
        const uint32_t live = *live_of(from, s);
        bool taken;
        if (live) *live_of(table, slot_for(table, table_mask, from[2 * s], taken)) = live;
    }
}

// List the pairs with live events in `come`, and count them, from 0 on; thread per slot, grid-stride.
extern "C" __global__ void list_pairs(uint64_t* table, long long slots, uint32_t* come, long long capacity,
                                      uint32_t* count) {
    for (long long s = wide_thread_id(); s < slots; s += wide_thread_count()) {
        if (!*live_of(table, s)) continue;
        const uint32_t at = next_place(count);
        come[at] = uint32_t(table[2 * s] >> 32);
        come[capacity + at] = uint32_t(table[2 * s]);
    }
}
