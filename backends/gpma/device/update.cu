// A whole batch of gpma in one cooperative launch, from the sorted keys on: an insertion in place, or a strict deletion.
//
//   locate and report every entry | rebalance within pages, a warp for each | if pages are too full or too empty: rebalance larger
//   segments, by blocks and by the grid
//
// with a barrier of the grid at each bar. No locks: segments that are rebalanced lie beside each other, and each has one owner.
#include "rest.cuh"

struct Arguments {
    Graph g;
    Update c;
};

struct Shared {
    uint32_t edges, moved;
    long long sums[WARPS];
    PageMemory pages[WARPS];
};

// Grid of THREADS threads. Atomics: degrees once per run of equal sources and warp, counters once per block. In an invalid batch no entry
// counts.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) update(const __grid_constant__ Arguments a) {
    __shared__ Shared shared;
    const Graph& g = a.g;
    const Update& c = a.c;
    uint32_t expected = c.expected;
    const bool invalid = c.guard && *c.guard;
    // Nobody arrives at the other word before the second barrier.
    GridTeam grid = {&g.work->laps, c.sums, shared.sums, 0, 0};
    if (threadIdx.x == 0) {
        grid.laps = *(volatile uint32_t*)&g.work->laps;
        shared.edges = shared.moved = 0;
    }
    __syncthreads();
    locate_entries(g, c, invalid, shared.edges);
    grid_barrier(c.arrived, expected);
    if (!invalid) rebalance_pages(g, c, shared.pages[threadIdx.x / 32], shared.moved);
    grid_barrier(c.arrived, expected);
    if (g.work->waiting) rebalance_rest(g, c, grid);
}
