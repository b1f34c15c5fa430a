// Meeting the triangles of one oriented row (see oriented.cu, which says what CORNERS is): by a warp that streams the rows of its
// members past a set, or by one thread.
#pragma once
#include "intersect.cuh"
#include "intersect_set.cuh"

#define TINY_QUADS 16  // a row of at most four ids is served by a thread, if it has this little to stream

struct Row {
    uint32_t u, begin, length;  // begin in groups of four ids
};

__device__ __forceinline__ uint32_t quads_of(uint32_t length) { return (length + 3) / 4; }

// One triangle: u and v are known, x is in the slot of the set whose counter is *found.
__device__ __forceinline__ void meet(const Row& row, uint32_t v, uint32_t x, uint32_t* found, out_t& sum,
                                     out_t* out FORMALS) {
#if CORNERS == 0
    sum += value_of(0, row.u, v, x ARGS);
#elif CORNERS == 1
    atomicAdd(found, 1u);
#else
    const out_t value = value_of(0, row.u, v, x ARGS);
    atomic_sum(out + row.u, value);
    atomic_sum(out + v, value);
    atomic_sum(out + x, value);
#endif
}

// Stream the rows of up to 32 members of `row`, from place `first` below `stop` on, past the set, by a warp: their quads are shared
// out evenly. middle: uint32[32] of the warp, 0 before and after.
__device__ __forceinline__ void stream_rows(const uint2* rows, const uint32_t* ids, const Row& row, uint32_t first,
                                            uint32_t stop, const IdSet& set, uint32_t* found, uint32_t* middle,
                                            uint32_t& corner, out_t& sum, out_t* out FORMALS) {
    const int lane = threadIdx.x % 32;
    const uint32_t* members = ids + 4ull * row.begin + first;
    const bool serves = first + lane < stop;
    const uint2 mine = serves ? rows[members[lane]] : make_uint2(0, 0);
    uint32_t end = quads_of(mine.y);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, end, step);
        if (lane >= step) end += other;
    }
    const uint32_t total = __shfl_sync(ALL_LANES, end, 31);
    const uint32_t before = end - quads_of(mine.y);
    const uint32_t shift = mine.x - before;  // from a quad's number in this batch to its place (modulo 2^32)
    const uint32_t limit = 4 * before + mine.y;  // one past the number of the last id in this batch
    for (uint32_t base = 0; base < total; base += 32) {
        const uint32_t item = base + lane;
        int j = 0;  // the row that the item is in: the first that ends above it
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            if (__shfl_sync(ALL_LANES, end, j + step - 1) <= item) j += step;
        }
        const uint32_t place = item + __shfl_sync(ALL_LANES, shift, j);
        const int left = int(__shfl_sync(ALL_LANES, limit, j) - 4 * item);  // ids of the row from here on
        if (item >= total) continue;
        const uint4 quad = reinterpret_cast<const uint4*>(ids)[place];
        const uint32_t id[4] = {quad.x, quad.y, quad.z, quad.w};
        uint32_t hits = 0;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            if (c >= left) break;
            const int slot = slot_of(set, id[c]);
            if (slot >= 0) {
                meet(row, members[j], id[c], found + slot, sum, out ARGS);
                ++hits;
            }
        }
#if CORNERS == 1
        if (hits > 0) atomicAdd(middle + j, hits);
        corner += hits;
#endif
    }
    __syncwarp();
#if CORNERS == 1
    if (serves && middle[lane] > 0) atomic_sum(out + members[lane], out_t(middle[lane]));
    middle[lane] = 0;
    __syncwarp();
#endif
}

// A row of two to four ids, by one thread; false if there is too much to stream.
__device__ __forceinline__ bool tiny_row(const uint2* rows, const uint32_t* ids, const Row& row, out_t& sum,
                                         out_t* out FORMALS) {
    const uint4 quad = reinterpret_cast<const uint4*>(ids)[row.begin];
    const uint32_t member[4] = {quad.x, quad.y, quad.z, quad.w};
    uint2 next[4];
    uint32_t total = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        next[j] = j < row.length ? rows[member[j]] : make_uint2(0, 0);
        total += quads_of(next[j].y);
    }
    if (total > TINY_QUADS) return false;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        for (uint32_t q = 0; q < quads_of(next[j].y); ++q) {
            const uint4 some = reinterpret_cast<const uint4*>(ids)[next[j].x + q];
            const uint32_t id[4] = {some.x, some.y, some.z, some.w};
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                bool is_member = false;
#pragma unroll
                for (int k = 0; k < 4; ++k) is_member |= k < row.length && id[c] == member[k];
                if (4 * q + c >= next[j].y || !is_member) continue;
#if CORNERS == 0
                sum += value_of(0, row.u, member[j], id[c] ARGS);
#else
                const out_t value = value_of(0, row.u, member[j], id[c] ARGS);
                atomic_sum(out + row.u, value);
                atomic_sum(out + member[j], value);
                atomic_sum(out + id[c], value);
#endif
            }
        }
    }
    return true;
}

// Add what was counted for the members of a set to their entries, by `threads` threads of which this is number `me`.
__device__ __forceinline__ void flush(const IdSet& set, const uint32_t* found, uint32_t me, uint32_t threads,
                                      out_t* out) {
    for (uint32_t at = me; at < 4 * (set.mask + 1); at += threads) {
        if (set.slot[at] != EMPTY && found[at] > 0) atomic_sum(out + set.slot[at], out_t(found[at]));
    }
}

// Add the sum of `corner` over the warp to *out.
__device__ __forceinline__ void add_corner(out_t* out, uint32_t corner) {
    const out_t all = tile_reduce<32>(out_t(corner));
    if (threadIdx.x % 32 == 0 && all > out_t(0)) atomic_sum(out, all);
}

#if CORNERS == 1
#define COUNTERS(slots) slots
#else
#define COUNTERS(slots) 1
#endif
