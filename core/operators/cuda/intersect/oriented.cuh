// Meeting the triangles of one vertex (see oriented.cu, which says what CORNERS is): by a warp that streams the rows of its lower
// neighbours past a set, or by one thread.
#pragma once
#include "intersect.cuh"

#define TINY_QUADS \
    16  // up to four higher neighbours, and eight lower ones, are a thread's work if it has this little to stream
#define TINY_LOWER 8

// See orient.cu: row uint2[num_vertices], ids, ends and lower uint32[num_vertices].
struct Rows {
    const uint2* row;
    const uint32_t* ids;
    const uint32_t* ends;
    const uint32_t* lower;
    __device__ const uint4& quad(uint32_t place) const { return reinterpret_cast<const uint4*>(ids)[place]; }
    __device__ const uint32_t* higher_of(uint32_t begin) const { return ids + 4ull * begin; }
    __device__ const uint32_t* lower_of(uint32_t v, uint32_t number) const { return ids + (4ull * ends[v] - number); }
};

__device__ __forceinline__ uint32_t quads_of(uint32_t length) { return (length + 3) / 4; }

// A hash set of ids in shared memory, of one word per slot, and a counter of 16 bits for each. At most half of the slots are used, mostly
// an eighth: nearly all searches end at the first one.
struct Table {
    uint32_t* key;  // 16-byte aligned, last + 1 of them, a power of two of at least 64; EMPTY: free
    uint32_t* counter;  // 16-byte aligned, one for two slots, only if CORNERS is 1
    uint32_t last;
    int shift;
    __device__ uint32_t home(uint32_t x) const { return x * 0x9E3779B1u >> shift; }
    __device__ void clear(uint32_t me, uint32_t threads) const {
        for (uint32_t k = me; k <= last / 4; k += threads)
            reinterpret_cast<uint4*>(key)[k] = make_uint4(EMPTY, EMPTY, EMPTY, EMPTY);
#if CORNERS == 1
        for (uint32_t k = me; k <= last / 8; k += threads)
            reinterpret_cast<uint4*>(counter)[k] = make_uint4(0, 0, 0, 0);
#endif
    }
    __device__ void insert(uint32_t x) const {  // which is not there
        for (uint32_t at = home(x); atomicCAS(key + at, EMPTY, x) != EMPTY;) at = (at + 1) & last;
    }
    __device__ int slot_behind(uint32_t at, uint32_t x) const {  // -1: x is not there
        do {
            at = (at + 1) & last;
            if (key[at] == x) return int(at);
        } while (key[at] != EMPTY);
        return -1;
    }
    __device__ void count(uint32_t at) const { atomicAdd(counter + at / 2, 1u << 16 * (at & 1)); }
    __device__ uint32_t counted(uint32_t at) const { return counter[at / 2] >> 16 * (at & 1) & 0xFFFFu; }
};

// The table of `expected` ids in memory for `most` slots (a power of two).
__device__ __forceinline__ Table table_for(uint32_t* key, uint32_t* counter, uint32_t expected, uint32_t most) {
    const uint32_t slots = min(most, max(64u, 1u << (32 - __clz(8 * expected - 1))));
    return {key, counter, slots - 1, __clz(slots) + 1};
}

// The value of a triangle, whose corners are in ascending order of degree, or with BY_ID are put into that of ids.
__device__ __forceinline__ out_t value_at(uint32_t u, uint32_t v, uint32_t x FORMALS) {
#if BY_ID
    const uint32_t least = min(u, min(v, x)), greatest = max(u, max(v, x));
    return value_of(0, least, u ^ v ^ x ^ least ^ greatest, greatest ARGS);
#else
    return value_of(0, u, v, x ARGS);
#endif
}

// One triangle; x is in slot `at` of the table.
__device__ __forceinline__ void meet(uint32_t u, uint32_t v, uint32_t x, const Table& table, uint32_t at, out_t& sum,
                                     out_t* out FORMALS) {
#if CORNERS == 0
    sum += value_at(u, v, x ARGS);
#elif CORNERS == 1
    table.count(at);
#else
    const out_t value = value_at(u, v, x ARGS);
    atomic_sum(out + u, value);
    atomic_sum(out + v, value);
    atomic_sum(out + x, value);
#endif
}

__device__ __forceinline__ uint32_t warp_total(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, value);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
#endif
}

// Stream the rows of `count` lower neighbours of v, at most 32, past the table of its higher ones, by a warp: its lanes get equal
// numbers of quads. middle: uint32[32] of the warp, 0 before and after. Adds to `own` what the calling thread found.
__device__ __forceinline__ void stream_rows(const Rows& rows, uint32_t v, const uint32_t* members, uint32_t count,
                                            const Table& table, uint32_t* middle, uint32_t& own, out_t& sum,
                                            out_t* out FORMALS) {
    const int lane = threadIdx.x % 32;
    const uint32_t u = lane < count ? members[lane] : 0;
    const uint2 mine = lane < count ? rows.row[u] : make_uint2(0, 0);
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
    uint32_t at_u = 0;  // triangles that were found in the row of u while the warp had no other
    for (uint32_t base = 0; base < total; base += 32) {
        const uint32_t item = base + lane;
        int j =
            __popc(__ballot_sync(ALL_LANES, end <= base));  // the row that the item is in, if the warp has one alone
        const bool alone = __shfl_sync(ALL_LANES, end, j) >= base + 32;
        if (!alone) {  // the first row that ends above the item
            j = 0;
#pragma unroll
            for (int step = 16; step > 0; step /= 2) {
                if (__shfl_sync(ALL_LANES, end, j + step - 1) <= item) j += step;
            }
        }
        const uint32_t place = item + __shfl_sync(ALL_LANES, shift, j);
        const int left = int(__shfl_sync(ALL_LANES, limit, j) - 4 * item);  // ids of the row from here on
        const uint32_t owner = CORNERS == 1 ? 0 : __shfl_sync(ALL_LANES, u, j);
        uint32_t hits = 0;
        if (item < total) {
            const uint4 quad = rows.quad(place);
            const uint32_t id[4] = {quad.x, quad.y, quad.z, quad.w};
            uint32_t at[4], held[4], again = 0;
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                at[c] = table.home(id[c]);
                held[c] = table.key[at[c]];
            }
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                if (c < left && held[c] == id[c]) {
                    meet(owner, v, id[c], table, at[c], sum, out ARGS);
                    ++hits;
                } else if (c < left && held[c] != EMPTY) {
                    again |= 1u << c;
                }
            }
            for (; again; again &= again - 1) {
                const uint32_t x = again & 1 ? quad.x : again & 2 ? quad.y : again & 4 ? quad.z : quad.w;
                const int slot = table.slot_behind(table.home(x), x);
                if (slot >= 0) {
                    meet(owner, v, x, table, slot, sum, out ARGS);
                    ++hits;
                }
            }
        }
#if CORNERS == 1
        if (alone) {
            const uint32_t all = warp_total(hits);
            if (lane == j) at_u += all;
        } else if (hits > 0) {
            atomicAdd(middle + j, hits);
        }
        own += hits;
#endif
    }
    __syncwarp();
#if CORNERS == 1
    at_u += middle[lane];
    if (at_u > 0) atomic_sum(out + u, out_t(at_u));
    middle[lane] = 0;
    __syncwarp();
#endif
}

// The triangles of v with up to four higher neighbours, by one thread; false if there is too much to stream.
__device__ __forceinline__ bool tiny_row(const Rows& rows, uint32_t v, uint2 own, uint32_t lower, out_t& sum,
                                         out_t* out FORMALS) {
    if (own.y > 4 || lower > TINY_LOWER) return false;
    const uint32_t* members = rows.lower_of(v, lower);
    uint32_t total = 0;
    for (uint32_t j = 0; j < lower; ++j) total += quads_of(rows.row[members[j]].y);
    if (total > TINY_QUADS) return false;
    const uint4 quad = rows.quad(own.x);
    const uint32_t higher[4] = {quad.x, quad.y, quad.z, quad.w};
    for (uint32_t j = 0; j < lower; ++j) {
        const uint32_t u = members[j];
        const uint2 row = rows.row[u];
        for (uint32_t k = 0; k < row.y; ++k) {
            const uint32_t x = rows.higher_of(row.x)[k];
            bool is_member = false;
#pragma unroll
            for (int c = 0; c < 4; ++c) is_member |= c < own.y && x == higher[c];
            if (!is_member) continue;
#if CORNERS == 0
            sum += value_at(u, v, x ARGS);
#else
            const out_t value = value_at(u, v, x ARGS);
            atomic_sum(out + u, value);
            atomic_sum(out + v, value);
            atomic_sum(out + x, value);
#endif
        }
    }
    return true;
}

// Add what was counted for the members of a table to their entries, by `threads` threads of which this is number `me`.
__device__ __forceinline__ void flush(const Table& table, uint32_t me, uint32_t threads, out_t* out) {
    for (uint32_t at = me; at <= table.last; at += threads) {
        if (const uint32_t number = table.counted(at)) atomic_sum(out + table.key[at], out_t(number));
    }
}

// Add the sum of `own` over the warp to *out.
__device__ __forceinline__ void add_corner(out_t* out, uint32_t own) {
    const uint32_t all = warp_total(own);
    if (threadIdx.x % 32 == 0 && all > 0) atomic_sum(out, out_t(all));
}

#if CORNERS == 1
#define COUNTERS(slots) ((slots) / 2)
#else
#define COUNTERS(slots) 1
#endif
