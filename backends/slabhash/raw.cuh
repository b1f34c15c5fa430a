// Checking and copying a raw batch in the kernel that applies it; see ingest.cuh.
#pragma once
#include "ingest.cuh"
#include "slabs.cuh"

// Grid: check and copy the batch; see take_entries(). Ends with the first half of a grid-wide barrier. With `alone` no block reads
// what another one has copied before the next barrier.
template <int AHEAD>
__device__ __forceinline__ uint32_t take_batch(const View& g, const Raw& r, bool alone) {
    if (thread_index() == 0) begin_call(r);
    if (!take_entries<AHEAD>(r)) {
        store_word(g.counters + REFUSED, r.call);
        __threadfence();
    }
    return grid_arrive(g, ARRIVED, !alone);
}

// The second half: returns whether the batch is refused, and says so to the host. What take_batch() has returned is `before`.
__device__ __forceinline__ bool is_refused(const View& g, const Raw& r, bool alone, uint32_t before) {
    const bool refused = grid_wait(g, ARRIVED, !alone, before, r.call);
    if (thread_index() == 0) answer(r, refused);
    return refused;
}
