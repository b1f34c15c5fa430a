// The first half of a batch that a cooperative launch applies, for layouts that keep each adjacency ascending in one range of slots:
// which entries of the sorted batch change the graph, in which slots, and what is reported. The struct Changing comes from
// located.py. Weights are moved and compared as bit patterns. No atomics but those of the barriers.
#pragma once
#include "batch.cuh"
#include "grid_barrier.cuh"
#include "row_search.cuh"

constexpr uint32_t CHANGE_WARPS = CHANGE_BLOCK / 32;

// Block: inclusive number of threads with ``flag`` up to the calling one, and of all in ``total``. Two barriers of the block.
__device__ __forceinline__ uint32_t rank_in_block(bool flag, uint32_t& total) {
    __shared__ uint32_t counts[CHANGE_WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t lanes = __ballot_sync(0xFFFFFFFFu, flag);
    if (lane == 0) counts[warp] = __popc(lanes);
    __syncthreads();
    uint32_t before = 0;
    total = 0;
    for (uint32_t w = 0; w < CHANGE_WARPS; ++w) {
        before += w < warp ? counts[w] : 0;
        total += counts[w];
    }
    __syncthreads();
    return before + __popc(lanes & (0xFFFFFFFFu >> (31 - lane)));
}

// Entries of a block, all of them in order over the blocks.
struct Entries {
    long long share, first, last;
};

__device__ __forceinline__ bool are_few(const Changing& c) { return c.size * LOCATE_LANES <= thread_count(); }

__device__ __forceinline__ Entries entries_of_block(const Changing& c) {
    const long long rounds = (c.size + (long long)thread_count() - 1) / thread_count();
    Entries entries;
    entries.share = are_few(c) ? CHANGE_BLOCK / LOCATE_LANES : rounds * CHANGE_BLOCK;
    entries.first = blockIdx.x * entries.share;
    entries.last = min(c.size, entries.first + entries.share);
    return entries;
}

__device__ __forceinline__ uint8_t entry_kind(const Changing& c, long long i, bool stored) {
    if (i + 1 < c.size && c.keys[i + 1] == c.keys[i]) return DUPLICATE;
    return stored ? PRESENT : ABSENT;
}

// Block, LOCATE_LANES threads per entry: as locate_entries, for blocks with so few.
__device__ __forceinline__ void locate_few(const Changing& c, const Entries& entries) {
    const long long i = entries.first + threadIdx.x / LOCATE_LANES;
    const bool is_leader = threadIdx.x % LOCATE_LANES == 0 && i < entries.last;
    long long at = 0;
    uint8_t kind = DUPLICATE;
    const uint64_t key = i < entries.last ? c.keys[i] : 0;  // beside the guard: each read takes its time
    if (i < entries.last && !(c.guard && *c.guard)) {  // the whole tile
        const long long end = c.end[source(key)];
        at = lower_bound_by_lanes(c.dst, c.begin[source(key)], end, uint32_t(key));
        kind = entry_kind(c, i, at < end && c.dst[at] == uint32_t(key));
    }
    uint32_t total;
    const uint32_t rank = rank_in_block(is_leader && kind == (c.deleting ? PRESENT : ABSENT), total);
    if (is_leader) {
        c.kind[i] = kind;
        c.slot[i] = at;
        c.rank[i] = rank;
    }
    if (threadIdx.x == 0 && entries.first < entries.last) c.totals[blockIdx.x] = total;
}

// Block: kind, slot (the first not below the edge) and rank within the block of its entries; totals receives their number. In
// an invalid batch no entry counts. A thread looks for AT_ONCE entries at a time, as each step of a search waits for memory.
__device__ __forceinline__ void locate_entries(const Changing& c, const Entries& entries) {
    if (are_few(c)) return locate_few(c, entries);
    const bool invalid = c.guard && *c.guard;
    const uint8_t wanted = c.deleting ? PRESENT : ABSENT;
    uint32_t counted = 0;
    for (long long base = entries.first; base < entries.last; base += AT_ONCE * CHANGE_BLOCK) {
        long long at[AT_ONCE] = {};
        uint32_t degree[AT_ONCE] = {}, v[AT_ONCE] = {};
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long i = base + k * CHANGE_BLOCK + threadIdx.x;
            if (i >= entries.last || invalid) continue;
            const uint32_t u = source(c.keys[i]);
            v[k] = uint32_t(c.keys[i]);
            at[k] = c.begin[u];
            degree[k] = uint32_t(c.end[u] - at[k]);
        }
        const uint32_t stored = lower_bounds(c.dst, at, degree, v);
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            if (base + k * CHANGE_BLOCK >= entries.last) break;  // the whole block
            const long long i = base + k * CHANGE_BLOCK + threadIdx.x;
            const uint8_t kind = i < entries.last && !invalid ? entry_kind(c, i, stored >> k & 1) : DUPLICATE;
            uint32_t more;
            const uint32_t rank = rank_in_block(kind == wanted, more);
            if (i < entries.last) {
                c.kind[i] = kind;
                c.slot[i] = at[k];
                c.rank[i] = counted + rank;
            }
            counted += more;
        }
    }
    if (threadIdx.x == 0 && entries.first < entries.last) c.totals[blockIdx.x] = counted;
}

struct Count {
    uint32_t before, total;  // changes of the blocks before this one, and all
};

// Block, behind a barrier of the grid: sum the totals of all blocks that have entries.
__device__ __forceinline__ Count count_changes(const Changing& c, const Entries& entries) {
    __shared__ uint32_t before[CHANGE_WARPS], all[CHANGE_WARPS];
    const uint32_t blocks = (c.size + entries.share - 1) / entries.share;
    uint32_t mine = 0, every = 0;
    for (uint32_t k = threadIdx.x; k < blocks; k += CHANGE_BLOCK) {
        const uint32_t count = c.totals[k];
        every += count;
        mine += k < blockIdx.x ? count : 0;
    }
    for (int s = 16; s > 0; s /= 2) {
        mine += __shfl_xor_sync(0xFFFFFFFFu, mine, s);
        every += __shfl_xor_sync(0xFFFFFFFFu, every, s);
    }
    if (threadIdx.x % 32 == 0) {
        before[threadIdx.x / 32] = mine;
        all[threadIdx.x / 32] = every;
    }
    __syncthreads();
    Count count = {0, 0};
    for (uint32_t w = 0; w < CHANGE_WARPS; ++w) {
        count.before += before[w];
        count.total += all[w];
    }
    return count;
}

// Block: report all of its entries. Here and below a thread reads AT_ONCE entries before it writes.
__device__ __forceinline__ void report_entries(const Changing& c, const Entries& entries) {
    for (long long base = entries.first + threadIdx.x; base < entries.last; base += AT_ONCE * CHANGE_BLOCK) {
        uint8_t kind[AT_ONCE];
        uint32_t item[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long i = base + k * CHANGE_BLOCK;
            if (i >= entries.last) continue;
            kind[k] = c.kind[i];
            item[k] = c.order[i];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k)
            if (base + k * CHANGE_BLOCK < entries.last)
                report_entry(c, c.weight, kind[k], item[k], c.slot[base + k * CHANGE_BLOCK]);
    }
}

// Block: list the slots of the changes among its entries by rank, and call list(rank, slot, key, item) for each.
template <class F>
__device__ __forceinline__ void list_changes(const Changing& c, const Entries& entries, uint32_t before, F&& list) {
    const uint8_t wanted = c.deleting ? PRESENT : ABSENT;
    for (long long base = entries.first + threadIdx.x; base < entries.last; base += AT_ONCE * CHANGE_BLOCK) {
        bool changes[AT_ONCE];
        long long slot[AT_ONCE];
        uint64_t key[AT_ONCE];
        uint32_t rank[AT_ONCE], item[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const long long i = base + k * CHANGE_BLOCK;
            changes[k] = i < entries.last && c.kind[i] == wanted;
            if (i >= entries.last) continue;
            slot[k] = c.slot[i];
            key[k] = c.keys[i];
            rank[k] = before + c.rank[i] - 1;
            item[k] = c.order[i];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            if (!changes[k]) continue;
            c.changed_slot[rank[k]] = slot[k];
            list(rank[k], slot[k], key[k], item[k]);
        }
    }
}
