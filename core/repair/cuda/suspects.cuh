// Suspects of a repair of the dependence forest: whether a neighbour explains their keys, and who depends on those that none explains.
#pragma once
#include "forest.cuh"

// `best` becomes the offer of x, a neighbour of v, if that has exactly the keys of v, and is less.
__device__ __forceinline__ void explain(const Steps& steps, const word_t* tree, uint32_t v, uint32_t x, weight_t w,
                                        word_t& best FORMALS) {
    if (PAYLOAD_BITS == 32 && x >= word_parent(best)) return;  // no better parent, by its id alone
    word_t value;
    if (offer(tree, x, v, w, steps.violated, value ARGS) && words::same_keys<PAYLOAD_BITS>(value, stored(tree + v)) &&
        words::less(value, best))
        best = value;
}

#if HAS_BACK
#define FEW_AT_FIRST 8  // up to so many suspects are served by block 0 alone, and
#define FEW_SUSPECTS 64  // those that depend on others, who have fewer neighbours
#define FEW_LANES 8  // threads that list the neighbours of one in one direction
#define FEW_NEIGHBORS 64  // of one
#define FEW_BELOW (LOCAL_QUEUE / 2)  // neighbours of all of them
#define FEW_MARKS 64  // words of marks

// Besides: their children in the first half of Shared::local_queue, in the second one the place of the suspect whose each is, and above
// PLACE_BITS how many neighbours it has; and the next suspects in Shared::picked.
struct Few {
    uint32_t suspect[FEW_SUSPECTS], parent[FEW_SUSPECTS];  // the parent that each has found, or EMPTY
    uint32_t marks[2][FEW_MARKS];  // by parity of the round: a bit of each suspect, which others share
    uint32_t children, nexts, invalid;
    uint32_t neighbors;  // of the next suspects
};
constexpr int PLACE_BITS = 8;
static_assert(FEW_SUSPECTS <= 1 << PLACE_BITS && FEW_SUSPECTS <= PROPAGATE_BLOCK && FEW_MARKS <= PROPAGATE_BLOCK &&
                  FEW_BELOW + FEW_SUSPECTS <= MAX_THREADS && FEW_AT_FIRST <= FEW_SUSPECTS,
              "a block has lists and threads for few suspects");

// The neighbours of x in the direction in which it has more; too many if block 0 alone should not serve it.
__device__ __forceinline__ uint32_t few_neighbors(const View& g, const View& back, uint32_t x) {
    const uint32_t most = max(degree(g, x), degree(back, x));
    return most > FEW_NEIGHBORS ? FEW_BELOW + 1 : most;
}

// Where x is among the suspects; `count` if it is none.
__device__ __forceinline__ uint32_t place_of(const Few& few, uint32_t parity, uint32_t count, uint32_t x) {
    if (!(few.marks[parity][x / 32 % FEW_MARKS] >> x % 32 & 1u)) return count;
    uint32_t k = 0;
    while (k < count && few.suspect[k] != x) ++k;
    return k;
}

// A neighbour x of the suspect at place k: below it its child is noted, above it the least that explains its keys becomes its parent.
__device__ __forceinline__ void look_at(const View& g, const View& back, const Steps& steps, const word_t* tree,
                                        uint32_t k, bool below, uint32_t x, weight_t w, uint32_t parity, uint32_t count,
                                        Few& few, Shared& shared FORMALS) {
    const uint32_t v = few.suspect[k];
    if (!below) {
        word_t value;
        if (offer(tree, x, v, w, steps.violated, value ARGS) && words::same_keys<PAYLOAD_BITS>(value, stored(tree + v)))
            atomicMin(&few.parent[k], x);
        return;
    }
    const uint32_t neighbors = few_neighbors(g, back, x);  // loaded with its word, and there for the next round
    if (word_parent(stored(tree + x)) != v || place_of(few, parity, count, x) < count) return;
    const uint32_t place = atomicAdd(&few.children, 1u);
    shared.local_queue[place] = x;
    shared.local_queue[FEW_BELOW + place] = k | neighbors << PLACE_BITS;
}

// The warps look at all neighbours of the suspects: every other one at those below.
__device__ __forceinline__ void look_around(const View& g, const View& back, const Steps& steps, const word_t* tree,
                                            uint32_t parity, uint32_t count, Few& few, Shared& shared FORMALS) {
    constexpr uint32_t TEAMS = 32 / FEW_LANES;
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool below = warp % 2;
    for (uint32_t base = 0; base < count; base += blockDim.x / 64 * TEAMS) {
        const uint32_t k = base + warp / 2 * TEAMS + lane / FEW_LANES;
        const auto look = [&](uint32_t place, uint32_t x, weight_t w) {
            look_at(g, back, steps, tree, place, below, x, w, parity, count, few, shared ARGS);
        };
        if (k < count && below) {
            for_neighbors<FEW_LANES>(g, few.suspect[k], lane % FEW_LANES, [&](uint32_t x, long long slot) {
                if (!list_edge(k, x, slot, shared)) look(k, x, WEIGHT(g, slot));
            });
        } else if (k < count) {
            for_neighbors<FEW_LANES>(back, few.suspect[k], lane % FEW_LANES, [&](uint32_t x, long long slot) {
                if (!list_edge(k, x, slot, shared)) look(k, x, WEIGHT(back, slot));
            });
        }
        if (below) visit_listed(g, shared, look);
        else visit_listed(back, shared, look);
    }
}

// A thread per suspect: it gets the parent that it has found, or is invalid. Next are the children of the invalid, and who adopted one of them.
__device__ __forceinline__ void decide(const View& g, const View& back, const Steps& steps, word_t* tree,
                                       uint32_t parity, uint32_t count, Few& few, Shared& shared FORMALS) {
    const uint32_t me = threadIdx.x;
    for (uint32_t i = me; i < few.children; i += blockDim.x) {
        const uint32_t of = shared.local_queue[FEW_BELOW + i];
        if (few.parent[of & ((1u << PLACE_BITS) - 1)] != EMPTY) continue;
        shared.picked[atomicAdd(&few.nexts, 1u)] = shared.local_queue[i];
        atomicAdd(&few.neighbors, of >> PLACE_BITS);
    }
    if (me >= count) return;
    const uint32_t v = few.suspect[me], parent = few.parent[me];
    if (parent == EMPTY) {
        words::store(tree + v, restart_fn(v ARGS));
        steps.far[atomicAdd(&few.invalid, 1u)] = v;
        return;
    }
    words::store(tree + v, words::put<0, 32>(stored(tree + v), parent));
    const uint32_t other = place_of(few, parity, count, parent);
    if (other < count && few.parent[other] == EMPTY) {
        shared.picked[atomicAdd(&few.nexts, 1u)] = v;
        atomicAdd(&few.neighbors, few_neighbors(g, back, v));
    }
}

// Block 0: rounds of few suspects, steps.near[0 .. count), without grid-wide barriers, for words whose payload is the parent alone. All look for
// another parent, while the children of each are noted: they are the next suspects if it finds none. So are those who adopted in
// this round whom nobody explains either. The counters of the turn get how many suspects are left in steps.near (count), how
// many vertices are invalid by now (altered), and whether those that are left have more neighbours than few have (level).
__device__ __forceinline__ void suspects_alone(const View& g, const View& back, Steps& steps, uint32_t count,
                                               uint32_t invalid, word_t* tree, Shared& shared FORMALS) {
    __shared__ Few few;
    const uint32_t me = threadIdx.x;
    if (me == 0) {
        few.nexts = count;
        few.invalid = invalid;
        few.neighbors = 0;
    }
    if (me < FEW_MARKS) few.marks[0][me] = few.marks[1][me] = 0;
    __syncthreads();
    if (me < count) {
        shared.picked[me] = steps.near[me];
        atomicAdd(&few.neighbors, few_neighbors(g, back, shared.picked[me]));
    }
    bool wide;
    for (uint32_t parity = 0;; parity ^= 1) {
        __syncthreads();  // everything is listed
        count = few.nexts;
        wide = few.neighbors > FEW_BELOW;
        if (count == 0 || count > FEW_SUSPECTS || wide) break;
        if (me < FEW_MARKS) few.marks[parity ^ 1][me] = 0;
        if (me == 0) few.children = 0;
        if (me < count) {
            const uint32_t v = few.suspect[me] = shared.picked[me];
            few.parent[me] = EMPTY;
            atomicOr(&few.marks[parity][v / 32 % FEW_MARKS], 1u << v % 32);
        }
        __syncthreads();  // everybody has read how many, and the suspects are there
        if (me == 0) few.nexts = few.neighbors = 0;
        look_around(g, back, steps, tree, parity, count, few, shared ARGS);
        __syncthreads();  // all have looked
        decide(g, back, steps, tree, parity, count, few, shared ARGS);
    }
    for (uint32_t i = me; i < count; i += blockDim.x) steps.near[i] = shared.picked[i];
    if (me == 0) {
        steps.state->count[steps.turn] = count;
        steps.state->altered[steps.turn] = steps.state->invalid = few.invalid;
        steps.state->level[steps.turn] = wide;
    }
}
#endif
