// What a launch of converge counts, and from which sizes on its rounds choose their ways.
#pragma once
#include "wake.cuh"

#define ALONE 64  // up to this many vertices, none of more than ALONE_LIMIT neighbours, block 0 works alone
#define ALONE_LIMIT 512
#define FEW (VALUES_AT_ONCE ? 4096 : 16384)  // of so few vertices those of more than FEW_LIMIT neighbours are split
#define FEW_LIMIT 256
#define TURNS_LISTED \
    4  // from so many vertices per warp on those whose turn it is are listed, so that all lanes have one
#define SPARSE 128  // a set of less than 1 / SPARSE of the vertices is a list
#define BITS_SHARE 8  // vertices see by themselves that they are activated if more than 1 / BITS_SHARE of the arcs wake

// Of this launch, all zero before it; counters rotate over three turns: one is read, one written, one cleared.
struct Rounds {
    unsigned long long heavy[3], waking[3];  // totals of the lists of heavy vertices of both phases
    unsigned long long arcs[3];  // of vertices that wake their neighbours, in rounds over all vertices
    uint32_t queued[3];  // vertices of the next round, if it is a list
    uint32_t computed[3];  // vertices of this round
    uint32_t listed[3];  // of them, if the round made a list of the stamps
    uint32_t waiting[3];  // whether some had no turn yet; queued and listed are then those of a cycle
    uint32_t asked[3];  // vertices whose turn it is, if the round made a list of them
    uint32_t cycle;
    uint32_t level, number, dense, ended;  // where block 0 has got to alone
    uint32_t stop;  // the host wants the loop to end
};
static_assert(sizeof(Rounds) <= 8 * ROUND_WORDS, "the host allocates the memory for it");

// Rounds over most vertices pass over the storage where vertices have many neighbours (PASSES_SCAN) and a segment is wide and has one
// owner: its sums are added up in an array.
#define SCANS                                                                                                     \
    (PASSES_SCAN && SCAN_LANES >= 4 && !OWNER_PER_SLOT && !WORD_VALUES && !VALUES_AT_ONCE && OVER != OVER_BOTH && \
     !HAS_TURN)
#define SCAN_SHARE 8  // more than 1 / SCAN_SHARE of the vertices were active
#define LIST_SHARE (SCANS ? SCAN_SHARE : 4)  // rounds in which less than 1 / LIST_SHARE were active list those that are

#if HAS_TABLES
#define TABLES , VoteTables tables
#else
#define TABLES
#endif

// Reduce all listed vertices, see reduce_heavy(), in one phase, or in two where votes have tables.
template <int THREADS, class Barrier, class F>
__device__ __forceinline__ void reduce_in_phases(WALK, const Wakers& wakers, unsigned long long packed,
                                                 const Heavy& heavy, uint32_t block, uint32_t blocks,
                                                 PullShared<THREADS>& shared, Barrier&& barrier, F&& finish FORMALS) {
#if HAS_TABLES
    add_up_heavy<THREADS / 32>(WALKED, packed, heavy, block, blocks, shared.table ARGS);
    barrier();
    best_of_heavy(WALKED, packed, heavy, block, blocks, finish ARGS);
#else
    reduce_heavy(WALKED, wakers, packed, heavy, block, blocks, shared, finish ARGS);
#endif
}

// Call f(i, vertex) for the positions of a list, or of all vertices where `ids` is null; all threads of the grid call it.
template <class F> __device__ __forceinline__ void for_active(const uint32_t* ids, uint32_t number, F&& f) {
    for (unsigned long long i = thread_id(); i < number; i += thread_count())
        f(uint32_t(i), ids ? ids[i] : uint32_t(i));
}

#if SCANS
// The first phase of a round as a pass over the storage; all threads of the grid call it. `clean`: whether the sums are neutral. Vertices are
// active that have the stamp `current`, or all; notes[x] is judged(x, reduced).
template <class Barrier, class Judge>
__device__ __forceinline__ void scan_round(const View& g, const Wakers& wakers, uint32_t num_vertices,
                                           const LoopMemory& memory, uint32_t current, uint8_t* notes, bool all,
                                           bool clean, Barrier&& barrier, Judge&& judged FORMALS) {
    out_t* const sums = (out_t*)memory.heavy_base;
    if (!clean) {
        for_active(nullptr, num_vertices, [&](uint32_t, uint32_t x) { sums[x] = identity(); });
        barrier();
    }
    scan_segments<AllSegments>(g, wakers, num_vertices, 0, [&](uint32_t x, const Reduced& part) {
        if (wins(identity(), part.value)) atomic_combine(sums + x, part.value);
        if (is_activated(part)) memory.stamp[x] = current;
    } ARGS);
    barrier();
    for_active(nullptr, num_vertices, [&](uint32_t, uint32_t x) {
        const bool is_active = all || fresh(memory.stamp[x]) == current;
        Reduced whole = nothing_reduced();
        if (is_active) whole.value = sums[x];
        notes[x] = judged(is_active ? x : EMPTY, whole);
        sums[x] = identity();  // at last: a store behind a load of the same word would hold up the SM
    });
}
#endif
