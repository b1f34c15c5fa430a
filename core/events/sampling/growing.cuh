// How a warp grows a small tree in its part of shared memory, and keeps it in scratch memory. The struct Forest comes from small_trees.py.
#pragma once
#include "draws.cuh"
#include "lists.cuh"
#include "roots.cuh"

constexpr uint32_t ALL = 0xFFFFFFFFu, FREE = ~0u;

// Shared memory of a warp.
struct TreeMemory {
    uint32_t vertex[MOST_NODES];  // by node
    uint32_t event[MOST_NODES];  // by edge: the age, then the number, relative
    uint32_t table[MOST_SLOTS];  // places of nodes by vertex, with linear probing; with ``back`` cuts by node
};

// A tree as far as it has grown.
struct Growing {
    Tree tree;
    long long b;
    uint32_t nodes, edges;
};

__device__ __forceinline__ uint32_t lane_id() { return threadIdx.x % 32; }

// Warp: what the lanes up to the calling one give.
__device__ __forceinline__ uint32_t sum_up_to(uint32_t value) {
#pragma unroll
    for (uint32_t s = 1; s < 32; s *= 2) {
        const uint32_t below = __shfl_up_sync(ALL, value, s);
        if (lane_id() >= s) value += below;
    }
    return value;
}

__device__ __forceinline__ uint32_t fan_of(const Forest& m, uint32_t hop) { return m.fans >> 16 * hop & 0xFFFF; }

// Thread: the slot of the table that has v, or the free one where it goes.
__device__ __forceinline__ uint32_t slot_of(const Forest& m, const TreeMemory& memory, uint32_t v, uint32_t& place) {
    uint32_t at = uint32_t(v * STEP >> 32) & (m.slots - 1);
    while ((place = memory.table[at]) != FREE && memory.vertex[place] != v) at = (at + 1) & (m.slots - 1);
    return at;
}

// Warp: the place of the vertex v of each lane that has one; new vertices get the next places, in order of lanes.
__device__ __forceinline__ uint32_t place_of(const Forest& m, TreeMemory& memory, Growing& g, uint32_t v,
                                             bool has_one) {
    const uint32_t lane = lane_id();
    uint32_t place = FREE, at = 0;
    if (has_one) at = slot_of(m, memory, v, place);
    const bool is_new = has_one && place == FREE;
    const uint32_t first = __ffs(__match_any_sync(ALL, is_new ? uint64_t(v) : 1ull << 32 | lane)) - 1;
    const bool leads = is_new && first == lane;
    const uint32_t leaders = __ballot_sync(ALL, leads), next = g.nodes + __popc(leaders & lanes_below());
    if (leads) {
        memory.vertex[next] = v;
        while (atomicCAS(&memory.table[at], FREE, next) != FREE) at = (at + 1) & (m.slots - 1);
    }
    const uint32_t of_first = __shfl_sync(ALL, next, first);
    g.nodes += __popc(leaders);
    __syncwarp();
    return is_new ? of_first : place;
}

// Warp: look up the edges [first, first + count) of the tree, 32 at most, a lane per edge, which has the node that it was drawn at and the slot after the
// newest event there. Each leads to a node, which may be new.
__device__ __forceinline__ void look_up(const Forest& m, TreeMemory& memory, Growing& g, uint32_t first, uint32_t count,
                                        uint32_t col, long long stop, bool is_last) {
    const uint32_t e = first + lane_id();
    const bool has_one = lane_id() < count;
    uint32_t event = 0, v = 0, row;
    if (has_one) {
        const long long slot = stop - 1 - memory.event[e];
        event = m.number[slot] - m.low;
        v = m.other[slot];
        memory.event[e] = event;
    }
    if (m.back) {
        row = e + 1;
        if (has_one) {
            memory.vertex[row] = v;
            if (!is_last) memory.table[row] = cut_at(m, m.first + event);
        }
        g.nodes += count;
        __syncwarp();
    } else {
        row = place_of(m, memory, g, v, has_one);
    }
    if (!has_one) return;
    const long long at = g.b * (m.nodes_of_tree - 1) + e;
    m.kept_event[at] = event;
    m.kept_ends[at] = row << 16 | col;
}

// Warp: the eligible events of the root: the same as eligible_of gives, with 32 loads at a time.
__device__ __forceinline__ Eligible eligible_of_root(const Forest& m, const Tree& tree) {
    const long long begin = tree.cut ? m.begin[tree.root] : 0, end = tree.cut ? m.end[tree.root] : 0;
    auto below = [&](uint32_t cut) {
        return first_not_below(0, uint32_t(end - begin), [&](uint32_t k) { return m.number[begin + k] - m.low < cut; });
    };
    const uint32_t stop = below(tree.cut);
    return {begin + stop, stop - min(stop, tree.low ? below(tree.low) : 0u)};
}

// Thread: draw the events of node i, ages to memory.event from the edge ``place`` on.
__device__ __forceinline__ void draw_node(const Forest& m, TreeMemory& memory, const Growing& g, uint32_t hop,
                                          uint32_t i, long long size, uint32_t count, uint32_t place) {
    if (!count) return;
    if (takes_newest(m, fan_of(m, hop), size)) {
        for (uint32_t j = 0; j < count; ++j) memory.event[place + j] = count - 1 - j;
        return;
    }
    uint64_t way = uint64_t(hop) << 32 | memory.vertex[i];
    if (m.back) way = hop ? uint64_t(m.first + memory.event[i - 1]) : ~0ull;
    draw(m, edgefn::next_bits(g.tree.key ^ way), size, count, memory.event + place);
}

// Warp: one hop: expand the nodes from ``begin`` on, 32 at a time, a lane per node, then a lane per edge.
__device__ __forceinline__ void expand(const Forest& m, TreeMemory& memory, Growing& g, uint32_t hop, uint32_t begin) {
    const uint32_t known = g.nodes, lane = lane_id();
    for (uint32_t base = begin; base < known; base += 32) {
        const uint32_t i = base + lane;
        Eligible found = {0, 0};
        if (hop == 0) found = eligible_of_root(m, g.tree);
        else if (i < known) found = eligible_of(m, memory.vertex[i], g.tree.low, m.back ? memory.table[i] : g.tree.cut);
        if (i >= known) found.size = 0;
        const uint32_t count = uint32_t(drawn_of(m, fan_of(m, hop), found.size)), end = sum_up_to(count);
        const uint32_t all = __shfl_sync(ALL, end, 31);
        draw_node(m, memory, g, hop, i, found.size, count, g.edges + end - count);
        __syncwarp();
        for (uint32_t e = 0; e < all; e += 32) {
            uint32_t owner = 0;
#pragma unroll
            for (uint32_t step = 16; step; step /= 2)
                if (__shfl_sync(ALL, end, owner + step - 1) <= e + lane) owner += step;
            const long long stop = __shfl_sync(ALL, found.stop, owner);
            look_up(m, memory, g, g.edges + e, min(all - e, 32u), base + owner, stop, hop + 1 == m.hops);
        }
        g.edges += all;
    }
}

// Warp: grow tree b, and keep it. Returns, in lane 2h, the new nodes of hop h, in lane 2h + 1 its edges, and in lane 2 * hops whether the tree is invalid.
__device__ __forceinline__ uint32_t grow(const Forest& m, TreeMemory& memory, long long b) {
    const uint32_t lane = lane_id();
    Growing g = {start_tree(m, b), b, 1, 0};
    if (!m.back)
        for (uint32_t k = lane; k < m.slots; k += 32) memory.table[k] = FREE;
    if (lane == 0) memory.vertex[0] = g.tree.root;
    __syncwarp();
    if (!m.back && lane == 0) {
        uint32_t place;
        memory.table[slot_of(m, memory, g.tree.root, place)] = 0;
    }
    __syncwarp();
    uint32_t mine = lane == 2 * m.hops && !g.tree.is_valid, begin = 0;
    for (uint32_t hop = 0; hop < m.hops; ++hop) {
        const uint32_t nodes = g.nodes, edges = g.edges;
        expand(m, memory, g, hop, begin);
        begin = nodes;
        if (lane == 2 * hop) mine = g.nodes - nodes;
        if (lane == 2 * hop + 1) mine = g.edges - edges;
    }
    for (uint32_t i = lane; i < g.nodes; i += 32) m.kept_node[b * m.nodes_of_tree + i] = memory.vertex[i];
    if (lane < 2 * m.hops) m.counts[lane * m.trees + b] = mine;
    return mine;
}
