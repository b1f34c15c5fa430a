// Passes over listed vertices for the dependence forest: a warp per vertex, the whole block where there are many neighbours.
#pragma once
#include "steps.cuh"

constexpr int WORD_PARTS = sizeof(word_t) / 8;

// The word of the lane whose number differs in the bits of `step`.
__device__ __forceinline__ word_t shuffled(const word_t& word, int step) {
    union {
        word_t word;
        unsigned long long part[WORD_PARTS];
    } mine = {word}, other = {word};
#pragma unroll
    for (int k = 0; k < WORD_PARTS; ++k) other.part[k] = __shfl_xor_sync(ALL_LANES, mine.part[k], step);
    return other.word;
}

// The smallest word of a warp, in all its lanes.
__device__ __forceinline__ word_t least_of_warp(word_t word) {
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        const word_t other = shuffled(word, step);
        if (words::less(other, word)) word = other;
    }
    return word;
}

#define SERVED 64  // vertices of more neighbours are served by the whole block

struct Serve {
    word_t least[32];  // of each warp
    uint32_t wide[32];  // vertices with more than SERVED neighbours
    uint32_t wides;  // zero between passes
};

// visit(u, x, w) for all edges from u to x that the warp has listed, which calls it; then none are listed. They were listed first, so that each lane visits
// one: a lane that reads several at once would visit one after another, and each visit waits for memory.
template <class Visit>
__device__ __forceinline__ void visit_listed(const View& g, Shared& shared, Visit&& visit) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = warp * warp_capacity();
    __syncwarp();
    const uint32_t listed = min(shared.listed[warp], warp_capacity());
    for (uint32_t i = lane; i < listed; i += 32)
        visit(shared.from[first + i], shared.to[first + i], LISTED_WEIGHT(g, shared, first + i));
    __syncwarp();
    if (lane == 0) shared.listed[warp] = 0;
    __syncwarp();
}

// visit(v, x, w) for all neighbours x of v in g; a warp calls it.
template <class Visit>
__device__ __forceinline__ void visit_neighbors(const View& g, uint32_t v, Shared& shared, Visit&& visit) {
    for_neighbors<32>(g, v, threadIdx.x % 32, [&](uint32_t x, long long slot) {
        if (!list_edge(v, x, slot, shared)) visit(v, x, WEIGHT(g, slot));
    });
    visit_listed(g, shared, visit);
}

#define PARTS_LISTED 4  // buckets that a warp lists before it visits what is there

// The same for the buckets of v that a warp serves, every so many of them; all warps of the block call it.
template <class Visit>
__device__ __forceinline__ void visit_parts(const View& g, uint32_t v, Shared& shared, Visit&& visit) {
    const uint32_t parts = buckets(g, v), warps = blockDim.x / 32;
    for (uint32_t part = threadIdx.x / 32; part < parts;) {
        for (uint32_t k = 0; k < PARTS_LISTED && part < parts; ++k, part += warps) {
            for_bucket<32>(g, v, part, threadIdx.x % 32, [&](uint32_t x, long long slot) {
                if (!list_edge(v, x, slot, shared)) visit(v, x, WEIGHT(g, slot));
            });
        }
        visit_listed(g, shared, visit);
    }
}

// For each of list[begin .. end): visit(v, x, w, best) for all its neighbours x in g, by 32 lanes or by the whole block, each with a `best`
// of its own; then done(v, best) in one thread, with the least of them. The blocks `block` of `blocks` take turns; all their
// threads call it; it synchronises the block, and ends with everything done.
template <class Visit, class Done>
__device__ __forceinline__ void serve(const View& g, const uint32_t* list, uint32_t begin, uint32_t end, uint32_t block,
                                      uint32_t blocks, Serve& serve, Shared& shared, Visit&& visit, Done&& done) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (unsigned long long base = begin; base < end; base += (unsigned long long)warps * blocks) {
        const unsigned long long i = base + warp * blocks + block;  // few vertices spread over all blocks
        bool is_wide = false;
        if (i < end) {
            const uint32_t v = list[i];
            is_wide = degree(g, v) > SERVED;
            if (is_wide) {
                if (lane == 0) serve.wide[atomicAdd(&serve.wides, 1u)] = v;
            } else {
                word_t best = identity_word();
                visit_neighbors(g, v, shared, [&](uint32_t, uint32_t x, weight_t w) { visit(v, x, w, best); });
                best = least_of_warp(best);
                if (lane == 0) done(v, best);
            }
        }
        if (!__syncthreads_or(is_wide)) continue;
        const uint32_t wides = serve.wides;
        for (uint32_t k = 0; k < wides; ++k) {
            const uint32_t v = serve.wide[k];
            word_t best = identity_word();
            visit_parts(g, v, shared, [&](uint32_t, uint32_t x, weight_t w) { visit(v, x, w, best); });
            best = least_of_warp(best);
            if (lane == 0) serve.least[warp] = best;
            __syncthreads();
            if (threadIdx.x == 0) {
                for (uint32_t other = 1; other < warps; ++other) {
                    if (words::less(serve.least[other], best)) best = serve.least[other];
                }
                done(v, best);
            }
            __syncthreads();  // `least` is free again
        }
        if (threadIdx.x == 0) serve.wides = 0;
        __syncthreads();
    }
}
