// The second phase of a step: the function `then_fn`, once per vertex that an offer altered.
#pragma once
#include "policy.cuh"

#if HAS_THEN
// Second phase: ask the vertices that were altered, steps.buffer[0 .. count), whether they join the next frontier, steps.near; entries first,
// first + all ...
__device__ __forceinline__ void ask_altered(const Steps& steps, uint32_t count, uint32_t step, uint32_t* next_count,
                                            uint32_t first, uint32_t all FORMALS) {
    for (unsigned long long i = first; i < count; i += all) {
        const uint32_t v = steps.buffer[i];
        if (then_fn(v, (long long)step ARGS)) append(steps.near, next_count, v);
        else if (HAS_PULL) steps.stamp[v] = steps.altered;
    }
}
#endif
