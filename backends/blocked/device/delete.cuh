// Deleting a located batch: the steps of update.cu.
//
// A vertex that loses r of d edges keeps those in places 0 to d - r of its chain. Each of its r deleted entries stands for
// two slots: its own, a hole if it is among these places, and one of the last r, which holds a survivor unless that was
// deleted, too. A vertex has as many holes as survivors, so the j-th hole of the whole batch is paired with the j-th
// survivor, and no vertex needs a loop over its edges.
#pragma once
#include "graph.cuh"

// Thread, entry i: mark the slot, report the deletion and the weight before it.
__device__ __forceinline__ void mark_deleted(const Graph& g, const LocatedBatch& b, const Update& c, uint32_t i) {
    if (!report_deleted(b, i, g.weight, c.status, c.before)) return;
    g.dst[b.slot[i]] = TOMBSTONE;
    touch(g, uint32_t(b.slot[i] >> g.shift));
}

// Number of blocks that hold some of the last `removed` edges.
__device__ __forceinline__ uint32_t tail_blocks(const Graph& g, uint32_t degree, uint32_t removed) {
    return ((degree - 1) >> g.shift) - ((degree - removed) >> g.shift) + 1;
}

// Thread, entry i; the first one of a vertex lists the blocks with its last edges, backwards: as many as entries at most.
__device__ __forceinline__ void list_tails(const Graph& g, const LocatedBatch& b, uint32_t* tails, uint32_t i) {
    if (is_invalid(b) || !is_head(b, i)) return;
    int before;
    const uint32_t removed = changes_of(b, i, before), u = source(b.keys[i]);
    if (!removed) return;
    const uint32_t count = tail_blocks(g, g.degree[u], removed), head = ~g.head[u], run = g.run[u];
    uint32_t left = blocks_of(g, g.degree[u]), block = g.back[head];
    for (uint32_t q = 0; q < count; ++q) {
        tails[i + q] = block;
        touch(g, block);
        block = --left - 1 < run ? head + left - 1 : g.back[block];  // those of the run need no read
    }
}

// Thread, entry i: `last` is the slot at the end of the chain that a deleted entry stands for, -1 if that was deleted, too;
// then it is emptied. pairs[i] = 1 << 32 where there is a survivor.
__device__ __forceinline__ void clear_tail(const Graph& g, const LocatedBatch& b, const Update& c, uint32_t i) {
    long long slot = -1;
    if (b.kind[i] == PRESENT) {
        const uint32_t head = run_begin(b, i), degree = g.degree[source(b.keys[i])];
        const uint32_t at = degree - 1 - (rank_before(b, i) - rank_before(b, head));
        const uint32_t block = c.tail[head + ((degree - 1) >> g.shift) - (at >> g.shift)];
        slot = ((long long)block << g.shift) + (at & (capacity(g) - 1));
        if (g.dst[slot] == TOMBSTONE) {
            g.dst[slot] = EMPTY;
            slot = -1;
        }
    }
    c.last[i] = slot;
    c.pairs[i] = slot >= 0 ? 1ll << 32 : 0;
}

// Thread, behind clear_tail of all entries: survivors and holes of entry i; what is still marked is a hole.
__device__ __forceinline__ long long pair_of(const Graph& g, const LocatedBatch& b, const Update& c, uint32_t i) {
    const bool hole = b.kind[i] == PRESENT && g.dst[b.slot[i]] == TOMBSTONE;
    return c.pairs[i] + hole;
}

// Thread: list the hole and the survivor of entry i, ``pair``, by rank; ``sum``: the pairs up to it.
__device__ __forceinline__ void list_hole(const LocatedBatch& b, const Update& c, uint32_t i, long long pair,
                                          long long sum) {
    if (uint32_t(pair)) c.holes[uint32_t(sum) - 1] = b.slot[i];
    if (pair >> 32) c.survivors[uint32_t(sum >> 32) - 1] = c.last[i];
}

// Thread: fill the i-th hole from the i-th survivor, whose slot is emptied. No slot is both.
__device__ __forceinline__ void fill_hole(const Graph& g, const Update& c, uint32_t i) {
    const long long hole = c.holes[i], survivor = c.survivors[i];
    g.dst[hole] = g.dst[survivor];
    g.dst[survivor] = EMPTY;
    if (WEIGHT_BITS) g.weight[hole] = g.weight[survivor];
}

// Thread, entry i; the first one of a vertex cuts its chain, frees the blocks at its end, and updates the degree. Atomics:
// the height of the stack of free blocks, once per vertex that frees some.
__device__ __forceinline__ void commit_deletion(const Graph& g, const LocatedBatch& b, const uint32_t* tails,
                                                uint32_t i) {
    if (is_invalid(b)) return;
    if (i == 0) g.counters[EDGES] -= b.rank[b.size - 1];
    if (!is_head(b, i)) return;
    int before;
    const uint32_t removed = changes_of(b, i, before), u = source(b.keys[i]);
    if (!removed) return;
    const uint32_t degree = g.degree[u], kept = blocks_of(g, degree - removed), freed = blocks_of(g, degree) - kept;
    g.degree[u] = degree - removed;
    touch_vertex(g, u);
    if (!freed) return;
    g.run[u] = min(g.run[u], kept);
    const uint32_t listed = tail_blocks(g, degree, removed), head = ~g.head[u];
    const uint32_t end = freed < listed ? tails[i + freed] : g.back[tails[i + listed - 1]];
    if (kept) {
        g.link[end] = EMPTY;
        g.back[head] = end;
        touch(g, end);
        touch(g, head);
    } else {
        g.head[u] = 0;
    }
    const unsigned long long at = atomicAdd((unsigned long long*)&g.counters[FREE], (unsigned long long)freed);
    for (uint32_t q = 0; q < freed; ++q) free_block(g, tails[i + q], at + q);
}
