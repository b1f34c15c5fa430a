// Arithmetic of translated edge functions (suricate.edgefn): Python's rules where C++ has others or leaves gaps.
// Plain functions of values, no thread mapping; T is long long or unsigned long long, F is float or double.
#pragma once

namespace edgefn {

typedef unsigned long long bits;

// What a function returns that votes; W is long long or double.
template <class W> struct Vote {
    long long label;
    W weight;
};

// + - * wrap around; on signed integers that needs the detour through unsigned ones.
template <class T> __device__ __forceinline__ T add(T a, T b) { return T(bits(a) + bits(b)); }
template <class T> __device__ __forceinline__ T sub(T a, T b) { return T(bits(a) - bits(b)); }
template <class T> __device__ __forceinline__ T mul(T a, T b) { return T(bits(a) * bits(b)); }
template <class T> __device__ __forceinline__ T neg(T a) { return T(0 - bits(a)); }

template <class T> __device__ __forceinline__ T power(T a, int n) {
    T product = 1;
    for (int i = 0; i < n; ++i) product = mul(product, a);
    return product;
}

// The hash of suricate.base.mixing: steps of SplitMix64.
__device__ __forceinline__ bits next_bits(bits x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}
__device__ __forceinline__ long long mixed(long long seed, long long a, long long b) {
    return (long long)next_bits(next_bits(next_bits(bits(seed)) ^ bits(a)) ^ bits(b));
}

// A shift by 64 or more, or by a negative count, moves every bit out.
template <class T> __device__ __forceinline__ T shl(T a, long long n) {
    return n >= 0 && n < 64 ? T(bits(a) << n) : T(0);
}
template <class T> __device__ __forceinline__ T shr(T a, long long n) {
    return n >= 0 && n < 64 ? a >> n : a < T(0) ? T(-1) : T(0);
}

// Floor division and its remainder, which has the sign of the divisor; both are 0 for an integer divisor of 0.
__device__ __forceinline__ bits floordiv(bits a, bits b) { return b ? a / b : 0; }
__device__ __forceinline__ bits mod(bits a, bits b) { return b ? a % b : 0; }
__device__ __forceinline__ long long floordiv(long long a, long long b) {
    if (b == 0) return 0;
    if (b == -1) return neg(a);  // the one quotient that can overflow
    long long quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
__device__ __forceinline__ long long mod(long long a, long long b) {
    if (b == 0 || b == -1) return 0;
    long long rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

__device__ __forceinline__ float fmod_(float a, float b) { return fmodf(a, b); }
__device__ __forceinline__ double fmod_(double a, double b) { return fmod(a, b); }
__device__ __forceinline__ float floor_(float a) { return floorf(a); }
__device__ __forceinline__ double floor_(double a) { return floor(a); }
__device__ __forceinline__ float copysign_(float a, float b) { return copysignf(a, b); }
__device__ __forceinline__ double copysign_(double a, double b) { return copysign(a, b); }

template <class F> __device__ __forceinline__ F float_floordiv(F a, F b) {
    if (b == F(0)) return a / b;
    F rest = fmod_(a, b);
    F quotient = (a - rest) / b;
    if (rest != F(0) && (b < F(0)) != (rest < F(0))) quotient -= F(1);
    if (quotient == F(0)) return copysign_(F(0), a / b);
    F whole = floor_(quotient);
    return quotient - whole > F(0.5) ? whole + F(1) : whole;
}
template <class F> __device__ __forceinline__ F float_mod(F a, F b) {
    F rest = fmod_(a, b);  // NaN for b == 0
    if (rest == F(0)) return copysign_(F(0), b);
    return (b < F(0)) != (rest < F(0)) ? rest + b : rest;
}
__device__ __forceinline__ float floordiv(float a, float b) { return float_floordiv(a, b); }
__device__ __forceinline__ double floordiv(double a, double b) { return float_floordiv(a, b); }
__device__ __forceinline__ float mod(float a, float b) { return b == 0.0f ? fmodf(a, b) : float_mod(a, b); }
__device__ __forceinline__ double mod(double a, double b) { return b == 0.0 ? fmod(a, b) : float_mod(a, b); }

// Python's min and max: the first argument unless the later one is really smaller (larger).
template <class T> __device__ __forceinline__ T min_(T first, T later) { return later < first ? later : first; }
template <class T> __device__ __forceinline__ T max_(T first, T later) { return later > first ? later : first; }

// np.minimum and np.maximum: NaN if either is.
template <class T> __device__ __forceinline__ T minimum(T a, T b) { return a != a || a < b ? a : b; }
template <class T> __device__ __forceinline__ T maximum(T a, T b) { return a != a || a > b ? a : b; }

template <class T> __device__ __forceinline__ T square(T a) { return a * a; }

}  // namespace edgefn
