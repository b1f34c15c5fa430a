// Checking and copying a raw batch in the kernel that applies it; see ingest.cuh.
#pragma once
#include "ingest.cuh"
#include "slabs.cuh"

static_assert(ARRIVED % 2 == 0 && REFUSED == ARRIVED + 1, "grid_barrier() loads both at once");

// Grid: check and copy the batch, the first half; see take_entries().
template <int AHEAD>
__device__ __forceinline__ void take_batch(const View& g, const Raw& r) {
    if (thread_index() == 0) begin_call(r);
    if (!take_entries<AHEAD>(r)) {
        store_word(g.counters + REFUSED, r.call);
        __threadfence();
    }
}

// The second half, a grid-wide barrier: returns whether the batch is refused, and says so to the host. With `alone` no block
// reads what another one has copied before the next barrier.
__device__ __forceinline__ bool is_refused(const View& g, const Raw& r, bool alone) {
    const bool refused = grid_barrier(g.counters + ARRIVED, !alone, r.call);
    if (thread_index() == 0) answer(r, refused);
    return refused;
}
