// Trees of sampled events, of any size: one hop by two launches. The loops of cpu.py specify them. Nodes and edges are in the order of the loops: a hop's
// edges by expanded node, then number; its new nodes by the first edge that leads there. Sizes stay on the device: ends[h] is the number of
// nodes before hop h is drawn, edge_ends[h] that of edges. The struct Sampling comes from cuda.py, which says what its arrays are.
//
//   count_hop   find the eligible events of every vertex to expand, and count those to draw, by block
//   draw_hop    draw, and look events up; put all nodes into the table | count new ones by block | append them | rows of edges
//
// with a barrier of the grid at each bar. A block expands the same range of nodes in both launches, and has their edges in all steps. The table,
// with linear probing, has for each (tree, vertex) the smallest of: the place of its node; the number of nodes, and the place of an edge within the hop.
// With ``back`` every edge has a node of its own, and there are neither a table nor barriers.
// Bytes, of sectors of 32: per expanded node some 360 (its row's ends, the search for the cut, what is kept); per edge about 200 (number, other end, time,
// key and place in the table; 48 written). 4,096 roots x [10, 5]: 45,000 nodes, 147,000 edges, 46 MB; what it takes is the latency of some 65
// dependent loads and 6 barriers.
#include "draws.cuh"
#include "grid_barrier.cuh"
#include "search.cuh"
#include "sums.cuh"

constexpr uint64_t FREE = ~0ull;

// The nodes that are expanded in a hop, and those among them of a block.
struct Frontier {
    long long known;  // nodes before the hop
    long long begin, first, last;  // the first one to expand; of the block
};

__device__ __forceinline__ Frontier frontier_of(const Sampling& m) {
    const long long known = m.hop ? m.ends[m.hop] : m.trees;
    const long long begin = m.hop > 1 ? m.ends[m.hop - 1] : m.hop ? m.trees : 0;
    const long long size = (known - begin + gridDim.x - 1) / gridDim.x;
    const long long first = min(known, begin + blockIdx.x * size);
    return {known, begin, first, min(known, first + size)};
}

// Thread: the eligible events of node i, of a tree: m.stop[i - begin], the slot after the last one, and m.size; returns how many to draw.
__device__ __forceinline__ long long find_events(const Sampling& m, long long i, long long at) {
    const long long tree = m.hop ? m.batch[i] : i;
    const uint32_t v = m.hop ? m.node[i] : m.root[i];
    const Eligible found = eligible_of(m, v, m.tree_low[tree], m.back && m.hop ? m.node_cut[i] : m.tree_cut[tree]);
    m.stop[at] = found.stop;
    m.size[at] = found.size;
    if (m.hop == 0) {
        m.node[i] = v;
        m.batch[i] = i;
    }
    return drawn_of(m, m.fan, found.size);
}

// Thread: draw the ages of the events of node i into m.row, from the edge ``place`` on.
__device__ __forceinline__ void draw_node(const Sampling& m, long long i, long long at, long long place) {
    const long long size = m.size[at];
    if (takes_newest(m, m.fan, size)) return;
    uint64_t way = uint64_t(m.hop) << 32 | m.node[i];
    if (m.back) way = m.hop ? uint64_t(m.event[i - m.trees]) : ~0ull;
    draw(m, edgefn::next_bits(m.tree_key[m.batch[i]] ^ way), size, drawn_of(m, m.fan, size), m.row + place);
}

// Grid of SAMPLE_BLOCK threads, a thread per node of the block: m.offset: edges of earlier nodes of the block; m.counts[block]: edges of the
// block. No atomics, no barrier of the grid.
extern "C" __global__ void __launch_bounds__(SAMPLE_BLOCK) count_hop(const __grid_constant__ Sampling m) {
    const Frontier mine = frontier_of(m);
    long long edges = 0, total;
    for (long long base = mine.first; base < mine.last; base += SAMPLE_BLOCK) {
        const long long i = base + threadIdx.x;
        const long long count = i < mine.last ? find_events(m, i, i - mine.begin) : 0;
        const long long before = edges + sum_below<SAMPLE_BLOCK>(count, total);
        if (i < mine.last) m.offset[i - mine.begin] = before;
        edges += total;
    }
    if (threadIdx.x == 0) m.counts[blockIdx.x] = edges;
}

// Thread: the slot in the table of a node, which takes a free one by compare-and-swap; ``value`` is the smallest there then, by an atomic.
__device__ __forceinline__ long long enter(const Sampling& m, uint64_t key, uint32_t value) {
    long long at = (long long)((key ^ key >> 32) * STEP >> 32) & m.mask_of_table;
    for (;; at = (at + 1) & m.mask_of_table) {
        const uint64_t found = atomicCAS((unsigned long long*)&m.keys[at], FREE, (unsigned long long)key);
        if (found == FREE || found == key) break;
    }
    atomicMin(&m.places[at], value);
    return at;
}

__device__ __forceinline__ uint64_t key_of(long long tree, uint32_t v) { return uint64_t(tree) << 32 | v; }

// Thread: edge e, which is the j-th of node i: event, time, and the slot in the table; with ``back`` its node.
__device__ __forceinline__ void look_up(const Sampling& m, long long known, long long i, long long at, long long j,
                                        long long e, long long of_hop) {
    const long long size = m.size[at];
    const long long age = takes_newest(m, m.fan, size) ? drawn_of(m, m.fan, size) - 1 - j : m.row[e];
    const long long slot = m.stop[at] - 1 - age;
    const long long event = m.first + (m.number[slot] - m.low), tree = m.batch[i];
    const uint32_t v = m.other[slot];
    m.col[e] = i;
    m.event[e] = event;
    m.time_of_edge[e] = m.time[event & m.mask];
    if (!m.back) {
        m.row[e] = enter(m, key_of(tree, v), uint32_t(known + of_hop));
        return;
    }
    const long long place = known + of_hop;
    m.row[e] = place;
    m.node[place] = v;
    m.batch[place] = tree;
    if (!m.is_last) m.node_cut[place] = cut_at(m, event);
}

// What a block has of the edges of a hop: of all edges, from ``first`` to ``last``; edges of the hop before them, and all.
struct Edges {
    long long first, last, before, all;
};

__device__ __forceinline__ Edges edges_of_block(const Sampling& m) {
    long long before = 0, all = 0;
    for (uint32_t k = threadIdx.x; k < gridDim.x; k += SAMPLE_BLOCK) {
        before += k < blockIdx.x ? m.counts[k] : 0;
        all += m.counts[k];
    }
    Edges edges;
    sum_below<SAMPLE_BLOCK>(before, edges.before);
    sum_below<SAMPLE_BLOCK>(all, edges.all);
    edges.first = (m.hop ? m.edge_ends[m.hop] : 0) + edges.before;
    edges.last = edges.first + m.counts[blockIdx.x];
    return edges;
}

// Block: draw the events of its nodes, a thread per node, and look them up, a thread per edge.
__device__ __forceinline__ void draw_edges(const Sampling& m, const Frontier& mine, const Edges& edges) {
    const long long* const offset = m.offset - mine.begin;
    for (long long i = mine.first + threadIdx.x; i < mine.last; i += SAMPLE_BLOCK)
        draw_node(m, i, i - mine.begin, edges.first + offset[i]);
    __syncthreads();
    for (long long e = edges.first + threadIdx.x; e < edges.last; e += SAMPLE_BLOCK) {
        const long long own = e - edges.first, i = upper_bound(offset, mine.first, mine.last, own) - 1;
        look_up(m, mine.known, i, i - mine.begin, own - offset[i], e, edges.before + own);
    }
    if (m.back) return;
    for (long long i = wide_thread_id(); i < mine.known; i += wide_thread_count())
        enter(m, key_of(m.batch[i], m.node[i]), uint32_t(i));
}

// Block, behind a barrier of the grid: count the edges that lead to new nodes, whose slots are marked by ~.
__device__ __forceinline__ void count_new(const Sampling& m, const Frontier& mine, const Edges& edges) {
    long long count = 0, total;
    for (long long e = edges.first + threadIdx.x; e < edges.last; e += SAMPLE_BLOCK) {
        const long long slot = m.row[e];
        if (m.places[slot] != uint32_t(mine.known + edges.before + e - edges.first)) continue;
        m.row[e] = ~slot;
        ++count;
    }
    sum_below<SAMPLE_BLOCK>(count, total);
    if (threadIdx.x == 0) m.new_counts[blockIdx.x] = total;
}

// Block, behind a barrier of the grid: append the new nodes, and write their places to the table. Returns the number of all new ones.
__device__ __forceinline__ long long append_new(const Sampling& m, const Frontier& mine, const Edges& edges) {
    long long before = 0, all = 0, place, found, total;
    for (uint32_t k = threadIdx.x; k < gridDim.x; k += SAMPLE_BLOCK) {
        before += k < blockIdx.x ? m.new_counts[k] : 0;
        all += m.new_counts[k];
    }
    sum_below<SAMPLE_BLOCK>(before, place);
    sum_below<SAMPLE_BLOCK>(all, found);
    place += mine.known;
    for (long long base = edges.first; base < edges.last; base += SAMPLE_BLOCK) {
        const long long e = base + threadIdx.x;
        const long long slot = e < edges.last ? m.row[e] : 0;
        const long long own = place + sum_below<SAMPLE_BLOCK>(slot < 0, total);
        if (slot < 0) {
            const uint64_t key = m.keys[~slot];
            m.node[own] = uint32_t(key);
            m.batch[own] = (long long)(key >> 32);
            m.places[~slot] = uint32_t(own);
        }
        place += total;
    }
    return found;
}

// Grid of SAMPLE_BLOCK threads. Atomics on the table, of which a node takes one slot.
extern "C" __global__ void __launch_bounds__(SAMPLE_BLOCK) draw_hop(const __grid_constant__ Sampling m) {
    uint32_t expected = m.expected;
    const Frontier mine = frontier_of(m);
    const Edges edges = edges_of_block(m);
    draw_edges(m, mine, edges);
    long long found = edges.all;
    if (!m.back) {
        grid_barrier(m.arrived, expected);
        count_new(m, mine, edges);
        grid_barrier(m.arrived, expected);
        found = append_new(m, mine, edges);
        grid_barrier(m.arrived, expected);
        for (long long e = edges.first + threadIdx.x; e < edges.last; e += SAMPLE_BLOCK) {
            const long long slot = m.row[e];
            m.row[e] = m.places[slot < 0 ? ~slot : slot];
        }
    }
    if (thread_id() != 0) return;
    if (m.hop == 0) {
        m.ends[0] = m.trees;
        m.edge_ends[0] = 0;
    }
    m.ends[m.hop + 1] = mine.known + found;
    m.edge_ends[m.hop + 1] = edges.first + edges.all;  // block 0 has the first edges
}
