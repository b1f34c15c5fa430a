// The triangles that a batch takes away and brings, counted at their corners, in one cooperative launch (see triangle_changes.py,
// which the structs Arcs and Memory come from).
//
// Phases: (1) thread per arc: degrees, tables of deleted and of new edges, lists of the pairs u < v by their degrees, lengths of the
// rows of deleted arcs; (2) common neighbours of the pairs; (3) tile per deleted arc: triangles that have lost two or three edges. The rows
// of deleted arcs are made in between, in two steps while pairs are served, so that nobody waits for them. Atomics: one per change of
// a count at a third corner, two per pair and tile. The sums do not depend on the schedule.
#include "triangle_changes.cuh"

// -- phase 2 ---------------------------------------------------------------------------------------------------------

__device__ __forceinline__ Pair pair_of(const Work& w, uint32_t number) {
    const bool is_new = number >= w.gone.size;
    const Arcs& arcs = is_new ? w.come : w.gone;
    const uint32_t i = is_new ? number - uint32_t(w.gone.size) : number;
    return pair_of(w.g, arcs.src[i], arcs.dst[i], is_new);
}

// Count the triangle of a pair and its common neighbour x at x, and return whether it counts: of a new edge unless another new
// edge of it comes first, by the smaller and then the larger end; of a deleted one unless one of the other edges is new. (Ends of
// a deleted edge are no common neighbours: it is not in the graph.)
__device__ __forceinline__ int meet(const Work& w, const Pair& p, uint32_t x) {
    if (find(w.g, p.other, x) < 0) return 0;
    if (p.is_new) {
        if (x == p.u || x == p.v || (x < p.v && w.is_new(p.u, x)) || (x < p.u && w.is_new(p.v, x))) return 0;
        w.count(x, 1);
    } else {
        if (w.is_new(p.u, x) || w.is_new(p.v, x)) return 0;
        w.count(x, -1);
    }
    return 1;
}

// Add what the threads of a tile have found of a pair at its ends.
template <int LANES> __device__ __forceinline__ void count_ends(const Work& w, const Pair& p, int found) {
    const int all = tile_sum<LANES>(found), number = p.is_new ? all : -all;
    if (threadIdx.x % LANES == 0) {
        w.count(p.u, number);
        w.count(p.v, number);
    }
}

// A narrow pair, by a tile.
__device__ __forceinline__ void serve(const Work& w, uint32_t number) {
    const Pair p = pair_of(w, number);
    int found = 0;
    for_neighbors<TILE>(w.g, p.walked, threadIdx.x % TILE, [&](uint32_t x, long long) { found += meet(w, p, x); });
    count_ends<TILE>(w, p, found);
}

// The buckets of heavy pairs in equal runs, a warp per run.
__device__ __forceinline__ void serve_heavy(const Work& w) {
    const unsigned long long packed = *w.m.heavy + 1ull;
    const uint32_t count = uint32_t(packed >> HEAVY_SHIFT), lane = threadIdx.x & 31;
    if (count == 0) return;
    const long long all = (long long)(packed & ((1ull << HEAVY_SHIFT) - 1)), warps = thread_count() / 32;
    const long long share = max((long long)LEAST, (all + warps - 1) / warps);
    long long item = thread_id() / 32 * share;
    const long long stop = min(all, item + share);
    if (item >= stop) return;
    uint32_t k = 0;  // the last entry whose buckets begin at or before `item`
    for (uint32_t high = count - 1; k < high;) {
        const uint32_t middle = k + (high - k + 1) / 2;
        if (w.m.heavy_base[middle] <= item) k = middle;
        else high = middle - 1;
    }
    for (; item < stop; ++k) {
        const Pair p = pair_of(w, w.m.heavy_pair[k]);
        const long long base = w.m.heavy_base[k], end = min(stop, base + (long long)buckets(w.g, p.walked));
        int found = 0;
        for (uint32_t part = uint32_t(item - base) + lane / BUCKET_LANES; part < end - base; part += TEAMS) {
            for_bucket<BUCKET_LANES>(w.g, p.walked, part, lane % BUCKET_LANES, [&](uint32_t x, long long) {
                found += meet(w, p, x);
            });
        }
        count_ends<32>(w, p, found);
        item = end;
    }
}

// -- phase 3 ---------------------------------------------------------------------------------------------------------

// A deleted arc (u, v), with the rows of deleted arcs from its ends, and what a tile has to walk.
struct Lost {
    uint32_t u, v, row, size, other, other_size, around;
    __device__ bool walks_row() const { return size <= around; }
    __device__ uint32_t work() const { return size < 2 ? 0 : min(size, around) + (u < v ? min(size, other_size) : 0); }
};

__device__ __forceinline__ Lost lost_of(const Work& w, long long i) {
    if (i >= w.gone.size || !is_counted(w.gone, i) || w.gone.src[i] == w.gone.dst[i]) return {0, 0, 0, 0, 0, 0, 0};
    const uint32_t u = w.gone.src[i], v = w.gone.dst[i], row = row_of(w, u), other = row_of(w, v);
    return {u, v, row, w.m.rows[row], other, w.m.rows[other], degree(w.g, v)};
}

// Triangles (u, v, x), v < x, that have lost (u, v) and (u, x), and those with u < v that have lost (v, x) as well, by a tile.
template <int LANES> __device__ __forceinline__ void lose(const Work& w, const Lost& e) {
    const int lane = threadIdx.x % LANES;
    int found = 0;
    const auto count = [&](uint32_t x) {
        w.count(x, -1);
        ++found;
    };
    if (e.walks_row()) {
        for (uint32_t k = lane; k < e.size; k += LANES) {
            const uint32_t x = w.m.rows[e.row + 1u + k];
            if (x > e.v && find(w.g, e.v, x) >= 0 && !w.is_new(e.v, x)) count(x);
        }
    } else {
        for_neighbors<LANES>(w.g, e.v, lane, [&](uint32_t x, long long) {
            if (x > e.v && w.is_gone(e.u, x) && !w.is_new(e.v, x)) count(x);
        });
    }
    if (e.u < e.v) {
        const bool own = e.size <= e.other_size;
        const uint32_t walked = own ? e.row : e.other, end = own ? e.v : e.u;
        for (uint32_t k = lane; k < min(e.size, e.other_size); k += LANES) {
            const uint32_t x = w.m.rows[walked + 1u + k];
            if (x > e.v && w.is_gone(end, x)) count(x);
        }
    }
    const int all = tile_sum<LANES>(found);
    if (lane == 0) {
        w.count(e.u, -all);
        w.count(e.v, -all);
    }
}

// A tile per deleted arc; those that are too much for it are served by the warps they are in.
__device__ __forceinline__ void lose_all(const Work& w) {
    constexpr int TILES = 32 / TILE;
    const int lane = threadIdx.x & 31;
    for (long long i = thread_id() / 32 * TILES; i < w.gone.size; i += (long long)(thread_count() / 32) * TILES) {
        const Lost own = lost_of(w, i + lane / TILE);
        const uint32_t work = own.work();
        uint32_t wide = __ballot_sync(ALL_LANES, lane % TILE == 0 && work > NARROW);
        if (work > 0 && work <= NARROW) lose<TILE>(w, own);
        __syncwarp();
        for (; wide; wide &= wide - 1) lose<32>(w, lost_of(w, i + (__ffs(wide) - 1) / TILE));
    }
}

extern "C" __global__ void __launch_bounds__(CHANGE_BLOCK, CHANGE_BLOCKS)
change_triangles(const __grid_constant__ View g, const __grid_constant__ Arcs gone, const __grid_constant__ Arcs come,
                 const __grid_constant__ Memory m, long long* triangles, long long* degrees) {
    const Work w = {g, gone, come, m, triangles, degrees};
    for (uint32_t i = thread_id(); i < m.set_words; i += thread_count()) m.next_set[i] = EMPTY;
    uint32_t expected = EMPTY;  // as many arrivals as all bits of the counter say
    enter(w, gone, 0, -1, m.gone_key, m.gone_capacity);
    enter(w, come, uint32_t(gone.size), 1, m.come_key, m.come_capacity);
    grid_barrier(m.counter + ARRIVED, expected);
    if (gone.size > 0) {
        begin_rows(w);
        grid_arrive(m.counter + ARRIVED, expected);
    }
    const uint32_t narrows = m.counter[NARROWS] + 1u;
    for (uint32_t k = thread_id() / TILE; k < narrows; k += thread_count() / TILE) serve(w, m.pair[k]);
    if (gone.size > 0) {
        grid_wait(m.counter + ARRIVED, expected);
        fill_rows(w);
        grid_arrive(m.counter + ARRIVED, expected);
    }
    serve_heavy(w);
    if (gone.size > 0) {
        grid_wait(m.counter + ARRIVED, expected);
        lose_all(w);
    }
}
