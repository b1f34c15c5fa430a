// Kernels of gpma that need no barrier of all blocks: queries, lazy deletion, vertices, marks. The specification is loops.py. None waits for other
// blocks.
#include "leaves.cuh"

// Thread per entry of a sorted batch: its kind, and its slot or the place it goes to. No atomics.
extern "C" __global__ void locate(Graph g, LocatedBatch b) {
    const uint32_t i = thread_id();
    if (i >= b.size) return;
    uint8_t kind = DUPLICATE;
    long long slot = -1;
    if (!is_invalid(b) && is_last(b, i)) {
        const Found found = search(g, source(b.keys[i]), uint32_t(b.keys[i]));
        kind = found.slot >= 0 ? PRESENT : ABSENT;
        slot = found.slot >= 0 ? found.slot : found.place;
    }
    b.kind[i] = kind;
    b.slot[i] = slot;
}

// Thread per query; result[i] is written where the edge is stored. No atomics.
extern "C" __global__ void find_edges(Graph g, uint32_t m, const uint32_t* src, const uint32_t* dst, bool* found,
                                      bits_t* result) {
    const uint32_t i = thread_id();
    if (i >= m) return;
    const long long slot = search(g, src[i], dst[i]).slot;
    found[i] = slot >= 0;
    if (WEIGHT_BITS && slot >= 0) result[i] = g.weight[slot];
}

// Thread per edge, in any order: turn it into a gap and report it; see clear_edge, also for duplicates. An atomic per removed edge on its degree,
// and one per block. Barriers of the block.
extern "C" __global__ void clear_edges(Graph g, uint32_t m, const uint32_t* src, const uint32_t* dst,
                                       const uint32_t* guard, uint8_t* status, bits_t* before) {
    const uint32_t i = thread_id();
    const bool refused = guard && *guard;
    count_removed(g, i < m && clear_edge(g, refused, src[i], dst[i], i, status, before));
}

// Warp per vertex of a list without repeats: turn all its edges into gaps. An atomic per vertex on the number of edges.
extern "C" __global__ void clear_rows(Graph g, uint32_t count, const uint32_t* vertices) {
    const uint32_t i = thread_id() / 32;
    if (i >= count) return;
    const uint32_t u = vertices[i], degree = g.degree[u];
    if (degree == 0) return;
    const long long end = g.guard[(long long)u + 1];
    for (long long slot = g.guard[u] + 1 + lane_id(); slot < end; slot += 32)
        if (g.dst[slot] != EMPTY) clear_slot(g, slot);
    __syncwarp();
    if (lane_id() != 0) return;
    g.degree[u] = 0;
    atomicAdd((unsigned long long*)&g.counters[EDGES], 0ull - degree);
}

// Warp per leaf from `begin` on: guards of the vertices from `first` on, GUARDS in each leaf.
extern "C" __global__ void append_guards(Graph g, long long first, long long begin) {
    const long long leaf = begin + thread_id() / 32;
    if (leaf >= g.leaves) return;
    const long long owner = min(first + (leaf - begin) * GUARDS, g.counters[HIGH]);
    const uint32_t lane = lane_id(), count = uint32_t(min((long long)GUARDS, g.counters[HIGH] - owner));
    write_leaf(g, leaf, lane < count ? GUARD : EMPTY, uint32_t(owner), GUARD, count, lanes_below(count), 0);
}

// Warp per leaf, in a grid-stride loop: remove the guards behind that of vertex num_vertices - 1, which follow no edge.
extern "C" __global__ void drop_guards(Graph g, long long num_vertices) {
    const long long last = g.guard[num_vertices];
    const uint32_t lane = lane_id();
    for (long long leaf = ((last + 1) >> LEAF_BITS) + thread_id() / 32; leaf < g.leaves; leaf += thread_count() / 32) {
        const long long slot = (leaf << LEAF_BITS) + lane;
        const uint32_t v = slot > last ? EMPTY : g.dst[slot];
        const uint32_t live = __ballot_sync(ALL, v != EMPTY), guards = __ballot_sync(ALL, v == GUARD);
        const uint32_t head = __shfl_sync(ALL, v, live ? __ffs(live) - 1 : 0);
        g.dst[slot] = v;
        if (lane != 0) continue;
        g.guards[leaf] = guards;
        g.head[leaf] = live ? head : GUARD;
        g.count[leaf] = uint8_t(__popc(live));
        if (!live) g.owner[leaf] = uint32_t(num_vertices);
    }
}

// Thread per leaf: list those with edges that were inserted since the mark. counters[TOUCHED] is zero before. An atomic per warp.
extern "C" __global__ void list_touched(Graph g) {
    const long long leaf = thread_id();
    const bool touched = leaf < g.leaves && g.fresh[leaf];
    const uint32_t lanes = __ballot_sync(ALL, touched);
    unsigned long long first = 0;
    if (lane_id() == 0 && lanes)
        first = atomicAdd((unsigned long long*)&g.counters[TOUCHED], (unsigned long long)__popc(lanes));
    first = __shfl_sync(ALL, first, 0);
    if (touched) g.touched[first + __popc(lanes & lanes_below(lane_id()))] = uint32_t(leaf);
}
