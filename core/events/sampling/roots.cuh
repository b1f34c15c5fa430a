// How the trees of a sample start: their roots, hashes and cuts, by a warp per tree. The struct Starting comes from starting.py.
#pragma once
#include "edgefn.cuh"
#include "search.cuh"

struct Tree {
    uint32_t root;  // 0 if what was given is no vertex
    uint64_t key;  // the hash from which all draws follow
    uint32_t cut, low;  // events with low <= number < cut, relative, are eligible
    bool is_valid;  // false: there is no such vertex, or the sample could still change
};

// Warp: the number, relative to the log's first one, of its first event with a time >= t, or > t with ``through``. Each step takes 32 loads at once.
__device__ __forceinline__ uint32_t cut_of(const Starting& s, long long t, bool through) {
    return first_not_below(0, uint32_t(s.next - s.first), [&](uint32_t k) {
        const long long time = s.time[(s.first + k) & s.mask];
        return time < t || (through && time == t);
    });
}

// An id as it was given; negative ones become larger than all vertices.
__device__ __forceinline__ uint64_t id_at(const Starting& s, long long b) {
    if (s.is_wide) return reinterpret_cast<const uint64_t*>(s.vertices)[b];
    const uint32_t id = reinterpret_cast<const uint32_t*>(s.vertices)[b];
    return s.is_signed ? uint64_t((long long)int32_t(id)) : id;
}

// Warp: tree b. Writes whether events have left that it might have had.
__device__ __forceinline__ Tree start_tree(const Starting& s, long long b) {
    const uint64_t given = id_at(s, b);
    const long long at = s.at_of ? s.at_of[b] : s.at;
    const long long since = s.span ? max(at, s.oldest + s.span) - s.span : at;
    const bool is_vertex = given < s.num_vertices, is_final = at < s.closed || (at == s.closed && !s.through);
    if (threadIdx.x % 32 == 0) s.has_left[b] = since < s.expired;
    Tree tree;
    tree.root = is_vertex ? uint32_t(given) : 0;
    tree.key = s.ids ? edgefn::mixed(s.seed, s.ids[b], 0) : edgefn::mixed(s.seed, tree.root, at);
    tree.cut = is_vertex ? cut_of(s, at, s.through) : 0;
    tree.low = s.span ? cut_of(s, since, false) : 0;
    tree.is_valid = is_vertex && is_final;
    return tree;
}
