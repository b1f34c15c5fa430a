// Sorting up to some million words within a cooperative launch, by buckets (sample sort): every 32nd word of a sorted sample splits
// the words into buckets of about a thousand, whichever edges they are; all words are put into their buckets, and blocks sort
// these in shared memory.
//
//   sort tiles of the sample | pick the splitters | count words per bucket | scatter them | sort the buckets
//
// with a grid-wide barrier at each bar. Atomics: a counter per bucket, once per block. A bucket that turns out too large for shared
// memory, which would take an unlikely sample, is sorted where it lies, slowly. Edges whose words have more than 64 bits are
// sorted twice.
#pragma once
#include "sort.cuh"

constexpr int USUAL_ITEMS = 3;  // words per thread that few buckets exceed

union BucketMemory {
    struct {
        uint64_t splitters[MOST_BUCKETS];
        uint32_t before[MOST_BUCKETS];  // words of blocks that came before this one
        uint32_t offsets[MOST_BUCKETS];  // of the bucket
    } split;
    uint64_t tile[BUCKET_WORDS];
};

// Block: sort tiles of a sample that is spread evenly over the words, each taken from its own stretch. Clears the totals.
__device__ __forceinline__ void sort_sample(const Sorting& b, uint32_t words, uint64_t* tile) {
    const uint32_t size = SAMPLE_RATE * b.buckets, stretch = words / size;
    for (uint32_t k = thread_id(); k < b.buckets; k += thread_count()) b.totals[k] = 0;
    for (uint32_t at = blockIdx.x * SORT_TILE; at < size; at += gridDim.x * SORT_TILE) {
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK)
            tile[i] = b.words[(at + i) * stretch + ((at + i) * 0x9E3779B1u >> 8) % stretch];
        sort_shared<TILE_ITEMS>(tile, SORT_TILE);
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK) b.sample[at + i] = tile[i];
        __syncthreads();
    }
}

// Grid: the words of the sample whose place is a multiple of SAMPLE_RATE split the buckets.
__device__ __forceinline__ void pick_splitters(const Sorting& b) {
    const uint32_t size = SAMPLE_RATE * b.buckets;
    for (uint32_t i = thread_id() / SORT_LANES; i < size; i += thread_count() / SORT_LANES) {
        const uint32_t place = place_of(b.sample, size / SORT_TILE, b.sample[i]);
        if (threadIdx.x % SORT_LANES == 0 && place % SAMPLE_RATE == 0) b.splitters[place / SAMPLE_RATE] = b.sample[i];
    }
}

struct Stretch {
    uint32_t first, last;  // words of a block
};

__device__ __forceinline__ Stretch words_of_block(uint32_t size) {
    const uint32_t share = (size + gridDim.x - 1) / gridDim.x, first = min(size, blockIdx.x * share);
    return {first, min(size, first + share)};
}

// Block: the bucket of each of its words, and the word's rank among those of the block.
__device__ __forceinline__ void count_buckets(const Sorting& b, const Stretch& mine, BucketMemory& memory) {
    auto& split = memory.split;
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < b.buckets; k += SORT_BLOCK) {
        split.splitters[k] = b.splitters[k];
        split.before[k] = 0;
    }
    __syncthreads();
    for (uint32_t i = mine.first + threadIdx.x; i < mine.last; i += SORT_BLOCK) {
        const uint64_t word = b.words[i];
        uint32_t bucket = 0;  // the last splitter that is not above the word; the first splitter is not looked at
        for (uint32_t step = b.buckets / 2; step > 0; step /= 2)
            if (split.splitters[bucket + step] <= word) bucket += step;
        b.place[i] = (bucket << 16) | atomicAdd(&split.before[bucket], 1u);
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < b.buckets; k += SORT_BLOCK)
        if (split.before[k]) split.before[k] = atomicAdd(&b.totals[k], split.before[k]);
}

// Block: sum the totals up to offsets, which block 0 keeps, and put its words into their buckets.
__device__ __forceinline__ void scatter(const Sorting& b, const Stretch& mine, BucketMemory& memory) {
    __shared__ uint32_t sums[SORT_BLOCK];
    auto& split = memory.split;
    const uint32_t each = (b.buckets + SORT_BLOCK - 1) / SORT_BLOCK, from = min(b.buckets, threadIdx.x * each),
                   to = min(b.buckets, from + each);
    uint32_t sum = 0;
    for (uint32_t k = from; k < to; ++k) sum += b.totals[k];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t step = 1; step < SORT_BLOCK; step *= 2) {
        const uint32_t more = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += more;
        __syncthreads();
    }
    sum = sums[threadIdx.x] - sum;
    for (uint32_t k = from; k < to; ++k) {
        split.offsets[k] = sum;
        if (blockIdx.x == 0) b.offsets[k] = sum;
        sum += b.totals[k];
    }
    __syncthreads();
    for (uint32_t i = mine.first + threadIdx.x; i < mine.last; i += SORT_BLOCK) {
        const uint32_t place = b.place[i], bucket = place >> 16;
        b.buffer[split.offsets[bucket] + split.before[bucket] + (place & 0xFFFFu)] = b.words[i];
    }
}

// Block: sort words where they lie, by a bitonic network whose pairs all have the smaller word first.
__device__ __forceinline__ void sort_in_place(uint64_t* words, uint32_t size) {
    for (uint32_t run = 2; run < 2 * size; run *= 2)
        for (uint32_t step = run / 2; step > 0; step /= 2) {
            const uint32_t pairs = (size + run - 1) / run * (run / 2);
            for (uint32_t p = threadIdx.x; p < pairs; p += SORT_BLOCK) {
                const uint32_t i = 2 * p - (p & (step - 1)), j = 2 * step == run ? i ^ (run - 1) : i + step;
                if (j >= size) continue;  // what is missing counts as larger than all, and stays where it is
                const uint64_t a = words[i], b = words[j];
                words[i] = min(a, b);
                words[j] = max(a, b);
            }
            __syncthreads();
        }
}

// Block per bucket: sort it, and call emit(place, word) for its words.
template <class Emit>
__device__ __forceinline__ void sort_buckets(const Sorting& b, uint64_t* tile, Emit&& emit) {
    for (uint32_t k = blockIdx.x; k < b.buckets; k += gridDim.x) {
        const uint32_t size = b.totals[k], first = b.offsets[k];
        uint64_t* words = b.buffer + first;
        __syncthreads();
        if (size <= BUCKET_WORDS) {
            for (uint32_t i = threadIdx.x; i < size; i += SORT_BLOCK) tile[i] = words[i];
            words = tile;
        }
        if (size <= USUAL_ITEMS * SORT_BLOCK) sort_shared<USUAL_ITEMS>(words, size);
        else if (size <= BUCKET_WORDS) sort_shared<BUCKET_WORDS / SORT_BLOCK>(words, size);
        else sort_in_place(words, size);
        for (uint32_t i = threadIdx.x; i < size; i += SORT_BLOCK) emit(first + i, words[i]);
    }
}

// Unpacks the words of a batch to keys and order.
struct Unpack {
    const Sorting& s;
    __device__ void operator()(uint32_t place, uint64_t word) const {
        unpack_word(word, s.bits, s.low, s.keys[place], s.order[place]);
    }
};

// Grid: sort the words and call emit(place, word) for all. Five barriers of the grid, the first of them behind what wrote the words;
// answer() is called behind it.
template <class Answer, class Emit>
__device__ __forceinline__ void sort_by_buckets(const Sorting& b, uint32_t size, uint32_t& expected,
                                                BucketMemory& memory, Answer&& answer, Emit&& emit) {
    const Stretch mine = words_of_block(size);
    grid_barrier(b.arrived, expected);
    answer();
    sort_sample(b, size, memory.tile);
    grid_barrier(b.arrived, expected);
    pick_splitters(b);
    grid_barrier(b.arrived, expected);
    count_buckets(b, mine, memory);
    grid_barrier(b.arrived, expected);
    scatter(b, mine, memory);
    grid_barrier(b.arrived, expected);
    sort_buckets(b, memory.tile, emit);
}

// The same of few words, by tiles. Two barriers of the grid.
template <class Answer, class Emit>
__device__ __forceinline__ void sort_by_tiles(const Sorting& b, uint32_t size, uint32_t& expected, BucketMemory& memory,
                                              Answer&& answer, Emit&& emit) {
    grid_barrier(b.arrived, expected);
    answer();
    for (uint32_t at = blockIdx.x * SORT_TILE; at < size; at += gridDim.x * SORT_TILE) {
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK)
            memory.tile[i] = at + i < size ? b.words[at + i] : ~0ull;
        sort_shared<TILE_ITEMS>(memory.tile, min(uint32_t(SORT_TILE), size - at));
        for (uint32_t i = threadIdx.x; i < SORT_TILE; i += SORT_BLOCK) b.words[at + i] = memory.tile[i];
        __syncthreads();
    }
    grid_barrier(b.arrived, expected);
    place_words(b.words, size, emit);
}

// What edge k is sorted by first: all of it, or, if that has more than 64 bits, its end.
__device__ __forceinline__ uint64_t first_word(const Sorting& s, uint32_t u, uint32_t v, uint32_t k) {
    return s.middle ? (uint64_t(v) << s.low) | k : packed_word(u, v, k, s.bits, s.low);
}

// Grid: sort the edges by their first words into keys and order; if those are their ends, then by their sources, stably.
template <class Answer>
__device__ __forceinline__ void sort_edge_words(const Sorting& s, const uint32_t* src, const uint32_t* dst,
                                                uint32_t size, uint32_t& expected, Answer&& answer) {
    __shared__ BucketMemory memory;
    if (!s.middle) return sort_by_buckets(s, size, expected, memory, answer, Unpack{s});
    const uint64_t mask = (1ull << s.low) - 1;
    Sorting next = s;  // tiles are read while words are emitted
    if (!s.buckets) {
        next.words = s.buffer;
        next.buffer = s.words;
    }
    const auto emit_source = [&](uint32_t place, uint64_t word) {
        const uint32_t k = uint32_t(word & mask);
        s.middle[place] = k;
        next.words[place] = (uint64_t(src[k]) << s.low) | place;
    };
    const auto emit_edge = [&](uint32_t place, uint64_t word) {
        const uint32_t k = s.middle[word & mask];
        s.keys[place] = ((word >> s.low) << 32) | dst[k];
        s.order[place] = k;
    };
    if (s.buckets) {
        sort_by_buckets(s, size, expected, memory, answer, emit_source);
        sort_by_buckets(next, size, expected, memory, [] {}, emit_edge);
    } else {
        sort_by_tiles(s, size, expected, memory, answer, emit_source);
        sort_by_tiles(next, size, expected, memory, [] {}, emit_edge);
    }
}
