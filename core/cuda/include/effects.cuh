// Effects of translated functions (suricate.base.effects): one element of an array is changed as a whole. Functions of one thread,
// relaxed atomics, nothing is returned.
#pragma once
#include "accumulator.cuh"

namespace effects {

#if HAS_COMMIT
// Add to *p, once for all threads of the warp that happen to add to it here: many vertices join one group.
template <class T> __device__ __forceinline__ void add_of_warp(T* p, T x) {
    const uint32_t same = __match_any_sync(__activemask(), (unsigned long long)p), leader = __ffs(same) - 1;
    T sum = 0;
    for (uint32_t left = same; left; left &= left - 1) sum += __shfl_sync(same, x, __ffs(left) - 1);
    if ((threadIdx.x & 31) == leader) atomic_fold<FOLD_SUM>(p, sum);
}
#endif

// A minimum or maximum looks first, which spares most atomics. A NaN changes nothing.
template <int OP, class T> __device__ __forceinline__ void apply(T* p, T x) {
#if HAS_COMMIT
    if constexpr (OP == FOLD_SUM) return add_of_warp(p, x);
#endif
    if constexpr (OP == FOLD_MIN || OP == FOLD_MAX) {
        if (!changes<OP>(*(const volatile T*)p, x)) return;
    }
    atomic_fold<OP>(p, x);
}
template <int OP> __device__ __forceinline__ void apply(bool* p, bool x) {
    if (x) *p = true;
}

}  // namespace effects
