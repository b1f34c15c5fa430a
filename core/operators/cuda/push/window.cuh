// A forest in the order of its words: of a frontier those vertices push whose first key is at most `width` above the least one. The others stay
// in the frontier. So every step pushes, there are no buckets to end, and no vertex waits for long (delta-stepping, Meyer
// and Sanders 2003, with a window that slides).
// A small frontier costs what its barrier and its dependent loads cost, whatever its size. So a block goes on with the vertices that it has
// brought near itself, for some turns, before the barrier.
#pragma once
#include "listed.cuh"

typedef FIRST_KEY_T first_key_t;

struct Window {
    first_key_t width, bound;
    uint32_t few;  // of so many vertices at most all push
    unsigned long long nearest;  // of the frontier; 0: not known
    unsigned long long near_from;  // see Changed

    // All threads, before a step from `count` vertices.
    __device__ __forceinline__ void move(uint32_t count) {
        bound = Limits<first_key_t>::high();
        if (count > few && nearest != 0) {
            const first_key_t least = words::decode<first_key_t>(~nearest);
            if (least < Limits<first_key_t>::high() - width) bound = least + width;
        }
        near_from = count <= thread_count() / TILE ? ~words::encode(bound) : NONE_NEAR;
    }

    // One thread: whether u, whose word is given, pushes now; else it stays in the frontier.
    __device__ __forceinline__ bool holds(uint32_t u, const value_t& word, const Changed& changed,
                                          Shared& shared) const {
        if (FIRST_KEY(word) <= bound) return true;
        next_place(&shared.deferred);
        note_nearness(word, changed);
        queue_vertex(u, changed, shared);
        return false;
    }
};

// Go on with the vertices that the block has listed as near, for LOCAL_TURNS turns at most; what is left then is queued. Each
// improvement of a vertex is listed by who made it, and only the last one is gone on with, so none needs a stamp.
__device__ __forceinline__ void push_near(const View& g, value_t* out, Changed changed, Shared& shared FORMALS) {
    const uint32_t tile = threadIdx.x / TILE, tiles = blockDim.x / TILE;
    for (uint32_t turn = 0;; ++turn) {
        __syncthreads();  // everything is listed
        const uint32_t number = min(shared.nears[turn % 3], (uint32_t)LOCAL);
        if (number == 0) break;
        if (threadIdx.x == 0) shared.nears[(turn + 2) % 3] = 0;
        changed.turn = turn + 1;
        for (uint32_t base = 0; base < number; base += tiles) {
            if (base + tile < number) {
                const uint32_t u = shared.near[turn & 1][base + tile], neighbors = degree(g, u);
                const value_t own = stored(out + u);
                // Others may be improving it: the tile goes by what its first lane saw.
                const bool nearer = nearness_of(own) > shared.nearness[turn & 1][base + tile];
                if (__shfl_sync(tile_mask<TILE>(), nearer, 0, TILE)) {
                    // whoever brought it nearer goes on with it
                } else if (turn == LOCAL_TURNS || neighbors > TILED) {
                    if (threadIdx.x % TILE == 0) {
                        note_nearness(own, changed);
                        queue_vertex(u, changed, shared);
                    }
                } else {
                    if (threadIdx.x % TILE == 0) atomicAdd(&shared.went_on, 1u);
                    list_neighbors<TILE, false>(g, u, threadIdx.x % TILE, out, changed, shared ARGS);
                }
            }
            push_listed(g, out, changed, shared ARGS);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) shared.nears[0] = shared.nears[1] = shared.nears[2] = 0;
    __syncthreads();
}
