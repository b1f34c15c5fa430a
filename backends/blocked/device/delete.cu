// Deleting a located batch (see batch.cuh):
//   mark_deleted, list_tails, clear_tails, pair_holes, (inclusive sum -> sums), list_holes, fill_holes, commit_delete
//
// A vertex that loses r of d edges keeps those in places 0 to d - r of its chain. Each of its r deleted entries stands for
// two slots: its own, a hole if it is among these places, and one of the last r, which holds a survivor unless that was
// deleted, too. A vertex has as many holes as survivors, so the j-th hole of the whole batch is paired with the j-th
// survivor, and no vertex needs a loop over its edges. In an invalid batch no entry counts, and nothing is written.
#include "graph.cuh"

// Thread per entry: mark the slot, report the deletion and the weight before it.
extern "C" __global__ void mark_deleted(Graph g, LocatedBatch b, uint8_t* status, bits_t* before) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    const bool deleted = b.kind[i] == PRESENT;
    status[b.order[i]] = deleted ? REMOVED : UNCHANGED;
    if (!deleted) return;
#if WEIGHT_BITS
    before[b.order[i]] = g.weight[b.slot[i]];
#endif
    g.dst[b.slot[i]] = TOMBSTONE;
    touch(g, uint32_t(b.slot[i] >> g.shift));
}

// Number of blocks that hold some of the last `removed` edges.
__device__ __forceinline__ uint32_t tail_blocks(const Graph& g, uint32_t degree, uint32_t removed) {
    return ((degree - 1) >> g.shift) - ((degree - removed) >> g.shift) + 1;
}

// Thread per entry; the first one of a vertex lists the blocks with its last edges, backwards: as many as entries at most.
extern "C" __global__ void list_tails(Graph g, LocatedBatch b, uint32_t* tails) {
    const uint32_t i = thread_id();
    if (i >= b.size || is_invalid(b) || !is_head(b, i)) return;
    int before;
    const uint32_t removed = changes_of(b, i, before), u = source(b.keys[i]);
    if (!removed) return;
    const uint32_t count = tail_blocks(g, g.degree[u], removed);
    uint32_t block = g.back[g.head[u]];
    for (uint32_t q = 0; q < count; ++q) {
        tails[i + q] = block;
        touch(g, block);
        block = g.back[block];
    }
}

// Thread per entry: `last` is the slot at the end of the chain that a deleted entry stands for, -1 if that was deleted, too;
// then it is emptied. pairs[i] = 1 << 32 where there is a survivor.
extern "C" __global__ void clear_tails(Graph g, LocatedBatch b, const uint32_t* tails, long long* last,
                                       long long* pairs) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    long long slot = -1;
    if (b.kind[i] == PRESENT) {
        const uint32_t head = run_begin(b, i), degree = g.degree[source(b.keys[i])];
        const uint32_t at = degree - 1 - (rank_before(b, i) - rank_before(b, head));
        const uint32_t block = tails[head + ((degree - 1) >> g.shift) - (at >> g.shift)];
        slot = ((long long)block << g.shift) + (at & (capacity(g) - 1));
        if (g.dst[slot] == TOMBSTONE) {
            g.dst[slot] = EMPTY;
            slot = -1;
        }
    }
    last[i] = slot;
    pairs[i] = slot >= 0 ? 1ll << 32 : 0;
}

// Thread per entry, after clear_tails: what is still marked is a hole; it is counted in pairs[i].
extern "C" __global__ void pair_holes(Graph g, LocatedBatch b, long long* pairs) {
    const uint32_t i = thread_id();
    if (i < b.size && b.kind[i] == PRESENT && g.dst[b.slot[i]] == TOMBSTONE) pairs[i] += 1;
}

// Thread per entry: list holes and survivors by rank (``sums``: the inclusive sum of pairs).
extern "C" __global__ void list_holes(LocatedBatch b, const long long* pairs, const long long* sums,
                                      const long long* last, long long* holes, long long* survivors) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    if (uint32_t(pairs[i])) holes[uint32_t(sums[i]) - 1] = b.slot[i];
    if (pairs[i] >> 32) survivors[uint32_t(sums[i] >> 32) - 1] = last[i];
}

// Thread per entry: fill the i-th hole from the i-th survivor, whose slot is emptied. No slot is both.
extern "C" __global__ void fill_holes(Graph g, LocatedBatch b, const long long* sums, const long long* holes,
                                      const long long* survivors) {
    const uint32_t i = thread_id();
    if (i >= b.size || i >= uint32_t(sums[b.size - 1])) return;
    g.dst[holes[i]] = g.dst[survivors[i]];
    g.dst[survivors[i]] = EMPTY;
#if WEIGHT_BITS
    g.weight[holes[i]] = g.weight[survivors[i]];
#endif
}

// Thread per entry; the first one of a vertex cuts its chain, frees the blocks at its end, and updates the degree. Atomics:
// the height of the stack of free blocks, once per vertex that frees some.
extern "C" __global__ void commit_delete(Graph g, LocatedBatch b, const uint32_t* tails) {
    const uint32_t i = thread_id();
    if (i >= b.size || is_invalid(b)) return;
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
    const uint32_t listed = tail_blocks(g, degree, removed), head = g.head[u];
    const uint32_t end = freed < listed ? tails[i + freed] : g.back[tails[i + listed - 1]];
    if (kept) {
        g.link[end] = EMPTY;
        g.back[head] = end;
        touch(g, end);
        touch(g, head);
    } else {
        g.head[u] = EMPTY;
    }
    const unsigned long long at = atomicAdd((unsigned long long*)&g.counters[FREE], (unsigned long long)freed);
    for (uint32_t q = 0; q < freed; ++q) free_block(g, tails[i + q], at + q);
}
