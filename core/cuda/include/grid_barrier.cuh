// What grid-wide barriers are made of. All blocks of the launch are resident; one thread of each block arrives by adding to a word behind
// __syncthreads(), and waits until all have, before another __syncthreads().
//
// An arrival releases and a wait acquires: everything that a block wrote or saw before it arrived is visible to the others behind the
// barrier, also to plain loads, as an acquiring load drops the lines of the SM's L1. What all warps of the grid read behind a barrier they
// should read by plain loads: relaxed ones of one address take their turn at one slice of the L2 (132 blocks of 512 threads on an H200:
// 0.7 us for each). Waiting by acquiring loads is a little faster there than by relaxed ones and a fence.
#pragma once
#include "suricate.cuh"

__device__ __forceinline__ void add_release(uint32_t* word, uint32_t more) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(word), "r"(more) : "memory");
}

__device__ __forceinline__ void add_release(unsigned long long* word, unsigned long long more) {
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(word), "l"(more) : "memory");
}

__device__ __forceinline__ unsigned long long load_acquire(const unsigned long long* word) {
    unsigned long long value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ uint32_t load_acquire(const uint32_t* word) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// Makes a relaxed addition behind it a release, and a relaxed load before it an acquisition.
__device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" : : : "memory"); }

// The two halves of a barrier of all blocks, between which a block may do what neither needs nor disturbs what the others do before and
// behind it; every thread of every block calls both. *arrived counts arrivals and wraps; `expected`, in thread 0 of each block, is
// what it was before the first barrier of the launch, and counts on.
__device__ __forceinline__ void grid_arrive(uint32_t* arrived, uint32_t& expected) {
    __syncthreads();
    if (threadIdx.x == 0) {
        expected += gridDim.x;
        add_release(arrived, 1u);
    }
}
__device__ __forceinline__ void grid_wait(const uint32_t* arrived, uint32_t expected) {
    if (threadIdx.x == 0) {
        while (int(*(const volatile uint32_t*)arrived - expected) < 0) {}
        fence();
    }
    __syncthreads();
}

// Barrier of all blocks.
__device__ __forceinline__ void grid_barrier(uint32_t* arrived, uint32_t& expected) {
    grid_arrive(arrived, expected);
    grid_wait(arrived, expected);
}

// What was counted before the last barrier, and is not counted on before the next one.
template <class T> __device__ __forceinline__ T counted(const T& shared_word) { return shared_word; }
