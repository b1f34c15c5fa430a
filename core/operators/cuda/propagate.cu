// propagate: pushing repeated to a fixed point, in one cooperative launch of blocks that all stay resident.
//
// A step takes one grid-wide barrier, and a second one if the frontier has heavy vertices. While the frontier is so small that one block can
// serve it in a round, block 0 goes on alone, without any grid-wide barrier, and the others wait at the next one.
//
// What a block must see of the others: `out`, the queues and the arrays of the edge function that alias `out` are read with
// plain loads, which the L1 caches of the SMs serve, and these are not coherent. The grid-wide barrier makes it right: its
// fences release all writes of a block before it arrives and drop the lines of the SM's L1 after it leaves, so a step sees
// everything up to the step before. What happens within a step may be seen late; then a vertex pushes an old value, but
// whoever improved it has queued it for the next step as well. Atomics work in L2.
#include "push.cuh"

#define ALONE 128  // up to this many vertices block 0 works alone; at most its tiles

// All zero at launch. Progress: `arrived` counts the blocks that have come to barriers, in total, `level` the steps done, which
// the host reads. count and heavy rotate over three turns: one is read, one written, one cleared.
struct State : Progress {
    uint32_t count[3];
    uint32_t unused;
    unsigned long long heavy[3];
};
static_assert(sizeof(State) <= 4 * STATE_WORDS, "the host allocates the memory for it");

template <class T> __device__ __forceinline__ T fresh(const T& shared_word) { return *(const volatile T*)&shared_word; }

// Grid-wide barrier: every thread of every block calls it. `expected` counts arrivals, in thread 0 of each block.
__device__ __forceinline__ void grid_barrier(State* state, uint32_t& expected) {
    __syncthreads();
    if (threadIdx.x == 0) {
        expected += gridDim.x;
        __threadfence();
        atomicAdd(&state->arrived, 1u);
        while (int(fresh(state->arrived) - expected) < 0) {}
        __threadfence();
    }
    __syncthreads();
}

// frontier, device_count, size: as in push_vertices. queue0 and queue1 are uint32[num_vertices]; step i (from 0) stamps with
// first_step + i. At the end state->level is the number of steps.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK, 1)
propagate(View g, uint32_t num_vertices, const uint32_t* frontier, const uint32_t* device_count, uint32_t size,
          out_t* out, uint32_t* stamp, uint32_t first_step, uint32_t max_steps, uint32_t* queue0, uint32_t* queue1,
          uint32_t* heavy_vertex, long long* heavy_base, State* state PARAMS) {
    __shared__ Shared shared;
    __shared__ uint32_t alone_count;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();

    uint32_t expected = 0, turn = 0, level = 0;
    uint32_t count = device_count ? *device_count : size;
    while (count > 0 && level < max_steps) {  // the same in all threads of the grid
        const uint32_t next_turn = turn == 2 ? 0 : turn + 1;
        const HeavyList heavy = {heavy_vertex, heavy_base, &state->heavy[turn], num_vertices, HEAVY_SHIFT};
        if (blockIdx.x == 0 && threadIdx.x == 0) {  // last read two turns ago
            state->count[next_turn] = 0;
            state->heavy[next_turn] = 0;
        }

        if (count <= ALONE) {
            if (blockIdx.x == 0) {
                bool goes_on = true;
                while (goes_on) {
                    if (threadIdx.x == 0) alone_count = shared.has_heavy = 0;
                    __syncthreads();
                    const Changed changed = {stamp, first_step + level, level & 1 ? queue0 : queue1, &alone_count};
                    push_frontier(g, num_vertices, frontier, count, WIDE, 0, 1, out, heavy, changed, shared ARGS);
                    ++level;
                    frontier = level & 1 ? queue1 : queue0;
                    count = alone_count;
                    goes_on = count > 0 && count <= ALONE && level < max_steps && !shared.has_heavy;
                    __syncthreads();  // everybody has read the counts
                }
                if (threadIdx.x == 0) {
                    state->count[turn] = count;
                    state->level = level;
                }
            }
            grid_barrier(state, expected);
            level = fresh(state->level);
        } else {
            const Changed changed = {stamp, first_step + level, level & 1 ? queue0 : queue1, &state->count[turn]};
            push_frontier(g, num_vertices, frontier, count, WIDE, blockIdx.x, gridDim.x, out, heavy, changed,
                          shared ARGS);
            ++level;
            grid_barrier(state, expected);
        }

        const unsigned long long packed = fresh(state->heavy[turn]);
        if (packed != 0) {
            const Changed changed = {stamp, first_step + level - 1, level & 1 ? queue1 : queue0, &state->count[turn]};
            push_heavy(g, packed, out, heavy, changed, shared ARGS);
            grid_barrier(state, expected);
        }
        count = fresh(state->count[turn]);
        frontier = level & 1 ? queue1 : queue0;
        turn = next_turn;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) state->level = level;
}
