// Plans and blocks of sorted.cu: what becomes of each vertex that a batch changes, and which block it takes. A vertex stands for the
// first of its changes, its head, in the list of all changes. The structs Graph and Update come from layout.py.
#pragma once
#include "blocks.cuh"
#include "changes.cuh"

struct Arguments {
    Update u;
    Graph g;
};

__device__ __forceinline__ bool is_change_head(const Update& c, uint32_t r) {
    return r == 0 || source(c.changed_key[r - 1]) != source(c.changed_key[r]);
}

// First old slot that moves: in place nothing below the first change does.
__device__ __forceinline__ long long first_moved(const Graph& g, const Update& c, uint32_t head, uint32_t u) {
    return c.target[head] == KEEP ? c.changed_slot[head] : g.begin[u];
}

// Thread per change, heads work: the class that the vertex migrates to (or KEEP, NONE), its ticket among those of the class, the
// number of its changes, and a place in a list if there is much to move.
__device__ __forceinline__ void plan_changes(const Graph& g, const Update& c, uint32_t total) {
    __shared__ ClassCount classes, lists;  // of the lists, the first two count what warps and blocks move
    for (long long base = (long long)blockIdx.x * CHANGE_BLOCK; base < total; base += thread_count()) {
        clear(classes);
        clear(lists);
        const uint32_t r = base + threadIdx.x;
        uint8_t target = IDLE;
        long long moved = 0;
        if (r < total && is_change_head(c, r)) {
            const uint32_t u = source(c.changed_key[r]);
            const uint32_t run = gallop_up(c.changed_key, r, total, c.changed_key[r] | 0xFFFFFFFFull) - r;
            const long long degree = g.end[u] - g.begin[u];
            target = c.deleting ? shrunk(degree - run, g.klass[u], c.may_shrink) : grown(degree + run, g.klass[u]);
            moved = target == NONE ? 0 : target == KEEP ? g.end[u] - c.changed_slot[r] : degree;
            c.run[r] = run;
        }
        const unsigned long long ticket = count_class(classes, target, (unsigned long long*)&c.counts[NEED]);
        if (r < total) {
            c.target[r] = target;
            c.ticket[r] = uint32_t(ticket);
        }
        const uint32_t list = moved > BLOCK_MOST || moved <= TILE_MOST ? CLASSES : moved > WARP_MOST;
        const unsigned long long at = count_class(lists, list, (unsigned long long*)&c.counts[WARPS]);
        if (list < CLASSES) (list ? c.blocks : c.warps)[at] = r;
        if (moved > BLOCK_MOST) {
            const uint32_t parts = (moved + MOVE_PART - 1) / MOVE_PART;
            const unsigned long long at = atomicAdd((unsigned long long*)&c.counts[PARTS], (unsigned long long)parts);
            for (uint32_t k = 0; k < parts; ++k) c.parts[at + k] = (uint64_t(r) << 32) | k;
        }
        __syncthreads();
    }
}

// What is left of the free blocks, and where the needed ones are: per class the height of the stack, what is taken of it, and
// the first carved block. The last one carved ends at ``end``.
struct Handout {
    long long top[CLASSES], taken[CLASSES], carved[CLASSES], need[CLASSES], end;
};

// Block: take needed blocks from the free stacks, carve the rest. All blocks work out the same; the counters stay.
__device__ __forceinline__ void hand_out(const Graph& g, const Update& c, Handout& blocks) {
    const uint32_t k = threadIdx.x;
    if (k < CLASSES) {
        blocks.need[k] = c.counts[NEED + k];
        blocks.top[k] = g.counters[FREE + k];
        blocks.taken[k] = min(blocks.need[k], blocks.top[k]);
    }
    __syncthreads();
    if (k < CLASSES) {
        long long at = g.counters[USED];
        for (uint32_t j = 0; j < k; ++j) at += (blocks.need[j] - blocks.taken[j]) << j;
        blocks.carved[k] = at;
        if (k == CLASSES - 1) blocks.end = at + ((blocks.need[k] - blocks.taken[k]) << k);
    }
    __syncthreads();
}

// By how many slots the adjacency of a head is moved, besides its changes.
__device__ __forceinline__ long long delta_of(const Graph& g, const Update& c, const Handout& blocks, uint32_t head,
                                              uint32_t u) {
    const uint32_t k = c.target[head];
    if (k >= CLASSES) return 0;
    const long long ticket = c.ticket[head], taken = blocks.taken[k];
    const long long place =
        ticket < taken ? (long long)g.stacks[g.stack_begin[k] + blocks.top[k] - 1 - ticket] << MIN_CLASS
                       : blocks.carved[k] + ((ticket - taken) << k);
    return place - g.begin[u];
}

// Thread per change, behind the moves: write a new edge; a head points its vertex at its block and frees the old one.
__device__ __forceinline__ void commit_changes(const Graph& g, const Update& c, const Handout& blocks, uint32_t total) {
    __shared__ ClassCount classes;
    __shared__ Pressure sums;
    clear_pressure(sums);
    for (long long base = (long long)blockIdx.x * CHANGE_BLOCK; base < total; base += thread_count()) {
        clear(classes);
        const uint32_t r = base + threadIdx.x;
        uint32_t freed = CLASSES;
        long long old = 0;
        if (r < total && !c.deleting) {
            const uint32_t head = gallop_down(c.changed_key, r, c.changed_key[r] & 0xFFFFFFFF00000000ull);
            const long long to = c.changed_slot[r] + c.delta[head] + (r - head);
            g.dst[to] = uint32_t(c.changed_key[r]);
#if WEIGHT_BITS
            g.weight[to] = c.batch_weight[c.changed_item[r]];
#endif
        }
        const uint8_t target = r < total ? c.target[r] : IDLE;
        if (target != IDLE) {
            const uint32_t u = source(c.changed_key[r]);
            const uint8_t k = g.klass[u], now = target == KEEP ? k : target;
            old = g.begin[u];
            const long long degree = g.end[u] - old, after = c.deleting ? degree - c.run[r] : degree + c.run[r];
            const long long begin = target == NONE ? 0 : old + c.delta[r];
            add_pressure(sums, degree, k, -1);
            add_pressure(sums, after, now, 1);
            if (target != KEEP && k != NONE) freed = k;
            g.begin[u] = begin;
            g.end[u] = begin + after;
            g.klass[u] = now;
        }
        const unsigned long long at =
            count_class(classes, freed, (unsigned long long*)&c.counts[c.turn ? FREED : FREED_NEXT]);
        if (freed < CLASSES) push_block(g, freed, blocks.top[freed] - blocks.taken[freed] + at, old);
        if (threadIdx.x < CLASSES && classes.sum[threadIdx.x])
            atomicAdd((unsigned long long*)&g.counters[FREE + threadIdx.x],
                      (unsigned long long)classes.sum[threadIdx.x]);
        __syncthreads();
    }
    flush_pressure(sums, g.counters);
}

// Block 0, behind the moves: count the blocks taken and carved, and the edges.
__device__ __forceinline__ void count_blocks(const Graph& g, const Update& c, const Handout& blocks, uint32_t total) {
    const uint32_t k = threadIdx.x;
    if (k < CLASSES) {
        if (blocks.taken[k]) atomicAdd((unsigned long long*)&g.counters[FREE + k], 0ull - blocks.taken[k]);
        g.counters[BLOCKS + k] += blocks.need[k] - blocks.taken[k];
    }
    if (k == CLASSES - 1) g.counters[USED] = blocks.end;
    if (k == CLASSES) g.counters[EDGES] += c.deleting ? -(long long)total : total;
}

// Block: make the counts ready for the next launch; what was needed goes to `planned`.
__device__ __forceinline__ void clear_counts(const Update& c) {
    if (threadIdx.x < CLASSES) {
        c.planned[threadIdx.x] = c.counts[NEED + threadIdx.x];
        c.counts[NEED + threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) c.counts[WARPS] = c.counts[BLOCK_MOVES] = c.counts[PARTS] = 0;
}
