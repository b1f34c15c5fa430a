// Sorting up to many million words within a cooperative launch, by digits of DIGIT_BITS from the lowest of an edge up (the place in the
// batch needs no sorting, as every pass is stable). Of a pass:
//
//   every block counts the digits of its stretch | it sums those of earlier blocks, and puts its words in their places, tile by tile
//
// with a grid-wide barrier at each bar, and another one between two passes. A tile is put in order in shared memory first, so that runs
// of words are written. Atomics: of a block in shared memory, and one per digit for the sum of DIGIT_GROUP blocks.
#pragma once
#include "sort.cuh"

constexpr uint32_t DIGITS = 1u << DIGIT_BITS, DIGIT_TILE = DIGIT_ITEMS * SORT_BLOCK, DIGIT_WARPS = SORT_BLOCK / 32;

static_assert(DIGITS <= SORT_BLOCK, "a thread per digit");

struct DigitMemory {
    uint64_t tile[DIGIT_TILE];
    unsigned short before[DIGIT_WARPS][DIGITS];  // words of the tile's earlier warps
    uint32_t first[DIGITS];  // place in the tile of a digit's first word
    uint32_t next[DIGITS];  // place among all words that it gets; at first, number of words
    uint32_t sums[DIGIT_WARPS];
};

struct DigitPass {
    const uint64_t* words;
    uint32_t first, last;  // of the block's stretch
    uint32_t shift;
    uint32_t* groups;  // [groups * DIGITS]: words by digit of DIGIT_GROUP blocks

    __device__ uint32_t digit(uint64_t word) const { return uint32_t(word >> shift) & (DIGITS - 1); }
};

__device__ __forceinline__ uint32_t digit_groups() { return (gridDim.x + DIGIT_GROUP - 1) / DIGIT_GROUP; }

__device__ __forceinline__ uint32_t digit_passes(const Sorting& s) {
    return (2 * s.bits + DIGIT_BITS - 1) / DIGIT_BITS;
}

// Grid, before the first barrier: no words are counted.
__device__ __forceinline__ void clear_groups(const Sorting& s) {
    const uint32_t size = digit_passes(s) * digit_groups() * DIGITS;
    for (uint32_t k = thread_id(); k < size; k += thread_count()) s.offsets[k] = 0;
}

// Block: count the digits of its stretch into its row of ``rows`` and into its group. A thread reads DIGIT_ITEMS words at a time.
__device__ __forceinline__ void count_digits(const DigitPass& p, DigitMemory& m, uint32_t* rows) {
    const uint32_t d = threadIdx.x;
    if (d < DIGITS) m.next[d] = 0;
    __syncthreads();
    for (uint32_t base = p.first + threadIdx.x; base < p.last; base += DIGIT_TILE) {
        uint64_t word[DIGIT_ITEMS];
#pragma unroll
        for (int q = 0; q < DIGIT_ITEMS; ++q) {
            const uint32_t i = base + q * SORT_BLOCK;
            word[q] = i < p.last ? p.words[i] : 0;
        }
#pragma unroll
        for (int q = 0; q < DIGIT_ITEMS; ++q)
            if (base + q * SORT_BLOCK < p.last) atomicAdd(&m.next[p.digit(word[q])], 1u);
    }
    __syncthreads();
    if (d >= DIGITS) return;
    rows[blockIdx.x * DIGITS + d] = m.next[d];
    if (m.next[d]) atomicAdd(&p.groups[blockIdx.x / DIGIT_GROUP * DIGITS + d], m.next[d]);
}

// Block: sum of what the threads below the calling one give. Two barriers of the block.
__device__ __forceinline__ uint32_t sum_below(DigitMemory& m, uint32_t value) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t sum = value;
    for (int s = 1; s < 32; s *= 2) {
        const uint32_t below = __shfl_up_sync(0xFFFFFFFFu, sum, s);
        if (lane >= s) sum += below;
    }
    if (lane == 31) m.sums[warp] = sum;
    __syncthreads();
    for (uint32_t w = 0; w < warp; ++w) sum += m.sums[w];
    __syncthreads();
    return sum - value;
}

// Block, thread per digit, behind a barrier of the grid: where the first of its words goes.
__device__ __forceinline__ void place_digits(const DigitPass& p, DigitMemory& m, const uint32_t* rows) {
    const uint32_t d = threadIdx.x, group = blockIdx.x / DIGIT_GROUP, groups = digit_groups();
    uint32_t before = 0, all = 0;
    if (d < DIGITS) {
#pragma unroll 8
        for (uint32_t k = 0; k < groups; ++k) {
            const uint32_t count = p.groups[k * DIGITS + d];
            all += count;
            before += k < group ? count : 0;
        }
#pragma unroll 8
        for (uint32_t b = group * DIGIT_GROUP; b < blockIdx.x; ++b) before += rows[b * DIGITS + d];
    }
    before += sum_below(m, all);
    if (d < DIGITS) m.next[d] = before;
}

// Warp: the rank of each of its words among the tile's words of the same digit in this warp; m.before receives how many it has.
__device__ __forceinline__ void rank_words(const DigitPass& p, DigitMemory& m, uint32_t base, uint64_t* word,
                                           uint32_t* rank) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int q = 0; q < DIGIT_ITEMS; ++q) {
        const uint32_t i = base + warp * 32 * DIGIT_ITEMS + 32 * q + lane;
        word[q] = i < p.last ? p.words[i] : 0;
    }
#pragma unroll
    for (int q = 0; q < DIGIT_ITEMS; ++q) {
        const bool valid = base + warp * 32 * DIGIT_ITEMS + 32 * q + lane < p.last;
        const uint32_t d = p.digit(word[q]);
        uint32_t equal = __ballot_sync(0xFFFFFFFFu, valid);
#pragma unroll
        for (int bit = 0; bit < DIGIT_BITS; ++bit) {
            const uint32_t set = __ballot_sync(0xFFFFFFFFu, d >> bit & 1);
            equal &= d >> bit & 1 ? set : ~set;
        }
        const uint32_t below = __popc(equal & ((1u << lane) - 1)), so_far = m.before[warp][d];
        __syncwarp();
        if (valid && below == 0) m.before[warp][d] = so_far + __popc(equal);
        __syncwarp();
        rank[q] = so_far + below;
    }
}

// Block: put the words of its stretch in their places: call emit(place, word) for each.
template <class Emit>
__device__ __forceinline__ void scatter_words(const DigitPass& p, DigitMemory& m, Emit&& emit) {
    const uint32_t warp = threadIdx.x / 32, d = threadIdx.x;
    for (uint32_t base = p.first; base < p.last; base += DIGIT_TILE) {
        const uint32_t count = min(p.last - base, DIGIT_TILE);
        if (d < DIGITS)
            for (uint32_t w = 0; w < DIGIT_WARPS; ++w) m.before[w][d] = 0;
        __syncthreads();
        uint64_t word[DIGIT_ITEMS];
        uint32_t rank[DIGIT_ITEMS], total = 0;
        rank_words(p, m, base, word, rank);
        __syncthreads();
        if (d < DIGITS)
            for (uint32_t w = 0; w < DIGIT_WARPS; ++w) {
                const uint32_t here = m.before[w][d];
                m.before[w][d] = total;
                total += here;
            }
        const uint32_t first = sum_below(m, total);
        if (d < DIGITS) m.first[d] = first;
        __syncthreads();
#pragma unroll
        for (int q = 0; q < DIGIT_ITEMS; ++q) {
            if (warp * 32 * DIGIT_ITEMS + 32 * q + threadIdx.x % 32 >= count) continue;
            const uint32_t digit = p.digit(word[q]);
            m.tile[m.first[digit] + m.before[warp][digit] + rank[q]] = word[q];
        }
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < count; k += SORT_BLOCK) {
            const uint64_t next = m.tile[k];
            const uint32_t digit = p.digit(next);
            emit(m.next[digit] + k - m.first[digit], next);
        }
        __syncthreads();
        if (d < DIGITS) m.next[d] += total;
    }
}

// Grid: sort the words of a batch into keys and order. Two barriers of the grid for each digit, the first of them behind what wrote the
// words and cleared the groups; answer() is called behind it.
template <class Answer, class Emit>
__device__ __forceinline__ void sort_by_digits(const Sorting& s, uint32_t size, uint32_t& expected, Answer&& answer,
                                               Emit&& emit) {
    __shared__ DigitMemory memory;
    const uint32_t share = (size + gridDim.x - 1) / gridDim.x, passes = digit_passes(s);
    const uint32_t first = uint32_t(min((unsigned long long)size, (unsigned long long)blockIdx.x * share));
    DigitPass p = {s.words, first, first + min(share, size - first), s.low, s.offsets};
    uint64_t* to = s.buffer;
    for (uint32_t pass = 0; pass < passes; ++pass) {
        grid_barrier(s.arrived, expected);
        if (pass == 0) answer();
        count_digits(p, memory, s.totals);
        grid_barrier(s.arrived, expected);
        place_digits(p, memory, s.totals);
        __syncthreads();
        if (pass + 1 == passes) {
            scatter_words(p, memory, emit);
        } else {
            scatter_words(p, memory, [&](uint32_t place, uint64_t word) { to[place] = word; });
            uint64_t* const from = const_cast<uint64_t*>(p.words);
            p.words = to;
            to = from;
            p.shift += DIGIT_BITS;
            p.groups += digit_groups() * DIGITS;
        }
    }
}
