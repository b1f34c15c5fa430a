// Rounds of a peel whose lists are short: each block goes on with the vertices that it has taken away itself.
//
// An ordinary round is a chain of trips to memory: entry of the list, row, neighbours, subtraction, place in the queue, barrier. Here
// the vertices stay in shared memory, and while a block waits for the others it reads the rows of its own: two trips are left, and
// the barrier, whose counter says how many vertices all blocks have taken away.
#pragma once
#include "core_rows.cuh"

constexpr uint32_t PER_BLOCK =
    64;  // vertices per block up to which a list is short; with twice as many they are spread over all blocks again
constexpr uint32_t OWN = 1024;  // neighbours that a block reads while it waits, so that it keeps no more vertices

// What a block adds to the counter of a round: itself, whether it wants the vertices spread again, how many it has taken away.
constexpr uint32_t WANTS_SHIFT = 10, TAKEN_SHIFT = 32;

// Lists of even and odd rounds: vertices, how many neighbours they have, and these, of one round at a time.
struct BlockRounds {
    uint32_t own[2][OWN], owns[2], reserved[2], edges[2], to[OWN];
    uint32_t spilled;  // vertices that are queued for all blocks
    unsigned long long seen;  // what all blocks have added
};

// Which of the two counters is next, and what they were, in thread 0 of each block.
struct RoundTurns {
    uint32_t turn;
    unsigned long long before[2];
};

// Keep v for the next round if there is space for its neighbours, whose number is given, else queue it.
__device__ __forceinline__ void keep(Rounds& r, BlockRounds& lists, uint32_t side, uint32_t v, uint32_t neighbors) {
    if (neighbors <= SMALL && atomicAdd(&lists.reserved[side], neighbors) + neighbors <= OWN) {
        lists.own[side][atomicAdd(&lists.owns[side], 1u)] = v;
    } else {
        atomicAdd(&lists.spilled, 1u);
        append(r.queue[r.side], &r.state->count[r.turn], v);
    }
}

// Read the neighbours of the vertices that the block has kept, a tile per vertex.
__device__ __forceinline__ void read_rows(const View& g, BlockRounds& lists, uint32_t side) {
    for (uint32_t i = threadIdx.x / TILE; i < lists.owns[side]; i += blockDim.x / TILE) {
        for_neighbors<TILE>(g, lists.own[side][i], threadIdx.x % TILE, [&](uint32_t w, long long) {
            lists.to[atomicAdd(&lists.edges[side], 1u)] = w;
        });
    }
}

// Wait for all blocks; return what they have added to the counter of this round. One thread of each block calls it.
__device__ __forceinline__ unsigned long long await_round(const Rounds& r, RoundTurns& turns) {
    unsigned long long* const before = &turns.before[turns.turn];
    unsigned long long all;
    do {
        all = load_acquire(&r.state->taken[turns.turn]) - *before;
    } while ((all & ((1ull << WANTS_SHIFT) - 1)) != gridDim.x);
    *before += all;
    return all;
}

// Rounds from list[0 .. count) on, until the list is short no longer, or so short that block 0 serves it alone, or holds vertices with
// many neighbours; then all are in the list that is returned, of `count` vertices. take(w, epoch) is called once for each neighbour
// of each vertex, and says whether w is in the next list. All threads of the grid call it behind a barrier.
template <class Take>
__device__ __forceinline__ const uint32_t* block_rounds(const View& g, Rounds& r, RoundTurns& turns,
                                                        const uint32_t* list, uint32_t& count, Take&& take) {
    __shared__ BlockRounds lists;
    __shared__ uint32_t first;
    const uint32_t me = threadIdx.x;
    const uint32_t begin = uint32_t((unsigned long long)count * blockIdx.x / gridDim.x),
                   end = uint32_t((unsigned long long)count * (blockIdx.x + 1) / gridDim.x);
    uint32_t side = 0;
    if (thread_id() == 0) r.state->count[r.turn == 2 ? 0 : r.turn + 1] = 0;  // last read two rounds ago
    __syncthreads();
    if (me < 2) lists.owns[me] = lists.reserved[me] = lists.edges[me] = 0;
    if (me == 0) lists.spilled = 0;
    __syncthreads();
    for (uint32_t i = begin + me; i < end; i += blockDim.x) keep(r, lists, 0, list[i], degree(g, list[i]));
    __syncthreads();
    read_rows(g, lists, 0);
    for (bool goes_on = true; goes_on;) {
        __syncthreads();  // the rows are there
        ++r.epoch;
        r.served += count;
        const uint32_t edges = lists.edges[side];
        for (uint32_t i = me; i < edges; i += blockDim.x) {
            const uint32_t w = lists.to[i];
            const uint32_t neighbors =
                degree(g, w);  // mostly for nothing, but its way to memory overlaps with that of `take`
            const bool taken = take(w, r.epoch);
            asm volatile("" : : "r"(neighbors));  // so that it is read there
            if (taken) keep(r, lists, side ^ 1, w, neighbors);
        }
        __syncthreads();  // all are taken
        if (me == 0) {
            const uint32_t taken = lists.owns[side ^ 1] + lists.spilled;
            const bool wants = lists.spilled > 0 || taken > 2 * PER_BLOCK;
            add_release(&r.state->taken[turns.turn],
                        1ull | (unsigned long long)wants << WANTS_SHIFT | (unsigned long long)taken << TAKEN_SHIFT);
            lists.owns[side] = lists.reserved[side] = lists.edges[side] = 0;
        }
        side ^= 1;
        read_rows(g, lists, side);
        if (me == 0) lists.seen = await_round(r, turns);
        turns.turn ^= 1;
        __syncthreads();
        count = uint32_t(lists.seen >> TAKEN_SHIFT);
        goes_on = count > ALONE && uint32_t(lists.seen) >> WANTS_SHIFT == 0;
    }
    const uint32_t number = lists.owns[side];
    if (me == 0) first = number ? atomicAdd(&r.state->count[r.turn], number) : 0;
    __syncthreads();
    for (uint32_t i = me; i < number; i += blockDim.x) r.queue[r.side][first + i] = lists.own[side][i];
    return close_round(r, count);
}
