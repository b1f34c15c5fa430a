// Samples of small trees, all hops in one cooperative launch; the loops of cpu.py specify them. A warp grows a tree at a time in shared memory, and keeps it
// in scratch memory; behind the one barrier of the grid the places of all trees are known, and the warp writes the tree where it belongs. The struct
// Forest comes from small_trees.py, which says what its arrays are. Nodes and edges are in the order of the loops: a hop's edges by expanded node, then
// number; its new nodes by the first edge that leads there.
//
// No atomics but those of the barrier, and on words in shared memory. Bytes, of sectors of 32: per expanded node some 360 (its row's ends, the search for
// the cut), per edge about 200 (number, other end, time; 16 kept, 48 written). What a tree takes is the latency of some 12 dependent loads per hop, more
// at hubs.
#include "grid_barrier.cuh"
#include "growing.cuh"

constexpr uint32_t WARPS = SMALL_BLOCK / 32, LEVELS = MOST_HOPS + 1;
constexpr uint32_t PARTS = 2 * MOST_HOPS + 1;  // nodes and edges of each hop, and invalid trees

// Trees of a block.
struct Share {
    long long first, last;
};

__device__ __forceinline__ Share share_of_block(const Forest& m) {
    return {m.trees * blockIdx.x / gridDim.x, m.trees * (blockIdx.x + 1) / gridDim.x};
}

// Block, behind the barrier of the grid: where the nodes and edges of each hop begin that its trees have, to ``places``; the first block answers the host
// with how many there are.
__device__ __forceinline__ void find_places(const Forest& m, long long (&places)[PARTS]) {
    __shared__ long long all[PARTS];
    const uint32_t parts = 2 * m.hops + 1;
    for (uint32_t k = threadIdx.x / 32; k < parts; k += WARPS) {
        uint32_t before = 0, sum = 0;
        for (uint32_t block = lane_id(); block < gridDim.x; block += 32) {
            const uint32_t count = m.totals[k * gridDim.x + block];
            before += block < blockIdx.x ? count : 0;
            sum += count;
        }
        before = __shfl_sync(ALL, sum_up_to(before), 31);
        sum = __shfl_sync(ALL, sum_up_to(sum), 31);
        if (lane_id() == 0) {
            places[k] = before;
            all[k] = sum;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        long long nodes = m.trees, edges = 0;
        for (uint32_t k = 0; k < 2 * m.hops; ++k) {
            long long& before = k % 2 ? edges : nodes;
            places[k] += before;
            before += all[k];
        }
        if (blockIdx.x == 0) {
            for (uint32_t k = 0; k < parts; ++k) m.answer[1 + k] = all[k];
            answer_call(m.answer, m.call);
        }
    }
    __syncthreads();
}

// The levels of a tree, 0 for its root and h + 1 for the new nodes of hop h: the first node, and what to add to it for its place in the sample.
struct Levels {
    uint32_t first[LEVELS + 1];
    long long shift[LEVELS];
};

// Warp: write tree b; lane ``part`` has the counts of it, and where its nodes and edges begin in each hop.
__device__ __forceinline__ void write(const Forest& m, Levels& levels, long long b, uint32_t count, long long place) {
    const uint32_t lane = lane_id();
    const long long kept_nodes = b * m.nodes_of_tree, kept_edges = kept_nodes - b;
    __syncwarp();
    if (lane == 0) {
        levels.first[0] = 0;
        levels.shift[0] = b;
        m.node[b] = m.kept_node[kept_nodes];
        m.batch[b] = b;
    }
    uint32_t known = 1, edges = 0;
    for (uint32_t hop = 0; hop < m.hops; ++hop) {
        const uint32_t nodes = __shfl_sync(ALL, count, 2 * hop);
        const long long to = __shfl_sync(ALL, place, 2 * hop);
        if (lane == 0) {
            levels.first[hop + 1] = known;
            levels.shift[hop + 1] = to - known;
        }
        for (uint32_t i = lane; i < nodes; i += 32) {
            m.node[to + i] = m.kept_node[kept_nodes + known + i];
            m.batch[to + i] = b;
        }
        known += nodes;
    }
    __syncwarp();
    for (uint32_t hop = 0; hop < m.hops; ++hop) {
        const uint32_t size = __shfl_sync(ALL, count, 2 * hop + 1);
        const long long to = __shfl_sync(ALL, place, 2 * hop + 1), shift = levels.shift[hop];
        for (uint32_t e = lane; e < size; e += 32) {
            const long long kept = kept_edges + edges + e, event = m.first + m.kept_event[kept];
            const uint32_t ends = m.kept_ends[kept], row = ends >> 16;
            uint32_t level = hop + 1;
            while (levels.first[level] > row) --level;
            m.time_of_edge[to + e] = m.time[event & m.mask];
            m.event[to + e] = event;
            m.row[to + e] = row + levels.shift[level];
            m.col[to + e] = (ends & 0xFFFF) + shift;
        }
        edges += size;
    }
}

// Grid of SMALL_BLOCK threads, a warp per tree; a block has some in order.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK, 4) sample_trees(const __grid_constant__ Forest m) {
    __shared__ TreeMemory memories[WARPS];
    __shared__ Levels levels[WARPS];
    __shared__ long long places[PARTS];
    __shared__ uint32_t sums[WARPS][PARTS];
    const uint32_t warp = threadIdx.x / 32, lane = lane_id(), parts = 2 * m.hops + 1;
    const Share mine = share_of_block(m);
    uint32_t sum = 0;
    for (long long b = mine.first + warp; b < mine.last; b += WARPS) sum += grow(m, memories[warp], b);
    if (lane < parts) sums[warp][lane] = sum;
    __syncthreads();
    if (threadIdx.x < parts) {
        uint32_t total = 0;
        for (uint32_t w = 0; w < WARPS; ++w) total += sums[w][threadIdx.x];
        m.totals[threadIdx.x * gridDim.x + blockIdx.x] = total;
    }
    uint32_t expected = 0;
    grid_barrier(m.arrived, expected);
    if (threadIdx.x == 0 && atomicAdd(m.arrived, 1u) == 2 * gridDim.x - 1) *m.arrived = 0;  // all have left it
    find_places(m, places);
    long long place = lane < 2 * m.hops ? places[lane] : 0;
    for (long long b = mine.first + warp, past = mine.first; b < mine.last; b += WARPS) {
        uint32_t count = 0;
        if (lane < 2 * m.hops) {
            for (; past < b; ++past) place += m.counts[lane * m.trees + past];
            count = m.counts[lane * m.trees + b];
        }
        write(m, levels[warp], b, count, place);
    }
}
