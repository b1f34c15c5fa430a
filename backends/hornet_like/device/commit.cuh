// The end of sorted.cu: new edges are written, vertices are pointed at their blocks, old blocks are freed, and counters follow.
#pragma once
#include "place.cuh"

// Thread per head: point its vertex at its block, free the old one, and note what changes of the pressures.
__device__ __forceinline__ void commit_vertex(const Graph& g, const Update& c, const Handout& blocks,
                                              const Tickets& tickets, Pressure& sums, uint32_t r) {
    const uint32_t u = source(c.changed_key[r]);
    const uint8_t k = g.klass[u], target = c.target[r], now = target == KEEP ? k : target;
    const long long old = g.begin[u], degree = g.end[u] - old;
    const long long after = c.deleting ? degree - c.run[r] : degree + c.run[r];
    const long long begin = target == NONE ? 0 : old + c.delta[r];
    add_pressure(sums, degree, k, -1);
    add_pressure(sums, after, now, 1);
    if (target != KEEP && k != NONE)
        push_block(g, k, blocks.top[k] - blocks.taken[k] + tickets.before[FREED + k] + c.freed[r], old);
    g.begin[u] = begin;
    g.end[u] = begin + after;
    g.klass[u] = now;
}

// Block: write the new edges among its changes. A thread reads AT_ONCE changes before it writes.
__device__ __forceinline__ void write_changes(const Graph& g, const Update& c, const Share& mine) {
    for (long long base = mine.first + threadIdx.x; base < mine.last; base += AT_ONCE * CHANGE_BLOCK) {
        long long to[AT_ONCE];
        uint32_t dst[AT_ONCE], item[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long r = base + k * CHANGE_BLOCK;
            if (r >= mine.last) continue;
            const uint32_t head = c.head[r];
            to[k] = c.changed_slot[r] + c.delta[head] + (r - head);
            dst[k] = uint32_t(c.changed_key[r]);
            item[k] = c.changed_item[r];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            if (base + k * CHANGE_BLOCK >= mine.last) continue;
            g.dst[to[k]] = dst[k];
            if (WEIGHT_BITS) g.weight[to[k]] = c.batch_weight[item[k]];
        }
    }
}

// Block, behind the moves: write new edges; heads commit their vertices.
__device__ __forceinline__ void commit_changes(const Graph& g, const Update& c, const Share& mine,
                                               const Handout& blocks, const Tickets& tickets) {
    __shared__ Pressure sums;
    clear_pressure(sums);
    if (!c.deleting) write_changes(g, c, mine);
    for (uint32_t i = threadIdx.x; i < tickets.heads; i += CHANGE_BLOCK)
        commit_vertex(g, c, blocks, tickets, sums, c.heads[mine.first + i]);
    flush_pressure(sums, g.counters);
}

// Block 0, behind the moves: count the blocks taken, carved and freed, and the edges.
__device__ __forceinline__ void count_blocks(const Graph& g, const Update& c, const Handout& blocks, uint32_t total) {
    const uint32_t k = threadIdx.x;
    if (k < CLASSES) {
        g.counters[FREE + k] += counts_of(c)[FREED + k] - blocks.taken[k];
        g.counters[BLOCKS + k] += blocks.need[k] - blocks.taken[k];
    }
    if (k == CLASSES - 1) g.counters[USED] = blocks.end;
    if (k == CLASSES) g.counters[EDGES] += c.deleting ? -(long long)total : total;
}

// Block: make the counts ready for the next launch; `planned` keeps them. Those of a class are read and cleared by one thread.
__device__ __forceinline__ void clear_counts(const Update& c) {
    if (threadIdx.x >= CLASSES || c.resumed) return;
    for (uint32_t k = threadIdx.x; k < COUNTS; k += CLASSES) {
        c.planned[k] = c.counts[k];
        c.counts[k] = 0;
    }
}
