// converge over all vertices in every round (`swap`): passes in one cooperative launch of blocks that all stay resident.
//
// A pass reduces the neighbours of every vertex and runs `then_fn`, which writes to other arrays than the functions read at other
// vertices; arrays that are exchanged change their names before the next pass. So there is one barrier per pass: no vertex is stamped,
// noted or committed. Heavy vertices add a barrier. Where a backend's segments are wide and have one owner (PASSES_SCAN) a pass goes over
// the storage, adds to sums per vertex in `memory`, and completes the vertices behind a barrier.
#include "loop.cuh"
#include "scan.cuh"

// Of this launch, all zero before it; totals of the lists of heavy vertices rotate over three turns: one is read, one written, one
// cleared.
struct Turns {
    unsigned long long heavy[3];
    uint32_t stop;  // the host wants the loop to end
};
static_assert(sizeof(Turns) <= 8 * ROUND_WORDS, "the host allocates the memory for it");

#define SCANS \
    (PASSES_SCAN && SCAN_LANES >= 4 && !OWNER_PER_SLOT && !WORD_VALUES && !VALUES_AT_ONCE && OVER != OVER_BOTH)

// Arrays a and b, pointers or what stands for them, exchange their contents, `size` entries each; all threads of the grid call it.
template <class T> __device__ __forceinline__ void exchange(T& a, T& b, unsigned long long size) {
    for (unsigned long long i = thread_id(); i < size; i += thread_count()) {
        const auto held = a[i];
        a[i] = b[i];
        b[i] = held;
    }
}

template <class T> __device__ __forceinline__ void exchange_names(T& a, T& b) {
    const T held = a;
    a = b;
    b = held;
}

// -- totals of accumulators: pass `round` adds to slot round % 3 --------------------------------------------------------

template <class T> __device__ __forceinline__ T* slot_of(const Slots<T>& slots, uint32_t round) {
    return round % 3 == 0 ? slots.write : round % 3 == 1 ? slots.clear : const_cast<T*>(slots.read);
}

// Behind the barrier of the pass before `round`: read its total; one thread clears what the pass after `round` adds to, which
// everybody read two passes ago.
template <int OP, class T>
__device__ __forceinline__ void read_total(Accumulator<OP, T>& total, const Slots<T>& slots, uint32_t round,
                                           bool first_thread) {
    total.value = *slot_of(slots, round + 2);
    if (first_thread) *slot_of(slots, round + 1) = neutral<OP, T>();
}

// One thread, behind a further barrier: leave the total where the next operator looks for it.
template <int OP, class T>
__device__ __forceinline__ void leave_total(const Accumulator<OP, T>& total, const Slots<T>& slots) {
    *slots.write = total.value;
    *slots.clear = neutral<OP, T>();
}

// A thread serves a vertex of a few neighbours, tiles and warps serve others (see pull_vertices). num_vertices is above 0. ROUND_FINISH
// moves what the block added to accumulators to the slot of `round`; ROUND_READ reads the totals behind a barrier, and one thread clears
// the slots that the next pass but one adds to; LOOP_FINISH (one thread, behind a further barrier) leaves the totals where the next
// operator looks for them. UNTIL is the condition that ends the loop. SWAP_NAMES exchanges pointers between passes, EXCHANGE the contents
// of the arrays if the last pass has written to the second array of a pair: the results are in the first. after: of an earlier loop, or
// null: unless that was crowded nothing happens.
extern "C" __global__ void __launch_bounds__(CONVERGE_BLOCK, CONVERGE_BLOCKS)
passes(VIEWS, uint32_t num_vertices, uint32_t max_steps, double bound, LoopMemory memory, unsigned char* heavy_memory,
       uint32_t heavy_capacity, Turns* turns, Outcome* outcome, const Outcome* after PARAMS) {
    LOCALS
#if !SCANS
    __shared__ PullShared<CONVERGE_BLOCK> shared;
#endif
    LoopState* const state = (LoopState*)memory.state;
    const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
    uint32_t expected = state->base, round = 0;
    if (after) max_steps = after->crowded ? max_steps - min(max_steps, uint32_t(after->steps)) : 0;
#if SCANS
    out_t* const sums = (out_t*)memory.heavy_base;
    if (max_steps > 0) {
        for (unsigned long long v = thread_id(); v < num_vertices; v += thread_count()) sums[v] = identity();
        grid_barrier(state, expected);
    }
#endif
    while (round < max_steps) {  // the same in all threads of the grid
        if (first_thread && (round & ABORT_MASK) == ABORT_MASK && memory.abort) turns->stop = fresh(*memory.abort);
#if SCANS
        scan_segments<AllSegments>(g, wakers_of(nullptr), num_vertices, 0, [&](uint32_t x, const Reduced& part) {
            if (wins(identity(), part.value)) atomic_combine(sums + x, part.value);
        } ARGS);
        grid_barrier(state, expected);
        for (unsigned long long v = thread_id(); v < num_vertices; v += thread_count()) {
            then_fn(uint32_t(v), sums[v] ARGS);
            sums[v] = identity();  // at last: a store behind a load of the same word would hold up the SM
        }
        ROUND_FINISH
        grid_barrier(state, expected);
#else
        if (first_thread) turns->heavy[(round + 1) % 3] = 0;  // last read two passes ago
        const Heavy heavy = heavy_in(heavy_memory, &turns->heavy[round % 3], heavy_capacity);
        const auto complete = [&](uint32_t, uint32_t x, const Reduced& reduced) { THEN(x, reduced); };
        pull_vertices<CONVERGE_BLOCK>(
            WALKED, wakers_of(nullptr), num_vertices, [](long long i) { return uint32_t(i); }, num_vertices,
            CONVERGE_BLOCK, blockIdx.x, gridDim.x, SPLIT_ABOVE, heavy, shared, complete ARGS);
        ROUND_FINISH
        grid_barrier(state, expected);
        const unsigned long long packed = counted(turns->heavy[round % 3]);
        if (packed != 0) {
            reduce_heavy(WALKED, wakers_of(nullptr), packed, heavy, blockIdx.x, gridDim.x, shared, complete ARGS);
            ROUND_FINISH
            grid_barrier(state, expected);
        }
#endif
        ++round;
        ROUND_READ
        if (UNTIL || round == max_steps) break;
        if ((round & ABORT_MASK) == 0 && counted(turns->stop) != 0) break;
        SWAP_NAMES
    }
    if (round > 0) {
        grid_barrier(state, expected);  // everybody has read the totals, and the arrays
        if (round % 2 == 1) {
            EXCHANGE
        }
        if (first_thread) {
            LOOP_FINISH
        }
    }
    if (first_thread) {  // the other blocks have read what it changes: they were at the last barrier
        outcome->steps = round;
        outcome->pushed = (unsigned long long)round * num_vertices;
        outcome->left = after && !after->crowded ? 0 : num_vertices;
        if (round > 0) state->base = expected;
    }
}
