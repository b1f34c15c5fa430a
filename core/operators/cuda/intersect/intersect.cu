// intersect, method "hash": the smaller adjacency of each pair is walked and looked up in the other one by the cursor's `find`.
// out: out_t[size], or with `total` one entry that is 0 before, to which each block adds by one atomic. Two launches, neither of which waits
// for another block. Pairs that occur twice are counted twice.
#include "pairs.cuh"

#define NARROW 128  // up to this many neighbours a tile walks them
#define WIDE 512  // up to this many a warp, above it the buckets are split across the grid
#if PAIR_TILE > 32
#error "a tile is part of a warp"
#endif

// The sum over the common neighbours that the calling thread of a tile of LANES threads meets.
template <int LANES>
__device__ __forceinline__ out_t probe(const LeftView& g, const RightView& h, const Pairs& pairs, long long i,
                                       const Sides& sides, int lane FORMALS) {
    out_t sum = 0;
    if (sides.left_is_smaller()) {
        for_neighbors<LANES>(g, sides.u, lane, [&](uint32_t x, long long near) {
            const long long far = find(h, sides.v, x);
            if (far >= 0) sum += value_of(pairs.begin + i, sides.u, sides.v, x SLOTS(near, far) ARGS);
        });
    } else {
        for_neighbors<LANES>(h, sides.v, lane, [&](uint32_t x, long long near) {
            const long long far = find(g, sides.u, x);
            if (far >= 0) sum += value_of(pairs.begin + i, sides.u, sides.v, x SLOTS(far, near) ARGS);
        });
    }
    return sum;
}

// A tile of PAIR_TILE threads per pair; pairs that a tile is too narrow for are listed in shared memory and served by the warps of
// the block, larger ones are listed for probe_parts (one atomic each). out[i] is written once, without atomics; 0 for listed pairs. Barriers of
// the block.
extern "C" __global__ void __launch_bounds__(BLOCK) probe_pairs(LeftView g, RightView h, uint32_t num_vertices,
                                                                Pairs pairs, PairList list, int total,
                                                                out_t* out PARAMS) {
    constexpr int TILES = BLOCK / PAIR_TILE, WARPS = BLOCK / 32;
    __shared__ uint32_t wide[TILES];
    __shared__ uint32_t wides;
    LOCALS
    out_t mine = 0;
    for (long long base = (long long)blockIdx.x * TILES; base < pairs.size; base += (long long)gridDim.x * TILES) {
        if (threadIdx.x == 0) wides = 0;
        __syncthreads();
        const long long i = base + threadIdx.x / PAIR_TILE;
        const int lane = threadIdx.x % PAIR_TILE;
        const Sides sides = sides_of(g, h, pairs, num_vertices, i);
        out_t sum = 0;
        if (sides.smaller() <= NARROW) {
            if (sides.smaller() > 0) sum = probe<PAIR_TILE>(g, h, pairs, i, sides, lane ARGS);
        } else if (lane == 0) {
            const bool split = sides.smaller() > WIDE;
            const uint32_t parts = sides.left_is_smaller() ? buckets(g, sides.u) : buckets(h, sides.v);
            if (!split || !note_pair(list, i, parts)) wide[atomicAdd(&wides, 1u)] = threadIdx.x / PAIR_TILE;
        }
        __syncwarp(tile_mask<PAIR_TILE>());
        if (total) {
            mine += sum;
        } else {
            sum = tile_reduce<PAIR_TILE>(sum);
            if (lane == 0 && i < pairs.size) out[i] = sum;
        }
        __syncthreads();
        for (uint32_t j = threadIdx.x / 32; j < wides; j += WARPS) {
            const long long at = base + wide[j];
            const Sides pair = sides_of(g, h, pairs, num_vertices, at);
            const out_t part = probe<32>(g, h, pairs, at, pair, threadIdx.x % 32 ARGS);
            __syncwarp();
            if (total) {
                mine += part;
            } else {
                const out_t whole = tile_reduce<32>(part);
                if (threadIdx.x % 32 == 0) out[at] = whole;
            }
        }
        __syncthreads();
    }
    if (total) add_block_sum(out, mine);
    FINISH
}

// The pairs that probe_pairs listed: equal runs of the buckets of their smaller adjacencies, a tile of BUCKET_LANES threads per
// run, one atomic for each run of a pair.
extern "C" __global__ void __launch_bounds__(BLOCK) probe_parts(LeftView g, RightView h, uint32_t num_vertices,
                                                                Pairs pairs, PairList list, int total,
                                                                out_t* out PARAMS) {
    const int lane = threadIdx.x % BUCKET_LANES;
    LOCALS
    out_t mine = 0;
    const auto parts_of = [&](uint32_t i) {
        const Sides sides = sides_of(g, h, pairs, num_vertices, i);
        return sides.left_is_smaller() ? buckets(g, sides.u) : buckets(h, sides.v);
    };
    const auto run = [&](uint32_t i, uint32_t first, uint32_t end) {
        const Sides sides = sides_of(g, h, pairs, num_vertices, i);
        out_t sum = 0;
        for (uint32_t k = first; k < end; ++k) {
            if (sides.left_is_smaller()) {
                for_bucket<BUCKET_LANES>(g, sides.u, k, lane, [&](uint32_t x, long long near) {
                    const long long far = find(h, sides.v, x);
                    if (far >= 0) sum += value_of(pairs.begin + i, sides.u, sides.v, x SLOTS(near, far) ARGS);
                });
            } else {
                for_bucket<BUCKET_LANES>(h, sides.v, k, lane, [&](uint32_t x, long long near) {
                    const long long far = find(g, sides.u, x);
                    if (far >= 0) sum += value_of(pairs.begin + i, sides.u, sides.v, x SLOTS(far, near) ARGS);
                });
            }
        }
        __syncwarp(tile_mask<BUCKET_LANES>());
        if (total) {
            mine += sum;
        } else {
            sum = tile_reduce<BUCKET_LANES>(sum);
            if (lane == 0 && sum != out_t(0)) atomic_sum(out + i, sum);
        }
    };
    for_pair_runs(list, thread_id() / BUCKET_LANES, thread_count() / BUCKET_LANES, 1, parts_of, run);
    if (total) add_block_sum(out, mine);
    FINISH
}
