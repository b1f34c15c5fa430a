// Effects of translated functions (suricate.base.effects): one element of an array is changed as a whole. Functions of one thread,
// relaxed atomics, nothing is returned.
#pragma once
#include "accumulator.cuh"

namespace effects {

// A minimum or maximum looks first, which spares most atomics. A NaN changes nothing.
template <int OP, class T> __device__ __forceinline__ void apply(T* p, T x) {
    if constexpr (OP == FOLD_MIN || OP == FOLD_MAX) {
        if (!changes<OP>(*(const volatile T*)p, x)) return;
    }
    atomic_fold<OP>(p, x);
}
template <int OP> __device__ __forceinline__ void apply(bool* p, bool x) {
    if (x) *p = true;
}

}  // namespace effects
