// A search from scratch on a graph whose edges are divided among ranks, level by level (see levels.py). Each rank has the rows of the
// vertices [low, high), in both directions. A frontier is a bit per vertex, which all ranks have; each rank sets the bits of its own vertices
// that a level reaches, and counts them. The ranks add up bits and counts between two levels. HAS_WORDS, IS_FOREST and IS_UNIFORM are 1: the vertices
// of a frontier have the same keys, and offers depend on these alone, but for the parent.
//
// All kernels are grid-stride, over words of bits, vertices, or offers, a thread each, unless the comment says otherwise, and none waits for other
// blocks: what needs the whole grid is a launch of its own. Words of vertices fall by atomic minima; each block adds what it has reached to the counts
// by a few atomics, and a bit takes one.
#include "bottom_up.cuh"
#include "by_list.cuh"
#include "few_arcs.cuh"

// Before a level: its frontier counts as visited, and what another rank has reached of it gets a word of these keys; what the level after this
// one writes is cleared.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) begin_level(Level level, value_t* tree) {
    const uint32_t lane = threadIdx.x % 32, entries = (level.num_vertices + 31ull) / 32;
    const value_t word = sample_of(level);
    for (unsigned long long base = thread_id() - lane; base < entries; base += thread_count()) {
        const unsigned long long at = base + lane;
        const uint32_t bits = at < entries ? level.frontier[at] : 0, own = bits & own_bits(level, at * 32);
        if (bits) level.visited[at] |= bits;
        const uint32_t others = bits & ~own;
        for (uint32_t left = __ballot_sync(ALL_LANES, others != 0); left; left &= left - 1) {
            const uint32_t k = __ffs(left) - 1;
            if (__shfl_sync(ALL_LANES, others, k) >> lane & 1u) words::store(tree + (base + k) * 32 + lane, word);
        }
    }
    for (unsigned long long i = thread_id(); i < level.size; i += thread_count()) level.cleared[i] = 0;
}

// List this rank's part of the frontier in memory.near; one atomic per word of bits that is not 0.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) list_own(Level level, LoopMemory memory) {
    const uint32_t entries = uint32_t((level.num_vertices + 31ull) / 32);
    for (unsigned long long at = thread_id(); at < entries; at += thread_count()) {
        const uint32_t own = level.frontier[at] & own_bits(level, at * 32);
        uint32_t place = own ? atomicAdd(number_in(level, LISTED_OWN), (uint32_t)__popc(own)) : 0;
        for (uint32_t rest = own; rest; rest &= rest - 1) memory.near[place++] = uint32_t(at * 32 + __ffs(rest) - 1);
    }
}

// The smallest in-neighbour in the frontier.
__device__ __forceinline__ auto smallest_in(const Level& level) {
    return [&level](uint32_t, uint32_t x, long long, uint32_t& parent) {
        if (x < parent && is_marked(level.frontier, x)) parent = x;
        return parent != EMPTY;
    };
}

// A level that pulls: threads search the in-neighbours of unvisited vertices; vertices of many neighbours are listed. Barriers of the block.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) pull_level(View g, View back, Level level,
                                                                         LoopMemory memory, value_t* tree PARAMS) {
    LOCALS
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    Reached mine;
    const Changed changed = changes_of(level, memory);
    const auto looks = [&](uint32_t v) {
        return !is_marked(level.visited, v) && word_parent(stored(tree + v)) == EMPTY;
    };
    const auto smaller = [](uint32_t a, uint32_t b) { return min(a, b); };
    const auto found = [&](uint32_t v, uint32_t parent) {
        value_t value;
        if (parent == EMPTY || !offer(tree, parent, v, weight_t(1), changed.violated, value ARGS)) return;
        words::store(tree + v, value);
        reach(level, g, back, v, mine);
    };
    look_at_neighbors(back, level.low, level.high, EMPTY, looks, smallest_in(level), smaller, found,
                      heavy_of(level, memory), changed, shared);
    add_found(level, tree, mine);
    FINISH
}

// The vertices that pull_level has listed: their buckets in equal runs, by the whole grid.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) pull_rest(View g, View back, Level level,
                                                                        LoopMemory memory, value_t* tree PARAMS) {
    LOCALS
    __shared__ Shared shared;
    const HeavyList heavy = heavy_of(level, memory);
    const unsigned long long packed = *heavy.total;
    if (packed == 0) return;  // the same for the whole grid
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    Reached mine;
    const Changed changed = changes_of(level, memory);
    const auto smaller = [](uint32_t a, uint32_t b) { return min(a, b); };
    const auto found = [&](uint32_t v, uint32_t parent) {
        value_t value;
        if (parent == EMPTY || !offer(tree, parent, v, weight_t(1), changed.violated, value ARGS)) return;
        reduce_into(tree + v, value);  // another run may find a smaller parent
        reach(level, g, back, v, mine);
    };
    const auto done = [](uint32_t, uint32_t) { return false; };
    look_at_heavy(back, packed, heavy, EMPTY, smallest_in(level), smaller, found, done, changed, shared);
    add_found(level, tree, mine);
    FINISH
}

// A level that pushes from the listed vertices, a tile each; vertices of many neighbours are listed. Barriers of the block.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) push_level(View g, Level level, LoopMemory memory,
                                                                         value_t* tree PARAMS) {
    LOCALS
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    const auto everybody = [](uint32_t) { return true; };
    push_frontier<false>(g, level.num_vertices, memory.near, *number_in(level, LISTED_OWN), SMALL, blockIdx.x,
                         gridDim.x, tree, heavy_of(level, memory), changes_of(level, memory), shared, everybody ARGS);
    FINISH
}

// The vertices that push_level has listed: their buckets in equal runs, by the whole grid.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) push_rest(View g, Level level, LoopMemory memory,
                                                                        value_t* tree PARAMS) {
    LOCALS
    __shared__ Shared shared;
    const HeavyList heavy = heavy_of(level, memory);
    const unsigned long long packed = *heavy.total;
    if (packed == 0) return;  // the same for the whole grid
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    push_heavy<false>(g, packed, blockIdx.x, gridDim.x, tree, heavy, changes_of(level, memory), shared ARGS);
    FINISH
}

// What this rank has pushed, to its section of `offers`: the number of vertices, then their words, then their ids.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) pack_offers(Level level, LoopMemory memory,
                                                                          const value_t* tree, Offers offers) {
    const uint32_t number = *number_in(level, CHANGED);
    const Section section = section_of(offers, level.rank);
    if (thread_id() == 0) *section.number = number;
    for (unsigned long long i = thread_id(); i < number; i += thread_count()) {
        const uint32_t v = memory.buffer[i];
        words::store(section.word + i, words::load_now(tree + v));
        section.id[i] = v;
    }
}

// Take what all ranks have pushed: an atomic minimum per offer of another rank; this rank's own are in `tree` already.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) take_offers(View g, View back, Level level, value_t* tree,
                                                                          Offers offers) {
    Reached mine;
    for (uint32_t rank = 0; rank < level.ranks; ++rank) {
        const Section section = section_of(offers, rank);
        const uint32_t number = *section.number;
        for (unsigned long long i = thread_id(); i < number; i += thread_count()) {
            const uint32_t v = section.id[i];
            if (rank != level.rank) reduce_into(tree + v, section.word[i]);
            if (is_own(level, v)) reach(level, g, back, v, mine);
        }
    }
    add_found(level, tree, mine);
}

// The parents of this rank's vertices, uint32[num_vertices].
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) pack_parents(Level level, const value_t* tree,
                                                                           uint32_t* parents) {
    for (unsigned long long v = level.low + wide_thread_id(); v < level.high; v += thread_count())
        parents[v] = word_parent(stored(tree + v));
}

// Those of the others' vertices go into their words, whose keys are there.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK) take_parents(Level level, value_t* tree,
                                                                           const uint32_t* parents) {
    const uint32_t others = level.num_vertices - (level.high - level.low);
    for (unsigned long long i = thread_id(); i < others; i += thread_count()) {
        const uint32_t v = uint32_t(i < level.low ? i : i + (level.high - level.low));
        union {
            value_t word;
            unsigned long long part[sizeof(value_t) / 8];
        } found = {stored(tree + v)};
        if (word_parent(found.word) == parents[v]) continue;
        found.part[0] = (found.part[0] & ~0xFFFFFFFFull) | parents[v];
        words::store(tree + v, found.word);
    }
}
