// Barrier of all blocks of a cooperative launch, for grids of any size; see grid_barrier.cuh for what it orders.
#pragma once
#include "grid_barrier.cuh"

// The last block to arrive opens the barrier: it resets the number of arrivals and begins the next round. All threads call it.
__device__ __forceinline__ void all_blocks(Work* work) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t round = *(volatile uint32_t*)&work->round;
        fence();
        if (atomicAdd(&work->arrived, 1u) == gridDim.x - 1) {
            *(volatile uint32_t*)&work->arrived = 0;
            fence();
            add_release(&work->round, 1u);
        } else {
            while (load_acquire(&work->round) == round) {}
        }
        fence();
    }
    __syncthreads();
}
