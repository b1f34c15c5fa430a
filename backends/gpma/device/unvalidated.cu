// Unvalidated batches: queries, and lazy deletions, which need no order. See ingest.cuh.
#include "ingest.cuh"
#include "grid_barrier.cuh"
#include "leaves.cuh"

struct Arguments {
    Copies to;
    Graph g;
    Taking t;
    Unvalidated batch;
};

// Thread per query, grid-stride: check it, and look it up. An invalid edge is not found. Atomics: only for bad entries.
extern "C" __global__ void find_unvalidated(const __grid_constant__ Arguments a) {
    const Unvalidated& r = a.batch;
    if (thread_id() == 0) begin_call(r);
    for (long long i = thread_id(); i < r.n; i += thread_count()) {
        const Entry e = load_entry(r, i);
        long long slot = -1;
        uint32_t u, v;
        if (check_entry(r, i, e) && as_edge(r, i, e, u, v)) slot = search(a.g, u, v).slot;
        a.t.found[i] = slot >= 0;
        if (WEIGHT_BITS && slot >= 0) a.t.result[i] = a.g.weight[slot];
    }
}

// Thread per edge, grid-stride, in a cooperative launch: check and copy the batch; behind a barrier of the grid turn its edges into gaps,
// unless it is invalid, and report them. Atomics: as in clear_edge.
extern "C" __global__ void __launch_bounds__(THREADS) clear_unvalidated(const __grid_constant__ Arguments a) {
    const Unvalidated& r = a.batch;
    uint32_t expected = a.t.expected;
    if (thread_id() == 0) begin_call(r);
    take_entries<4>(r, a.to);
    grid_barrier(a.t.arrived, expected);
    const bool refused = r.status[r.call & 1].guard != 0;
    if (thread_id() == 0) answer(r, refused);
    const long long size = MIRRORED ? 2 * r.n : r.n;
    uint32_t removed = 0;
    for (long long i = thread_id(); i < size; i += thread_count())
        removed += clear_edge(a.g, refused, a.to.src[i], a.to.dst[i], i, a.t.status, a.t.before);
    count_removed(a.g, removed);
}
