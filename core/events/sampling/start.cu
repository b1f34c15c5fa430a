// The trees of a sample before its first hop (cuda.py, which has the struct Starting); ID_T is the type of the roots. A root that is no vertex, and a
// time of which the sample could still change, are noted in ``faults``, and the host raises when it reads them.
#include "edgefn.cuh"

// The number, relative to the log's first one, of its first event with a time >= t, or > t with ``through``.
__device__ __forceinline__ long long cut_of(const Starting& s, long long t, bool through) {
    long long lo = s.first, hi = s.next;
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2, time = s.time[mid & s.mask];
        if (time < t || (through && time == t)) lo = mid + 1;
        else hi = mid;
    }
    return lo - s.first;
}

// Thread per tree, grid-stride. No atomics: all that write a fault write the same. Two searches of some 24 dependent loads, and 29 bytes written.
extern "C" __global__ void start_trees(const __grid_constant__ Starting s) {
    const ID_T* const vertices = reinterpret_cast<const ID_T*>(s.vertices);
    for (long long b = wide_thread_id(); b < s.trees; b += wide_thread_count()) {
        const ID_T given = vertices[b];
        const bool is_vertex = (unsigned long long)given < s.num_vertices;  // false for negative ones
        const long long at = s.at_of ? s.at_of[b] : s.at;
        const long long since = s.span ? max(at, s.oldest + s.span) - s.span : at;
        if (!is_vertex) s.faults[0] = 1;
        if (at > s.closed || (s.through && at == s.closed)) s.faults[1] = 1;
        const uint32_t root = is_vertex ? uint32_t(given) : 0;
        s.root[b] = root;
        s.key[b] = s.ids ? edgefn::mixed(s.seed, s.ids[b], 0) : edgefn::mixed(s.seed, root, at);
        s.cut[b] = is_vertex ? uint32_t(cut_of(s, at, s.through)) : 0;
        s.low[b] = s.span ? uint32_t(cut_of(s, since, false)) : 0;
        s.has_left[b] = since < s.expired;
    }
}
