// Common device definitions, included by every kernel source. No CUDA or C++ header is needed: NVRTC compiles it alone.
// The sentinels and statuses of types.py (EMPTY, NEW ...) are generated right behind it: see program.py.
#pragma once

typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

__device__ __forceinline__ uint32_t thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint32_t thread_count() { return gridDim.x * blockDim.x; }
__device__ __forceinline__ long long wide_thread_id() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ long long wide_thread_count() { return (long long)gridDim.x * blockDim.x; }

// Mask of the LANES threads (power of two, aligned in the warp) that the calling thread belongs to.
template <int LANES>
__device__ __forceinline__ uint32_t tile_mask() {
    return LANES == 32 ? 0xFFFFFFFFu : ((1u << (LANES & 31)) - 1u) << ((threadIdx.x & 31) & ~(LANES - 1));
}
