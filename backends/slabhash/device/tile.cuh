// Tiles and warps: who works on what, votes, and loads and stores that other blocks see.
//
// A tile of SLAB_LANES lanes works on one slab; the tiles of a warp advance in step: every function that takes a Tile,
// or says "warp", must be called by all 32 lanes together, with idle tiles told so by an argument. So every sync
// primitive has the full mask, whatever the tiles are doing.
//
// A warp takes `share` edges of a batch at a time, a multiple of TILES up to 32. Each lane looks up the head slab of one
// edge, so that all are under way at once; then, in share / TILES rounds, the tiles serve the edges: in round r the k-th
// tile that of lane r * TILES + k. Small batches have a share of TILES, so that they spread over the device, and so have
// slabs of two lanes or less, which have tiles enough.
#pragma once
#include "layout.cuh"

constexpr uint32_t WARP = 0xFFFFFFFFu;
constexpr int TILES = 32 / SLAB_LANES;  // tiles of a warp
constexpr uint32_t TILE_BITS = WARP >> (32 - SLAB_LANES);
constexpr int KEY_LANES =
    SLAB_KEYS < 4    ? 4
    : SLAB_KEYS < 8  ? 8
    : SLAB_KEYS < 16 ? 16
                     : 32;  // one per key, one for the link
constexpr int MOVERS = 32 / KEY_LANES;

template <int LANES>
struct Lanes {
    int lane;  // of the group
    int shift;  // first lane of the group in the warp
    __device__ Lanes() : lane(threadIdx.x % LANES), shift((threadIdx.x & 31) - threadIdx.x % LANES) {}
    __device__ int index() const { return shift / LANES; }
};
typedef Lanes<SLAB_LANES> Tile;  // works on a slab with LANE_WORDS words to a lane
typedef Lanes<KEY_LANES> Mover;  // empties a slab, with one word to a lane

__device__ __forceinline__ long long thread_index() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ long long grid_size() { return (long long)gridDim.x * blockDim.x; }
__device__ __forceinline__ long long warp_index() { return thread_index() >> 5; }
__device__ __forceinline__ long long warp_count() { return grid_size() >> 5; }

__device__ __forceinline__ uint32_t tile_ballot(const Tile& t, bool p) {
    return (__ballot_sync(WARP, p) >> t.shift) & TILE_BITS;
}

// Lane of the warp whose edge the tile serves in round r.
__device__ __forceinline__ int edge_lane(const Tile& t, int r) { return r * TILES + t.index(); }

// Lane that holds the result for this lane's edge after round lane / TILES: the first of tile lane % TILES.
__device__ __forceinline__ int serving_lane() { return (threadIdx.x & 31) % TILES * SLAB_LANES; }

// Warp: whether the lane's edge was served in round r, and the tile voted for it.
__device__ __forceinline__ bool voted(int r, bool p) {
    const uint32_t votes = __ballot_sync(WARP, p);
    return (threadIdx.x & 31) / TILES == r && votes >> serving_lane() & TILE_BITS;
}

// Warp: sum over the lanes, in every lane.
template <class T>
__device__ __forceinline__ T warp_sum(T x) {
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(WARP, x, d);
    return x;
}

// Warp: give each lane `x` places of the counter that its group of WIDTH lanes shares; returns the first. One atomic per
// group, by the lane that knows the sum.
template <int WIDTH, class Counter, class T>
__device__ __forceinline__ Counter reserve(Counter* counter, T x) {
    const int lane = threadIdx.x & (WIDTH - 1);
    T sum = x;  // over the lanes up to this one
    for (int d = 1; d < WIDTH; d <<= 1) {
        T below = __shfl_up_sync(WARP, sum, d, WIDTH);
        if (lane >= d) sum += below;
    }
    Counter base = 0;
    if (lane == WIDTH - 1 && sum) base = atomicAdd(counter, Counter(sum));
    return __shfl_sync(WARP, base, WIDTH - 1, WIDTH) + sum - x;
}

// Loads and stores that see, and are seen by, the atomics of other blocks in the same kernel (they go to L2).
__device__ __forceinline__ uint32_t load_word(const uint32_t* p) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    return word;
}
__device__ __forceinline__ void store_word(uint32_t* p, uint32_t word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(word) : "memory");
}

// Per-thread atomicAdd in PTX, to keep the compiler from aggregating it across the warp and waiting for the result.
__device__ __forceinline__ uint32_t add_to_word(uint32_t* p, uint32_t more) {
    uint32_t before;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(more) : "memory");
    return before;
}

// Two words that lie side by side, in one load.
__device__ __forceinline__ uint64_t load_pair(const uint32_t* p) {
    uint64_t words;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words) : "l"(p) : "memory");
    return words;
}

// Warp: add `step` to *place for each lane with `counted`; `peers` are the lanes of the same place. One atomic per
// distinct place, so that heavy vertices do not serialise.
__device__ __forceinline__ void add_per_place(uint32_t* place, uint32_t peers, bool counted, uint32_t step) {
    const uint32_t who = __ballot_sync(WARP, counted) & peers;
    if (counted && (threadIdx.x & 31) == __ffs(who) - 1) atomicAdd(place, step * __popc(who));
}
