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
#define FEW_SUSPECTS 8  // up to so many have two warps each in block 0
#define FEW_BELOW 64  // neighbours that such a suspect has at most, in either direction

// Besides: its children in the first half of Shared::gathered, the places of the suspects whose they are in the second one, and the next
// suspects in Shared::picked.
struct Few {
    uint32_t suspect[FEW_SUSPECTS], parent[FEW_SUSPECTS];  // the parent that each has found, or EMPTY
    uint32_t children, nexts, invalid;
};
static_assert(2 * FEW_SUSPECTS * FEW_BELOW <= GATHERED && FEW_SUSPECTS * (FEW_BELOW + 1) <= MAX_THREADS &&
                  64 * FEW_SUSPECTS <= PROPAGATE_BLOCK,
              "a block has lists and warps for few suspects");

__device__ __forceinline__ bool is_suspect(const Few& few, uint32_t count, uint32_t x) {
    for (uint32_t k = 0; k < count; ++k)
        if (few.suspect[k] == x) return true;
    return false;
}

// Block 0: rounds of few suspects, steps.near[0 .. count), without grid-wide barriers. Of two warps one looks for another parent of a
// suspect, while the other one notes its children, who are the next suspects if it finds none. So are those who adopted in this round
// whom nobody explains either. The counters of the turn get how many suspects are left in steps.near (count), how many
// vertices are invalid by now (altered), and whether one that is left has more neighbours than FEW_BELOW (level).
__device__ __forceinline__ void suspects_alone(const View& g, const View& back, Steps& steps, uint32_t count,
                                               uint32_t invalid, word_t* tree, Shared& shared FORMALS) {
    __shared__ Few few;
    uint32_t *const child = shared.gathered, *const of = child + GATHERED / 2, *const next = shared.picked;
    const uint32_t me = threadIdx.x, lane = me % 32, k = me / 64;
    const bool looks_down = me / 32 % 2;
    if (me < count) next[me] = steps.near[me];
    if (me == 0) {
        few.nexts = count;
        few.invalid = invalid;
    }
    bool wide = false;
    for (;;) {
        __syncthreads();  // everything is listed
        count = few.nexts;
        if (count == 0 || count > FEW_SUSPECTS) break;
        const uint32_t v = k < count ? next[k] : EMPTY;
        wide = __syncthreads_or(v != EMPTY && max(degree(g, v), degree(back, v)) > FEW_BELOW);
        if (wide) break;
        if (me < count) few.suspect[me] = next[me];
        if (me == 0) few.nexts = few.children = 0;
        __syncthreads();
        if (v != EMPTY && looks_down) {
            visit_neighbors(g, v, shared, [&](uint32_t x, weight_t) {
                if (word_parent(stored(tree + x)) != v || is_suspect(few, count, x)) return;
                const uint32_t place = atomicAdd(&few.children, 1u);
                child[place] = x;
                of[place] = k;
            });
        } else if (v != EMPTY) {
            word_t best = identity_word();
            visit_neighbors(back, v, shared, [&](uint32_t x, weight_t w) { explain(steps, tree, v, x, w, best ARGS); });
            best = least_of_warp(best);
            const bool found = word_parent(best) != EMPTY;
            if (lane == 0) {
                words::store(tree + v, found ? best : restart_fn(v ARGS));
                few.parent[k] = found ? word_parent(best) : EMPTY;
            }
        }
        __syncthreads();  // everybody has decided
        for (uint32_t i = me; i < few.children; i += blockDim.x) {
            if (few.parent[of[i]] == EMPTY) next[atomicAdd(&few.nexts, 1u)] = child[i];
        }
        if (me < count && few.parent[me] == EMPTY) {
            steps.far[atomicAdd(&few.invalid, 1u)] = few.suspect[me];
        } else if (me < count) {
            for (uint32_t other = 0; other < count; ++other) {
                if (few.suspect[other] == few.parent[me] && few.parent[other] == EMPTY) {
                    next[atomicAdd(&few.nexts, 1u)] = few.suspect[me];
                }
            }
        }
    }
    for (uint32_t i = me; i < count; i += blockDim.x) steps.near[i] = next[i];
    if (me == 0) {
        steps.state->count[steps.turn] = count;
        steps.state->altered[steps.turn] = steps.state->invalid = few.invalid;
        steps.state->level[steps.turn] = wide;
    }
}
#endif
