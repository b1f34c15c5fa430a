// Freeing vertices, repacking, and the exchange of changed blocks and vertices with a mirror on the host (see host_copy.py). The
// struct Packet holds the places of what is exchanged; it may lie in pinned memory of the host. No kernel synchronises; atomics only where named.
#include "graph.cuh"

// Warp per vertex of a list without repeats: free its chain. Atomics: the stack of free blocks, once per vertex.
extern "C" __global__ void free_vertices(Graph g, uint32_t count, const uint32_t* vertices) {
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const uint32_t lane = threadIdx.x % 32;
    if (i >= count) return;
    const uint32_t u = vertices[i], degree = g.degree[u], blocks = blocks_of(g, degree);
    if (!degree) return;
    unsigned long long at = 0;
    uint32_t block = ~g.head[u];
    __syncwarp();  // all lanes have read what lane 0 writes in the end
    if (lane == 0) at = atomicAdd((unsigned long long*)&g.counters[FREE], (unsigned long long)blocks);
    for (uint32_t q = 0; q < blocks; ++q) {
        const long long lo = (long long)block << g.shift;
        for (long long slot = lo + lane; slot < lo + capacity(g); slot += 32) g.dst[slot] = EMPTY;
        if (lane == 0) free_block(g, block, at + q);
        block = g.link[block];
    }
    if (lane == 0) {
        atomicAdd((unsigned long long*)&g.counters[EDGES], 0ull - degree);
        g.head[u] = g.degree[u] = g.run[u] = 0;
        touch_vertex(g, u);
    }
}

// Warp per vertex, `count` from `vertex` on: copy the chain of the i-th into consecutive blocks of `fresh`, from first[i] on.
extern "C" __global__ void repack(Graph g, Graph fresh, long long vertex, long long count, const uint32_t* first) {
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32, u = vertex + i;
    const uint32_t lane = threadIdx.x % 32;
    if (i >= count) return;
    const uint32_t blocks = blocks_of(g, g.degree[u]), begin = first[i];
    uint32_t block = ~g.head[u];
    for (uint32_t q = 0; q < blocks; ++q) {
        const uint32_t to = begin + q;
        const long long from = (long long)block << g.shift, target = (long long)to << g.shift;
        for (long long k = lane; k < capacity(g); k += 32) {
            fresh.dst[target + k] = g.dst[from + k];
            if (WEIGHT_BITS) fresh.weight[target + k] = g.weight[from + k];
        }
        if (lane == 0) {
            fresh.owner[to] = uint32_t(u);
            fresh.back[to] = q ? to - 1 : begin + blocks - 1;
            fresh.link[to] = q + 1 < blocks ? to + 1 : EMPTY;
        }
        block = g.link[block];
    }
}

// ---- mirror -----------------------------------------------------------------------------------------------------------

// Copy what a packet and the graph both have: to the packet, or to the graph.
template <bool TO_PACKET, class T>
__device__ __forceinline__ void carry(T& in_packet, T& in_graph) {
    if (TO_PACKET) in_packet = in_graph;
    else in_graph = in_packet;
}

// Grid-stride loops over the slots of a packet's blocks, its vertices and free blocks. What is carried to the packet is marked no more.
template <bool TO_PACKET>
__device__ __forceinline__ void exchange(const Graph& g, const Packet& p, long long first) {
    const long long slots = p.blocks << g.shift, step = wide_thread_count();
    for (long long s = first; s < slots; s += step) {
        const long long i = s >> g.shift, offset = s & (capacity(g) - 1);
        const uint32_t block = p.block[i];
        const long long slot = ((long long)block << g.shift) + offset;
        carry<TO_PACKET>(p.dst[s], g.dst[slot]);
        if (WEIGHT_BITS) carry<TO_PACKET>(p.weight[s], g.weight[slot]);
        if (offset) continue;
        carry<TO_PACKET>(p.link[i], g.link[block]);
        carry<TO_PACKET>(p.back[i], g.back[block]);
        carry<TO_PACKET>(p.owner[i], g.owner[block]);
        if (TO_PACKET) g.block_mark[block] = 0;
    }
    for (long long i = first; i < p.vertices; i += step) {
        const uint32_t u = p.vertex[i];
        carry<TO_PACKET>(p.head[i], g.head[u]);
        carry<TO_PACKET>(p.degree[i], g.degree[u]);
        carry<TO_PACKET>(p.run[i], g.run[u]);
        if (TO_PACKET) g.vertex_mark[u] = 0;
    }
    for (long long i = first; i < p.frees; i += step) carry<TO_PACKET>(p.free[i], g.free[p.lowest + i]);
}

// Write the blocks, vertices and counters of a packet to the graph; a thread per word, grid-stride.
extern "C" __global__ void unpack(Graph g, Packet p) {
    const long long first = wide_thread_id();
    exchange<false>(g, p, first);
    if (first < COUNTERS) g.counters[first] = p.counters[first];
}

// Grid-stride loops over marks: counts[0] += marked blocks, counts[1] += marked vertices; the ids are listed in no order,
// unless there are no lists. Atomics: one per marked entry.
extern "C" __global__ void list_marked(Graph g, long long num_vertices, unsigned long long* counts, uint32_t* block,
                                       uint32_t* vertex) {
    for (long long i = wide_thread_id(); i < g.counters[USED]; i += wide_thread_count()) {
        if (!g.block_mark[i]) continue;
        const unsigned long long at = atomicAdd(&counts[0], 1ull);
        if (block) block[at] = uint32_t(i);
    }
    for (long long i = wide_thread_id(); i < num_vertices; i += wide_thread_count()) {
        if (!g.vertex_mark[i]) continue;
        const unsigned long long at = atomicAdd(&counts[1], 1ull);
        if (vertex) vertex[at] = uint32_t(i);
    }
}

// Copy the blocks and vertices that a packet lists into it, and clear their marks; a thread per word, grid-stride.
extern "C" __global__ void pack_marked(Graph g, Packet p) {
    const long long first = wide_thread_id();
    exchange<true>(g, p, first);
    if (first) return;
    g.counters[LOWEST] = g.counters[FREE];
    for (int i = 0; i < COUNTERS; ++i) p.counters[i] = g.counters[i];
}
