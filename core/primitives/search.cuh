// Searches in ascending arrays, by one thread.
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
