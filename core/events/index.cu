// Kernels of the index of events by vertex (index_cuda.py) that move no rows: thread per vertex or event, grid-stride, but where another mapping is
// named. No atomics; no kernel synchronises with the host, nor blocks with each other. Numbers of events are compared by their differences to the
// lowest one in the index, modulo 2^32.
#include "kept_slots.cuh"
#include "lists.cuh"
#include "search.cuh"

// The events less than ``leaving`` above ``first`` leave their rows: begin, end int64[vertices]; number uint32[slots]. 16 bytes per vertex, a sector of
// 32 per row, and 8 more per row that loses events.
extern "C" __global__ void expire_rows(long long* begin, const long long* end, const uint32_t* number,
                                       long long vertices, long long first, long long leaving) {
    for (long long v = wide_thread_id(); v < vertices; v += wide_thread_count()) {
        const long long lo = begin[v], hi = end[v];
        if (lo == hi || number[lo] - uint32_t(first) >= uint32_t(leaving)) continue;
        begin[v] = first_kept(number, lo + 1, hi, uint32_t(first), uint32_t(leaving));
    }
}

// Warp: answer the host with how many of the events ``first`` to ``next`` of a log, of which n has time[n & mask], are before ``when``.
extern "C" __global__ void count_before(const long long* time, long long mask, long long first, long long next,
                                        long long when, unsigned long long* answer, unsigned long long number) {
    const uint32_t count =
        first_not_below(0, uint32_t(next - first), [&](uint32_t k) { return time[(first + k) & mask] < when; });
    if (threadIdx.x != 0) return;
    answer[1] = count;
    answer_call(answer, number);
}

// The slots of the events from ``low`` to below ``high`` above ``first``: begin, end and from, to int64[vertices]. 32 bytes per vertex and, for rows
// that are cut, two searches.
extern "C" __global__ void rows_between(const long long* begin, const long long* end, const uint32_t* number,
                                        long long vertices, long long first, long long low, long long high,
                                        long long* from, long long* to) {
    for (long long v = wide_thread_id(); v < vertices; v += wide_thread_count()) {
        const long long lo = begin[v], hi = end[v];
        from[v] = first_kept(number, lo, hi, uint32_t(first), uint32_t(low));
        to[v] = first_kept(number, from[v], hi, uint32_t(first), uint32_t(high));
    }
}

// The vertices in whose rows n events enter, as two halves of ids for the sort: high, low uint32[n], or [2n] if ``both``: vertex and other, and in
// place of a self-loop's second vertex ``vertices``, which is none. 16 bytes per event, or 24.
extern "C" __global__ void halve_ids(const uint32_t* vertex, const uint32_t* other, long long n, long long both,
                                     long long half, long long vertices, uint32_t* high, uint32_t* low) {
    const uint32_t mask = (1u << half) - 1;
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count()) {
        const uint32_t u = vertex[i];
        const long long at = both ? 2 * i : i;
        high[at] = u >> half;
        low[at] = u & mask;
        if (!both) continue;
        const uint32_t v = other[i] == u ? uint32_t(vertices) : other[i];
        high[at + 1] = v >> half;
        low[at + 1] = v & mask;
    }
}

constexpr int BLOCK = 256;

// Block per entry of a sorted list that is the first of its vertex: the events removed there leave the row, which closes up in place, from the
// first of them on. keys uint64[n] has the vertices as halve_ids gave them, order uint32[n] places in ``removed``, numbers of events uint32, ascending
// (``both``: an event has two places). Blocks never share a row. 16 bytes per slot behind the first removed event.
extern "C" __global__ void remove_events(const uint64_t* keys, const uint32_t* order, long long n,
                                         const uint32_t* removed, long long both, long long half, long long vertices,
                                         long long* begin, long long* end, uint32_t* other, uint32_t* number,
                                         long long first) {
    __shared__ uint32_t counts[BLOCK / 32];
    const long long at = blockIdx.x;
    const uint64_t key = keys[at];
    const long long v = (long long)(key >> 32) << half | uint32_t(key);
    if (v == vertices || (at && keys[at - 1] == key)) return;
    const uint32_t last = gallop_up(keys, uint32_t(at), uint32_t(n), key), lane = threadIdx.x % 32;
    const long long hi = end[v];
    // Above ``first``, of entry k of the vertex and of a slot.
    auto above = [&](uint32_t k) { return removed[order[k] >> both] - uint32_t(first); };
    long long to = first_kept(number, begin[v], hi, uint32_t(first), above(uint32_t(at)));
    for (long long base = to; base < hi; base += BLOCK) {
        const long long slot = base + threadIdx.x;
        uint32_t moved = 0, name = 0;
        bool stays = slot < hi;
        if (stays) {
            moved = other[slot];
            name = number[slot];
            uint32_t low = uint32_t(at), high = last;
            while (low < high) {
                const uint32_t mid = low + (high - low) / 2;
                if (above(mid) < name - uint32_t(first)) low = mid + 1;
                else high = mid;
            }
            stays = low == last || above(low) != name - uint32_t(first);
        }
        const uint32_t lanes = __ballot_sync(0xFFFFFFFFu, stays);
        if (lane == 0) counts[threadIdx.x / 32] = __popc(lanes);
        __syncthreads();  // all of the piece is read, too
        uint32_t before = 0, total = 0;
        for (uint32_t w = 0; w < BLOCK / 32; ++w) {
            before += w < threadIdx.x / 32 ? counts[w] : 0;
            total += counts[w];
        }
        if (stays) {
            const long long place = to + before + __popc(lanes & ((1u << lane) - 1));
            other[place] = moved;
            number[place] = name;
        }
        to += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) end[v] = to;
}
