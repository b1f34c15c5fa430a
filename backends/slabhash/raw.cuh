// Checking and copying a raw batch in the kernel that applies it; see ingest.cuh.
#pragma once
#include "ingest.cuh"
#include "slabs.cuh"

// The edge that a lane looks up first: the k-th of the batch, which comes from `entry`. Those without have the batch's size as k.
struct First {
    long long k;
    Entry entry;
    bool good;
    uint32_t u, v;  // if it is good
};

__device__ __forceinline__ First look_at(const Raw& r, long long k, long long size) {
    First first = {k};
    if (k >= size) return first;
    first.entry = entry_of(r, k);
    first.good = as_edge(r, k, first.entry, first.u, first.v);
    return first;
}

// Grid: check and copy the batch. Ends with the first half of a grid-wide barrier. With `alone` every edge is the first of a lane,
// which copies what it has; then no block reads what another one has copied before the next barrier.
template <int AHEAD>
__device__ __forceinline__ uint32_t take_batch(const View& g, const Raw& r, const Copies& to, bool alone, const First& first) {
    if (thread_index() == 0) begin_call(r);
    bool good = true;
    if (!alone) {
        good = take_entries<AHEAD>(r, to);
    } else if (first.k < r.n) {
        good = take_entry(r, to, first.k, first.entry);
    }
    if (!good) {
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
