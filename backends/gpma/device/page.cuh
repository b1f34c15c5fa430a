// Rebalancing within a page, by a warp that owns it: 32 leaves, a lane for each when segments are planned, and a lane for each slot
// when they are merged. Everything that a batch changes in the page is done here, in registers and shared memory, without other warps;
// a page that needs a larger segment waits for the others. See rest.cuh.
#pragma once
#include "entries.cuh"

constexpr int PAGE_BITS = LEAF_BITS + PAGE_LEVEL;

struct PageMemory {
    uint32_t words[PAGE * LEAF];  // the entries of a segment, one behind the other
    uint32_t fresh[PAGE];  // a bit per entry
    uint32_t changes[PAGE];  // of each leaf
};

// Consecutive leaves of the page, and the new entries that go there.
struct Segment {
    long long begin;  // leaf
    uint32_t leaves, total;  // `total` entries, with the new ones
    uint32_t in_page;  // number of the first leaf within the page
    long long first;  // new entry: an index into Update::places
};

// Warp: the number of lanes whose value, of ascending ones, is at most the calling lane's number. `count` lanes have one.
__device__ __forceinline__ uint32_t values_up_to_lane(uint32_t value, uint32_t count) {
    const uint32_t lane = lane_id();
    uint32_t below = 0;
    if (count <= 4) {
        for (uint32_t q = 0; q < count; ++q) below += __shfl_sync(ALL, value, q) <= lane;
        return below;
    }
    for (uint32_t step = 16; step > 0; step /= 2)
        if (__shfl_sync(ALL, value, below + step - 1) <= lane) below += step;
    return below + (__shfl_sync(ALL, value, below) <= lane);
}

// Warp: call old(rank, slot, v) for the entries of a segment and come(rank, k) for the new ones, in any order; `rank` is the place
// among both. No slot may change meanwhile.
template <class Old, class New>
__device__ __forceinline__ void for_entries(const Graph& g, const Update& c, const Segment& s, const PageMemory& shared,
                                            Old&& old, New&& come) {
    const uint32_t lane = lane_id(), below = lanes_below(lane);
    long long from = s.begin << LEAF_BITS, k = s.first;
    uint32_t rank = 0, ahead = g.dst[from + lane];
    for (uint32_t j = 0; j < s.leaves; ++j, from += LEAF) {
        const uint32_t v = ahead, more = c.deleting ? 0 : shared.changes[s.in_page + j];
        if (j + 1 < s.leaves) ahead = g.dst[from + LEAF + lane];
        const uint32_t live = __ballot_sync(ALL, v != EMPTY);
        uint32_t before = 0;  // new entries before that of this lane
        for (uint32_t done = 0; done < more; done += 32) {
            const uint32_t count = min(32u, more - done);
            const uint32_t at = lane < count ? uint32_t(c.places[k + done + lane] - from) : LEAF;
            before += values_up_to_lane(at, count);
            if (lane < count) come(rank + done + lane + __popc(live & lanes_below(at)), k + done + lane);
        }
        if (v != EMPTY) old(rank + __popc(live & below) + before, from + lane, v);
        rank += __popc(live) + more;
        k += more;
    }
}

// Leaf j of a segment gets the entries [first, stop).
struct Share {
    uint32_t first, stop;
};
__device__ __forceinline__ Share share_of(const Segment& s, uint32_t j) {
    return {s.total * j / s.leaves, s.total * (j + 1) / s.leaves};
}

#if WEIGHT_BITS
// Warp: move the weights of a segment, 32 bits of them at a time.
__device__ __forceinline__ void merge_weights(const Graph& g, const Update& c, const Segment& s, PageMemory& shared) {
    constexpr int WORDS = WEIGHT_BITS / 32;
    const uint32_t lane = lane_id();
    uint32_t* const weight = reinterpret_cast<uint32_t*>(g.weight);
    const uint32_t* const batch = reinterpret_cast<const uint32_t*>(c.batch_weight);
    for (int part = 0; part < WORDS; ++part) {
        for_entries(
            g, c, s, shared,
            [&](uint32_t rank, long long slot, uint32_t) { shared.words[rank] = weight[WORDS * slot + part]; },
            [&](uint32_t rank, long long k) {
                shared.words[rank] = batch[WORDS * (long long)c.order[c.items[k]] + part];
            });
        __syncwarp();
        for (uint32_t j = 0; j < s.leaves; ++j) {
            const Share share = share_of(s, j);
            const long long slot = ((s.begin + j) << LEAF_BITS) + lane;
            if (share.first + lane < share.stop) weight[WORDS * slot + part] = shared.words[share.first + lane];
        }
        __syncwarp();
    }
}
#endif

// Warp: merge the new entries into a segment, spread evenly. Slots are written last: they say where everything is.
__device__ __forceinline__ void merge_segment(const Graph& g, const Update& c, const Segment& s, PageMemory& shared) {
    const uint32_t lane = lane_id();
#if WEIGHT_BITS
    merge_weights(g, c, s, shared);
#endif
    if (g.fresh) shared.fresh[lane] = 0;
    __syncwarp();
    for_entries(
        g, c, s, shared,
        [&](uint32_t rank, long long slot, uint32_t v) {
            shared.words[rank] = v;
            if (g.fresh && g.fresh[slot >> LEAF_BITS] >> lane & 1u) atomicOr(&shared.fresh[rank / 32], 1u << rank % 32);
        },
        [&](uint32_t rank, long long k) {
            shared.words[rank] = uint32_t(c.keys[c.items[k]]);
            if (g.fresh) atomicOr(&shared.fresh[rank / 32], 1u << rank % 32);
        });
    uint32_t owner = g.owner[s.begin];
    __syncwarp();
    for (uint32_t j = 0; j < s.leaves; ++j) {
        const Share share = share_of(s, j);
        const long long leaf = s.begin + j, slot = (leaf << LEAF_BITS) + lane;
        const uint32_t at = share.first + lane, v = at < share.stop ? shared.words[at] : EMPTY;
        const uint32_t guards = __ballot_sync(ALL, v == GUARD);
        const bool is_fresh = g.fresh && at < share.stop && shared.fresh[at / 32] >> at % 32 & 1u;
        const uint32_t fresh = __ballot_sync(ALL, is_fresh);
        g.dst[slot] = v;
        if (v == GUARD) g.guard[(long long)owner + __popc(guards & lanes_below(lane)) + 1] = slot;
        if (lane == 0) {
            g.owner[leaf] = owner;
            g.guards[leaf] = guards;
            g.head[leaf] = shared.words[share.first];
            g.count[leaf] = uint8_t(share.stop - share.first);
            if (g.fresh) g.fresh[leaf] = fresh;
        }
        owner += __popc(guards);
    }
    __syncwarp();
}

// Warp: list the changes of a page, whose first entry in the batch is `first`, from there on, and count them by leaf; deleted edges
// become gaps. Returns their number.
__device__ __forceinline__ uint32_t list_changes(const Graph& g, const Update& c, long long page, long long first,
                                                 PageMemory& shared) {
    const uint32_t lane = lane_id();
    uint32_t count = 0;
    shared.changes[lane] = 0;
    __syncwarp();
    for (long long at = first;; at += 32) {
        const long long i = at + lane, place = i < c.size ? c.slot[i] : -1;
        const bool inside = place >> PAGE_BITS == page, changes = inside && c.kind[i] == wanted(c);
        const uint32_t lanes = __ballot_sync(ALL, changes);
        if (changes) {
            const long long k = first + count + __popc(lanes & lanes_below(lane)), leaf = place >> LEAF_BITS;
            c.places[k] = place;
            c.items[k] = uint32_t(i);
            atomicAdd(&shared.changes[leaf & (PAGE - 1)], 1u);
            if (c.deleting) {
                g.dst[place] = EMPTY;
                if (g.fresh) atomicAnd(&g.fresh[leaf], ~(1u << (place & (LEAF - 1))));
            }
        }
        count += __popc(lanes);
        if (__ballot_sync(ALL, inside) != ALL) break;
    }
    __syncwarp();
    return count;
}

// The level of the segment that each leaf of a page, a lane's, belongs to; NOTHING: it stays as it is. All lanes: TOO_LARGE.
constexpr int NOTHING = -1, TOO_LARGE = 255;

// Warp: `entries` of each leaf, with the new ones; `changes` of them or, deleted, gone. Each changed leaf climbs to the lowest segment
// that is not too full (or, once edges are gone, not too empty); of segments within each other the largest is taken.
__device__ __forceinline__ int plan_page(const Graph& g, bool deleting, uint32_t leaves, uint32_t entries,
                                         uint32_t changes) {
    const uint32_t lane = lane_id();
    const int height = height_of(g.leaves);
    bool climbs = changes != 0;
    int result = NOTHING;
    uint32_t sum = entries;
    for (int level = 0; level <= int(PAGE_LEVEL); ++level) {
        if (level) sum += __shfl_xor_sync(ALL, sum, 1 << (level - 1));
        const uint32_t begin = lane >> level << level;
        bool settles = climbs;
        if (climbs && level < height) {
            const uint32_t slots = (min(begin + (1u << level), leaves) - begin) << LEAF_BITS;
            settles = deleting ? sum >= least_in(slots, level, height) : sum <= most_in(slots, level, height);
        }
        const uint32_t group = (level < 5 ? lanes_below(1u << level) : ALL) << begin;
        if (__ballot_sync(ALL, settles) & group) result = level;
        climbs = climbs && !settles;
    }
    if (__ballot_sync(ALL, climbs)) return TOO_LARGE;
    return deleting && result == 0 ? NOTHING : result;
}

// Warp: the sum of values of this and lower lanes.
__device__ __forceinline__ uint32_t sum_up_to_lane(uint32_t value) {
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL, value, step);
        if (lane_id() >= step) value += other;
    }
    return value;
}

// Warp: do in a page what the batch, whose first entry there is `first`, wants, or let it wait. Returns the number of entries moved.
__device__ __forceinline__ uint32_t rebalance_page(const Graph& g, const Update& c, long long page, long long first,
                                                   PageMemory& shared) {
    const uint32_t lane = lane_id();
    const long long begin = page << PAGE_LEVEL;
    const uint32_t leaves = uint32_t(min((long long)PAGE, g.leaves - begin));
    const bool walks = first + MOST_WALKED >= c.size || c.slot[first + MOST_WALKED] >> PAGE_BITS != page;
    int level = TOO_LARGE;
    uint32_t changes = 0, entries = 0;
    if (walks) {
        if (!list_changes(g, c, page, first, shared)) return 0;
        if (lane < leaves) {
            changes = shared.changes[lane];
            entries = c.deleting ? g.count[begin + lane] - changes : g.count[begin + lane] + changes;
            if (c.deleting) g.count[begin + lane] = uint8_t(entries);
        }
        level = plan_page(g, c.deleting, leaves, entries, changes);
    }
    if (level == TOO_LARGE) {
        if (lane == 0) {
            g.planned[page] = walks ? WAITS : WAITS | UNWALKED;
            *(volatile uint32_t*)&g.work->waiting = 1;
        }
        return 0;
    }
    const uint32_t changes_behind = sum_up_to_lane(changes), entries_behind = sum_up_to_lane(entries);
    const bool is_first = level != NOTHING && lane < leaves && (lane & ((1u << level) - 1)) == 0;
    uint32_t moved = 0;
    for (uint32_t heads = __ballot_sync(ALL, is_first); heads; heads &= heads - 1) {
        const uint32_t from = __ffs(heads) - 1, size = 1u << __shfl_sync(ALL, level, from);
        const uint32_t last = min(from + size, leaves) - 1;
        const uint32_t before = __shfl_sync(ALL, changes_behind - changes, from);
        const uint32_t come = __shfl_sync(ALL, changes_behind, last) - before;
        const uint32_t total =
            __shfl_sync(ALL, entries_behind, last) - __shfl_sync(ALL, entries_behind - entries, from);
        merge_segment(g, c, {begin + from, last + 1 - from, total, from, first + before}, shared);
        moved += c.deleting ? total : total - come;
    }
    return moved;
}

// Grid: all pages that the batch changes. The warp that meets the first entry of a page rebalances it. `moved`, in shared memory, is zero
// before.
__device__ __forceinline__ void rebalance_pages(const Graph& g, const Update& c, PageMemory& shared, uint32_t& moved) {
    const uint32_t lane = lane_id();
    const long long warps = thread_count() / 32, number = thread_id() / 32;
    const long long share = min(32ll, (c.size + warps - 1) / warps);  // entries that a warp looks at together
    uint32_t own = 0;
    for (long long start = number * share; start < c.size; start += warps * share) {
        const long long k = start + lane;
        const bool serves = lane < share && k < c.size;
        const long long page = serves ? c.slot[k] >> PAGE_BITS : -1;
        const bool is_first = serves && (k == 0 || c.slot[k - 1] >> PAGE_BITS != page);
        for (uint32_t firsts = __ballot_sync(ALL, is_first); firsts; firsts &= firsts - 1) {
            const int from = __ffs(firsts) - 1;
            own += rebalance_page(g, c, __shfl_sync(ALL, page, from), start + from, shared);
        }
    }
    if (lane == 0 && own) atomicAdd(&moved, own);
    __syncthreads();
    if (threadIdx.x == 0 && moved) atomicAdd((unsigned long long*)&g.counters[MOVED], (unsigned long long)moved);
}
