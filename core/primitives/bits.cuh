// Weights are stored, moved and compared as bit patterns: WEIGHT_BITS is 0 (unweighted), 32 or 64.
#pragma once
#include "suricate.cuh"

#if WEIGHT_BITS == 64
typedef uint64_t bits_t;
#else
typedef uint32_t bits_t;
#endif
