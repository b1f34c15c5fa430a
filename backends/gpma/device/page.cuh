// Rebalancing within a page, by a warp that owns it: 32 leaves, a lane for each. Everything that a batch changes in the page is done
// here, in registers and shared memory, without other warps; a page that needs a larger segment waits for the others. See rest.cuh.
#pragma once
#include "segment.cuh"

constexpr int PAGE_BITS = LEAF_BITS + PAGE_LEVEL;

// Ask for the line of an address, which is read later.
__device__ __forceinline__ void prefetch(const uint32_t* line) {
    asm volatile("prefetch.global.L2 [%0];" : : "l"(line));
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
        const uint32_t id = i < c.size ? uint32_t(c.keys[i]) : 0;
        const bool inside = place >> PAGE_BITS == page, changes = inside && c.kind[i] == wanted(c);
        const uint32_t lanes = __ballot_sync(ALL, changes);
        if (changes) {
            const uint32_t listed = count + __popc(lanes & lanes_below(lane));
            const long long k = first + listed, leaf = place >> LEAF_BITS;
            c.places[k] = place;
            c.items[k] = uint32_t(i);
            if (listed < LISTED) {
                shared.places[listed] = uint32_t(place & (PAGE * LEAF - 1));
                shared.ids[listed] = id;
            }
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
        bool may_stay = climbs;
        if (climbs && level < height) {
            const uint32_t slots = (min(begin + (1u << level), leaves) - begin) << LEAF_BITS;
            may_stay = deleting ? sum >= least_in(slots, level, height) : sum <= most_in(slots, level, height);
        }
        const uint32_t group = (level < 5 ? lanes_below(1u << level) : ALL) << begin;
        if (__ballot_sync(ALL, may_stay) & group) result = level;
        climbs = climbs && !may_stay;
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
    const uint32_t held = lane < leaves ? g.count[begin + lane] : 0;  // these are asked for early: each takes its time
    const uint32_t owner = lane < leaves ? g.owner[begin + lane] : 0;
    const bool walks = first + MOST_WALKED >= c.size || c.slot[first + MOST_WALKED] >> PAGE_BITS != page;
    int level = TOO_LARGE;
    uint32_t changes = 0, entries = 0;
    if (walks) {
        if (!list_changes(g, c, page, first, shared)) return 0;
        if (lane < leaves) {
            changes = shared.changes[lane];
            entries = c.deleting ? held - changes : held + changes;
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
    if (level != NOTHING && lane < leaves) prefetch(&g.dst[(begin + lane) << LEAF_BITS]);
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
        const uint32_t its_owner = __shfl_sync(ALL, owner, from);
        merge_segment(g, c, {begin + from, last + 1 - from, total, from, first + before, before, its_owner}, shared);
        moved += c.deleting ? total : total - come;
    }
    return moved;
}

// Grid: all pages that the batch changes. The warp that meets the first entry of a page rebalances it. `moved`, in shared memory, is zero
// before.
__device__ __forceinline__ void rebalance_pages(const Graph& g, const Update& c, PageMemory& shared, uint32_t& moved) {
    const uint32_t lane = lane_id();
    const long long warps = thread_count() / 32, number = thread_id() / 32;
    const long long rounds = (c.size + 32 * warps - 1) / (32 * warps);
    const long long share = (c.size + warps * rounds - 1) / (warps * rounds);  // entries that a warp looks at together
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
