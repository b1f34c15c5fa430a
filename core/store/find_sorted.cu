// Queries of unvalidated batches, over layouts that keep each adjacency ascending in one range of slots; see ingest.cuh.
#include "ingest.cuh"
#include "bits.cuh"
#include "search.cuh"

struct Arguments {
    Finding f;
    Unvalidated batch;
};

// Thread per query, grid-stride: check it, and look it up by a binary search. An invalid edge is not found. Atomics: only for
// bad entries.
extern "C" __global__ void find_sorted(const __grid_constant__ Arguments a) {
    const Unvalidated& r = a.batch;
    if (thread_id() == 0) begin_call(r);
    for (long long i = thread_id(); i < r.n; i += thread_count()) {
        const Entry e = load_entry(r, i);
        bool found = false;
        uint32_t u, v;
        if (check_entry(r, i, e) && as_edge(r, i, e, u, v)) {
            const long long end = a.f.end[u], at = lower_bound(a.f.dst, a.f.begin[u], end, v);
            found = at < end && a.f.dst[at] == v;
#if WEIGHT_BITS
            if (found) a.f.result[i] = a.f.weight[at];
#endif
        }
        a.f.found[i] = found;
    }
}
