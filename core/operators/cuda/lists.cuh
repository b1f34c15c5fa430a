// Lists that the threads of many blocks append to.
#pragma once
#include "suricate.cuh"

__device__ __forceinline__ uint32_t lanes_below() { return (1u << (threadIdx.x & 31)) - 1u; }

// Append to a list, with one atomic for all threads of the warp that happen to be here together.
__device__ __forceinline__ void append(uint32_t* list, uint32_t* count, uint32_t v) {
    const uint32_t here = __activemask(), leader = __ffs(here) - 1;
    uint32_t place = 0;
    if ((threadIdx.x & 31) == leader) place = atomicAdd(count, __popc(here));
    place = __shfl_sync(here, place, leader);
    list[place + __popc(here & lanes_below())] = v;
}
