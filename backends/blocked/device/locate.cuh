// Locating the entries of a batch: its kind, and its slot, -1 if it is not stored. By a walk of the chain of each entry or, of a batch that is
// large for the graph, by one pass over the pool. In an invalid batch no entry counts.
#pragma once
#include "graph.cuh"

// LANES threads: locate entry i by a walk of its chain.
__device__ __forceinline__ void locate_entry(const Graph& g, const LocatedBatch& b, uint32_t i) {
    const int lane = threadIdx.x % LANES;
    const bool counts = !is_invalid(b) && is_last(b, i);
    long long slot = -1;
    if (counts) {
        const uint32_t u = source(b.keys[i]), v = uint32_t(b.keys[i]);
        uint32_t left = blocks_of(g, g.degree[u]), block = g.head[u], count = g.run[u];
        while (left && slot < 0) {
            uint32_t next = EMPTY;
            if (!count) count = run_of_blocks<LANES>(g, block, left, lane, next);
            else if (count < left) next = g.link[block + count - 1];
            const long long lo = (long long)block << g.shift, hi = lo + ((long long)count << g.shift);
            for (long long base = lo; base < hi && slot < 0; base += 4 * LANES) {  // unused slots match no id
                uint32_t found[4];
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const long long at = base + k * LANES + lane;
                    found[k] = at < hi ? g.dst[at] : EMPTY;
                }
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const uint32_t hits = __ballot_sync(tile_mask<LANES>(), found[k] == v) & tile_mask<LANES>();
                    if (hits) slot = base + k * LANES + (__ffs(hits) - 1) % LANES;
                }
            }
            left -= count;
            block = next;
            count = 0;
        }
    }
    if (lane == 0) {
        b.kind[i] = !counts ? DUPLICATE : slot >= 0 ? PRESENT : ABSENT;
        b.slot[i] = slot;
    }
}

// Thread, of a batch that is large for the graph: entry i is not stored yet, and `first` (EMPTY elsewhere) says where the entries of a vertex
// begin.
__device__ __forceinline__ void list_head(const LocatedBatch& b, uint32_t* first, uint32_t i) {
    const bool invalid = is_invalid(b);
    b.kind[i] = !invalid && is_last(b, i) ? ABSENT : DUPLICATE;
    b.slot[i] = -1;
    if (!invalid && is_head(b, i)) first[source(b.keys[i])] = i;
}

// Threads, over the slots of the pool in a grid-stride loop, behind list_head: each destination is searched among the entries of its vertex,
// so that the pool is read once, in address order, and no chain is followed. Edges are unique, so one thread at most finds an entry.
__device__ __forceinline__ void scan_slots(const Graph& g, const LocatedBatch& b, const uint32_t* first) {
    const long long slots = g.counters[USED] << g.shift, step = (long long)gridDim.x * blockDim.x;
    for (long long slot = (long long)blockIdx.x * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const uint32_t u = g.owner[slot >> g.shift];
        if (u == EMPTY) continue;
        const uint32_t head = first[u], v = g.dst[slot];
        if (head == EMPTY || v >= TOMBSTONE) continue;
        const uint64_t key = (uint64_t(u) << 32) | v;
        if (b.keys[head] > key) continue;
        const uint32_t entry = gallop_up(b.keys, head, uint32_t(b.size), key) - 1;
        if (b.keys[entry] == key) {
            b.kind[entry] = PRESENT;
            b.slot[entry] = slot;
        }
    }
}
