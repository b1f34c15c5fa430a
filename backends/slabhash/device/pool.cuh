// Taking slabs from the pool. The host has reserved what a batch can need at most, so none of this fails.
#pragma once
#include "slab.cuh"

// Clean slabs that a warp took from the end of the pool in advance, `chunk` at a time, so that its next allocations need
// no atomic: the counter of the pool is one address for the whole grid. Equal in all lanes of the warp but for `kept`, a
// slab that the lane took ahead of its need, or did not need after all, or EMPTY.
struct WarpSlabs {
    uint32_t chunk, listed;  // the length of the free list, constant during a kernel
    uint32_t next = 0, left = 0, kept = EMPTY;
    __device__ WarpSlabs(const View& g, uint32_t chunk) : chunk(chunk), listed(g.counters[LISTED]) {}
};

// Warp: a clean slab for each lane that wants one: what it has kept, one from the free list, or a new one; at most two
// atomics.
__device__ __forceinline__ uint32_t allocate(const View& g, bool wants, WarpSlabs& slabs) {
    uint32_t slab = EMPTY;
    const int lane = threadIdx.x & 31;
    const uint32_t below = (1u << lane) - 1u;
    if (wants && slabs.kept != EMPTY) {
        slab = slabs.kept;
        slabs.kept = EMPTY;
        wants = false;
    }
    uint32_t who = __ballot_sync(WARP, wants);
    if (!who) return slab;
    if (slabs.listed) {
        int leader = __ffs(who) - 1;
        uint32_t taken = slabs.listed;
        if (lane == leader && load_word(g.counters + TAKEN) < slabs.listed)
            taken = add_to_word(g.counters + TAKEN, __popc(who));
        taken = __shfl_sync(WARP, taken, leader) + __popc(who & below);
        if (wants && taken < slabs.listed) slab = g.free_list[taken];
        wants = wants && slab == EMPTY;
        who = __ballot_sync(WARP, wants);
        if (!who) return slab;
    }
    const uint32_t rank = __popc(who & below), count = __popc(who);
    const uint32_t there = min(count, slabs.left), more = count - there;
    uint32_t bump = slabs.next + there;  // after those
    if (more) {
        const uint32_t taken = max(more, slabs.chunk);
        if (lane == 0) bump = add_to_word(g.counters + BUMP, taken);
        bump = __shfl_sync(WARP, bump, 0);
        slabs.left = there + taken;
    }
    if (wants) slab = rank < there ? slabs.next + rank : bump + rank - there;
    slabs.next = bump + more;
    slabs.left -= count;
    return slab;
}

// Slabs that the warps of a block take from the end of the pool together, by one atomic: its counter takes one in a
// nanosecond, and the grid of a small batch has thousands of warps. In shared memory; `taken` is 0 when the first warp
// comes.
struct BlockSlabs {
    uint32_t taken;  // slabs, and from bit 16 on how many warps have been here
    uint32_t first;
};

// Warp: reserve what allocate() would take for lanes with `wants`; the last warp of the block takes all of it. Where
// there is a free list, each warp goes to that.
__device__ __forceinline__ void reserve_slabs(const View& g, bool wants, WarpSlabs& slabs, BlockSlabs& block) {
    if (slabs.listed) {
        slabs.kept = allocate(g, wants, slabs);
        return;
    }
    const uint32_t count = __popc(__ballot_sync(WARP, wants)), takes = count ? max(count, slabs.chunk) : 0;
    uint32_t before = 0;
    if (threadIdx.x % 32 == 0) {
        before = atomicAdd(&block.taken, 1u << 16 | takes);
        const uint32_t all = (before + takes) & 0xFFFFu;
        if (before >> 16 == blockDim.x / 32 - 1 && all) block.first = add_to_word(g.counters + BUMP, all);
    }
    slabs.next = __shfl_sync(WARP, before, 0) & 0xFFFFu;  // behind block.first
    slabs.left = takes;
}

// Warp: after __syncthreads(), a slab of those for each lane that wants one; the others stay with the warp.
__device__ __forceinline__ void collect_slabs(bool wants, WarpSlabs& slabs, const BlockSlabs& block) {
    const uint32_t who = __ballot_sync(WARP, wants);
    if (slabs.listed || !who) return;
    slabs.next += block.first;
    if (wants) slabs.kept = slabs.next + __popc(who & ((1u << threadIdx.x % 32) - 1u));
    slabs.next += __popc(who);
    slabs.left -= __popc(who);
}

// Warp: when the warp is through, what it took in advance and did not use counts as freed.
__device__ __forceinline__ void return_unused(const View& g, const WarpSlabs& slabs) {
    count_freed(g, slabs.left + __popc(__ballot_sync(WARP, slabs.kept != EMPTY)));
}

// Warp: the head word of the lane's vertex u, if `active`, which was `head`. Where that is EMPTY the first lane to come
// gives the vertex a slab. With a slab that was taken in advance, that takes one atomic, which counts the lane's edge in
// the degree as well (`counted`), and a lane that comes too late keeps its slab for later. Otherwise the head is LOCKED
// while another lane is about to set it, so that no slab is taken without need.
__device__ __forceinline__ uint32_t ensure_head(const View& g, bool active, uint32_t u, uint32_t head, WarpSlabs& slabs,
                                                bool& counted) {
    const bool in_advance = slabs.chunk > 1 || slabs.kept != EMPTY;
    bool wants = active && head == EMPTY;
    if (wants && !in_advance) {
        head = inverted(atomicCAS(head_word(g, u), inverted(EMPTY), inverted(LOCKED)));
        wants = head == EMPTY;
    }
    if (!__any_sync(WARP, wants)) return head;
    const uint32_t slab = allocate(g, wants, slabs);
    if (!wants) return head;
    if (in_advance) {
        constexpr uint64_t NONE = 0;  // no head, no edges
        const uint64_t first = uint64_t(1) << 32 | inverted(slab);
        head = inverted(uint32_t(atomicCAS(reinterpret_cast<uint64_t*>(head_word(g, u)), NONE, first)));
        counted = head == EMPTY;
        if (!counted) {
            slabs.kept = slab;
            return head;
        }
    } else {
        store_word(head_word(g, u), inverted(slab));
    }
    g.owner[slab] = u;
    return slab;
}
