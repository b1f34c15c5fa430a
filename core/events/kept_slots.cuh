// Where the events of a row begin that stay.
#pragma once
#include "suricate.cuh"

// First slot in [lo, hi) of a row, in which numbers ascend, whose number is not less than ``below`` above ``first``.
__device__ __forceinline__ long long first_kept(const uint32_t* number, long long lo, long long hi, uint32_t first,
                                                uint32_t below) {
    long long step = 1;
    while (lo + step <= hi && number[lo + step - 1] - first < below) {  // mostly few leave: doubling steps
        lo += step;
        step *= 2;
    }
    hi = min(hi, lo + step - 1);
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (number[mid] - first < below) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
