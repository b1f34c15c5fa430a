// propagate: pushing repeated to a fixed point, in one cooperative launch (see steps.cuh). With max_steps 1 it is an advance with a
// second phase.
#include "steps.cuh"

// from: a frontier without repeats. once: no vertex is altered twice. other: the second view with OVER_BOTH_VIEWS, the reverse of g with
// HAS_PULL. arcs0 to arcs2: arcs that the first step pushes besides. memory.near, buffer and far: uint32[num_vertices] each; memory.heavy_vertex and heavy_base of
// as many entries. layers uint32[capacity], offsets
// int64[capacity + 2], layer_count int64[1]: HAS_LAYERS. outcome: zero at launch; left_count: uint32[1] for the number of vertices
// left in memory.near, or null. Threads, atomics and barriers of the grid: see steps.cuh and push.cuh.
extern "C" __global__ void __launch_bounds__(PROPAGATE_BLOCK, 1)
propagate(View g, View other, uint32_t num_vertices, Vertices from, Arcs arcs0, Arcs arcs1, Arcs arcs2, value_t* out,
          LoopMemory memory, uint32_t max_steps, int once, uint32_t* layers, long long* offsets, long long capacity,
          long long* layer_count, uint64_t* outcome, uint32_t* left_count PARAMS) {
    LOCALS
    __shared__ Shared shared;
    if (threadIdx.x == 0) reset(shared);
    __syncthreads();
    Steps steps = begin_steps(memory, num_vertices, max_steps);
    steps.once = once;
    Policy policy;
    policy.begin(steps);
#if HAS_PULL
    steps.altered = ++steps.epoch;
    policy.pull_from = num_vertices / (once ? PULL_FROM : PULL_ALL_FROM);
#endif
#if HAS_LAYERS
    policy.vertices = layers;
    policy.offsets = offsets;
    policy.capacity = capacity;
    policy.filled = policy.layers = 0;
#endif

    const bool arcs = arcs0.size + arcs1.size + arcs2.size > 0;
    const auto push_lists = [&](const Changed& changed) {
        push_arcs(arcs0, num_vertices, out, changed, shared ARGS);
        push_arcs(arcs1, num_vertices, out, changed, shared ARGS);
        push_arcs(arcs2, num_vertices, out, changed, shared ARGS);
    };
    const uint32_t left =
        run_steps(g, other, steps, from.ids, number_of(from), arcs, out, policy, shared, push_lists ARGS);

    policy.finish(steps, left, layer_count);
    report(reinterpret_cast<Outcome*>(outcome), steps, policy, shared, left, policy.is_full());
    if (left_count && blockIdx.x == 0 && threadIdx.x == 0) *left_count = left;
    FINISH
}
