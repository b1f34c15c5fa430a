// Common device definitions, included by every kernel source. No CUDA or C++ header is needed: NVRTC compiles it alone.
#pragma once

typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

constexpr uint32_t EMPTY = 0xFFFFFFFFu;  // a slot that never held an edge
constexpr uint32_t TOMBSTONE = 0xFFFFFFFEu;  // a slot whose edge was deleted

constexpr uint8_t UNCHANGED = 0, NEW = 1, REPLACED = 2, REMOVED = 1;  // status of a batch edge

__device__ __forceinline__ uint32_t thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint32_t thread_count() { return gridDim.x * blockDim.x; }

// Mask of the LANES threads (power of two, aligned in the warp) that the calling thread belongs to.
template <int LANES>
__device__ __forceinline__ uint32_t tile_mask() {
    return LANES == 32 ? 0xFFFFFFFFu : ((1u << (LANES & 31)) - 1u) << ((threadIdx.x & 31) & ~(LANES - 1));
}
