// intersect, method "bitmap": the smaller adjacency of each pair becomes a set in shared memory, the larger one is streamed past it.
// No `find` is needed, so this serves backends that would search an adjacency from end to end.
// out: out_t[size], or with `total` one entry that is 0 before, to which each block adds by one atomic. Two launches, neither of which waits
// for another block. Pairs that occur twice are counted twice.
#include "pairs.cuh"

#include "intersect_set.cuh"

#define FEW (128 >> OF_TWO)  // ids that a warp puts into its set: half, if it keeps their slots in the view, too
#define FEW_BUCKETS FEW
#define MANY (2048 >> OF_TWO)  // ids that a block puts into its set at a time
#define MANY_BUCKETS (MANY / 2)
#define STREAMED 4096  // neighbours that a warp streams
#define LEAST 8  // buckets that a block streams for each set it makes

// The slots in g and h of an id at `at` of a set of the left, or right, side, which is in `slot` of the other one.
#define SLOTS_OF(left, set, at, slot) SLOTS(left ? (set).place[at] : slot, left ? slot : (set).place[at])

// Call f(x, slot) for the neighbours of the smaller, or larger, side of a pair, by the LANES threads of a tile together.
template <int LANES, class F>
__device__ __forceinline__ void for_side(const LeftView& g, const RightView& h, const Sides& sides, bool left, int lane,
                                         F&& f) {
    if (left) for_neighbors<LANES>(g, sides.u, lane, f);
    else for_neighbors<LANES>(h, sides.v, lane, f);
}

// A warp per pair, grid-stride; pairs with a long side are listed for stream_parts (one atomic each). out[i] is written once, without atomics; 0 for
// listed pairs.
extern "C" __global__ void __launch_bounds__(BLOCK) stream_pairs(LeftView g, RightView h, uint32_t num_vertices,
                                                                 Pairs pairs, PairList list, int total,
                                                                 out_t* out PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ __align__(16) uint32_t slots[WARPS][4 * FEW_BUCKETS];
    __shared__ long long places[WARPS][OF_TWO ? 4 * FEW_BUCKETS : 1];
    LOCALS
    const int lane = threadIdx.x % 32;
    out_t mine = 0;
    for (long long i = thread_id() / 32; i < pairs.size; i += thread_count() / 32) {
        const Sides sides = sides_of(g, h, pairs, num_vertices, i);
        const bool left = sides.left_is_smaller();
        out_t sum = 0;
        if (sides.smaller() > FEW || (sides.smaller() > 0 && max(sides.left, sides.right) > STREAMED)) {
            const uint32_t parts = left ? buckets(h, sides.v) : buckets(g, sides.u);
            if (lane == 0) add_heavy(list_of(list), uint32_t(i), parts);
        } else if (sides.smaller() > 0) {
            const int warp = threadIdx.x / 32;
            const IdSet set = set_for(slots[warp], places[warp], sides.smaller(), FEW_BUCKETS);
            clear_set(set, lane, 32);
            __syncwarp();
            for_side<32>(g, h, sides, left, lane, [&](uint32_t x, long long slot) { insert_id(set, x, slot); });
            __syncwarp();
            for_side<32>(g, h, sides, !left, lane, [&](uint32_t x, long long slot) {
                const int at = slot_of(set, x);
                if (at >= 0) sum += value_of(pairs.begin + i, sides.u, sides.v, x SLOTS_OF(left, set, at, slot) ARGS);
            });
            __syncwarp();
        }
        if (total) {
            mine += sum;
        } else {
            sum = tile_reduce<32>(sum);
            if (lane == 0) out[i] = sum;
        }
    }
    if (total) add_block_sum(out, mine);
    FINISH
}

// Which of `passes` (a power of two) a member of the smaller side belongs to; with twice as many, pass p becomes 2 p and 2 p + 1.
__device__ __forceinline__ uint32_t pass_of(uint32_t x, uint32_t passes) {
    return uint32_t((uint64_t)(x * 0x85EBCA6Bu) * passes >> 32);
}

// The pairs that stream_pairs listed: equal runs of the buckets of their larger adjacencies, a block per run. Where the smaller one is
// too long for a set, its members are taken in passes; a pass that does not fit is split. One atomic for each warp and pair.
extern "C" __global__ void __launch_bounds__(BLOCK) stream_parts(LeftView g, RightView h, uint32_t num_vertices,
                                                                 Pairs pairs, PairList list, int total,
                                                                 out_t* out PARAMS) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ __align__(16) uint32_t slots[4 * MANY_BUCKETS];
    __shared__ long long places[OF_TWO ? 4 * MANY_BUCKETS : 1];
    __shared__ uint32_t members;
    LOCALS
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    out_t mine = 0;
    const auto parts_of = [&](uint32_t i) {
        const Sides sides = sides_of(g, h, pairs, num_vertices, i);
        return sides.left_is_smaller() ? buckets(h, sides.v) : buckets(g, sides.u);
    };
    const auto run = [&](uint32_t i, uint32_t first, uint32_t end) {  // the same for all threads of the block
        const Sides sides = sides_of(g, h, pairs, num_vertices, i);
        const bool left = sides.left_is_smaller();
        const uint32_t parts = left ? buckets(g, sides.u) : buckets(h, sides.v);
        out_t sum = 0;
        uint32_t passes = 1;
        while (passes * (MANY / 2) < sides.smaller()) passes *= 2;
        const auto probe = [&](uint32_t x, long long slot, const IdSet& set) {
            const int at = slot_of(set, x);
            if (at >= 0) sum += value_of(pairs.begin + i, sides.u, sides.v, x SLOTS_OF(left, set, at, slot) ARGS);
        };
        for (uint32_t pass = 0; pass < passes;) {
            const IdSet set = set_for(slots, places, MANY_BUCKETS, MANY_BUCKETS);
            __syncthreads();  // the set of the previous pass is not used any more
            clear_set(set, threadIdx.x, BLOCK);
            if (threadIdx.x == 0) members = 0;
            __syncthreads();
            const auto add = [&](uint32_t x, long long slot) {
                if (pass_of(x, passes) == pass && atomicAdd(&members, 1u) < MANY) insert_id(set, x, slot);
            };
            for (uint32_t k = warp; k < parts; k += WARPS) {
                if (left) for_bucket<32>(g, sides.u, k, lane, add);
                else for_bucket<32>(h, sides.v, k, lane, add);
            }
            __syncthreads();
            if (members > MANY) {
                passes *= 2, pass *= 2;
                continue;
            }
            const auto look_up = [&](uint32_t x, long long slot) { probe(x, slot, set); };
            for (uint32_t k = first + warp; k < end; k += WARPS) {
                if (left) for_bucket<32>(h, sides.v, k, lane, look_up);
                else for_bucket<32>(g, sides.u, k, lane, look_up);
            }
            ++pass;
        }
        __syncwarp();
        if (total) {
            mine += sum;
        } else {
            sum = tile_reduce<32>(sum);
            if (lane == 0 && sum != out_t(0)) atomic_sum(out + i, sum);
        }
    };
    for_pair_runs(list, blockIdx.x, gridDim.x, LEAST, parts_of, run);
    if (total) add_block_sum(out, mine);
    FINISH
}
