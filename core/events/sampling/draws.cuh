// Which events of a vertex are eligible, and which of them are drawn: functions of one thread. The struct Sampling comes from cuda.py.
#pragma once
#include "edgefn.cuh"

constexpr uint64_t STEP = 0x9E3779B97F4A7C15ull;
constexpr long long WORD = 64;  // the most eligible events that are drawn from in one word

__device__ __forceinline__ long long drawn_of(const Sampling& m, long long size) {
    if (m.fan < 0 || (m.fan > size && !m.replace)) return size;
    return size > 0 ? m.fan : 0;
}

// First slot in [lo, hi) of a row whose number, relative to the log's first one, is ``wanted`` or above.
__device__ __forceinline__ long long first_from(const Sampling& m, long long lo, long long hi, uint32_t wanted) {
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (m.number[mid] - m.low < wanted) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// bits * size >> 64.
__device__ __forceinline__ long long below(uint64_t bits, long long size) {
    return (long long)__umul64hi(bits, (uint64_t)size);
}

// Thread: write ``count`` of the ``size`` slots before ``stop``, ascending, to ``into``, by Floyd's method; ``bits`` is the hash.
__device__ __forceinline__ void draw(const Sampling& m, uint64_t bits, long long size, long long count, long long stop,
                                     long long* into) {
    if (size <= WORD && !m.replace) {
        uint64_t chosen = 0;
        for (long long j = size - count; j < size; ++j, bits += STEP) {  // ages of events: bit 0 is the oldest
            const uint64_t bit = 1ull << (size - 1 - below(edgefn::next_bits(bits), j + 1));
            chosen |= chosen & bit ? 1ull << (size - 1 - j) : bit;
        }
        for (long long j = 0; j < count; ++j, chosen &= chosen - 1) into[j] = stop - size + __ffsll(chosen) - 1;
        return;
    }
    for (long long j = 0; j < count; ++j, bits += STEP) {
        const long long last = m.replace ? size - 1 : size - count + j;
        long long age = below(edgefn::next_bits(bits), last + 1), at = j;
        for (; at > 0 && into[at - 1] < age; --at) into[at] = into[at - 1];  // the oldest comes first
        if (!m.replace && at > 0 && into[at - 1] == age) {  // ``last`` is older than all: it goes to the front
            for (; at > 0; --at) into[at] = into[at - 1];
            age = last;
        }
        into[at] = age;
    }
    for (long long j = 0; j < count; ++j) into[j] = stop - 1 - into[j];
}

__device__ __forceinline__ bool takes_all(const Sampling& m, long long size) {
    return m.recent || (drawn_of(m, size) == size && !m.replace);
}

// Thread: draw the slots of the events of node i into m.row, from the edge ``place`` on.
__device__ __forceinline__ void draw_node(const Sampling& m, long long i, long long at, long long place) {
    const long long size = m.size[at];
    if (takes_all(m, size)) return;
    uint64_t way = uint64_t(m.hop) << 32 | m.node[i];
    if (m.back) way = m.hop ? uint64_t(m.event[i - m.trees]) : ~0ull;
    draw(m, edgefn::next_bits(m.tree_key[m.batch[i]] ^ way), size, drawn_of(m, size), m.stop[at], m.row + place);
}

// The number, relative, of the first event at the time of ``event``; with ``through`` of the first one after it. Doubling steps, then halves.
__device__ __forceinline__ uint32_t cut_at(const Sampling& m, long long event) {
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
