// The steps of random walks in time on CUDA, drawn as by walks_cpu.py, bit for bit. TRIES and THRESHOLDS come from walks.py.
#include "edgefn.cuh"

struct Log {
    const long long *begin, *end;  // [vertices]: the rows of the events that vertices send
    const uint32_t *other, *number;  // by slot
    const long long* time;  // event n at n & mask
    const uint64_t* thresholds;  // [THRESHOLDS]: of the exponential bias
    long long mask, first;
};

// The number of the event in a slot, less that of the oldest one.
__device__ __forceinline__ uint32_t place_of(const Log& log, long long slot) {
    return log.number[slot] - uint32_t(log.first);
}

// The first slot in the row of v of an event later than ``now``, or as late with ``through``.
__device__ __forceinline__ long long first_later(const Log& log, uint32_t v, long long now, bool through) {
    long long low = log.begin[v], high = log.end[v];
    while (low < high) {
        const long long middle = (low + high) >> 1, at = log.time[(log.first + place_of(log, middle)) & log.mask];
        if (at < now || (at == now && !through)) low = middle + 1;
        else high = middle;
    }
    return low;
}

// A rank below c by 64 random bits. The loops behind the root make it exact, however the device rounds.
__device__ __forceinline__ long long drawn(const Log& log, uint64_t bits, long long c, long long kind) {
    if (kind == 0) return (long long)__umul64hi(bits, uint64_t(c));
    if (kind == 1) {
        const long long x = (long long)__umul64hi(bits, uint64_t(c * (c + 1) / 2));
        long long j = (long long)(sqrt(2.0 * double(x) + 0.25) - 0.5);
        while (j * (j + 1) / 2 > x) --j;
        while ((j + 1) * (j + 2) / 2 <= x) ++j;
        return c - 1 - j;
    }
    const uint64_t x = __umul64hi(bits, log.thresholds[min(c, (long long)THRESHOLDS) - 1]);
    long long i = 0;
    while (log.thresholds[i] <= x) ++i;
    return i;
}

// The slot drawn of ``count`` ones from ``low`` on, of which one may have the event ``last``, which is not taken again; -1: none.
__device__ __forceinline__ long long chosen(const Log& log, long long low, long long count, long long last,
                                            long long key, long long step, long long kind) {
    long long slot = low;
    for (long long attempt = 0; attempt < TRIES; ++attempt) {
        slot = low + drawn(log, uint64_t(edgefn::mixed(key, step, attempt)), count, kind);
        if (place_of(log, slot) != last) return slot;
        if (count == 1) return -1;
    }
    return slot + 1 < low + count ? slot + 1 : slot - 1;
}

// Thread per walk, grid-stride. keys: [walks]; vertex: [walks, length + 1], the first of each row given; event, when: [walks, length]. Written up to
// the ends of walks. No atomics and no synchronisation; a step is a search of the row of dependent loads, then a draw.
extern "C" __global__ void walk(const long long* begin, const long long* end, const uint32_t* other,
                                const uint32_t* number, const long long* time, const uint64_t* thresholds,
                                const long long* keys, uint32_t* vertex, long long* event, long long* when,
                                long long mask, long long first, long long walks, long long length, long long kind,
                                long long through) {
    const Log log{begin, end, other, number, time, thresholds, mask, first};
    for (long long i = wide_thread_id(); i < walks; i += wide_thread_count()) {
        uint32_t v = vertex[i * (length + 1)];
        long long last = -1, now = 0;
        for (long long step = 0; step < length; ++step) {
            const long long low = step ? first_later(log, v, now, through) : begin[v], count = end[v] - low;
            const long long slot = count ? chosen(log, low, count, last, keys[i], step, kind) : -1;
            if (slot < 0) break;
            last = place_of(log, slot);
            now = time[(first + last) & mask];
            v = other[slot];
            vertex[i * (length + 1) + step + 1] = v;
            event[i * length + step] = first + last;
            when[i * length + step] = now;
        }
    }
}
