// Kernels of the building blocks that backends share. WEIGHT_BITS is 0, 32 or 64 (weights are moved as bit patterns). No atomics; no barrier across
// blocks.
#include "bits.cuh"
#include "search.cuh"

// Thread per edge: words[i] = src, dst and batch index in one word (``bits`` per id, ``low`` for the index).
extern "C" __global__ void pack_words(uint32_t m, const uint32_t* src, const uint32_t* dst, uint32_t bits, uint32_t low,
                                      uint64_t* words) {
    uint32_t i = thread_id();
    if (i < m) words[i] = (((uint64_t(src[i]) << bits) | dst[i]) << low) | i;
}

// Thread per edge: the sorted words back into keys (src << 32 | dst) and batch indices.
extern "C" __global__ void unpack_words(uint32_t m, const uint64_t* words, uint32_t bits, uint32_t low, uint64_t* keys,
                                        uint32_t* order) {
    uint32_t i = thread_id();
    if (i >= m) return;
    uint64_t word = words[i], key = word >> low;
    keys[i] = ((key >> bits) << 32) | (key & ((1ull << bits) - 1));
    order[i] = uint32_t(word & ((1ull << low) - 1));
}

// Block per 8 * blockDim.x edges of the compact numbering 0 .. offsets[ranges]: the block finds the ranges it touches, a
// thread then the range of its edge among them. Coalesced within a range. ``owner`` may be null.
extern "C" __global__ void copy_ranges(long long ranges, const long long* offsets, const long long* begin,
                                       const long long* target, const uint32_t* old_dst, const bits_t* old_weight,
                                       uint32_t* new_dst, bits_t* new_weight, uint32_t* owner) {
    __shared__ long long touched[2];
    long long total = offsets[ranges];
    long long lo = (long long)blockIdx.x * blockDim.x * 8, hi = min(total, lo + (long long)blockDim.x * 8);
    if (lo >= hi) return;  // the whole block
    if (threadIdx.x < 2) touched[threadIdx.x] = upper_bound(offsets, 0ll, ranges + 1, threadIdx.x ? hi - 1 : lo);
    __syncthreads();
    for (long long e = lo + threadIdx.x; e < hi; e += blockDim.x) {
        long long range = upper_bound(offsets, touched[0], touched[1], e) - 1;
        long long read = begin[range] + e - offsets[range], write = target[range] + e - offsets[range];
        new_dst[write] = old_dst[read];
#if WEIGHT_BITS
        new_weight[write] = old_weight[read];
#endif
        if (owner) owner[write] = uint32_t(range);
    }
}
