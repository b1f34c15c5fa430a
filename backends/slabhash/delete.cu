// Batched deletion. With RAW 1 the batch is as the caller gave it (see ingest.cuh) and is checked and copied first, in the
// same cooperative launch, and the first heads are asked for; with RAW 0 it has been checked. Arrays: src, dst uint32[n],
// status uint8[n], before bits_t[n].
#include "slabs.cuh"
#if RAW
#include "raw.cuh"
#endif

struct Deletion {
    uint32_t* src;
    uint32_t* dst;
    const uint32_t* guard;  // RAW 0: null, or not zero: nothing is to be changed
    uint8_t* status;
    bits_t* before;
    long long n;
    long long share;
};

static_assert(sizeof(Deletion) == BATCH_BYTES, "cuda.py packs it");

struct Arguments {
    View g;
    Deletion batch;
#if RAW
    Raw raw;
#endif
};

// Turn the keys of the edges into TOMBSTONE, in grid stride. One compare-and-swap per edge found, whose winner reports
// REMOVED, however often the edge is in the batch; one atomic per distinct source of a warp keeps the degrees exact. All
// edges are UNCHANGED if the batch is refused. One grid-wide barrier with RAW, else none.
extern "C" __global__ void __launch_bounds__(256, 8) erase(const __grid_constant__ Arguments a) {
    const View& g = a.g;
    const Deletion& b = a.batch;
    const Tile t;
    const int lane = threadIdx.x & 31, share = int(b.share), rounds = share / TILES;
    const long long first = warp_index() * share;
    uint32_t u = 0, v = 0, slab = EMPTY;
#if RAW
    const bool alone = warp_count() * share >= b.n;
    const First own = look_at(a.raw, lane < share ? first + lane : b.n, b.n);
    const uint32_t arrived = take_batch<1>(g, a.raw, Copies{b.src, b.dst}, alone, own);
    u = own.u, v = own.v;
    if (own.good) slab = look_up(g, u, v);
    const bool barred = is_refused(g, a.raw, alone, arrived);
#else
    const bool barred = b.guard && *b.guard;
#endif
    for (long long base = first; base < b.n; base += warp_count() * share) {
        const bool there = lane < share && base + lane < b.n;
        if (there && !barred && !(RAW && base == first)) {
            u = __ldcs(b.src + base + lane);
            v = __ldcs(b.dst + base + lane);
            slab = look_up(g, u, v);
        }
        if (!there || barred) slab = EMPTY;
        bool removed = false;
#pragma unroll 1
        for (int r = 0; r < rounds; ++r) {
            const int from = edge_lane(t, r);
            const uint32_t key = __shfl_sync(WARP, v, from);
            uint32_t at = __shfl_sync(WARP, slab, from);
            bool mine = false;
            while (__any_sync(WARP, at != EMPTY)) {
                const long long first = (long long)at * SLAB_WORDS;
                Part q = filled_part(EMPTY);
                if (at != EMPTY) q = load_part(g.pool + first, t.lane);
                const uint32_t next = __shfl_sync(WARP, q.word[LINK_PART], t.shift + LINK_LANE);
                const uint32_t hit = at == EMPTY ? 0u : match_mask(q, t.lane, key);
                const uint32_t hits = tile_ballot(t, hit);
                if (hit) {
                    const long long slot = first + t.lane * LANE_WORDS + __ffs(hit) - 1;
#if WEIGHT_WORDS
                    b.before[base + from] = *weight_at(g, slot);  // the same for all duplicates
#endif
                    mine = atomicCAS(g.pool + slot, key, TOMBSTONE) == key;
                }
                at = hits ? EMPTY : next;
            }
            removed |= voted(r, mine);
        }
        if (there) __stcs(b.status + base + lane, removed ? REMOVED : UNCHANGED);
        add_per_place(degree_word(g, u), __match_any_sync(WARP, u), removed, 0xFFFFFFFFu);
    }
}
