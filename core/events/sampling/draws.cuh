// Which events of a vertex are eligible, and which of them are drawn: functions of one thread. M is a struct with the log's arrays and numbers, and how to
// draw: Sampling (cuda.py) or Forest (small_trees.py). Ages count the eligible events of a vertex from the newest on, which has age 0.
#pragma once
#include "edgefn.cuh"

constexpr uint64_t STEP = 0x9E3779B97F4A7C15ull;
constexpr long long WORD = 64;  // the most eligible events that are drawn from in one word

template <class M> __device__ __forceinline__ long long drawn_of(const M& m, long long fan, long long size) {
    if (fan < 0 || (fan > size && !m.replace)) return size;
    return size > 0 ? fan : 0;
}

// First slot in [lo, hi) of a row whose number, relative to the log's first one, is ``wanted`` or above.
template <class M>
__device__ __forceinline__ long long first_from(const M& m, long long lo, long long hi, uint32_t wanted) {
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (m.number[mid] - m.low < wanted) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// The eligible events of vertex v, those with low <= number < cut: the slot after the last one, and how many they are.
struct Eligible {
    long long stop, size;
};

template <class M>
__device__ __forceinline__ Eligible eligible_of(const M& m, uint32_t v, uint32_t low, uint32_t cut) {
    long long first = cut ? m.begin[v] : 0, stop = cut ? m.end[v] : 0;  // root 0 may be no vertex
    if (stop > first && m.number[stop - 1] - m.low >= cut) stop = first_from(m, first, stop - 1, cut);
    if (low > 0) first = first_from(m, first, stop, low);
    return {stop, stop - first};
}

// bits * size >> 64.
__device__ __forceinline__ long long below(uint64_t bits, long long size) {
    return (long long)__umul64hi(bits, (uint64_t)size);
}

// Write the ages of ``count`` of ``size`` events, the oldest first, to ``into``, by Floyd's method; ``bits`` is the hash.
template <class M, class T>
__device__ __forceinline__ void draw(const M& m, uint64_t bits, long long size, long long count, T* into) {
    if (size <= WORD && !m.replace) {
        uint64_t chosen = 0;
        for (long long j = size - count; j < size; ++j, bits += STEP) {  // bit 0 is the oldest event
            const uint64_t bit = 1ull << (size - 1 - below(edgefn::next_bits(bits), j + 1));
            chosen |= chosen & bit ? 1ull << (size - 1 - j) : bit;
        }
        for (long long j = 0; j < count; ++j, chosen &= chosen - 1) into[j] = T(size - __ffsll(chosen));
        return;
    }
    for (long long j = 0; j < count; ++j, bits += STEP) {
        const T last = T(m.replace ? size - 1 : size - count + j);
        T age = T(below(edgefn::next_bits(bits), (long long)last + 1));
        long long at = j;
        for (; at > 0 && into[at - 1] < age; --at) into[at] = into[at - 1];  // the oldest comes first
        if (!m.replace && at > 0 && into[at - 1] == age) {  // ``last`` is older than all: it goes to the front
            for (; at > 0; --at) into[at] = into[at - 1];
            age = last;
        }
        into[at] = age;
    }
}

// Whether the newest events are taken, as many as are drawn.
template <class M>
__device__ __forceinline__ bool takes_newest(const M& m, long long fan, long long size) {
    return m.recent || (drawn_of(m, fan, size) == size && !m.replace);
}

// The number, relative, of the first event at the time of ``event``; with ``through`` of the first one after it. Doubling steps, then halves.
template <class M> __device__ __forceinline__ uint32_t cut_at(const M& m, long long event) {
    const long long now = m.time[event & m.mask];
    long long inside = event, outside = m.through ? m.next : m.first - 1;
    const long long way = m.through ? 1 : -1;
    for (long long step = 1;; step *= 2) {
        const long long probe = inside + way * step;
        if (way * (outside - probe) <= 0) break;
        if (m.time[probe & m.mask] != now) {
            outside = probe;
            break;
        }
        inside = probe;
    }
    while (way * (outside - inside) > 1) {
        const long long middle = (inside + outside) >> 1;
        if (m.time[middle & m.mask] == now) inside = middle;
        else outside = middle;
    }
    return uint32_t(max(inside, outside) - m.first);
}
