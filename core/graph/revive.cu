// Marks the ends of inserted edges as live (see liveness.py for Revive).
#include "suricate.cuh"

// Atomics: on the word of the mask, and, for a vertex that was deleted, on the number of live vertices and on the list.
__device__ __forceinline__ void revive_end(const Revive& a, uint32_t v) {
    const uint32_t bit = 1u << 8 * (v & 3);
    uint32_t* word = a.mask + (v >> 2);
    if (*(volatile uint32_t*)word & bit) return;
    if (atomicOr(word, bit) & bit) return;
    atomicAdd(a.count, 1u);
    a.revived[1 + atomicAdd(a.revived, 1u)] = v;
}

// Thread per edge, grid-stride. Does nothing if the batch is invalid. Duplicates are harmless. No barrier.
extern "C" __global__ void revive(const __grid_constant__ Revive a) {
    if (a.guard && *a.guard) return;
    for (long long i = thread_id(); i < a.size; i += thread_count()) {
        revive_end(a, a.src[i]);
        revive_end(a, a.dst[i]);
    }
}
