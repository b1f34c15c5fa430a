// Searches in the rows of gpma, for its own kernels and for operators. Leaves have 32 slots.
#pragma once
#include "suricate.cuh"

// Where an edge is (slot, else -1), and the slot behind the last edge of its row below it in its leaf.
struct Found {
    long long slot, place;
};

// By one thread: a search among the heads of the leaves that the row covers; then one leaf is read as a whole. G: the struct Graph of the
// backend's kernels, or the View of operators.
template <class G> __device__ __forceinline__ Found search(const G& g, uint32_t u, uint32_t v) {
    const long long begin = g.guard[u] + 1, end = g.guard[(long long)u + 1];
    long long low = max(0ll, min(begin, end)) >> 5, high = end >> 5;  // a row that is not kept may end at -1
    while (low < high) {
        const long long middle = (low + high + 1) >> 1;
        if (g.head[middle] <= v) low = middle;
        else high = middle - 1;
    }
    const long long from = low << 5, first = max(begin, from), stop = max(from, min(end, from + 32));
    const uint4* const words = reinterpret_cast<const uint4*>(g.dst + from);
    uint32_t below = 0, equal = 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) {
        const uint4 four = words[i];
        below |=
            (uint32_t(four.x < v) | uint32_t(four.y < v) << 1 | uint32_t(four.z < v) << 2 | uint32_t(four.w < v) << 3)
            << 4 * i;
        equal |= (uint32_t(four.x == v) | uint32_t(four.y == v) << 1 | uint32_t(four.z == v) << 2 |
                  uint32_t(four.w == v) << 3)
                 << 4 * i;
    }
    const uint32_t row = (stop - from < 32 ? (1u << (stop - from)) - 1 : 0xFFFFFFFFu) & (0xFFFFFFFFu << (first - from));
    below &= row;
    equal &= row;
    return {equal ? from + __ffs(equal) - 1 : -1, below ? from + 32 - __clz(below) : first};
}
