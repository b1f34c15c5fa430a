// Maintenance of all storage: moving and freeing. No kernel waits for the host or for other blocks, or uses a barrier of the block.
#include "move.cuh"

// Copy all edges of `old` to the buckets of g. A mover (KEY_LANES lanes) per slab, in address order.
extern "C" __global__ void __launch_bounds__(BLOCK) move_edges(View old, View g) {
    const Mover m;
    const long long bump = old.counters[BUMP];
    for (long long base = warp_index() * MOVERS; base < bump; base += warp_count() * MOVERS) {
        const long long slab = base + m.index();
        const uint32_t u = slab < bump ? old.owner[slab] : EMPTY;
        const bool active = u != EMPTY;
        const Buckets buckets = active ? buckets_of(g, u) : Buckets{0, 1};
        move_slab(old, m, active, uint32_t(slab), g, u, buckets.head, buckets.count);
    }
}

// Forget what was inserted since the mark: a thread per touched slab, grid-stride; no atomics.
extern "C" __global__ void forget_touched(View g) {
    const long long count = g.counters[TOUCHED];
    for (long long i = thread_index(); i < count; i += grid_size()) g.fresh[g.touched[i]] = 0;
}

// Tile: clean and free the chains with heads begin to `end`; the warp together.
__device__ __forceinline__ void release_chains(const View& g, const Tile& t, uint32_t begin, uint32_t end) {
    uint32_t freed = 0, head = begin, slab = begin < end ? begin : EMPTY;
    while (__any_sync(WARP, slab != EMPTY)) {
        const bool active = slab != EMPTY;
        const uint32_t next = active ? load_word(g.pool + (long long)slab * SLAB_WORDS + SLAB_KEYS) : EMPTY;
        wipe_slab(g, t, active, slab);
        freed += __popc(__ballot_sync(WARP, active && t.lane == 0));
        slab = active && next == EMPTY && ++head < end ? head : next;
    }
    count_freed(g, freed);
}

// Number of sections of SECTION_BUCKETS buckets of distinct vertices (uint32[n]). A thread per vertex.
extern "C" __global__ void count_sections(View g, const uint32_t* vertices, long long n, long long* counts) {
    for (long long i = thread_index(); i < n; i += grid_size())
        counts[i] = (stored_buckets(buckets_of(g, vertices[i])) + SECTION_BUCKETS - 1) / SECTION_BUCKETS;
}

// Free the chains of distinct vertices; `ends` are the running sums of their sections. A tile per section, found by
// binary search: a heavy vertex is split between many tiles.
extern "C" __global__ void __launch_bounds__(BLOCK) free_sections(View g, const uint32_t* vertices,
                                                                  const long long* ends, long long n) {
    const Tile t;
    const long long total = ends[n - 1];
    for (long long base = warp_index() * TILES; base < total; base += warp_count() * TILES) {
        const long long section = base + t.index();
        uint32_t begin = 0, end = 0;
        if (section < total) {
            long long low = 0, high = n - 1;  // the first vertex whose sections end behind this one
            while (low < high) {
                const long long middle = (low + high) >> 1;
                if (ends[middle] > section) high = middle;
                else low = middle + 1;
            }
            const Buckets buckets = buckets_of(g, vertices[low]);
            const uint32_t from = uint32_t(section - (low ? ends[low - 1] : 0)) * SECTION_BUCKETS;
            begin = buckets.head + from;
            end = buckets.head + min(buckets.count, from + SECTION_BUCKETS);
        }
        release_chains(g, t, begin, end);
    }
}

// Leave distinct vertices without storage, after free_sections. A thread per vertex.
extern "C" __global__ void forget_vertices(View g, const uint32_t* vertices, long long n) {
    for (long long i = thread_index(); i < n; i += grid_size()) {
        const uint32_t v = vertices[i];
        *head_word(g, v) = inverted(EMPTY);
        *degree_word(g, v) = 0;
        g.buckets[v] = 0;
    }
}

// Write the free slabs below the bump counter to `list`, in any order; cursor is a zeroed uint32[1]. A thread per slab,
// one atomic per warp.
extern "C" __global__ void list_free(View g, uint32_t* list, uint32_t* cursor) {
    const long long bump = g.counters[BUMP];
    const int lane = threadIdx.x & 31;
    for (long long base = warp_index() * 32; base < bump; base += warp_count() * 32) {
        const bool free = base + lane < bump && g.owner[base + lane] == EMPTY;
        const uint32_t who = __ballot_sync(WARP, free);
        uint32_t at = 0;
        if (lane == 0 && who) at = atomicAdd(cursor, __popc(who));
        at = __shfl_sync(WARP, at, 0) + __popc(who & ((1u << lane) - 1u));
        if (free) list[at] = uint32_t(base + lane);
    }
}
