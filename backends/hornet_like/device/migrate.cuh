// Migration of adjacencies in no order between blocks of hornet_like: which vertices migrate, which blocks they take, and the moves.
// Part of hornet.cu.
#pragma once
#include "blocks.cuh"

// Thread per entry, heads work: what happens to the vertex; need[k] counts the blocks of class k that migrations take.
// ``sign`` is 1 for an insertion, -1 for a deletion.
extern "C" __global__ void plan(Graph g, LocatedBatch b, Migrations m, long long sign, uint32_t may_shrink,
                                unsigned long long* need) {
    __shared__ ClassCount classes;
    clear(classes);
    uint32_t i = thread_id();
    uint8_t target = IDLE;
    if (i < b.size && !is_invalid(b) && is_head(b, i)) {
        uint32_t u = source(b.keys[i]);
        long long changed = b.rank[run_end(b, i) - 1] - rank_before(b, i), degree = g.end[u] - g.begin[u];
        if (changed && sign > 0) target = grown(degree + changed, g.klass[u]);
        if (changed && sign < 0) target = shrunk(degree - changed, g.klass[u], may_shrink);
    }
    unsigned long long ticket = count_class(classes, target, need);
    if (i >= b.size) return;
    m.target[i] = target;
    m.ticket[i] = uint32_t(ticket);
}

// One thread: take needed blocks from the free stacks, carve the rest. need[k] stays; tops[k] and taken[k] receive the old
// height of the stack and what is taken of it, carved[k] the first carved block.
extern "C" __global__ void hand_out(Graph g, LocatedBatch b, long long sign, const long long* need, long long* tops,
                                    long long* taken, long long* carved) {
    if (thread_id()) return;
    for (int k = 0; k < CLASSES; ++k) {
        tops[k] = g.counters[FREE + k];
        taken[k] = min(need[k], tops[k]);
        carved[k] = g.counters[USED];
        g.counters[FREE + k] -= taken[k];
        g.counters[BLOCKS + k] += need[k] - taken[k];
        g.counters[USED] += (need[k] - taken[k]) << k;
    }
    g.counters[EDGES] += sign * b.rank[b.size - 1];
}

// LANES threads per entry, migrating heads work: find the new block, copy the adjacency (``sign`` < 0: what is left of it).
// Long moves are put on a list in parts. Reads the free stacks; nothing is pushed before ``commit``.
extern "C" __global__ void move_short(Graph g, LocatedBatch b, Migrations m, long long sign, const long long* tops,
                                      const long long* taken, const long long* carved, uint64_t* parts,
                                      unsigned long long* part_count) {
    long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    if (i >= b.size || !is_class(m.target[i])) return;  // the whole tile
    uint32_t k = m.target[i], u = source(b.keys[i]);
    long long ticket = m.ticket[i], old = g.begin[u], degree = g.end[u] - old;
    if (sign < 0) degree -= b.rank[run_end(b, i) - 1] - rank_before(b, i);
    long long fresh = ticket < taken[k] ? (long long)g.stacks[g.stack_begin[k] + tops[k] - 1 - ticket] << MIN_CLASS
                                        : carved[k] + ((ticket - taken[k]) << k);
    if (lane == 0) m.place[i] = fresh;
    if (degree > LONG_MOVE) {
        uint32_t count = uint32_t((degree + LONG_MOVE - 1) / LONG_MOVE);
        unsigned long long at = lane == 0 ? atomicAdd(part_count, (unsigned long long)count) : 0;
        at = __shfl_sync(tile_mask<LANES>(), at, 0, LANES);
        for (uint32_t part = lane; part < count; part += LANES) parts[at + part] = (uint64_t(i) << 32) | part;
        return;
    }
    for (long long e = lane; e < degree; e += LANES) {
        g.dst[fresh + e] = g.dst[old + e];
        if (WEIGHT_BITS) g.weight[fresh + e] = g.weight[old + e];
    }
}

// Block per listed part of a long move, in a grid-stride loop.
extern "C" __global__ void move_long(Graph g, LocatedBatch b, Migrations m, long long sign, const uint64_t* parts,
                                     const unsigned long long* part_count) {
    unsigned long long count = *part_count;
    for (unsigned long long p = blockIdx.x; p < count; p += gridDim.x) {
        uint32_t head = uint32_t(parts[p] >> 32), u = source(b.keys[head]);
        long long old = g.begin[u], degree = g.end[u] - old, fresh = m.place[head];
        if (sign < 0) degree -= b.rank[run_end(b, head) - 1] - rank_before(b, head);
        long long lo = (long long)uint32_t(parts[p]) * LONG_MOVE, hi = min(degree, lo + LONG_MOVE);
        for (long long e = lo + threadIdx.x; e < hi; e += blockDim.x) {
            g.dst[fresh + e] = g.dst[old + e];
            if (WEIGHT_BITS) g.weight[fresh + e] = g.weight[old + e];
        }
    }
}

// Thread per entry, heads work: point the vertex at its block and new end, free the old block, keep the pressures.
extern "C" __global__ void commit(Graph g, LocatedBatch b, Migrations m, long long sign) {
    __shared__ ClassCount classes;
    __shared__ Pressure sums;
    clear(classes);
    clear_pressure(sums);
    uint32_t i = thread_id(), freed = CLASSES;
    long long old = 0;
    uint8_t target = i < b.size ? m.target[i] : IDLE;
    if (target != IDLE) {
        uint32_t u = source(b.keys[i]);
        uint8_t k = g.klass[u], now = target == KEEP ? k : target;
        old = g.begin[u];
        long long degree = g.end[u] - old;
        long long after = degree + sign * (b.rank[run_end(b, i) - 1] - rank_before(b, i));
        long long begin = target == KEEP ? old : target == NONE ? 0 : m.place[i];
        add_pressure(sums, degree, k, -1);
        add_pressure(sums, after, now, 1);
        if (target != KEEP && k != NONE) freed = k;
        g.begin[u] = begin;
        g.end[u] = begin + after;
        g.klass[u] = now;
    }
    unsigned long long at = count_class(classes, freed, (unsigned long long*)&g.counters[FREE]);
    if (freed < CLASSES) push_block(g, freed, at, old);
    flush_pressure(sums, g.counters);
}
