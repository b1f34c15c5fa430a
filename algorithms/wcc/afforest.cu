// Connected components of a whole graph in one cooperative launch: Afforest (see afforest.py). A union-find that is flat at the
// start is flat at the end. Unions run without order by compare-and-swap; the sets do not depend on it.
#include "near_hub.cuh"

constexpr uint32_t HUB_SHARE = 256;  // a vertex with one in HUB_SHARE of all vertices as neighbours is a hub
constexpr uint32_t HUB_ROUNDS = 3;  // in which vertices are reached, after the neighbours of the hub
constexpr uint32_t FEW = 32;  // vertices left to unite are few if they are at most one in FEW of those reached, and
constexpr uint32_t HOPELESS = 8;  // too many if they are more than HOPELESS times as many
constexpr uint32_t FIRST = 1 << 16;  // vertices that are united before all others once sets are large
constexpr uint32_t AT_ONCE = 4;  // elements that a thread flattens at once, to have as many reads in flight

// Every element's root becomes its parent, as by flatten_one. AT_ONCE elements per thread; between two barriers.
__device__ __forceinline__ void flatten(volatile uint32_t* parent, uint32_t n) {
    const unsigned long long stride = thread_count();
    for (unsigned long long first = thread_id(); first < n; first += AT_ONCE * stride) {
        uint32_t p[AT_ONCE], above[AT_ONCE];
#pragma unroll
        for (uint32_t j = 0; j < AT_ONCE; ++j) p[j] = first + j * stride < n ? parent[first + j * stride] : 0;
#pragma unroll
        for (uint32_t j = 0; j < AT_ONCE; ++j) above[j] = parent[p[j]];
        for (bool more = true; more;) {
            more = false;
#pragma unroll
            for (uint32_t j = 0; j < AT_ONCE; ++j) {
                if (above[j] == p[j]) continue;  // a root (0 always is one)
                more = true;
                parent[first + j * stride] = above[j];  // at once: who comes by has half the way
                p[j] = above[j];
                above[j] = parent[p[j]];
            }
        }
    }
}

// A neighbour of v in its first bucket, or in a part of it if that is large; v if there is none. In round 0 the smallest, if it is
// smaller: to hook an element under a smaller one takes no other's place, so nobody has to try again. Later one at random, but the
// same in every run, so that vertices without smaller neighbours find others as well.
__device__ __forceinline__ uint32_t sampled_neighbor(const View& g, uint32_t v, uint32_t round) {
    const uint32_t salt = (v + round) * 0x9E3779B1u + round;
    uint32_t chosen = v, least = EMPTY;
    if (buckets(g, v) == 0) return v;
    const auto choose = [&](uint32_t w, long long) {
        if (w == v || (round == 0 && w > v)) return;
        uint32_t draw = (w ^ salt) * 0x85EBCA6Bu;
        draw = round == 0 ? w : (draw ^ (draw >> 15)) * 0xC2B2AE35u;
        if (draw < least) least = draw, chosen = w;
    };
#if LANES_ALONE
    if (degree(g, v) > WHOLE * buckets(g, v)) {
        for_bucket<SEARCH_LANES>(g, v, 0, round % SEARCH_LANES, choose);  // what falls to one of the lanes
        return chosen;
    }
#endif
    for_bucket<1>(g, v, 0, 0, choose);
    return chosen;
}

// Unite vertices [first, last), but those of the set `done`, with a neighbour each.
__device__ __forceinline__ void unite_some(const View& g, uint32_t* parent, uint32_t round, uint32_t done,
                                           uint32_t first, uint32_t last) {
    for (unsigned long long v = first + wide_thread_id(); v < last; v += thread_count()) {
        if (fresh(parent[v]) != done) unite(parent, uint32_t(v), sampled_neighbor(g, uint32_t(v), round));
    }
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

// What is found near a hub, in front of the bits: zero at launch, like the bits for round 0 behind it; those that each of
// HUB_ROUNDS rounds writes follow, a bit per vertex each.
struct NearHub {
    unsigned long long hub;  // the number of its neighbours above the complement of the vertex
    uint32_t reached[HUB_ROUNDS], left[HUB_ROUNDS];  // after each round: vertices, and others with neighbours
    uint32_t first[HUB_ROUNDS];  // the complement of the first vertex that is reached
};
static_assert(sizeof(NearHub) <= 4 * HUB_WORDS, "the host allocates the memory for it");

// If there is a hub, make one set of the vertices near it, with its smallest member in *largest; returns whether few others have neighbours.
// Rounds end early if that is so, or if hardly any vertex is reached. Each vertex is a set of its own before.
__device__ __forceinline__ bool unite_near_hub(const View& g, const View& h, int both, uint32_t n, uint32_t* parent,
                                               uint32_t* largest, NearHub* near, Rounds& r) {
    find_hub_of(g, h, both, 0, n, &near->hub);
    grid_barrier(r);
    const unsigned long long hub = counted(near->hub);
    if ((hub >> 32) * HUB_SHARE < n) return false;
    uint32_t* bits = reinterpret_cast<uint32_t*>(near) + HUB_WORDS;
    reach_from(g, h, both, uint32_t(~hub), bits);
    grid_barrier(r);
    bool few = false, more = true;
    uint32_t round = 0;
    for (; more; ++round) {
        uint32_t* const next = bits + (n + 31ull) / 32;
        const Reached all = reach_on(g, h, both, 0, n, bits, next);
        if (threadIdx.x == 0 && all.reached) {
            atomicAdd(&near->reached[round], all.reached);
            atomicMax(&near->first[round], ~all.first);
        }
        if (threadIdx.x == 0 && all.left) atomicAdd(&near->left[round], all.left);
        grid_barrier(r);
        const uint32_t reached = counted(near->reached[round]), left = counted(near->left[round]);
        few = left <= reached / FEW;
        more = !few && left / HOPELESS <= reached && round + 1 < HUB_ROUNDS;
        bits = next;
    }
    const uint32_t first = ~counted(near->first[round - 1]);
    for (unsigned long long v = thread_id(); v < n; v += thread_count())
        if (is_in(bits, uint32_t(v))) parent[v] = first;
    if (thread_id() == 0) *largest = first;
    grid_barrier(r);
    return few;
}

// parent uint32[n], n > 0; g: out-edges, h: in-edges if `both` is 1. With NEAR_HUB in `phases` the vertices near a hub come first; if few are
// left, sampling is left out. Sampling: every vertex is united with one neighbour, SAMPLED times, each time followed by flattening. At last
// every vertex is united with all. With `skips` those that are in the largest set by then are left out: their arcs are
// met from the other side. After the first time FIRST vertices from low on go before the others: their sets have small roots, so the
// largest set gets a root that few will replace; else very many would try to, one after another. One thread per vertex; in the end a
// tile for each of those that a warp has found, or the warp. Only vertices [low, high) have rows, with NEAR_HUB all. `phases`: SAMPLING, REST or
// both, so that sets of several graphs may be united in between; without SAMPLING parent is flat at the start.
extern "C" __global__ void __launch_bounds__(CONNECT_BLOCK, 3)
connect(View g, View h, int both, int skips, uint32_t n, uint32_t low, uint32_t high, int phases, uint32_t* parent,
        uint32_t* largest, RoundState* state) {
    Rounds r = {state, nullptr, {nullptr, nullptr}, 0, 0, 0, 0};
    NearHub* const near = reinterpret_cast<NearHub*>(reinterpret_cast<uint32_t*>(state) + ROUND_WORDS);
    const bool few = phases & NEAR_HUB && unite_near_hub(g, h, both, n, parent, largest, near, r);
    for (uint32_t round = few ? SAMPLED : phases & SAMPLING ? 0 : SAMPLED - 1; round < SAMPLED; ++round) {
        const uint32_t done = skips && round > 0 ? *largest : EMPTY;
        const uint32_t first = low + (round > 0 ? min(high - low, FIRST) : 0);
        if (phases & SAMPLING) {
            if (round > 0) {
                unite_some(g, parent, round, done, low, first);
                grid_barrier(r);
            }
            unite_some(g, parent, round, done, first, high);
            grid_barrier(r);
            flatten(parent, n);
            grid_barrier(r);
        }
        if (blockIdx.x == 0) find_largest(parent, n, largest);
        grid_barrier(r);
    }
    if (!(phases & REST)) return;
    const uint32_t most = skips ? *largest : EMPTY;
    unite_rest(g, h, both, low, high, parent, [&](uint32_t v) { return fresh(parent[v]) == most; });
    grid_barrier(r);
    flatten(parent, n);
}
