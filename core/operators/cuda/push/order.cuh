// The order in which a propagation takes vertices (near-far, delta-stepping, the shells of a k-core), and the record of its layers.
// HAS_ORDER: a vertex whose order_value() is above the bound is put aside when it would push. When nobody is left, the bound rises to the
// least multiple of delta that admits somebody. HAS_WINDOW: those out of a window stay in the frontier (window.cuh). HAS_LAYERS: the vertices of each step are kept.
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

#if HAS_ORDER
template <class T> __device__ __forceinline__ T raised(T least, T delta) {
    const T multiple = T(least / delta) * delta;
    if (multiple >= least) return multiple;
    return Limits<T>::high() - delta < multiple ? Limits<T>::high() : T(multiple + delta);
}
template <class T> __device__ __forceinline__ T raised_float(T least, T delta) {
    const T multiple = ceil(least / delta) * delta;
    return multiple > least ? multiple : least;
}
template <> __device__ __forceinline__ float raised(float least, float delta) { return raised_float(least, delta); }
template <> __device__ __forceinline__ double raised(double least, double delta) { return raised_float(least, delta); }

#endif

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
    // Up to how many vertices a frontier is thin: see thin.cuh.
    __device__ __forceinline__ uint32_t thin_most(uint32_t per_block) const {
        const uint32_t most = gridDim.x < 1024 ? gridDim.x * per_block : 0;
#if HAS_PULL
        return min(most, pull_from);
#else
        return most;
#endif
    }
#if HAS_ORDER
    const order_t* array;
    order_t bound, delta;
    order_t* bound_out;  // where functions see the bound
    uint32_t slot, waiting;  // which of far_count and far_least is in use; entries of steps.far

    __device__ __forceinline__ order_t order_value(uint32_t v) const { return array[v]; }
#endif
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
#if HAS_ORDER
        if (order_value(u) > bound) {
            next_place(&shared.deferred);
            if (!(atomicOr(steps.stamp + u, FAR_BIT) & FAR_BIT)) append(steps.far, &steps.state->far_count[slot], u);
            return false;
        }
#endif
#if HAS_LAYERS
        const long long place = filled + next_place(&steps.state->layered[steps.turn]);
        if (place < capacity) vertices[place] = u;
#endif
        return true;
    }

    // The same for the second view of a push over both directions, after the first.
    __device__ __forceinline__ bool admits_again(uint32_t u) const {
#if HAS_ORDER
        return order_value(u) <= bound;
#else
        return true;
#endif
    }

    // All threads, after the barrier of a step; nobody_pushed: it only put vertices aside.
    __device__ __forceinline__ void end_of_step(const Steps& steps, bool nobody_pushed) {
#if HAS_LAYERS
        if (!nobody_pushed) {
            if (blockIdx.x == 0 && threadIdx.x == 0) offsets[layers] = filled;
            filled += counted(steps.state->layered[steps.turn]);
            ++layers;
        }
#endif
#if HAS_ORDER
        waiting = counted(steps.state->far_count[slot]);
#endif
#if HAS_WINDOW
        window.nearest = counted(steps.state->nearest[steps.turn]);
#endif
    }

#if HAS_ORDER
    // Raise the bound and move those that it admits from steps.far to steps.near, whose number goes to state->count[turn]; with a
    // second phase they are asked again. All threads of the grid call it.
    __device__ __forceinline__ void admit_waiting(Steps& steps FORMALS) {
        LoopState* const state = steps.state;
        if (blockIdx.x == 0 && threadIdx.x == 0) state->far_count[slot ^ 1] = 0;
        order_t* const target = reinterpret_cast<order_t*>(&state->far_least[slot]);
        order_t least = Limits<order_t>::high();
        for (unsigned long long i = thread_id(); i < waiting; i += thread_count()) {
            const order_t value = order_value(steps.far[i]);
            if (value > bound && value < least) least = value;
        }
#pragma unroll
        for (int step = 16; step > 0; step >>= 1) {
            const order_t other = __shfl_xor_sync(ALL_LANES, least, step);
            if (other < least) least = other;
        }
        if (threadIdx.x % 32 == 0 && least < Limits<order_t>::high()) atomic_min(target, least);
        grid_barrier(state, steps.expected);
        const order_t before = bound;
        bound = raised<order_t>(fresh(*target), delta);
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            if (bound_out) *bound_out = bound;  // functions may read it
            *reinterpret_cast<order_t*>(&state->far_least[slot ^ 1]) = Limits<order_t>::high();
        }
        if (HAS_THEN && bound_out) grid_barrier(state, steps.expected);
        for (unsigned long long i = thread_id(); i < waiting; i += thread_count()) {
            const uint32_t v = steps.far[i];
            const order_t value = order_value(v);
            if (value > bound) {
                append(steps.spare, &state->far_count[slot ^ 1], v);
                continue;
            }
            atomicAnd(steps.stamp + v, ~FAR_BIT);
            if (value <= before) continue;  // it came closer since, and has pushed
#if HAS_THEN
            if (!then_fn(v, (long long)steps.level ARGS)) continue;
#endif
            append(steps.near, &state->count[steps.turn], v);
        }
        grid_barrier(state, steps.expected);
        slot ^= 1;
        waiting = counted(state->far_count[slot]);
        uint32_t* const list = steps.far;
        steps.far = steps.spare;
        steps.spare = list;
    }
#endif

    // Whether the layers have no place for another vertex of a graph that has no more: somebody joined twice.
    __device__ __forceinline__ bool is_full() const {
#if HAS_LAYERS
        return filled > capacity || layers > capacity;
#else
        return false;
#endif
    }

    // Vertices that are still put aside.
    __device__ __forceinline__ uint32_t still_waiting() const {
#if HAS_ORDER
        return waiting;
#else
        return 0;
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
#if HAS_ORDER
        slot = waiting = 0;
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            for (int k = 0; k < 2; ++k) {
                *reinterpret_cast<order_t*>(&steps.state->far_least[k]) = Limits<order_t>::high();
            }
        }
#endif
    }

    // All threads, after the last step; `left` vertices are still in steps.near.
    __device__ __forceinline__ void finish(Steps& steps, uint32_t left, order_t* bound_out, long long* layer_count) {
#if HAS_ORDER
        for (unsigned long long i = thread_id(); i < waiting; i += thread_count()) {
            atomicAnd(steps.stamp + steps.far[i], ~FAR_BIT);
        }
        if (blockIdx.x == 0 && threadIdx.x == 0 && bound_out) *bound_out = bound;
        grid_barrier(steps.state, steps.expected);
        if (blockIdx.x == 0 && threadIdx.x == 0) steps.state->far_count[0] = steps.state->far_count[1] = 0;
#endif
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
