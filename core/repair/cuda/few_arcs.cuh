// The end of a divided search, once few arcs lead to what was not reached: all ranks get these arcs, and each goes on by itself, to the same words
// (see levels.py). The frontier is level.frontier, and counts as visited.
//
// In LoopMemory `far` lists the vertices reached from here on, LISTED_OWN of them; `near` and `buffer` the ends of the arcs that are left, CHANGED of them.
// No kernel waits for other blocks. Duplicates: of several offers to a vertex the smallest word stays, and it is listed once (an atomic on its bit).
#pragma once
#include "bottom_up.cuh"
#include "exchanged.cuh"

struct ArcSection {
    uint32_t *number, *src, *dst;
};

__device__ __forceinline__ ArcSection arcs_of(const Offers& arcs, uint32_t rank) {
    uint8_t* const begin = arcs.data + (unsigned long long)rank * arcs.size;
    uint32_t* const src = reinterpret_cast<uint32_t*>(begin + SECTION_HEAD);
    return {reinterpret_cast<uint32_t*>(begin), src, src + arcs.capacity};
}

// visit(v, u): lists the arc from u to v in this rank's section.
__device__ __forceinline__ auto lister(const Level& level, const Offers& arcs) {
    const ArcSection section = arcs_of(arcs, level.rank);
    const uint32_t capacity = uint32_t(arcs.capacity);
    return [=](uint32_t v, uint32_t u, long long, uint32_t&) {
        const uint32_t place = next_place(section.number);
        if (place < capacity) {
            section.src[place] = u;
            section.dst[place] = v;
        }
        return false;
    };
}

// List the arcs to this rank's vertices that were not reached, by several threads per vertex; vertices of many neighbours are listed for list_rest.
// One atomic per warp and round of arcs. Barriers of the block.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) list_arcs(View back, Level level, LoopMemory memory,
                                                                        const value_t* tree, Offers arcs) {
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const auto looks = [&](uint32_t v) {
        return !is_marked(level.visited, v) && word_parent(stored(tree + v)) == EMPTY;
    };
    const auto nothing = [](uint32_t, uint32_t) { return 0u; };
    look_at_neighbors(back, level.low, level.high, 0u, looks, lister(level, arcs), nothing, nothing,
                      heavy_of(level, memory), changes_of(level, memory), shared);
}

// List the arcs to the vertices that list_arcs has listed: their buckets in equal runs, by the whole grid.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) list_rest(View back, Level level, LoopMemory memory,
                                                                        Offers arcs) {
    __shared__ Shared shared;
    const HeavyList heavy = heavy_of(level, memory);
    const unsigned long long packed = *heavy.total;
    if (packed == 0) return;  // the same for the whole grid
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const auto nothing = [](uint32_t, uint32_t) { return 0u; };
    const auto done = [](uint32_t, uint32_t) { return false; };
    look_at_heavy(back, packed, heavy, 0u, lister(level, arcs), nothing, nothing, done, changes_of(level, memory),
                  shared);
}

// u, which was reached before, makes its offer to v, which was not.
__device__ __forceinline__ void offer_along(const Level& level, const LoopMemory& memory, value_t* tree, uint32_t u,
                                            uint32_t v, uint32_t* violated FORMALS) {
    value_t value;
    if (!offer(tree, u, v, weight_t(1), violated, value ARGS)) return;
    reduce_into(tree + v, value);
    const uint32_t bit = 1u << v % 32;
    if (!(atomicOr(level.next + v / 32, bit) & bit)) append(memory.far, number_in(level, LISTED_OWN), v);
}

// Make the offers of the frontier, a thread per arc, grid-stride; arcs from vertices that were not reached are kept for finish_search.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) take_arcs(Level level, LoopMemory memory, value_t* tree,
                                                                        Offers arcs, uint32_t* violated PARAMS) {
    LOCALS
    for (uint32_t rank = 0; rank < level.ranks; ++rank) {
        const ArcSection section = arcs_of(arcs, rank);
        const uint32_t number = min(*section.number, uint32_t(arcs.capacity));
        for (unsigned long long i = thread_id(); i < number; i += thread_count()) {
            const uint32_t u = section.src[i], v = section.dst[i];
            if (is_marked(level.frontier, u)) {
                offer_along(level, memory, tree, u, v, violated ARGS);
            } else if (!is_marked(level.visited, u)) {
                const uint32_t place = next_place(number_in(level, CHANGED));
                memory.near[place] = u;
                memory.buffer[place] = v;
            }
        }
    }
    FINISH
}

// All levels that follow, by one block, of which each thread keeps some of the arcs; barriers of the block. `steps` and `pushed`: of the levels before.
extern "C" __global__ void __launch_bounds__(FEW_ARCS_BLOCK)
finish_search(Level level, LoopMemory memory, value_t* tree, uint32_t* violated, Outcome* outcome,
              unsigned long long steps, unsigned long long pushed PARAMS) {
    LOCALS
    const uint32_t me = threadIdx.x, all = *number_in(level, CHANGED);
    uint32_t first = 0, levels = 0, mine = (all + blockDim.x - 1 - me) / blockDim.x;
    for (;;) {
        const uint32_t end = fresh(*number_in(level, LISTED_OWN));
        if (first == end) break;  // the same for the whole block
        for (uint32_t i = first + me; i < end; i += blockDim.x)
            atomicOr(level.visited + memory.far[i] / 32, 1u << memory.far[i] % 32);
        first = end;
        ++levels;
        __syncthreads();  // the frontier counts as visited, and everybody knows its end
        uint32_t kept = 0;
        for (uint32_t k = 0; k < mine; ++k) {
            const uint32_t u = memory.near[k * blockDim.x + me], v = memory.buffer[k * blockDim.x + me];
            if (is_marked(level.visited, v)) continue;
            if (is_marked(level.visited, u)) {
                offer_along(level, memory, tree, u, v, violated ARGS);
                continue;
            }
            memory.near[kept * blockDim.x + me] = u;
            memory.buffer[kept * blockDim.x + me] = v;
            ++kept;
        }
        mine = kept;
        __syncthreads();  // all offers are made
    }
    if (me == 0) {
        outcome->steps = steps + levels;
        outcome->pushed = pushed + first;
    }
    FINISH
}
