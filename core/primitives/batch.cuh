// Device functions of a located batch (see core/store/batch_store.py). The struct LocatedBatch is generated from Python and
// comes before this header, with DUPLICATE, ABSENT and PRESENT, the kinds of its entries.
//
// Entries are sorted by key = src << 32 | dst. Of equal keys only the last counts: the others are DUPLICATE. ``rank`` is
// the inclusive number of entries of the kind that the batch changes (ABSENT for an insertion, PRESENT for a deletion).
// ``guard`` may be null; where *guard is not zero the batch is invalid (ids may be out of range) and no entry counts. The
// first entry of a source is its head and stands for the vertex.
#pragma once
#include "bits.cuh"
#include "search.cuh"

__device__ __forceinline__ bool is_invalid(const LocatedBatch& b) { return b.guard && *b.guard; }
__device__ __forceinline__ uint32_t source(uint64_t key) { return uint32_t(key >> 32); }

__device__ __forceinline__ bool is_last(const LocatedBatch& b, uint32_t i) {
    return i + 1 == b.size || b.keys[i + 1] != b.keys[i];
}

__device__ __forceinline__ bool is_head(const LocatedBatch& b, uint32_t i) {
    return i == 0 || source(b.keys[i - 1]) != source(b.keys[i]);
}

__device__ __forceinline__ uint32_t run_begin(const LocatedBatch& b, uint32_t i) {
    return gallop_down(b.keys, i, b.keys[i] & 0xFFFFFFFF00000000ull);
}

__device__ __forceinline__ uint32_t run_end(const LocatedBatch& b, uint32_t i) {
    return gallop_up(b.keys, i, uint32_t(b.size), b.keys[i] | 0xFFFFFFFFull);
}

// Number of entries that change the graph among the first ``i``.
__device__ __forceinline__ int rank_before(const LocatedBatch& b, uint32_t i) { return i ? b.rank[i - 1] : 0; }
