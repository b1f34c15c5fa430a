// Rounds of a peel whose lists are thin: each block goes on with the vertices that it has taken away itself.
//
// An ordinary round is a chain of trips to memory: entry of the list, row, neighbours, subtraction, place in the queue, barrier. Here
// the vertices stay in shared memory, and while a block waits for the others it reads the rows of its own: two trips are left, and
// the barrier, whose counter says how many vertices all blocks have taken away.
#pragma once
#include "core_rows.cuh"

constexpr uint32_t THIN = 64;  // vertices per block up to which a list is thin; with twice as many they are spread anew
constexpr uint32_t OWN = 1024;  // neighbours that a block reads while it waits, so that it keeps no more vertices

// What a block adds to the counter of a round: itself, whether it wants the vertices spread anew, how many it has taken away.
constexpr uint32_t WANTS_SHIFT = 10, TAKEN_SHIFT = 32;

// Lists of even and odd rounds: vertices, how many neighbours they have, and these, of one round at a time.
struct Thin {
    uint32_t own[2][OWN], owns[2], reserved[2], edges[2], to[OWN];
    uint32_t spilled;  // vertices that are queued for all blocks
    unsigned long long seen;  // what all blocks have added
};

// Which of the two counters is next, and what they were, in thread 0 of each block.
struct ThinTurns {
    uint32_t turn;
    unsigned long long before[2];
};

// Keep v, which has so many neighbours, for the next round if there is space for them, else queue it.
__device__ __forceinline__ void keep(Rounds& r, Thin& thin, uint32_t side, uint32_t v, uint32_t neighbors) {
    if (neighbors <= SMALL && atomicAdd(&thin.reserved[side], neighbors) + neighbors <= OWN) {
        thin.own[side][atomicAdd(&thin.owns[side], 1u)] = v;
    } else {
        atomicAdd(&thin.spilled, 1u);
        append(r.queue[r.side], &r.state->count[r.turn], v);
    }
}

// Read the neighbours of the vertices that the block has kept, a tile per vertex.
__device__ __forceinline__ void read_rows(const View& g, Thin& thin, uint32_t side) {
    for (uint32_t i = threadIdx.x / TILE; i < thin.owns[side]; i += blockDim.x / TILE) {
        for_neighbors<TILE>(g, thin.own[side][i], threadIdx.x % TILE, [&](uint32_t w, long long) {
            thin.to[atomicAdd(&thin.edges[side], 1u)] = w;
        });
    }
}

// Wait for all blocks; return what they have added to the counter of this round. One thread of each block calls it.
__device__ __forceinline__ unsigned long long await_round(const Rounds& r, ThinTurns& turns) {
    unsigned long long* const before = &turns.before[turns.turn];
    unsigned long long all;
    do {
        all = load_acquire(&r.state->taken[turns.turn]) - *before;
    } while ((all & ((1ull << WANTS_SHIFT) - 1)) != gridDim.x);
    *before += all;
    return all;
}

// Rounds from list[0 .. count) on, until the list is thin no longer, or so short that block 0 serves it alone, or holds vertices with
// many neighbours; then all are in the list that is returned, of `count` vertices. take(w, epoch) is called once for each neighbour
// of each vertex, and says whether w is in the next list. All threads of the grid call it behind a barrier.
template <class Take>
__device__ __forceinline__ const uint32_t* thin_rounds(const View& g, Rounds& r, ThinTurns& turns, const uint32_t* list,
                                                       uint32_t& count, Take&& take) {
    __shared__ Thin thin;
    __shared__ uint32_t first;
    const uint32_t me = threadIdx.x;
    const uint32_t begin = uint32_t((unsigned long long)count * blockIdx.x / gridDim.x),
                   end = uint32_t((unsigned long long)count * (blockIdx.x + 1) / gridDim.x);
    uint32_t side = 0;
    if (thread_id() == 0) r.state->count[r.turn == 2 ? 0 : r.turn + 1] = 0;  // last read two rounds ago
    __syncthreads();
    if (me < 2) thin.owns[me] = thin.reserved[me] = thin.edges[me] = 0;
    if (me == 0) thin.spilled = 0;
    __syncthreads();
    for (uint32_t i = begin + me; i < end; i += blockDim.x) keep(r, thin, 0, list[i], degree(g, list[i]));
    __syncthreads();
    read_rows(g, thin, 0);
    for (bool goes_on = true; goes_on;) {
        __syncthreads();  // the rows are there
        ++r.epoch;
        r.served += count;
        const uint32_t edges = thin.edges[side];
        for (uint32_t i = me; i < edges; i += blockDim.x) {
            const uint32_t w = thin.to[i];
            const uint32_t neighbors =
                degree(g, w);  // mostly for nothing, but its way to memory overlaps with that of `take`
            const bool taken = take(w, r.epoch);
            asm volatile("" : : "r"(neighbors));  // so that it is read there
            if (taken) keep(r, thin, side ^ 1, w, neighbors);
        }
        __syncthreads();  // all are taken
        if (me == 0) {
            const uint32_t taken = thin.owns[side ^ 1] + thin.spilled;
            const bool wants = thin.spilled > 0 || taken > 2 * THIN;
            add_release(&r.state->taken[turns.turn],
                        1ull | (unsigned long long)wants << WANTS_SHIFT | (unsigned long long)taken << TAKEN_SHIFT);
            thin.owns[side] = thin.reserved[side] = thin.edges[side] = 0;
        }
        side ^= 1;
        read_rows(g, thin, side);
        if (me == 0) thin.seen = await_round(r, turns);
        turns.turn ^= 1;
        __syncthreads();
        count = uint32_t(thin.seen >> TAKEN_SHIFT);
        goes_on = count > ALONE && uint32_t(thin.seen) >> WANTS_SHIFT == 0;
    }
    const uint32_t number = thin.owns[side];
    if (me == 0) first = number ? atomicAdd(&r.state->count[r.turn], number) : 0;
    __syncthreads();
    for (uint32_t i = me; i < number; i += blockDim.x) r.queue[r.side][first + i] = thin.own[side][i];
    return close_round(r, count);
}
