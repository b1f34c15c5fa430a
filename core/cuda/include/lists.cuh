// Lists that the threads of many blocks append to, and words that others write meanwhile.
#pragma once
#include "suricate.cuh"

__device__ __forceinline__ uint32_t lanes_below() { return (1u << (threadIdx.x & 31)) - 1u; }

// The next place in a list; one atomic for all threads of the warp that happen to be here together.
__device__ __forceinline__ uint32_t next_place(uint32_t* count) {
    const uint32_t here = __activemask(), leader = __ffs(here) - 1;
    uint32_t place = 0;
    if ((threadIdx.x & 31) == leader) place = atomicAdd(count, __popc(here));
    return __shfl_sync(here, place, leader) + __popc(here & lanes_below());
}

__device__ __forceinline__ void append(uint32_t* list, uint32_t* count, uint32_t v) { list[next_place(count)] = v; }

// Whether this block is the last one of the grid to come here, for its first thread; false for its others. What all blocks wrote before can be
// read then by volatile accesses. All threads of the block; *done is 0 before and afterwards.
__device__ __forceinline__ bool is_last_block(uint32_t* done) {
    __threadfence();  // what this thread wrote is there before its block counts as done
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(done, 1u) != gridDim.x - 1) return false;
    *done = 0;
    __threadfence();
    return true;
}

// Tell the host the number of a call, behind what was written to the answer before (see Answer in pinned.py).
__device__ __forceinline__ void answer_call(unsigned long long* answer, unsigned long long number) {
    __threadfence_system();
    *(volatile unsigned long long*)answer = number;
}

// A word as it is now, not as the compiler or the L1 remember it.
template <class T> __device__ __forceinline__ T fresh(const T& shared_word) { return *(const volatile T*)&shared_word; }
