// What kernels that loop to a fixed point in one cooperative launch share: a grid-wide barrier, and the stamps of their frontiers.
//
// A graph has one LoopState and one array of loop stamps, uint32[num_vertices], for all such kernels. Both outlive a launch and are
// never cleared by the host: a launch begins where the one before ended. Launches of one graph are in one stream, so what is
// read at the start is what the last launch wrote at its end.
#pragma once
#include "grid_barrier.cuh"
#include "lists.cuh"

// Zero at first. Counters rotate over three turns: one is read, one written, one cleared; the one of turn `turn` is zero when a
// launch starts.
struct LoopState {
    uint32_t arrived;  // blocks that came to barriers, in all launches; wraps
    uint32_t base;  // `arrived` when the last launch ended
    uint32_t epoch;  // the last stamp that was used
    uint32_t turn;
    uint32_t count[3];
    uint32_t altered[3];
    uint32_t layered[3];  // vertices that pushed, where layers are kept
    uint32_t level[3];  // steps done when block 0 has gone on alone
    uint32_t stop;  // base + 1 of the launch that the host wants to end
    uint32_t invalid;  // vertices that a repair found invalid; zero between launches
    unsigned long long heavy[3];
    unsigned long long
        nearest[3];  // of the vertices queued, the complement of the least first key's bits; 0 if there are none
    unsigned long long reached[2];  // in all launches, see block_levels.cuh; wraps
};
static_assert(sizeof(LoopState) <= 4 * LOOP_WORDS, "the host allocates the memory for it");

[[maybe_unused]] constexpr uint32_t LAST_EPOCH = 0x3FFFFFFFu;  // a launch that starts above it clears the stamps
[[maybe_unused]] constexpr uint32_t ABORT_MASK =
    1023;  // number of steps between reads of the host's flag, which lies in host memory

// Grid-wide barrier: every thread of every block calls it. `expected` counts arrivals, in thread 0 of each block.
__device__ __forceinline__ void grid_barrier(LoopState* state, uint32_t& expected) {
    grid_barrier(&state->arrived, expected);
}

// The number before the first stamp of this launch; clears the stamps if numbers run out. All threads of the grid call it.
__device__ __forceinline__ uint32_t first_epoch(LoopState* state, uint32_t* stamp, uint32_t num_vertices,
                                                uint32_t& expected) {
    const uint32_t last = state->epoch;
    if (last <= LAST_EPOCH) return last;
    for (uint32_t v = thread_id(); v < num_vertices; v += thread_count()) stamp[v] = 0;
    grid_barrier(state, expected);
    return 0;
}

// Of a launch, the same in all threads but `expected` and `pushed`. near, buffer and far are uint32[num_vertices] each: the
// frontier, what it alters, and what is put aside; they change places. `far` is also the list of invalid vertices of a repair.
struct Steps {
    uint32_t num_vertices, max_steps;
    uint32_t* stamp;
    LoopState* state;
    const uint32_t* abort;  // in host memory, or null
    uint32_t* heavy_vertex;
    long long* heavy_base;
    uint32_t *near, *buffer, *far;
    uint32_t* violated;
    bool once;  // no vertex is altered twice
    uint32_t
        altered;  // stamps from this one on are those of vertices that the launch altered; itself, of those that did not join
    uint32_t expected, epoch, turn, level, base;
    unsigned long long pushed, mine;  // mine: see Changed
    uint32_t level_turn;  // which of state->reached the next small level counts in
    unsigned long long reached_before,
        other_before;  // what was in it, and in the other one; in one thread of each block
};

__device__ __forceinline__ void next_turn(Steps& steps) { steps.turn = steps.turn == 2 ? 0 : steps.turn + 1; }

__device__ __forceinline__ void swap_queues(Steps& steps) {
    uint32_t* const queue = steps.near;
    steps.near = steps.buffer;
    steps.buffer = queue;
}

// Begin to use the counters of a turn: clear those of the next one, last read two turns ago.
__device__ __forceinline__ void begin_turn(const Steps& steps) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    const uint32_t next = steps.turn == 2 ? 0 : steps.turn + 1;
    steps.state->count[next] = steps.state->altered[next] = 0;
    steps.state->heavy[next] = 0;
    steps.state->layered[next] = 0;
    steps.state->nearest[next] = 0;
}

__device__ __forceinline__ void poll_abort(const Steps& steps, uint32_t level) {
    if (threadIdx.x == 0 && steps.abort && (level & ABORT_MASK) == ABORT_MASK && fresh(*steps.abort)) {
        steps.state->stop = steps.base + 1;
    }
}

// One thread: stamp v; return whether it was not stamped so yet.
__device__ __forceinline__ bool claim(uint32_t* stamp, uint32_t v, uint32_t epoch) {
    return atomicExch(stamp + v, epoch) != epoch;
}
