// Pairs of neighbours on the device, see pairs.py. All kernels: a thread per entry, grid-stride; blocks do not wait for each other. Nothing
// here waits for the host.

// keys[size]: the smaller end of arc i in the upper 32 bits, the larger one in the lower; all bits of a self-loop, which sorts last.
extern "C" __global__ void key_arcs(const uint32_t* src, const uint32_t* dst, uint64_t* keys, long long size) {
    for (long long i = wide_thread_id(); i < size; i += wide_thread_count()) {
        const uint64_t u = src[i], v = dst[i];
        keys[i] = u == v ? ~0ull : u < v ? u << 32 | v : v << 32 | u;
    }
}

// is_first[size]: 1 at the first of equal sorted keys, 0 at repeats and self-loops.
extern "C" __global__ void mark_pairs(const uint64_t* keys, long long* is_first, long long size) {
    for (long long i = wide_thread_id(); i < size; i += wide_thread_count())
        is_first[i] = keys[i] != ~0ull && (i == 0 || keys[i] != keys[i - 1]);
}

// low[pairs], high[pairs]: the ends of each distinct pair; ends[size] are the running sums of is_first.
extern "C" __global__ void list_pairs(const uint64_t* keys, const long long* ends, uint32_t* low, uint32_t* high,
                                      long long size) {
    for (long long i = wide_thread_id(); i < size; i += wide_thread_count()) {
        const long long end = ends[i];
        if (end == (i == 0 ? 0 : ends[i - 1])) continue;
        low[end - 1] = (uint32_t)(keys[i] >> 32);
        high[end - 1] = (uint32_t)keys[i];
    }
}

// arcs[size]: how many of the two bools of a pair are set.
extern "C" __global__ void count_held(const bool* ahead, const bool* back, long long* arcs, long long size) {
    for (long long i = wide_thread_id(); i < size; i += wide_thread_count()) arcs[i] = (long long)ahead[i] + back[i];
}

// more[size]: by how much the second number of arcs of a pair is above the first.
extern "C" __global__ void count_more(const long long* first, const long long* second, long long* more,
                                      long long size) {
    for (long long i = wide_thread_id(); i < size; i += wide_thread_count())
        more[i] = second[i] > first[i] ? second[i] - first[i] : 0;
}

// The arcs of the graph of neighbours that pairs have with the second numbers of arcs and not with the first, both ways: src, dst
// [2 * ends[size - 1]], where ends[size] are the running sums of ``more``.
extern "C" __global__ void list_more(const uint32_t* low, const uint32_t* high, const long long* first,
                                     const long long* second, const long long* ends, uint32_t* src, uint32_t* dst,
                                     long long size) {
    for (long long i = wide_thread_id(); i < size; i += wide_thread_count()) {
        long long at = 2 * (i == 0 ? 0 : ends[i - 1]);
        const uint32_t u = 2 * low[i], v = 2 * high[i];
        for (long long k = first[i]; k < second[i]; k++, at += 2) {  // the k-th arc leads to an id that is k higher
            src[at] = u, dst[at] = v + (uint32_t)k;
            src[at + 1] = v, dst[at + 1] = u + (uint32_t)k;
        }
    }
}

// Update the numbers of arcs and of mutual neighbours of both ends of each pair. Atomics: up to four per pair.
extern "C" __global__ void count_ends(const uint32_t* low, const uint32_t* high, const long long* before,
                                      const long long* after, uint64_t* arcs, uint64_t* mutual, long long size) {
    for (long long i = wide_thread_id(); i < size; i += wide_thread_count()) {
        const uint64_t more = (uint64_t)(after[i] - before[i]), both = (uint64_t)((after[i] == 2) - (before[i] == 2));
        if (more) atomicAdd(&arcs[low[i]], more), atomicAdd(&arcs[high[i]], more);
        if (both) atomicAdd(&mutual[low[i]], both), atomicAdd(&mutual[high[i]], both);
    }
}
