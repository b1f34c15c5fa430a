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

// Thread, entry i of an insertion: report its edge in its place in the batch, and give a stored one its new weight, by slot. Returns whether
// that is another one.
__device__ __forceinline__ bool report_inserted(const LocatedBatch& b, uint32_t i, bits_t* weight,
                                                const bits_t* batch_weight, uint8_t* status, bits_t* before) {
    const uint32_t item = b.order[i];
    uint8_t result = b.kind[i] == ABSENT ? NEW : UNCHANGED;
#if WEIGHT_BITS
    if (b.kind[i] == PRESENT) {
        const bits_t old = weight[b.slot[i]], now = batch_weight[item];
        before[item] = old;
        if (old != now) {
            weight[b.slot[i]] = now;
            result = REPLACED;
        }
    }
#endif
    status[item] = result;
    return result == REPLACED;
}

// Thread, entry i of a deletion: report its edge in its place in the batch, and the weight it had. Returns whether it is deleted.
__device__ __forceinline__ bool report_deleted(const LocatedBatch& b, uint32_t i, const bits_t* weight, uint8_t* status,
                                               bits_t* before) {
    const bool deleted = b.kind[i] == PRESENT;
    status[b.order[i]] = deleted ? REMOVED : UNCHANGED;
#if WEIGHT_BITS
    if (deleted) before[b.order[i]] = weight[b.slot[i]];
#endif
    return deleted;
}

// Thread: report an entry of a batch in its place there, ``item``. A weight that is replaced is written to the old ``slot``, which is
// read only if the edge is stored. C is a struct with deleting, batch_weight, status and before.
template <class C>
__device__ __forceinline__ void report_entry(const C& c, bits_t* weight, uint8_t kind, uint32_t item,
                                             const long long& slot) {
    uint8_t status = UNCHANGED;
    if (kind == (c.deleting ? PRESENT : ABSENT)) status = c.deleting ? REMOVED : NEW;
    if (WEIGHT_BITS && kind == PRESENT) {
        const bits_t old = weight[slot];
        c.before[item] = old;
        if (!c.deleting && old != c.batch_weight[item]) {
            weight[slot] = c.batch_weight[item];
            status = REPLACED;
        }
    }
    c.status[item] = status;
}
