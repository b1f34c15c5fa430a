// Reductions by name, and accumulators: the device side of suricate's Scalar, which functions of an operator read and add to.
// Every thread adds to a sum of its own; at the end of the kernel the sums are folded per warp and block, with one atomic per block.
#pragma once
#include "suricate.cuh"

constexpr int FOLD_SUM = 0, FOLD_MIN = 1, FOLD_MAX = 2, FOLD_OR = 3;

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

// The neutral value of a reduction.
template <int OP, class T> __device__ __forceinline__ T neutral() {
    if constexpr (OP == FOLD_MIN) return Limits<T>::high();
    if constexpr (OP == FOLD_MAX) return Limits<T>::low();
    if constexpr (OP == FOLD_SUM || OP == FOLD_OR) return T(0);
}

// Whether reducing `value` into `old` changes it. A NaN never wins a minimum or maximum.
template <int OP, class T> __device__ __forceinline__ bool changes(T old, T value) {
    if constexpr (OP == FOLD_MIN) return value < old;
    if constexpr (OP == FOLD_MAX) return value > old;
    if constexpr (OP == FOLD_SUM) return value != T(0);
    if constexpr (OP == FOLD_OR) return (old | value) != old;
}

template <int OP, class T> __device__ __forceinline__ T fold(T old, T value) {
    if constexpr (OP == FOLD_SUM) return old + value;
    if constexpr (OP == FOLD_OR) return old | value;
    if constexpr (OP == FOLD_MIN || OP == FOLD_MAX) return changes<OP>(old, value) ? value : old;
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
// in reverse. So one integer atomic does, whatever is stored; x is not NaN (`changes` has seen to that).
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

template <int OP, class T> __device__ __forceinline__ T atomic_fold(T* p, T value) {
    if constexpr (OP == FOLD_SUM) return atomic_sum(p, value);
    if constexpr (OP == FOLD_MIN) return atomic_min(p, value);
    if constexpr (OP == FOLD_MAX) return atomic_max(p, value);
    if constexpr (OP == FOLD_OR) return atomic_or(p, value);
}

// -- accumulators -----------------------------------------------------------------------------------------------------

// The three places of a Scalar in device memory: the total of the last operator, that of this one, and the next one's,
// which this operator clears.
template <class T> struct Slots {
    const T* read;
    T* write;
    T* clear;
};

// What a thread holds of a Scalar: the total of the last operator, and what it has added itself.
template <int OP, class T> struct Accumulator {
    T value, sum;

    __device__ __forceinline__ explicit Accumulator(const Slots<T>& slots) : value(*slots.read), sum(neutral<OP, T>()) {
        if (blockIdx.x == 0 && threadIdx.x == 0) *slots.clear = neutral<OP, T>();
    }

    __device__ __forceinline__ void add(T x) { sum = fold<OP>(sum, x); }

    // Move what all threads of the block have added to *target, with one atomic. All of them call it; it synchronises the
    // block. blockDim.x is a multiple of 32.
    __device__ __forceinline__ void flush(T* target) {
        __shared__ T part[32];
        __syncthreads();  // `part` is free: other accumulators of this type use it, too
#pragma unroll
        for (int step = 16; step > 0; step >>= 1) sum = fold<OP>(sum, __shfl_xor_sync(0xFFFFFFFFu, sum, step));
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (uint32_t k = 1; k < blockDim.x / 32; ++k) sum = fold<OP>(sum, part[k]);
            if (changes<OP>(neutral<OP, T>(), sum) || sum != sum) atomic_fold<OP>(target, sum);
        }
        sum = neutral<OP, T>();
    }
};
