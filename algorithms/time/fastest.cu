// The fastest paths of a log from one vertex (fastest_cuda.py, which has the struct Fastest), in one cooperative launch. An arc is an event in one
// direction; arcs are numbered in order of time, and a *place* is that of an arc in the rows of the vertices that arcs lead to.
//
// A label of a place says when the path departed that departed last of those that have arrived at the vertex by then: 1 + an arc of that time. It is the
// largest of the labels of the row up to there; an arc from the source departs itself, others bring the label of the last place before them in time in the
// row of the vertex that they leave. Labels only rise, in rounds of
//
//   take what arcs bring, the largest by block | scan the rows for the largest so far
//
// with a barrier of the grid at the bar and behind each round, until a round changes none: as many rounds as the paths have arcs, at most. About 70 bytes
// per arc and round. Atomics, of the answers only: one per place that is faster than what was found, and one per place that is as fast.
#include "grid_barrier.cuh"

constexpr uint32_t NONE = 0xFFFFFFFFu, ALL = 0xFFFFFFFFu, WARPS = FASTEST_BLOCK / 32;

// Places of a block.
struct Share {
    long long first, last;
};

__device__ __forceinline__ long long time_of(const Fastest& m, uint32_t arc) { return m.time[arc >> m.both]; }

// Thread per place: the label of an arc from the source, and the place that another arc depends on.
__device__ __forceinline__ void prepare(const Fastest& m, const Share& mine) {
    for (long long p = mine.first + threadIdx.x; p < mine.last; p += FASTEST_BLOCK) {
        const uint32_t arc = m.order[p], u = m.begin[arc], limit = m.limit[arc];
        const bool departs = u == m.source && time_of(m, arc) != m.never;
        m.label[p] = departs ? limit + m.strict : 0;
        const long long first = m.offset[u];
        long long low = first, high = u == m.source ? first : m.offset[u + 1];
        while (low < high) {
            const long long middle = (low + high) / 2;
            if (m.order[middle] < limit) low = middle + 1;
            else high = middle;
        }
        m.before[p] = low == first ? NONE : uint32_t(low - 1);
    }
}

// The largest of what the threads of the block up to the calling one give; all: of all threads. Two barriers of the block.
__device__ __forceinline__ uint64_t largest_up_to(uint64_t value, uint64_t& all) {
    __shared__ uint64_t of_warps[WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int s = 1; s < 32; s *= 2) {
        const uint64_t below = __shfl_up_sync(ALL, value, s);
        if (lane >= s) value = max(value, below);
    }
    if (lane == 31) of_warps[warp] = value;
    __syncthreads();
    all = 0;
    for (uint32_t w = 0; w < WARPS; ++w) {
        if (w < warp) value = max(value, of_warps[w]);
        all = max(all, of_warps[w]);
    }
    __syncthreads();
    return value;
}

// Block: write what its arcs bring, vertex << 32 | label, which is larger in every later row, and the largest of that.
__device__ __forceinline__ void take(const Fastest& m, const Share& mine) {
    uint64_t most = 0, all;
    for (long long p = mine.first + threadIdx.x; p < mine.last; p += FASTEST_BLOCK) {
        const uint32_t before = m.before[p], own = m.label[p];
        const uint32_t label = before == NONE ? own : max(own, m.label[before]);
        const uint64_t taken = uint64_t(m.to[m.order[p]]) << 32 | label;
        m.taken[p] = taken;
        most = max(most, taken);
    }
    largest_up_to(most, all);
    if (threadIdx.x == 0) m.largest[blockIdx.x] = all;
}

// Block, behind a barrier of the grid: raise its labels to the largest so far in their rows; returns whether that changes one.
__device__ __forceinline__ bool raise(const Fastest& m, const Share& mine) {
    uint64_t carried = 0, all;
    for (uint32_t k = threadIdx.x; k < blockIdx.x; k += FASTEST_BLOCK) carried = max(carried, m.largest[k]);
    largest_up_to(carried, all);
    carried = all;
    bool rises = false;
    for (long long base = mine.first; base < mine.last; base += FASTEST_BLOCK) {
        const long long p = base + threadIdx.x;
        const uint64_t found = max(carried, largest_up_to(p < mine.last ? m.taken[p] : 0, all));
        carried = max(carried, all);
        if (p >= mine.last || m.label[p] == uint32_t(found)) continue;
        m.label[p] = uint32_t(found);
        rises = true;
    }
    return __syncthreads_or(rises);
}

// Thread per place that is reached: how long the path to its event takes.
template <class Body> __device__ __forceinline__ void for_reached(const Fastest& m, const Share& mine, Body&& body) {
    for (long long p = mine.first + threadIdx.x; p < mine.last; p += FASTEST_BLOCK) {
        const uint32_t arc = m.order[p], v = m.to[arc], label = m.label[p];
        if (label && v != m.source) body(v, arc, time_of(m, arc) - time_of(m, label - 1));
    }
}

// Grid of FASTEST_BLOCK threads.
extern "C" __global__ void __launch_bounds__(FASTEST_BLOCK) find_fastest(const __grid_constant__ Fastest m) {
    uint32_t expected = 0;
    const Share mine = {m.arcs * blockIdx.x / gridDim.x, m.arcs * (blockIdx.x + 1) / gridDim.x};
    prepare(m, mine);
    grid_barrier(m.arrived, expected);
    for (uint32_t round = 0;; ++round) {
        if (thread_id() == 0) m.rises[(round + 1) % 3] = 0;
        take(m, mine);
        grid_barrier(m.arrived, expected);
        if (raise(m, mine) && threadIdx.x == 0) m.rises[round % 3] = 1;
        grid_barrier(m.arrived, expected);
        if (!m.rises[round % 3]) break;
    }
    for_reached(m, mine, [&](uint32_t v, uint32_t, long long duration) {
        if (duration < m.duration[v]) atomicMin(&m.duration[v], duration);
    });
    grid_barrier(m.arrived, expected);
    for_reached(m, mine, [&](uint32_t v, uint32_t arc, long long duration) {
        if (duration == m.duration[v]) atomicMin(&m.event[v], (unsigned long long)(arc >> m.both));
    });
}
