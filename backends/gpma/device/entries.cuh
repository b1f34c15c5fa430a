// The first step of update.cu: every entry of the sorted batch is located and reported. The struct Update comes from layout.py.
#pragma once
#include "leaves.cuh"

__device__ __forceinline__ uint8_t wanted(const Update& c) { return c.deleting ? PRESENT : ABSENT; }

// Warp: count the changes of each run of equal sources among its lanes. Atomics: one per run.
__device__ __forceinline__ void count_degrees(const Graph& g, const Update& c, uint32_t u, bool changes) {
    const uint32_t lane = lane_id(), before = __shfl_up_sync(ALL, u, 1);
    const bool is_head = lane == 0 || before != u;
    const uint32_t heads = __ballot_sync(ALL, is_head), all = __ballot_sync(ALL, changes);
    const uint32_t behind = heads & ((ALL - 1) << lane);  // the heads of later runs
    const uint32_t run = (behind ? lanes_below(__ffs(behind) - 1) : ALL) & (ALL << lane);
    const uint32_t count = __popc(all & run);
    if (is_head && count) atomicAdd(&g.degree[u], c.deleting ? 0u - count : count);
}

// Thread per entry, grid-stride: its kind, and its slot or the place it goes to, which ascend; its report; degrees and edges. In an
// invalid batch no entry counts. `edges`, in shared memory, is zero before. Atomics: degrees, one per block for the edges.
__device__ __forceinline__ void locate_entries(const Graph& g, const Update& c, bool invalid, uint32_t& edges) {
    const uint32_t lane = lane_id();
    uint32_t total = 0;
    for (long long first = thread_id() - lane; first < c.size; first += thread_count()) {
        const long long i = first + lane;
        const uint64_t key = i < c.size ? c.keys[i] : 0;
        uint8_t kind = DUPLICATE;
        if (i < c.size) {
            long long slot = -1;
            if (!invalid) {
                const Found found = search(g, source(key), uint32_t(key));
                slot = found.slot >= 0 ? found.slot : found.place;
                if (i + 1 == c.size || c.keys[i + 1] != key) kind = found.slot >= 0 ? PRESENT : ABSENT;
            }
            c.slot[i] = slot;
            c.kind[i] = kind;
            report_entry(c, g.weight, kind, c.order[i], slot);
        }
        const uint32_t changes = __ballot_sync(ALL, kind == wanted(c));
        if (changes) count_degrees(g, c, source(key), kind == wanted(c));
        total += __popc(changes);
    }
    if (lane == 0 && total) atomicAdd(&edges, total);
    __syncthreads();
    if (threadIdx.x == 0 && edges)
        atomicAdd((unsigned long long*)&g.counters[EDGES], c.deleting ? 0ull - edges : (unsigned long long)edges);
}
