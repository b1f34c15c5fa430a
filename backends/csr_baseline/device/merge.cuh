// The second half of merge.cu and both.cu: the old graph is moved. The struct (BOTH: MergeBoth) and the constants come from layout.py.
#pragma once
#include "changes.cuh"

#if BOTH
typedef MergeBoth Merging;
#else
typedef Merge Merging;
#endif

// How many edges the first ``count`` changes add, less those that they remove.
__device__ __forceinline__ long long net_of(const Merging& m, uint32_t count) {
#if BOTH
    return count ? m.changed_net[count - 1] >> 2 : 0;
#else
    return m.deleting ? -(long long)count : count;
#endif
}

constexpr uint32_t PIECE = 32 * MERGE_ITEMS;

// Warp: number of the ``size`` ascending words that are below ``value``.
template <class T> __device__ __forceinline__ uint32_t count_below(const T* words, uint32_t size, T value) {
    return first_not_below(0, size, [&](uint32_t i) { return words[i] < value; });
}

// What a block moves: the offsets of a range of vertices, and the edges of a range of old slots; and the changes below them.
struct Ranges {
    long long vertex, last_vertex, slot, last_slot;
    uint32_t below_vertex, below_last_vertex, below_slot;
};

// Block: its ranges. Three warps search, side by side.
__device__ __forceinline__ void find_ranges(const Merging& m, uint32_t total, Ranges& r) {
    const long long count = m.vertices + 1, vertices = (count + gridDim.x - 1) / gridDim.x;
    const long long edges = m.begin[m.vertices];
    const long long slots = ((edges + gridDim.x - 1) / gridDim.x + PIECE - 1) / PIECE * PIECE,
                    slot = blockIdx.x * slots;
    const long long vertex = blockIdx.x * vertices, last_vertex = min(count, vertex + vertices);
    const uint32_t warp = threadIdx.x / 32;
    uint32_t below = 0;
    if (warp == 0) below = count_below(m.changed_source, total, uint32_t(min(vertex, m.vertices)));
    if (warp == 1) below = count_below(m.changed_source, total, uint32_t(max(last_vertex, 1ll) - 1));
    if (warp == 2) below = count_below(m.changed_slot, total, slot);
    if (threadIdx.x == 0) {
        r.vertex = vertex;
        r.last_vertex = last_vertex;
        r.below_vertex = below;
    }
    if (threadIdx.x == 32) r.below_last_vertex = below;
    if (threadIdx.x == 64) {
        r.slot = slot;
        r.last_slot = min(edges, slot + slots);
        r.below_slot = below;
    }
    __syncthreads();
}

// Block: new_offsets[v] = offsets[v] and what the changes of vertices below v add. A warp has OFFSETS vertices per lane at a time.
__device__ __forceinline__ void shift_offsets(const Merging& m, const Ranges& r) {
    constexpr int OFFSETS = 4;
    for (long long base = r.vertex + threadIdx.x / 32 * 32 * OFFSETS; base < r.last_vertex;
         base += OFFSETS * CHANGE_BLOCK) {
        const long long end = min(r.last_vertex, base + 32 * OFFSETS), first = base + threadIdx.x % 32;
        long long offset[OFFSETS];
#pragma unroll
        for (int k = 0; k < OFFSETS; ++k)
            if (first + 32 * k < end) offset[k] = m.begin[first + 32 * k];
        const uint32_t* const sources = m.changed_source + r.below_vertex;
        const uint32_t changes = r.below_last_vertex - r.below_vertex;
        const uint32_t low = r.below_vertex + count_below(sources, changes, uint32_t(base));
        const uint32_t high = r.below_vertex + count_below(sources, changes, uint32_t(end - 1));
        const long long net = net_of(m, low);
#pragma unroll
        for (int k = 0; k < OFFSETS; ++k) {
            const long long v = first + 32 * k;
            if (v >= end) continue;
            m.new_offsets[v] =
                offset[k] + (low < high ? net_of(m, lower_bound(m.changed_source, low, high, uint32_t(v))) : net);
        }
    }
}

// Warp: the words of PIECE slots from ``at`` on to ``to``, where all of them move by as much: a copy.
template <class T> __device__ __forceinline__ void load_piece(T (&words)[MERGE_ITEMS], const T* at) {
#pragma unroll
    for (int k = 0; k < MERGE_ITEMS; ++k) words[k] = at[32 * k];
}
template <class T> __device__ __forceinline__ void store_piece(const T (&words)[MERGE_ITEMS], T* to) {
#pragma unroll
    for (int k = 0; k < MERGE_ITEMS; ++k) to[32 * k] = words[k];
}

// Warp: move the old edges of slots ``begin`` to ``end``, PIECE of them at most, by the changes ``near`` among them, ``size``
// slots in shared memory counted from ``origin`` (BOTH: and what they add); those before them add ``net``.
__device__ __forceinline__ void move_piece(const Merging& m, long long begin, long long end, const uint32_t* near,
                                           const int* nets, uint32_t size, long long origin, long long net) {
    const uint32_t lane = threadIdx.x % 32, filled = uint32_t(end - begin);
    uint32_t dst[MERGE_ITEMS];
    bits_t weight[MERGE_ITEMS];
    if (filled == PIECE) {
        load_piece(dst, m.dst + begin + lane);
        if (WEIGHT_BITS) load_piece(weight, m.weight + begin + lane);
    } else {
#pragma unroll
        for (int k = 0; k < MERGE_ITEMS; ++k) {
            if (32 * k + lane >= filled) continue;
            dst[k] = m.dst[begin + 32 * k + lane];
            if (WEIGHT_BITS) weight[k] = m.weight[begin + 32 * k + lane];
        }
    }
    const uint32_t from = uint32_t(begin - origin);
    const uint32_t low = count_below(near, size, from), high = low + count_below(near + low, size - low, from + filled);
    if (low == high && filled == PIECE) {
#if BOTH
        const long long to = begin + lane + (low ? nets[low - 1] >> 2 : net);
#else
        const long long to = begin + lane + net + (m.deleting ? -(long long)low : low);
#endif
        store_piece(dst, m.new_dst + to);
        if (WEIGHT_BITS) store_piece(weight, m.new_weight + to);
        return;
    }
#pragma unroll
    for (int k = 0; k < MERGE_ITEMS; ++k) {
        if (32 * k + lane >= filled) continue;
        const uint32_t slot = from + 32 * k + lane;
        const long long e = origin + slot;
        uint32_t below = low;
#if BOTH
        if (low < high) below = lower_bound(near, low, high, slot + 1);
        const int last = below ? nets[below - 1] : 0;
        if (below && near[below - 1] == slot && (last & 3) != ADDS) continue;
        const long long to = e + (below ? last >> 2 : net);
#else
        if (low < high) below = lower_bound(near, low, high, slot + !m.deleting);
        if (m.deleting && below < high && near[below] == slot) continue;
        const long long to = e + net + (m.deleting ? -(long long)below : below);
#endif
        m.new_dst[to] = dst[k];
        if (WEIGHT_BITS) m.new_weight[to] = weight[k];
    }
}

// Block per range of old slots: move their edges. The changes among them go through a window in shared memory.
__device__ __forceinline__ void move_edges(const Merging& m, const Ranges& r, uint32_t total) {
    __shared__ uint32_t window[MERGE_WINDOW];
#if BOTH
    __shared__ int nets[MERGE_WINDOW];
#else
    const int* const nets = nullptr;
#endif
    __shared__ uint32_t found;
    const long long origin = r.slot, last = r.last_slot;
    uint32_t first = r.below_slot;
    for (long long begin = origin; begin < last;) {
        const uint32_t size = min(total - first, uint32_t(MERGE_WINDOW));
        for (uint32_t k = threadIdx.x; k < size; k += CHANGE_BLOCK) {
            window[k] = uint32_t(min(m.changed_slot[first + k] - origin, 0xFFFFFFFFll));
#if BOTH
            nets[k] = m.changed_net[first + k];
#endif
        }
        const long long net = net_of(m, first);
        __syncthreads();
        long long end = last;  // the changes up to there are in the window
        if (size < total - first) end = min(last, origin + window[size - 1]);
        for (long long at = begin + threadIdx.x / 32 * PIECE; at < end; at += CHANGE_WARPS * PIECE)
            move_piece(m, at, min(end, at + PIECE), window, nets, size, origin, net);
        __syncthreads();
        if (end == last) return;
        if (threadIdx.x ==
            0)  // the changes below the next slot are behind us; if all were in one slot, all but the last there
            found = end > begin ? lower_bound(m.changed_slot, first, total, end)
                                : upper_bound(m.changed_slot, first, total, begin) - 1;
        __syncthreads();
        first = found;
        begin = end;
    }
}
