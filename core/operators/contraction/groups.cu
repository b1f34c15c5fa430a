// Contraction on CUDA: groups are numbered by their smallest vertex, and arcs, sorted by the groups of their ends, become rows. All kernels:
// a thread per vertex or arc, grid-stride; none synchronises. weight_t: of the weights.
#include "suricate.cuh"

// first[c] = the smallest vertex v with labels[v] == c and size[v] != 0, for v < n; EMPTY before. One atomic per vertex.
extern "C" __global__ void note_first(const uint32_t* labels, const long long* size, long long n, uint32_t* first) {
    for (long long v = wide_thread_id(); v < n; v += wide_thread_count())
        if (size[v] && first[labels[v]] > v) atomicMin(first + labels[v], uint32_t(v));
}

// is_first[v] = whether v is the smallest vertex of its group.
extern "C" __global__ void mark_first(const uint32_t* labels, const long long* size, long long n, const uint32_t* first,
                                      int* is_first) {
    for (long long v = wide_thread_id(); v < n; v += wide_thread_count())
        is_first[v] = size[v] && first[labels[v]] == v;
}

// rank: the sums of is_first up to and including each vertex. Writes the group of each vertex, EMPTY where size is 0, and the label of each
// group; adds sizes and strengths of vertices to those of their groups, 0 before: two atomics per vertex, sums exact in any order.
extern "C" __global__ void form_groups(const uint32_t* labels, const long long* size, const double* strength,
                                       long long n, const uint32_t* first, const int* rank, uint32_t* group,
                                       uint32_t* label, unsigned long long* group_size, double* group_strength) {
    for (long long v = wide_thread_id(); v < n; v += wide_thread_count()) {
        group[v] = EMPTY;
        if (!size[v]) continue;
        const uint32_t its = first[labels[v]], place = uint32_t(rank[its] - 1);
        group[v] = place;
        if (its == v) label[place] = labels[v];
        atomicAdd(group_size + place, (unsigned long long)size[v]);
        if (strength[v] != 0) atomicAdd(group_strength + place, strength[v]);
    }
}

// a[i], b[i] = the groups of the ends of arc i, and amount[i] its weight, rounded to a multiple of unit (weight null: 1, and amount null, too), for
// i < m. An arc is left out, by the group `none` at both ends, where it weighs 0, or is the second of an edge inside a group.
extern "C" __global__ void group_arcs(const uint32_t* src, const uint32_t* dst, const weight_t* weight, double unit,
                                      long long m, const uint32_t* group, uint32_t none, uint32_t* a, uint32_t* b,
                                      double* amount) {
    for (long long i = wide_thread_id(); i < m; i += wide_thread_count()) {
        const uint32_t from = group[src[i]], to = group[dst[i]];
        const double given = weight ? floor(double(weight[i]) / unit + 0.5) * unit : 1.0;
        const bool counts = given != 0 && (from != to || src[i] <= dst[i]);
        a[i] = counts ? from : none;
        b[i] = counts ? to : none;
        if (amount) amount[i] = given;
    }
}

// begins[i] = whether the i-th of m ascending keys, a pair of groups, is the first of its kind and no arc that is left out.
extern "C" __global__ void mark_pairs(const uint64_t* keys, long long m, uint32_t none, int* begins) {
    for (long long i = wide_thread_id(); i < m; i += wide_thread_count())
        begins[i] = uint32_t(keys[i]) != none && (i == 0 || keys[i] != keys[i - 1]);
}

// pair: the sums of begins. Pair number k - 1 gets its second group, and the sum of amount[order[i]] (amount null: of 1) of its arcs, 0 before; the
// pairs of group g are begin[g] .. end[g], 0 before. One atomic per warp and pair.
extern "C" __global__ void sum_pairs(const uint64_t* keys, const uint32_t* order, const double* amount, long long m,
                                     uint32_t none, const int* pair, uint32_t* dst, double* sum, long long* begin,
                                     long long* end) {
    const int lane = threadIdx.x % 32;
    for (long long start = wide_thread_id() - lane; start < m; start += wide_thread_count()) {
        const long long i = start + lane;
        const bool counts = i < m && uint32_t(keys[i]) != none;
        const int at = counts ? pair[i] - 1 : -1;
        double mine = !counts ? 0.0 : amount ? amount[order[i]] : 1.0;
#pragma unroll
        for (int step = 1; step < 32; step <<= 1) {  // over the lanes behind it of the same pair
            const double other = __shfl_down_sync(0xFFFFFFFFu, mine, step);
            const int its = __shfl_down_sync(0xFFFFFFFFu, at, step);
            if (lane + step < 32 && its == at) mine += other;
        }
        const int before = __shfl_up_sync(0xFFFFFFFFu, at, 1);
        if (!counts) continue;
        if (lane == 0 || before != at) atomicAdd(sum + at, mine);
        const uint32_t from = uint32_t(keys[i] >> 32);
        if (i == 0 || keys[i - 1] != keys[i]) dst[at] = uint32_t(keys[i]);
        if (i == 0 || uint32_t(keys[i - 1] >> 32) != from) begin[from] = at;
        if (i + 1 == m || uint32_t(keys[i + 1] >> 32) != from) end[from] = at + 1;
    }
}
