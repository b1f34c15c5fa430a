// The merge of the rows of an index of events (index_cuda.py) and a batch of entering ones into other arrays, in one cooperative launch. Numbers of
// entering events are larger than all others, so a new row is what stays of the old one and then the entering events of the vertex, as the batch, sorted by
// vertex and number, has them. The old rows may have gaps between them, the new ones have none. The struct Merging comes from index_cuda.py.
//
//   let events leave, count entering ones by vertex, sum rows by block | place the rows | move: a warp has a range of new slots
//
// with a barrier of the grid at each bar. No atomics but those of the barriers. Bytes: 16 per event that stays (8 read, 8 written), 28 per
// entering one and a sector of 32 at random, which lies in the L2, and about 90 per vertex: 2^20 into 2^24 over 2^20 vertices are 0.4 GB.
#include "grid_barrier.cuh"
#include "kept_slots.cuh"
#include "search.cuh"
#include "sums.cuh"

constexpr uint32_t WARPS = MERGE_BLOCK / 32;
constexpr int ITEMS = 4;  // slots of a lane that are read before they are written

// The sort key of a vertex; ``vertices`` is that of places without one.
__device__ __forceinline__ uint64_t key_of(const Merging& m, long long v) {
    return uint64_t(v >> m.half) << 32 | uint64_t(v & ((1ll << m.half) - 1));
}

// Thread: the events of vertex v leave that are old enough.
__device__ __forceinline__ void move_begin(const Merging& m, long long v) {
    const long long lo = m.begin[v], hi = m.end[v];
    if (lo == hi || m.number[lo] - m.oldest >= m.leaving) return;
    m.begin[v] = first_kept(m.number, lo + 1, hi, m.oldest, m.leaving);
}

__device__ __forceinline__ long long old_length(const Merging& m, long long v) { return m.end[v] - m.begin[v]; }

struct Share {
    long long first, last;  // vertices of a block; ``vertices`` itself is the last one of all
};

__device__ __forceinline__ Share share_of_block(const Merging& m) {
    const long long all = m.vertices + 1, size = (all + gridDim.x - 1) / gridDim.x;
    const long long first = min(all, blockIdx.x * size);
    return {first, min(all, first + size)};
}

// Warp: number of entering events of vertices below v.
__device__ __forceinline__ uint32_t entering_below(const Merging& m, long long v) {
    const uint64_t key = key_of(m, v);
    return first_not_below(0, m.size, [&](uint32_t k) { return m.keys[k] < key; });
}

// Block, thread per vertex: m.entering[v] = the number of entering events of vertices below v; m.totals: of the block, the slots of its rows.
__device__ __forceinline__ void count_rows(const Merging& m, const Share& mine) {
    const uint32_t low = entering_below(m, mine.first), high = entering_below(m, min(mine.last, m.vertices));
    long long kept = 0, total;
    for (long long v = mine.first + threadIdx.x; v < mine.last; v += MERGE_BLOCK) {
        m.entering[v] = lower_bound(m.keys, low, high, key_of(m, v));
        if (v == m.vertices) continue;
        if (m.leaving) move_begin(m, v);
        kept += old_length(m, v);
    }
    sum_below<MERGE_BLOCK>(kept, total);
    if (threadIdx.x == 0) m.totals[blockIdx.x] = mine.first < mine.last ? total + high - low : 0;
}

// Block, behind a barrier of the grid: begin and end of its new rows. Returns the number of all slots.
__device__ __forceinline__ long long place_rows(const Merging& m, const Share& mine) {
    long long before = 0, all = 0, at, slots, total;
    for (uint32_t k = threadIdx.x; k < gridDim.x; k += MERGE_BLOCK) {
        before += k < blockIdx.x ? m.totals[k] : 0;
        all += m.totals[k];
    }
    sum_below<MERGE_BLOCK>(before, at);
    sum_below<MERGE_BLOCK>(all, slots);
    for (long long base = mine.first; base < min(mine.last, m.vertices); base += MERGE_BLOCK) {
        const long long v = base + threadIdx.x;
        const bool is_mine = v < min(mine.last, m.vertices);
        const long long length = is_mine ? old_length(m, v) + m.entering[v + 1] - m.entering[v] : 0;
        const long long begin = at + sum_below<MERGE_BLOCK>(length, total);
        if (is_mine) {
            m.new_begin[v] = begin;
            m.new_end[v] = begin + length;
        }
        at += total;
    }
    return slots;
}

// Slots counted from the first one of a warp, which has fewer than 2^32 of them.
__device__ __forceinline__ uint32_t from(long long slot, long long first) {
    return uint32_t(min(max(slot - first, 0ll), 0xFFFFFFFFll));
}

// A row of a lane, one of 32 in order.
struct Row {
    uint32_t end, split;  // from the first slot on: one past the row's last, its first one of an entering event
    long long old, entering;  // what to add to a new slot for the old slot, or for the place among the entering events
};

__device__ __forceinline__ Row row_of_lane(const Merging& m, long long v, long long first) {
    if (v >= m.vertices) return {ALL, ALL, 0, 0};
    const long long begin = m.new_begin[v], end = m.new_end[v];
    const uint32_t low = m.entering[v], high = m.entering[v + 1];
    const long long split = end - (high - low);
    return {from(end, first), from(split, first), m.begin[v] - begin, low - split};
}

// Warp: the lane that has the row of the slot ``at`` from the first one on.
__device__ __forceinline__ uint32_t lane_of(const Row& row, uint32_t at) {
    uint32_t lane = 0;
#pragma unroll
    for (uint32_t step = 16; step; step /= 2)
        if (__shfl_sync(ALL, row.end, lane + step - 1) <= at) lane += step;
    return lane;
}

// Warp: write ``count`` new slots from ``first`` on, which the rows of its lanes cover. Where no event enters these rows, and none has left the
// gaps between them, all of them move by as much.
__device__ __forceinline__ void move_rows(const Merging& m, const Row& row, long long first, uint32_t count) {
    const uint32_t lane = threadIdx.x % 32;
    const long long shift = __shfl_sync(ALL, row.old, 0);
    const bool together = !__any_sync(ALL, row.end != ALL && (row.old != shift || row.split != row.end));
    for (uint32_t base = 0; base < count; base += 32 * ITEMS) {
        uint32_t other[ITEMS], number[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const uint32_t at = base + 32 * k + lane, owner = together ? 0 : lane_of(row, at);
            const bool is_old = together || at < __shfl_sync(ALL, row.split, owner);
            const long long old = together ? shift : __shfl_sync(ALL, row.old, owner);
            const long long entering = together ? 0 : __shfl_sync(ALL, row.entering, owner);
            if (at >= count) continue;
            if (is_old) {
                other[k] = m.other[first + at + old];
                number[k] = m.number[first + at + old];
            } else {
                const uint32_t place = m.order[first + at + entering], event = place >> m.both;
                other[k] = place & m.both ? m.batch_vertex[event] : m.batch_other[event];
                number[k] = m.first + event;
            }
        }
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const uint32_t at = base + 32 * k + lane;
            if (at >= count) continue;
            m.new_other[first + at] = other[k];
            m.new_number[first + at] = number[k];
        }
    }
}

// Warp, behind a barrier of the grid: write its share of the new slots, 32 rows at a time.
__device__ __forceinline__ void move_share(const Merging& m, long long slots) {
    const long long warps = (long long)gridDim.x * WARPS, warp = (long long)blockIdx.x * WARPS + threadIdx.x / 32;
    const long long piece = 32 * ITEMS, size = ((slots + warps - 1) / warps + piece - 1) / piece * piece;
    long long at = warp * size;
    const long long last = min(slots, at + size);
    if (at >= last) return;
    long long v = first_not_below(0, uint32_t(m.vertices), [&](uint32_t k) { return m.new_end[k] <= at; });
    for (; at < last; v += 32) {
        const Row row = row_of_lane(m, v + threadIdx.x % 32, at);
        const uint32_t count = min(__shfl_sync(ALL, row.end, 31), uint32_t(last - at));
        move_rows(m, row, at, count);
        at += count;
    }
}

// Grid of MERGE_BLOCK threads.
extern "C" __global__ void __launch_bounds__(MERGE_BLOCK, 3) merge_rows(const __grid_constant__ Merging m) {
    uint32_t expected = m.expected;
    const Share mine = share_of_block(m);
    count_rows(m, mine);
    grid_barrier(m.arrived, expected);
    const long long slots = place_rows(m, mine);
    grid_barrier(m.arrived, expected);
    move_share(m, slots);
}
