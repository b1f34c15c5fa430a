// neighbor_reduce over layers: the vertices of one layer after the other, in one cooperative launch of blocks that all stay resident.
// Types: vertices uint32[], offsets int64[], count int64[1] as `Layers` has them; out out_t[num_vertices] or null; with HAS_THEN the
// vertices for which the epilogue says true are appended to `queue` (uint32[]), *queued of them.
//
// A block serves `share` vertices of a layer at a time, by degree class (see pull_vertices). Behind each layer but the last there is a grid-wide
// barrier, whose fences make what a layer wrote to `out` and other arrays visible to the next one. Atomics: one per warp that appends to `queue`.
#include "loop.cuh"
#include "pull.cuh"

extern "C" __global__ void __launch_bounds__(LAYERS_BLOCK, LAYERS_BLOCKS)
reduce_layers(VIEWS, uint32_t num_vertices, const uint32_t* vertices, const long long* offsets, const long long* count,
              int backwards, store_t* out, uint32_t* queue, uint32_t* queued, LoopMemory memory PARAMS) {
    LOCALS
    __shared__ PullShared<LAYERS_BLOCK> shared;
    constexpr unsigned long long WARPS = LAYERS_BLOCK / 32;
    LoopState* const state = (LoopState*)memory.state;
    uint32_t expected = state->base;
    const Heavy nobody = heavy_in(nullptr, nullptr, 0);
    const long long layers = *count;
    for (long long k = 0; k < layers; ++k) {  // the same in all threads of the grid
        const long long layer = backwards ? layers - 1 - k : k;
        const long long first = offsets[layer], number = offsets[layer + 1] - first;
        const unsigned long long fair = number > 0 ? WARPS * ((number - 1) / (WARPS * gridDim.x) + 1) : WARPS;
        const auto complete = [&](uint32_t, uint32_t x, const Reduced& reduced) {
            if (x >= num_vertices) return;
            if (out) out[x] = store_t(reduced.value);
#if HAS_THEN
            if (THEN(x, reduced)) append(queue, queued, x);
#endif
        };
        pull_vertices<LAYERS_BLOCK>(
            WALKED, {}, num_vertices, [&](long long i) { return vertices[first + i]; }, number,
            uint32_t(min((unsigned long long)LAYERS_BLOCK, fair)), blockIdx.x, gridDim.x, EMPTY, nobody, shared,
            complete ARGS);
        if (k + 1 < layers) grid_barrier(state, expected);
    }
    FINISH
    // With a barrier all blocks have read what this changes; without one it stays the same.
    if (blockIdx.x == 0 && threadIdx.x == 0) state->base = expected;
}
