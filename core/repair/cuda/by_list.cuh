// Levels of a divided search whose frontiers are small (see by_list.py): all ranks have the list of the frontier, and get the offers of all.
// A level is two launches with an exchange of the ranks' sections between them. The first reads the words of its own part of the frontier and writes
// offers to vertices that were not visited, but no word; the second gives all words of all ranks what they are offered. So no launch has a barrier
// across blocks. Kernels are grid-stride. A vertex that enters a frontier takes an atomic on its visited bit and its share of one per warp on the list.
//
// The level that is computed has a side, 0 or 1, which changes from level to level, as counts of the next level are made while those of this one
// are in use. When a rank's part of a frontier has more arcs than its section has places, or nothing is offered, the levels have stopped: launches that
// are queued behind do nothing, and the host finds out by `status`, pinned memory.
#pragma once
#include "bottom_up.cuh"
#include "exchanged.cuh"

// Generated from by_list.py: Lists, and the places in `state`: IN_LIST, vertices in memory.far, all that the levels have reached; STOPPED, why;
// ARCS_IN, those that lead to all frontiers so far; BROKEN, not 0 if an offer was not above its maker; and by side FIRST, where the frontier begins in
// the list; RUNS, the total of its heavy vertices; LED_OUT and LED_IN, arcs from and to this rank's part of it.
__device__ __forceinline__ uint32_t* listed_in(const Lists& lists, uint32_t place) {
    return reinterpret_cast<uint32_t*>(lists.state + place);
}

__device__ __forceinline__ HeavyList heavy_of(const Level& level, const Lists& lists, const LoopMemory& memory,
                                              uint32_t side) {
    return {memory.heavy_vertex, memory.heavy_base, lists.state + RUNS + side, level.num_vertices, HEAVY_SHIFT};
}

__device__ __forceinline__ Offers sections_of(const Lists& lists, uint8_t* data) {
    return {data, lists.size, lists.capacity};
}

// v, which was not visited before, is in the frontier of a side.
__device__ __forceinline__ void enlist(const View& g, const View& back, const Level& level, const Lists& lists,
                                       const LoopMemory& memory, uint32_t side, uint32_t v, Reached& mine) {
    append(memory.far, listed_in(lists, IN_LIST), v);
    if (!is_own(level, v)) return;
    const uint32_t into = degree(back, v), out = level.directed ? degree(g, v) : into;
    mine.in_arcs += into;
    mine.out_arcs += out;
    if (out > SMALL) add_heavy(heavy_of(level, lists, memory, side), v, buckets(g, v));
}

// Add the arcs that the threads of the block have found. All of them call it.
__device__ __forceinline__ void add_arcs(const Lists& lists, uint32_t side, const Reached& mine) {
    __shared__ unsigned long long sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    if (mine.in_arcs) atomicAdd(&sums[0], mine.in_arcs);
    if (mine.out_arcs) atomicAdd(&sums[1], mine.out_arcs);
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (sums[0]) atomicAdd(lists.state + LED_IN + side, sums[0]);
    if (sums[1]) atomicAdd(lists.state + LED_OUT + side, sums[1]);
}

// This rank's section has no offers yet.
__device__ __forceinline__ void begin_section(const Level& level, const Lists& lists, uint8_t* data) {
    const Section section = section_of(sections_of(lists, data), level.rank);
    *section.number = *section.broken = 0;
}

// All words restart, a thread per vertex; the roots, ids without repeats, are the frontier of lists.side. The buffers are zero.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK)
start_search(View g, View back, Level level, Lists lists, LoopMemory memory, Vertices roots, value_t* tree PARAMS) {
    LOCALS
    Reached mine;
    for (unsigned long long v = thread_id(); v < level.num_vertices; v += thread_count())
        words::store(tree + v, restart_fn(uint32_t(v) ARGS));
    const uint32_t number = number_of(roots);
    for (unsigned long long i = thread_id(); i < number; i += thread_count()) {
        const uint32_t v = roots.ids[i];
        if (word_parent(restart_fn(v ARGS)) == EMPTY) continue;
        atomicOr(level.visited + v / 32, 1u << v % 32);
        enlist(g, back, level, lists, memory, lists.side, v, mine);
    }
    add_arcs(lists, lists.side, mine);
    if (thread_id() == 0) {
        begin_section(level, lists, lists.sections);
        begin_section(level, lists, lists.others);
    }
    FINISH
}

// List the vertices that the last level has reached, level.frontier, behind begin_level: a thread per 32 vertices. Their arcs were counted.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) list_frontier(View g, View back, Level level, Lists lists,
                                                                            LoopMemory memory) {
    const uint32_t entries = uint32_t((level.num_vertices + 31ull) / 32);
    Reached mine;
    for (unsigned long long at = thread_id(); at < entries; at += thread_count())
        for (uint32_t rest = level.frontier[at]; rest; rest &= rest - 1)
            enlist(g, back, level, lists, memory, lists.side, uint32_t(at * 32 + __ffs(rest) - 1), mine);
    if (thread_id() > 0) return;
    begin_section(level, lists, lists.sections);
    begin_section(level, lists, lists.others);
}

// Write what this rank's part of the frontier offers to its section, unless that has too few places: a tile per vertex, heavy vertices in equal
// runs of buckets by the whole grid; one atomic per warp and offer round for the places. A vertex may be offered several words.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) offer_listed(View g, Level level, Lists lists,
                                                                           LoopMemory memory, value_t* tree PARAMS) {
    if (lists.state[STOPPED]) return;
    LOCALS
    const Section section = section_of(sections_of(lists, lists.sections), level.rank);
    const uint32_t first = *listed_in(lists, FIRST + lists.side), end = *listed_in(lists, IN_LIST);
    const unsigned long long out = lists.state[LED_OUT + lists.side], packed = lists.state[RUNS + lists.side];
    if (thread_id() == 0) {
        section.arcs[0] = out;
        section.arcs[1] = lists.state[LED_IN + lists.side];
        const uint32_t next = lists.side ^ 1u;
        *listed_in(lists, FIRST + next) = end;
        lists.state[RUNS + next] = lists.state[LED_OUT + next] = lists.state[LED_IN + next] = 0;
    }
    if (out > lists.capacity) return;
    const auto reach = [&](uint32_t v, const value_t& value) {
        if (is_marked(level.visited, v)) return;
        const uint32_t place = next_place(section.number);
        words::store(section.word + place, value);
        section.id[place] = v;
    };
    for (unsigned long long i = first + wide_thread_id() / TILE; i < end; i += thread_count() / TILE) {
        const uint32_t u = memory.far[i], arcs = is_own(level, u) ? degree(g, u) : 0;
        value_t value;
        if (arcs == 0 || arcs > SMALL || !offer(tree, u, u, weight_t(1), section.broken, value ARGS)) continue;
        for_neighbors<TILE>(g, u, threadIdx.x % TILE, [&](uint32_t v, long long) { reach(v, value); });
    }
    constexpr uint32_t LANES = BUCKET_LANES;
    const auto look = [&](uint32_t, uint32_t u, uint32_t begin, uint32_t stop) {
        value_t value;
        if (!offer(tree, u, u, weight_t(1), section.broken, value ARGS)) return;
        for (uint32_t k = begin; k < stop; ++k)
            for_bucket<LANES>(g, u, k, threadIdx.x % LANES, [&](uint32_t v, long long) { reach(v, value); });
    };
    for_heavy_runs(
        packed, heavy_of(level, lists, memory, lists.side), thread_id() / LANES, thread_count() / LANES, 1,
        [&](uint32_t u) { return buckets(g, u); }, look);
    FINISH
}

// Give the words what all ranks offer them, by an atomic minimum per offer, a thread each. Vertices that are reached are the frontier of the other
// side. `number`: of the level, for the host, which gets it in pinned memory.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK)
take_listed(View g, View back, Level level, Lists lists, LoopMemory memory, value_t* tree, unsigned long long number) {
    if (lists.state[STOPPED]) return;
    const Offers sections = sections_of(lists, lists.sections);
    const uint32_t next = lists.side ^ 1u;
    unsigned long long offered = 0, in_arcs = 0, broken = 0, most = 0;
    for (uint32_t rank = 0; rank < level.ranks; ++rank) {
        const Section section = section_of(sections, rank);
        offered += *section.number;
        broken |= *section.broken;
        in_arcs += section.arcs[1];
        most = max(most, section.arcs[0]);
    }
    const uint32_t why = most > lists.capacity ? TOO_MANY : offered == 0 ? NOTHING_LEFT : 0;
    if (thread_id() == 0) {
        volatile unsigned long long* const status = lists.status;
        lists.state[ARCS_IN] += in_arcs;
        lists.state[BROKEN] |= broken;
        begin_section(level, lists, lists.others);
        if (why) {
            lists.state[STOPPED] = why;
            status[IN_FRONTIER] = *listed_in(lists, FIRST + next) - *listed_in(lists, FIRST + lists.side);
            status[REACHED] = *listed_in(lists, FIRST + next);
            status[ARCS_INTO] = lists.state[ARCS_IN];
            status[NOT_ABOVE] = lists.state[BROKEN];
            for (uint32_t rank = 0; rank < level.ranks; ++rank)
                status[OUT_OF + rank] = section_of(sections, rank).arcs[0];
            __threadfence_system();
        }
        status[PROGRESS] = number << WHY_BITS | why;
    }
    if (why) return;
    Reached mine;
    for (uint32_t rank = 0; rank < level.ranks; ++rank) {
        const Section section = section_of(sections, rank);
        const uint32_t offers = *section.number;
        for (unsigned long long i = thread_id(); i < offers; i += thread_count()) {
            const uint32_t v = section.id[i], bit = 1u << v % 32;
            reduce_into(tree + v, section.word[i]);
            if (atomicOr(level.visited + v / 32, bit) & bit) continue;
            enlist(g, back, level, lists, memory, next, v, mine);
        }
    }
    add_arcs(lists, next, mine);
}

// Write the frontier at which the levels of lists.side have stopped to the bits of level.next, one atomic per vertex, a thread each.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) spread_list(Level level, Lists lists, LoopMemory memory,
                                                                          const value_t* tree) {
    const uint32_t first = *listed_in(lists, FIRST + lists.side), end = *listed_in(lists, FIRST + (lists.side ^ 1u));
    for (unsigned long long i = first + wide_thread_id(); i < end; i += thread_count())
        atomicOr(level.next + memory.far[i] / 32, 1u << memory.far[i] % 32);
    for (unsigned long long i = thread_id(); i < level.size; i += thread_count()) level.cleared[i] = 0;
    if (thread_id() == 0 && first < end) set_sample(level, tree, memory.far[first]);
}
