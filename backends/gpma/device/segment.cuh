// Merging new entries into a segment of a page, by one warp in shared memory: a lane for each slot of a leaf.
#pragma once
#include "entries.cuh"

struct PageMemory {
    uint32_t words[PAGE * LEAF];  // the entries of a segment, one behind the other
    uint32_t fresh[PAGE];  // a bit per entry
    uint32_t changes[PAGE];  // of each leaf
    uint32_t places[LISTED], ids[LISTED];  // of the first changes: slot within the page, destination
};

// Consecutive leaves of the page, and the new entries that go there.
struct Segment {
    long long begin;  // leaf
    uint32_t leaves, total;  // `total` entries, with the new ones
    uint32_t in_page;  // number of the first leaf within the page
    long long first;  // new entry: an index into Update::places
    uint32_t before, owner;  // changes of the page before that one; owner of the first leaf
};

// Slot of new entry k within the page, and its destination.
__device__ __forceinline__ uint32_t place_of(const Update& c, const Segment& s, const PageMemory& shared, long long k) {
    const uint32_t listed = s.before + uint32_t(k - s.first);
    return listed < LISTED ? shared.places[listed] : uint32_t(c.places[k] & (PAGE * LEAF - 1));
}
__device__ __forceinline__ uint32_t id_of(const Update& c, const Segment& s, const PageMemory& shared, long long k) {
    const uint32_t listed = s.before + uint32_t(k - s.first);
    return listed < LISTED ? shared.ids[listed] : uint32_t(c.keys[c.items[k]]);
}

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

// Warp: call old(rank, slot, v) for the entries of a segment and come(rank, item) for the new ones, in any order; `rank` is the place
// among both, `item` what item(k) says, which is asked early. No slot may change meanwhile.
template <class Old, class Item, class New>
__device__ __forceinline__ void for_entries(const Graph& g, const Update& c, const Segment& s, const PageMemory& shared,
                                            Old&& old, Item&& item, New&& come) {
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
            const bool mine = lane < count;
            const uint32_t at = mine ? place_of(c, s, shared, k + done + lane) % LEAF : LEAF;
            const uint32_t value = mine ? item(k + done + lane) : 0;
            before += values_up_to_lane(at, count);
            if (mine) come(rank + done + lane + __popc(live & lanes_below(at)), value);
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
            [&](long long k) { return batch[WORDS * (long long)c.order[c.items[k]] + part]; },
            [&](uint32_t rank, uint32_t word) { shared.words[rank] = word; });
        __syncwarp();
        for (uint32_t j = 0; j < s.leaves; ++j) {
            const Share share = share_of(s, j);
            const long long slot = ((s.begin + j) << LEAF_BITS) + lane;
            if (share.first + lane < share.stop) weight[WORDS * slot + part] = shared.words[share.first + lane];
        }
        __syncwarp();
    }
}

// Warp: merge the new entries into a segment, spread evenly. Slots are written last: they say where everything is.
__device__ __forceinline__ void merge_segment(const Graph& g, const Update& c, const Segment& s, PageMemory& shared) {
    const uint32_t lane = lane_id();
    if (WEIGHT_BITS) merge_weights(g, c, s, shared);
    if (g.fresh) shared.fresh[lane] = 0;
    __syncwarp();
    for_entries(
        g, c, s, shared,
        [&](uint32_t rank, long long slot, uint32_t v) {
            shared.words[rank] = v;
            if (g.fresh && g.fresh[slot >> LEAF_BITS] >> lane & 1u) atomicOr(&shared.fresh[rank / 32], 1u << rank % 32);
        },
        [&](long long k) { return id_of(c, s, shared, k); },
        [&](uint32_t rank, uint32_t v) {
            shared.words[rank] = v;
            if (g.fresh) atomicOr(&shared.fresh[rank / 32], 1u << rank % 32);
        });
    uint32_t owner = s.owner;
    __syncwarp();
    for (uint32_t j = 0; j < s.leaves; ++j) {
        const Share share = share_of(s, j);
        const uint32_t at = share.first + lane, v = at < share.stop ? shared.words[at] : EMPTY;
        const uint32_t guards = __ballot_sync(ALL, v == GUARD);
        const bool is_fresh = g.fresh && at < share.stop && shared.fresh[at / 32] >> at % 32 & 1u;
        const uint32_t fresh = __ballot_sync(ALL, is_fresh);
        write_leaf(g, s.begin + j, v, owner, shared.words[share.first], share.stop - share.first, guards, fresh);
        owner += __popc(guards);
    }
    __syncwarp();
}
