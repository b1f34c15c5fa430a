// What all operator kernels share: reductions, atomics, tiles.
// Defined before it is included: the view's prelude (except for filter), the edge function `edge_fn`, the type `out_t` of the
// values that are reduced, REDUCE (SUM, MIN, MAX or OR), and the arguments of the call: PARAMS (", float* a0, ...") and
// ARGS (", a0, ..."). A tile is a group of LANES threads, a power of two up to 32, aligned in its warp; blocks are 1-D.
#pragma once
#include "suricate.cuh"

constexpr uint32_t ALL_LANES = 0xFFFFFFFFu;

template <class T> struct Limits;
template <> struct Limits<int> {
    static __device__ int high() { return 0x7FFFFFFF; }
    static __device__ int low() { return -0x7FFFFFFF - 1; }
};
template <> struct Limits<unsigned int> {
    static __device__ unsigned int high() { return 0xFFFFFFFFu; }
    static __device__ unsigned int low() { return 0; }
};
template <> struct Limits<long long> {
    static __device__ long long high() { return 0x7FFFFFFFFFFFFFFFll; }
    static __device__ long long low() { return -0x7FFFFFFFFFFFFFFFll - 1; }
};
template <> struct Limits<unsigned long long> {
    static __device__ unsigned long long high() { return 0xFFFFFFFFFFFFFFFFull; }
    static __device__ unsigned long long low() { return 0; }
};
template <> struct Limits<float> {
    static __device__ float high() { return __int_as_float(0x7F800000); }
    static __device__ float low() { return -high(); }
};
template <> struct Limits<double> {
    static __device__ double high() { return __longlong_as_double(0x7FF0000000000000ll); }
    static __device__ double low() { return -high(); }
};

// The neutral value of the reduction.
__device__ __forceinline__ out_t identity() {
    return REDUCE == MIN ? Limits<out_t>::high() : REDUCE == MAX ? Limits<out_t>::low() : out_t(0);
}

// Whether reducing `value` into `old` changes it. A NaN never wins a minimum or maximum.
template <class T> __device__ __forceinline__ bool wins(T old, T value) {
    if constexpr (REDUCE == MIN) return value < old;
    if constexpr (REDUCE == MAX) return value > old;
    if constexpr (REDUCE == SUM) return value != T(0);
    if constexpr (REDUCE == OR) return (old | value) != old;
}

template <class T> __device__ __forceinline__ T combine(T old, T value) {
    if constexpr (REDUCE == SUM) return old + value;
    if constexpr (REDUCE == OR) return old | value;
    if constexpr (REDUCE == MIN || REDUCE == MAX) return wins(old, value) ? value : old;
}

// -- atomics: each returns the old value ------------------------------------------------------------------------------

__device__ __forceinline__ int atomic_sum(int* p, int x) { return atomicAdd(p, x); }
__device__ __forceinline__ unsigned int atomic_sum(unsigned int* p, unsigned int x) { return atomicAdd(p, x); }
__device__ __forceinline__ float atomic_sum(float* p, float x) { return atomicAdd(p, x); }
__device__ __forceinline__ double atomic_sum(double* p, double x) { return atomicAdd(p, x); }
__device__ __forceinline__ unsigned long long atomic_sum(unsigned long long* p, unsigned long long x) {
    return atomicAdd(p, x);
}
__device__ __forceinline__ long long atomic_sum(long long* p, long long x) {
    return (long long)atomicAdd((unsigned long long*)p, (unsigned long long)x);
}

template <class T> __device__ __forceinline__ T atomic_min(T* p, T x) { return atomicMin(p, x); }
template <class T> __device__ __forceinline__ T atomic_max(T* p, T x) { return atomicMax(p, x); }

// The bits of floats of one sign are ordered like integers: positive ones like signed, negative ones like unsigned integers
// in reverse. So one integer atomic does, whatever is stored; x is not NaN (`wins` has seen to that).
template <> __device__ __forceinline__ float atomic_min(float* p, float x) {
    return __float_as_int(x) >= 0 ? __int_as_float(atomicMin((int*)p, __float_as_int(x)))
                                  : __uint_as_float(atomicMax((unsigned int*)p, __float_as_uint(x)));
}
template <> __device__ __forceinline__ float atomic_max(float* p, float x) {
    return __float_as_int(x) >= 0 ? __int_as_float(atomicMax((int*)p, __float_as_int(x)))
                                  : __uint_as_float(atomicMin((unsigned int*)p, __float_as_uint(x)));
}
template <> __device__ __forceinline__ double atomic_min(double* p, double x) {
    long long bits = __double_as_longlong(x);
    return __longlong_as_double(bits >= 0 ? atomicMin((long long*)p, bits)
                                          : (long long)atomicMax((unsigned long long*)p, (unsigned long long)bits));
}
template <> __device__ __forceinline__ double atomic_max(double* p, double x) {
    long long bits = __double_as_longlong(x);
    return __longlong_as_double(bits >= 0 ? atomicMax((long long*)p, bits)
                                          : (long long)atomicMin((unsigned long long*)p, (unsigned long long)bits));
}

template <class T> __device__ __forceinline__ T atomic_or(T* p, T x) { return atomicOr(p, x); }
template <> __device__ __forceinline__ long long atomic_or(long long* p, long long x) {
    return (long long)atomicOr((unsigned long long*)p, (unsigned long long)x);
}

template <class T> __device__ __forceinline__ T atomic_combine(T* p, T value) {
    if constexpr (REDUCE == SUM) return atomic_sum(p, value);
    if constexpr (REDUCE == MIN) return atomic_min(p, value);
    if constexpr (REDUCE == MAX) return atomic_max(p, value);
    if constexpr (REDUCE == OR) return atomic_or(p, value);
}

// -- tiles -----------------------------------------------------------------------------------------------------------

// The reduction of `value` over the LANES threads of a tile, in every one of them; all of them call it.
template <int LANES, class T> __device__ __forceinline__ T tile_reduce(T value) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step >>= 1) {
        value = combine(value, __shfl_xor_sync(tile_mask<LANES>(), value, step, LANES));
    }
    return value;
}

__device__ __forceinline__ uint32_t lanes_below() { return (1u << (threadIdx.x & 31)) - 1u; }

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
