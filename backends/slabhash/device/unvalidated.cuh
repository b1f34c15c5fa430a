// Checking and copying an unvalidated batch in the kernel that applies it; see ingest.cuh.
#pragma once
#include "ingest.cuh"
#include "barrier.cuh"

// The edge that a lane looks up first: the k-th of the batch, made of `entry`. A lane without one has the batch's size as k.
struct FirstEdge {
    long long k;
    Entry entry;
    bool good;
    uint32_t u, v;  // if it is good
};

__device__ __forceinline__ FirstEdge load_first(const Unvalidated& r, long long k, long long size) {
    FirstEdge first = {k};
    if (k >= size) return first;
    first.entry = entry_of(r, k);
    first.good = as_edge(r, k, first.entry, first.u, first.v);
    return first;
}

// Grid: check and copy the batch; it is bad as well if an earlier part of the call is. Ends with the first half of a
// grid-wide barrier. With `alone` every edge is the first of a lane, which copies what it has; then no block reads what another one has copied before the next barrier.
template <int AHEAD>
__device__ __forceinline__ uint32_t check_batch(const View& g, const Unvalidated& r, const Copies& to, bool alone,
                                                const FirstEdge& first) {
    bool good = thread_index() != 0 || !begin_call(r);
    if (!alone) {
        good &= take_entries<AHEAD>(r, to);
    } else if (first.k < r.n) {
        good &= take_entry(r, to, first.k, first.entry);
    }
    if (!good) {
        store_word(g.counters + REJECTED, r.call);
        __threadfence();
    }
    return grid_arrive(g, ARRIVED, !alone);
}

// The second half: returns whether the batch is rejected, and tells the host. What check_batch() has returned is `before`.
__device__ __forceinline__ bool is_rejected(const View& g, const Unvalidated& r, bool alone, uint32_t before) {
    const bool rejected = grid_wait(g, ARRIVED, !alone, before, r.call);
    if (thread_index() == 0) answer(r, rejected);
    return rejected;
}
