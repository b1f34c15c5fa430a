// Batched queries. With UNVALIDATED 1 the batch is as the caller gave it (see ingest.cuh), each edge is checked as it is
// looked up, and bad ones are not found; with UNVALIDATED 0 it was checked before.
#include "slab.cuh"

// Load edge i; false if there is none, or if it is bad.
__device__ __forceinline__ bool load_edge(const Arguments<Query>& a, long long i, uint32_t& u, uint32_t& v, bool& bad) {
    if (i >= a.batch.n) return false;
#if UNVALIDATED
    if (!as_edge(a.given, i, entry_of(a.given, i), u, v)) {
        bad = true;
        return false;
    }
#else
    u = a.batch.src[i];
    v = a.batch.dst[i];
#endif
    return true;
}

// Look edges up, in grid stride; a tile has the slabs of IN_FLIGHT rounds in flight at a time. Reads only, but for bad
// entries. Does not synchronise.
extern "C" __global__ void __launch_bounds__(BLOCK, 8) find(const __grid_constant__ Arguments<Query> a) {
    const View& g = a.g;
    const Query& b = a.batch;
    const Tile t;
    constexpr int AHEAD = IN_FLIGHT < SLAB_LANES ? IN_FLIGHT : SLAB_LANES;
    const int lane = threadIdx.x & 31, share = int(b.share), rounds = share / TILES;
#if UNVALIDATED
    if (blockIdx.x == 0 && threadIdx.x == 0) begin_call(a.given);
#endif
    bool bad = false;
    for (long long base = warp_index() * share; base < b.n; base += warp_count() * share) {
        uint32_t u, v = 0, slab = EMPTY;
        const bool there = lane < share && load_edge(a, base + lane, u, v, bad);
        if (there) slab = look_up(g, u, v);
        bool found = false;
        while (__any_sync(WARP, slab != EMPTY)) {
            uint32_t after = EMPTY;
#pragma unroll 1
            for (int r = 0; r < rounds; r += AHEAD) {
                LaneWords q[AHEAD];
                uint32_t at[AHEAD];
#pragma unroll
                for (int p = 0; p < AHEAD; ++p) {
                    at[p] = __shfl_sync(WARP, slab, edge_lane(t, r + p));
                    q[p] = filled_words(EMPTY);
                    if (r + p < rounds && at[p] != EMPTY)
                        q[p] = read_words(g.pool + (long long)at[p] * SLAB_WORDS, t.lane);
                }
#pragma unroll
                for (int p = 0; p < AHEAD; ++p) {
                    const int from = edge_lane(t, r + p);
                    const uint32_t hit = match_mask(q[p], t.lane, __shfl_sync(WARP, v, from));
                    const uint32_t next = __shfl_sync(WARP, q[p].word[LINK_WORD], serving_lane() + LINK_LANE);
                    const bool hits = voted(r + p, hit);
                    if (lane / TILES == r + p) after = hits ? EMPTY : next;
                    found |= hits;
#if WEIGHT_WORDS
                    const long long slot = (long long)at[p] * SLAB_WORDS + t.lane * LANE_WORDS + __ffs(hit) - 1;
                    if (hit) b.result[base + from] = *weight_at(g, slot);
#endif
                }
            }
            slab = after;
        }
        if (lane < share && base + lane < b.n) b.found[base + lane] = found;
    }
#if UNVALIDATED
    if (!bad) return;  // else find the bad entries, which may take its time
    for (long long base = warp_index() * share; base < b.n; base += warp_count() * share)
        if (lane < share && base + lane < b.n) check_entry(a.given, base + lane, load_entry(a.given, base + lane));
#endif
}
