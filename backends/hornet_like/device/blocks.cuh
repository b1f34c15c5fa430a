// Blocks of hornet_like: size classes, how many threads of a grid take or free blocks of each, and the counters that the host's bounds
// need.
#pragma once
#include "batch.cuh"

__device__ __forceinline__ uint32_t class_of(long long degree) {  // degree >= 1
    uint32_t bits = degree > 1 ? 64 - __clzll(degree - 1) : 0;
    return max(bits, uint32_t(MIN_CLASS));
}

// Whether blocks have class k: it is not NONE, KEEP, IDLE or CLASSES.
__device__ __forceinline__ bool is_class(uint32_t k) { return k != NONE && k < CLASSES; }

// Per-block sums by class, added to global counters once per block. All threads of the block take part.
struct ClassCount {
    uint32_t sum[CLASSES];  // of 64 bits they would be added by loops
    unsigned long long base[CLASSES];
};

__device__ __forceinline__ void clear(ClassCount& c) {
    if (threadIdx.x < CLASSES) c.sum[threadIdx.x] = 0;
    __syncthreads();
}

// Adds 1 to class k for the threads whose k is one; returns the value of total[k] that is the thread's own.
__device__ __forceinline__ unsigned long long count_class(ClassCount& c, uint32_t k, unsigned long long* total) {
    unsigned long long own = is_class(k) ? atomicAdd(&c.sum[k], 1u) : 0;
    __syncthreads();
    if (threadIdx.x < CLASSES && c.sum[threadIdx.x])
        c.base[threadIdx.x] = atomicAdd(&total[threadIdx.x], (unsigned long long)c.sum[threadIdx.x]);
    __syncthreads();
    return is_class(k) ? c.base[k] + own : 0;
}

// Class after the change: up when it overflows, into the smallest block that holds all.
__device__ __forceinline__ uint8_t grown(long long degree, uint8_t k) {
    return k == NONE || degree > (1ll << k) ? class_of(degree) : KEEP;
}

// Down at a quarter of the block or less, into one that is at most half full (see loops.py).
__device__ __forceinline__ uint8_t shrunk(long long degree, uint8_t k, bool may_shrink) {
    if (degree == 0) return NONE;
    return may_shrink && k > MIN_CLASS && 4 * degree <= (1ll << k) ? class_of(2 * degree) : KEEP;
}

// Pressures to migrate (see ledger.py) that a block adds up: by how many vertices of each class the entry of a ratio grows.
struct Pressure {
    int up[RATIOS][CLASSES], down[RATIOS][CLASSES];
};

__device__ __forceinline__ void add_pressure(Pressure& p, long long degree, uint8_t k, int times) {
    if (k == NONE) return;
    long long slots = 2ll << k, cost = (1ll << k) - degree + 1;
    atomicAdd(&p.up[63 - __clzll(max(1ll, slots / cost))][k], times);
    if (k == MIN_CLASS) return;
    slots = 1ll << (k - 1);
    cost = max(1ll, degree - (1ll << (k - 2)));
    atomicAdd(&p.down[63 - __clzll(max(1ll, slots / cost))][k], times);
}

__device__ __forceinline__ void clear_pressure(Pressure& p) {
    for (uint32_t i = threadIdx.x; i < sizeof(p) / sizeof(int); i += blockDim.x) reinterpret_cast<int*>(&p)[i] = 0;
    __syncthreads();
}

__device__ __forceinline__ void flush_pressure(Pressure& p, long long* counters) {
    __syncthreads();
    for (uint32_t t = threadIdx.x; t < 2 * RATIOS; t += blockDim.x) {  // GROW and SHRINK are neighbours
        const uint32_t r = t % RATIOS;
        long long sum = 0;
        if (t < RATIOS)
            for (uint32_t k = 0; k < CLASSES; ++k) sum += p.up[r][k] * (2ll << k);
        else
            for (uint32_t k = 1; k < CLASSES; ++k) sum += p.down[r][k] * (1ll << (k - 1));
        if (sum) atomicAdd((unsigned long long*)&counters[GROW + t], (unsigned long long)sum);
    }
}

__device__ __forceinline__ void push_block(const Graph& g, uint32_t k, unsigned long long at, long long block) {
    g.stacks[g.stack_begin[k] + at] = uint32_t(block >> MIN_CLASS);
}
