// Which vertices of a frontier push, and by what kind of step; the record of the layers of a propagation.
// HAS_WINDOW: those beyond a window stay in the frontier (window.cuh). HAS_LAYERS: the vertices of each step are kept.
#pragma once
#include "start.cuh"

#define SHRUNK 4  // to less than a quarter of the frontier before

// What alters vertices in this step: they go to `queue`, and the nearness of the nearest of them, with a window, to *nearest.
__device__ __forceinline__ Changed changes_to(Steps& steps, uint32_t* queue, uint32_t* count,
                                              unsigned long long* nearest) {
#if HAS_WINDOW
    return {steps.stamp, steps.epoch, queue, count, steps.violated, steps.once, nearest, &steps.mine, NONE_NEAR, 0};
#else
    return {steps.stamp, steps.epoch, queue, count, steps.violated, steps.once};
#endif
}

struct Policy {
#if IS_FOREST
    const value_t* out;
    bool everybody;  // the frontier is all vertices, unreached ones too
#endif
#if HAS_PULL
    uint32_t pull_from;  // a frontier of more vertices is pulled from
    uint32_t before;  // vertices of the frontier before

    // Whether the next step pulls; the stamps say who is in the frontier from the second step on. One that has shrunk much is pushed from:
    // few that are left to look have neighbours in it.
    __device__ __forceinline__ bool pulls(const Steps& steps, uint32_t count) const {
        return steps.level > 1 && count > pull_from && count >= before / SHRUNK;
    }
#endif
    // Up to how many vertices a frontier is small: see block_levels.cuh.
    __device__ __forceinline__ uint32_t block_levels_most(uint32_t per_block) const {
        const uint32_t most = gridDim.x < 1024 ? gridDim.x * per_block : 0;
#if HAS_PULL
        return min(most, pull_from);
#else
        return most;
#endif
    }
#if HAS_WINDOW
    Window window;
#endif
#if HAS_LAYERS
    uint32_t* vertices;
    long long* offsets;
    long long capacity, filled, layers;
#endif

    // Whether u pushes now. One thread asks.
    __device__ __forceinline__ bool admits(const Steps& steps, uint32_t u, const Changed& changed,
                                           Shared& shared) const {
#if IS_FOREST
        if (everybody && word_parent(stored(out + u)) == EMPTY) return false;
#endif
#if HAS_WINDOW
        if (!window.holds(u, stored(out + u), changed, shared)) return false;
#endif
#if HAS_LAYERS
        const long long place = filled + next_place(&steps.state->layered[steps.turn]);
        if (place < capacity) vertices[place] = u;
#endif
        return true;
    }

    // All threads, after the barrier of a step.
    __device__ __forceinline__ void end_of_step(const Steps& steps) {
#if HAS_LAYERS
        if (blockIdx.x == 0 && threadIdx.x == 0) offsets[layers] = filled;
        filled += counted(steps.state->layered[steps.turn]);
        ++layers;
#endif
#if HAS_WINDOW
        window.nearest = counted(steps.state->nearest[steps.turn]);
#endif
    }

    // Whether the layers have no place for another vertex of a graph that has no more: somebody joined twice.
    __device__ __forceinline__ bool is_full() const {
#if HAS_LAYERS
        return filled > capacity || layers > capacity;
#else
        return false;
#endif
    }

    // All threads, before the first step.
    __device__ __forceinline__ void begin(const Steps& steps) {
#if HAS_PULL
        before = 0;
#endif
#if HAS_WINDOW
        window.nearest = 0;
#endif
    }

    // All threads, after the last step; `left` vertices are still in steps.near.
    __device__ __forceinline__ void finish(Steps& steps, uint32_t left, long long* layer_count) {
#if HAS_LAYERS
        for (unsigned long long i = thread_id(); i < left; i += thread_count()) {
            if (filled + (long long)i < capacity) vertices[filled + i] = steps.near[i];
        }
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            offsets[layers] = min(filled, capacity);
            if (left) offsets[min(layers, capacity) + 1] = min(filled + left, capacity);
            *layer_count = layers + (left > 0);
        }
#endif
    }
};
