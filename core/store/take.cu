// Takes an unvalidated batch for backends that work on sorted batches: checks it, copies it (see ingest.cuh) and sorts it. A
// batch takes one cooperative launch (take_sorted, take_buckets, take_digits); of a huge one the words are written (take_words), sorted by the
// host's library, and unpacked (unpack_words).
#include "ingest.cuh"
#include "buckets.cuh"
#include "digits.cuh"

struct Arguments {
    Copies to;
    Sorting t;
    Unvalidated batch;
};

__device__ __forceinline__ uint32_t batch_size(const Unvalidated& r) { return uint32_t(MIRRORED ? 2 * r.n : r.n); }

// To be called by one thread when the whole batch is checked: tell the host.
__device__ __forceinline__ void answer_host(const Unvalidated& r) {
    answer(r, *(const volatile uint32_t*)&r.status[r.call & 1].guard != 0);
}

// Grid of SORT_BLOCK threads: check and copy the batch, sort it into keys and order. Atomics: only for bad entries. One barrier
// of the grid if there are several tiles.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK) take_sorted(const __grid_constant__ Arguments a) {
    __shared__ uint64_t tile[SORT_TILE];
    const Unvalidated& r = a.batch;
    const uint32_t size = batch_size(r), tiles = (size + SORT_TILE - 1) / SORT_TILE, bits = a.t.bits, low = a.t.low;
    uint32_t expected = a.t.expected;
    if (thread_id() == 0) begin_call(r);
    for (uint32_t at = blockIdx.x; at < tiles; at += gridDim.x) {
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK) {
            const uint32_t k = at * SORT_TILE + i;
            uint64_t word = ~0ull;
            if (k < size) {
                const Entry e = entry_of(r, k);
                if (k < r.n) take_entry(r, a.to, k, e);
                uint32_t u = 0, v = 0;
                if (!as_edge(r, k, e, u, v)) u = v = 0;
                word = packed_word(u, v, k, bits, low);
            }
            tile[i] = word;
        }
        sort_shared<TILE_ITEMS>(tile, min(uint32_t(SORT_TILE), size - at * SORT_TILE));
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK) {
            if (tiles > 1) a.t.words[at * SORT_TILE + i] = tile[i];
            else if (i < size) unpack_word(tile[i], bits, low, a.t.keys[i], a.t.order[i]);
        }
        __syncthreads();
    }
    if (gridDim.x > 1) grid_barrier(a.t.arrived, expected);
    if (thread_id() == 0) answer_host(r);
    if (tiles > 1) place_words(a.t.words, size, Unpack{a.t});
}

// Threads, grid-stride: check and copy the batch, and pack its words.
__device__ __forceinline__ void pack_batch(const Arguments& a) {
    const Unvalidated& r = a.batch;
    const uint32_t size = batch_size(r);
    if (thread_id() == 0) begin_call(r);
    for (uint32_t k = thread_id(); k < size; k += thread_count()) {
        const Entry e = entry_of(r, k);
        if (k < r.n) take_entry(r, a.to, k, e);
        uint32_t u = 0, v = 0;
        if (!as_edge(r, k, e, u, v)) u = v = 0;
        a.t.words[k] = first_word(a.t, u, v, k);
    }
}

// Grid of SORT_BLOCK threads: check and copy the batch, sort it into keys and order. Barriers of the grid.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, 2) take_buckets(const __grid_constant__ Arguments a) {
    uint32_t expected = a.t.expected;
    pack_batch(a);
    sort_edge_words(a.t, a.to.src, a.to.dst, batch_size(a.batch), expected, [&] {
        if (thread_id() == 0) answer_host(a.batch);
    });
}

// The same by digits.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, 2) take_digits(const __grid_constant__ Arguments a) {
    uint32_t expected = a.t.expected;
    pack_batch(a);
    clear_groups(a.t);
    sort_by_digits(
        a.t, batch_size(a.batch), expected,
        [&] {
            if (thread_id() == 0) answer_host(a.batch);
        },
        Unpack{a.t});
}

// Thread per entry, grid-stride: check and copy the batch, and pack its words. Atomics: only for bad entries.
extern "C" __global__ void take_words(const __grid_constant__ Arguments a) { pack_batch(a); }

// Thread per word, in order, grid-stride, behind take_words: unpack it.
extern "C" __global__ void unpack_words(const __grid_constant__ Arguments a) {
    const uint32_t size = batch_size(a.batch);
    if (thread_id() == 0) answer_host(a.batch);
    for (uint32_t k = thread_id(); k < size; k += thread_count())
        unpack_word(a.t.words[k], a.t.bits, a.t.low, a.t.keys[k], a.t.order[k]);
}
