// Connected components of a whole graph in one cooperative launch: Afforest (see connect.py). A union-find that is flat at the
// start is flat at the end. Unions run without order by compare-and-swap; the sets do not depend on it.
#include "rounds.cuh"
#include "union_find.cuh"

constexpr int TILE = 8;  // lanes that share a vertex in the last pass

// Every element's root becomes its parent. One thread per vertex; between two barriers.
__device__ __forceinline__ void flatten(uint32_t* parent, uint32_t n) {
    for (uint32_t v = thread_id(); v < n; v += thread_count()) flatten_one(parent, v);
}

// One of the neighbours in the first bucket of v, at random, but the same in every run; v if it has none.
__device__ __forceinline__ uint32_t random_neighbor(const View& g, uint32_t v, uint32_t round) {
    const uint32_t salt = (v + round) * 0x9E3779B1u + round;
    uint32_t chosen = v, least = EMPTY;
    if (buckets(g, v) == 0) return v;
    for_bucket<1>(g, v, 0, 0, [&](uint32_t w, long long) {
        uint32_t draw = (w ^ salt) * 0x85EBCA6Bu;
        draw = (draw ^ (draw >> 15)) * 0xC2B2AE35u;
        if (draw <= least) least = draw, chosen = w;
    });
    return chosen;
}

// The label that most of SAMPLES vertices, spread evenly, have; by block 0.
__device__ __forceinline__ void find_largest(const uint32_t* parent, uint32_t n, uint32_t* largest) {
    __shared__ uint32_t label[SAMPLES];
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) best = 0;
    for (uint32_t i = threadIdx.x; i < SAMPLES; i += blockDim.x) label[i] = parent[(unsigned long long)i * n / SAMPLES];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < SAMPLES; i += blockDim.x) {
        uint32_t same = 0;
        for (uint32_t j = 0; j < SAMPLES; ++j) same += label[j] == label[i];
        atomicMax(&best, ((unsigned long long)same << 32) | (0xFFFFFFFFu - label[i]));  // of equal ones the smallest
    }
    __syncthreads();
    if (threadIdx.x == 0) *largest = 0xFFFFFFFFu - uint32_t(best);
}

// parent uint32[n], n > 0; g: out-edges, h: in-edges if `both` is 1. First every vertex is united with a random neighbour, SAMPLED
// times, each time followed by flattening: neighbours at fixed places could all lie in one direction of a grid. Then all others, but not of the vertices that
// are in the largest set by then, if `skips`: their arcs are met from the other side. One thread, then a tile, per vertex.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3)
connect(View g, View h, int both, int skips, uint32_t n, uint32_t* parent, uint32_t* largest, RoundState* state) {
    Rounds r = {state, nullptr, {nullptr, nullptr}, 0, 0, 0, 0};
    for (uint32_t round = 0; round < SAMPLED; ++round) {
        for (uint32_t v = thread_id(); v < n; v += thread_count()) unite(parent, v, random_neighbor(g, v, round));
        grid_barrier(r);
        flatten(parent, n);
        grid_barrier(r);
    }
    if (blockIdx.x == 0) find_largest(parent, n, largest);
    grid_barrier(r);
    const uint32_t most = skips ? *largest : EMPTY;
    const int lane = threadIdx.x % TILE;
    for (uint32_t v = thread_id() / TILE; v < n; v += thread_count() / TILE) {
        if (fresh(parent[v]) == most) continue;
        for_neighbors<TILE>(g, v, lane, [&](uint32_t w, long long) { unite(parent, v, w); });
        if (both) for_neighbors<TILE>(h, v, lane, [&](uint32_t w, long long) { unite(parent, v, w); });
    }
    grid_barrier(r);
    flatten(parent, n);
}
