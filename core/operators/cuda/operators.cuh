// What all operator kernels share: the reduction of the call, tiles, weights.
// Defined before it is included: the view's prelude (except for filter), the functions of the call `edge_fn` and perhaps
// `then_fn` and `commit_fn`, the type `out_t` of the values that are reduced, REDUCE (SUM, MIN, MAX, OR, and with VALUES_AT_ONCE 1 HINDEX
// or, with IS_MODE 1, MODE, with IS_VOTE 1 VOTE), and the macros by which the arguments of the call are declared and passed:
//   PARAMS   parameters of a kernel (", float* a0, ...")
//   LOCALS   declarations; every kernel with PARAMS begins with it
//   FORMALS  parameters of a device function
//   ARGS     the arguments (", a0, ..."), in kernels behind LOCALS and in device functions
//   FINISH   statements; every kernel with PARAMS ends with it, and all threads of the block arrive there
// A tile is a group of LANES threads, a power of two up to 32, aligned in its warp; blocks are 1-D. Unless its comment says otherwise a kernel
// has no barrier across blocks, serves a vertex or edge that is listed twice twice, and issues no atomics but those of the functions
// of the call and, in FINISH, one per block and accumulator.
#pragma once
#ifndef WORD_VALUES
#define WORD_VALUES 0
#endif
#ifndef HAS_WORDS
#define HAS_WORDS 0
#endif
#include "accumulator.cuh"
#include "lists.cuh"

constexpr uint32_t ALL_LANES = 0xFFFFFFFFu;
constexpr int FOLD =
    REDUCE == MIN || REDUCE == MODE || REDUCE == VOTE ? FOLD_MIN
    : REDUCE == MAX                                   ? FOLD_MAX
    : REDUCE == OR                                    ? FOLD_OR
                                                      : FOLD_SUM;

#if WORD_VALUES  // a pull reduces words: the smallest wins
__device__ __forceinline__ out_t identity() { return identity_word(); }
__device__ __forceinline__ bool wins(const out_t& old, const out_t& value) { return words::less(value, old); }
__device__ __forceinline__ out_t combine(const out_t& old, const out_t& value) {
    return wins(old, value) ? value : old;
}
__device__ __forceinline__ out_t atomic_combine(out_t* p, const out_t& value) {
    return words::atomic_min_word(p, value);
}
__device__ __forceinline__ out_t read_value(const out_t* p) { return words::load(p); }
#else
// The neutral value of the reduction.
__device__ __forceinline__ out_t identity() { return neutral<FOLD, out_t>(); }

// Whether reducing `value` into `old` changes it.
template <class T> __device__ __forceinline__ bool wins(T old, T value) { return changes<FOLD>(old, value); }

template <class T> __device__ __forceinline__ T combine(T old, T value) { return fold<FOLD>(old, value); }

// Reduce `value` into *p; returns the old value.
template <class T> __device__ __forceinline__ T atomic_combine(T* p, T value) { return atomic_fold<FOLD>(p, value); }

template <class T> __device__ __forceinline__ T read_value(const T* p) { return *(const volatile T*)p; }
#endif

// -- tiles -----------------------------------------------------------------------------------------------------------

// The value of the lane of a tile whose number differs in the bits of `step`.
template <int LANES, class T> __device__ __forceinline__ T exchanged(const T& value, int step) {
    return __shfl_xor_sync(tile_mask<LANES>(), value, step, LANES);
}
#if HAS_WORDS
template <int LANES> __device__ __forceinline__ words::Word128 exchanged(const words::Word128& word, int step) {
    return {__shfl_xor_sync(tile_mask<LANES>(), word.low, step, LANES),
            __shfl_xor_sync(tile_mask<LANES>(), word.high, step, LANES)};
}
#endif

// The reduction of `value` over the LANES threads of a tile, in every one of them; all of them call it.
template <int LANES, class T> __device__ __forceinline__ T tile_reduce(T value) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step >>= 1) value = combine(value, exchanged<LANES>(value, step));
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
