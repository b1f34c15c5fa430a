// What pushes start from: vertices, and arcs to which the function is applied as they are.
#pragma once
#include "frontier.cuh"

// Generated from programs.py:
//   Vertices   ids uint32[] or null (all below the number), count: their number on the device or null, size: their number
//              if count is null;
//   Arcs       src, dst uint32[size], weight weight_t[size] or null, status uint8[size] or null: entries of another
//              status than `wanted` are left out.

__device__ __forceinline__ uint32_t number_of(const Vertices& from) { return from.count ? *from.count : from.size; }

// Whether entry i counts and is in range.
__device__ __forceinline__ bool has_arc(const Arcs& arcs, long long i, uint32_t num_vertices) {
    if (arcs.status && arcs.status[i] != arcs.wanted) return false;
    return arcs.src[i] < num_vertices && arcs.dst[i] < num_vertices;
}

__device__ __forceinline__ weight_t arc_weight(const Arcs& arcs, long long i) {
    return WEIGHTED && arcs.weight ? reinterpret_cast<const weight_t*>(arcs.weight)[i] : weight_t(1);
}

// Apply the edge function to the arcs, a thread each; all threads of the grid call it. What changed is in the local queue, not flushed.
__device__ __forceinline__ void push_arcs(const Arcs& arcs, uint32_t num_vertices, value_t* out, const Changed& changed,
                                          Shared& shared FORMALS) {
    for (long long i = thread_id(); i < arcs.size; i += thread_count()) {
        if (has_arc(arcs, i, num_vertices)) {
            push_edge(arcs.src[i], arcs.dst[i], arc_weight(arcs, i), out, changed, shared ARGS);
        }
    }
}
