// Searches in ascending arrays, by one thread where nothing else is said.
#pragma once
#include "suricate.cuh"

// First index in [lo, hi) with a[index] >= value, else hi.
template <class I, class T>
__device__ __forceinline__ I lower_bound(const T* a, I lo, I hi, T value) {
    while (lo < hi) {
        I mid = lo + (hi - lo) / 2;
        if (a[mid] < value) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// First index in [lo, hi) with a[index] > value, else hi.
template <class I, class T>
__device__ __forceinline__ I upper_bound(const T* a, I lo, I hi, T value) {
    while (lo < hi) {
        I mid = lo + (hi - lo) / 2;
        if (a[mid] <= value) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// The same from a near start: doubling steps upwards from ``at`` (a[at] <= value), so that short runs cost one or two reads.
template <class T>
__device__ __forceinline__ uint32_t gallop_up(const T* a, uint32_t at, uint32_t n, T value) {
    uint32_t lo = at + 1, step = 1;
    while (lo < n && step <= n - lo && a[lo + step - 1] <= value) {
        lo += step;
        step *= 2;
    }
    uint32_t hi = step <= n - lo ? lo + step : n;
    return upper_bound(a, lo, hi, value);
}

// First index of the run [result, at] with a[index] >= value, downwards from ``at`` (a[at] >= value).
template <class T>
__device__ __forceinline__ uint32_t gallop_down(const T* a, uint32_t at, T value) {
    uint32_t hi = at, step = 1;
    while (step <= hi && a[hi - step] >= value) {
        hi -= step;
        step *= 2;
    }
    uint32_t lo = step <= hi ? hi - step : 0;
    return lower_bound(a, lo, hi, value);
}

// Warp: the first number from ``low`` to ``high`` that is not below, ``high`` if all are; below(k) is true up to there.
template <class Below>
__device__ __forceinline__ uint32_t first_not_below(uint32_t low, uint32_t high, Below&& below) {
    const uint32_t lane = threadIdx.x % 32;
    while (high - low > 32) {  // of 32 parts, those whose last number is below
        const uint32_t part = (high - low + 31) / 32, probe = min(low + (lane + 1) * part, high) - 1;
        const uint32_t parts = __popc(__ballot_sync(0xFFFFFFFFu, below(probe)));
        low = min(low + parts * part, high);
        high = min(low + part, high);
    }
    return low + __popc(__ballot_sync(0xFFFFFFFFu, lane < high - low && below(low + lane)));
}
