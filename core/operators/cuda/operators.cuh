// What all operator kernels share: the reduction of the call, tiles, weights.
// Defined before it is included: the view's prelude (except for filter), the functions of the call `edge_fn` and perhaps
// `then_fn` and `commit_fn`, the type `out_t` of the values that are reduced, REDUCE (SUM, MIN, MAX, OR, or MODE with IS_MODE 1), and the macros by
// which the arguments of the call are declared and passed:
//   PARAMS   parameters of a kernel (", float* a0, ...")
//   LOCALS   declarations; every kernel with PARAMS begins with it
//   FORMALS  parameters of a device function
//   ARGS     the arguments (", a0, ..."), in kernels behind LOCALS and in device functions
//   FINISH   statements; every kernel with PARAMS ends with it, and all threads of the block arrive there
// A tile is a group of LANES threads, a power of two up to 32, aligned in its warp; blocks are 1-D.
#pragma once
#include "accumulator.cuh"
#include "lists.cuh"

constexpr uint32_t ALL_LANES = 0xFFFFFFFFu;
constexpr int FOLD =
    REDUCE == MIN || REDUCE == MODE ? FOLD_MIN
    : REDUCE == MAX                 ? FOLD_MAX
    : REDUCE == OR                  ? FOLD_OR
                                    : FOLD_SUM;

// The neutral value of the reduction.
__device__ __forceinline__ out_t identity() { return neutral<FOLD, out_t>(); }

// Whether reducing `value` into `old` changes it.
template <class T> __device__ __forceinline__ bool wins(T old, T value) { return changes<FOLD>(old, value); }

template <class T> __device__ __forceinline__ T combine(T old, T value) { return fold<FOLD>(old, value); }

// Reduce `value` into *p; returns the old value.
template <class T> __device__ __forceinline__ T atomic_combine(T* p, T value) { return atomic_fold<FOLD>(p, value); }

// -- tiles -----------------------------------------------------------------------------------------------------------

// The reduction of `value` over the LANES threads of a tile, in every one of them; all of them call it.
template <int LANES, class T> __device__ __forceinline__ T tile_reduce(T value) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step >>= 1) {
        value = combine(value, __shfl_xor_sync(tile_mask<LANES>(), value, step, LANES));
    }
    return value;
}

// -- cursors ---------------------------------------------------------------------------------------------------------

#ifdef WEIGHTED  // there is a view
#if WEIGHTED
#define WEIGHT(g, slot) weight(g, slot)
#else
#define WEIGHT(g, slot) weight_t(1)
#endif

// Lanes that share one bucket: as many as a backend that can scan wants, else a warp.
constexpr int BUCKET_LANES = SCAN_LANES > 0 ? SCAN_LANES : 32;
#endif
