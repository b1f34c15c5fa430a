// Reading ranges of slots of the array dst of a view, for cursors: a program may have two.
#pragma once
#include "suricate.cuh"

// LANES threads stride over [lo, hi): consecutive lanes read consecutive slots.
template <int LANES, class G, class F>
__device__ __forceinline__ void for_range(const G& g, long long lo, long long hi, int lane, F&& f) {
    long long i = lo + lane;
    for (; i + 3 * LANES < hi; i += 4 * LANES) {  // four loads in flight
        uint32_t v0 = g.dst[i], v1 = g.dst[i + LANES], v2 = g.dst[i + 2 * LANES], v3 = g.dst[i + 3 * LANES];
        f(v0, i);
        f(v1, i + LANES);
        f(v2, i + 2 * LANES);
        f(v3, i + 3 * LANES);
    }
    for (; i < hi; i += LANES) f(g.dst[i], i);
}
