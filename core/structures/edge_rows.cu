// The rows of an edge set by source, in one cooperative launch: the CUDA twin of fill_rows() in edge_set_cpu.py. The struct
// Rows comes from edge_set_cuda.py.
#include "edge_table.cuh"

constexpr uint32_t ALL_LANES = 0xFFFFFFFFu;

// A load that goes to L2 and stays where it is in the program: unlike __ldcg() the compiler moves it across no barrier.
__device__ __forceinline__ uint32_t load_word(const uint32_t* p) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    return word;
}

// The slot of source u, which is put into the table if it is not there.
__device__ __forceinline__ uint32_t slot_of_source(const Rows& a, uint32_t u) {
    uint32_t at = __umulhi(u * uint32_t(SOURCE_FACTOR), a.slots);
    for (;;) {
        const uint32_t held = atomicCAS(a.source + at, EMPTY, u);
        if (held == EMPTY || held == u) return at;
        if (++at == a.slots) at = 0;
    }
}

// Grid-wide barrier: all blocks are resident. The counter begins with all bits set, and is never reset. What blocks wrote
// before it is visible behind it to load_word().
__device__ __forceinline__ void grid_barrier(uint32_t* arrived, uint32_t phase) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (int(load_word(arrived) + 1u - phase * gridDim.x) < 0) {}
        __threadfence();
    }
    __syncthreads();
}

// Warp: each lane with `length` takes as many words behind one another; returns where those of the lane begin. One atomic
// per warp.
__device__ __forceinline__ uint32_t take_words(uint32_t* taken, uint32_t length) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t end = length;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t below = __shfl_up_sync(ALL_LANES, end, step);
        if (lane >= step) end += below;
    }
    uint32_t base = 0;
    if (lane == 31 && end) base = atomicAdd(taken, end) + 1u;
    return __shfl_sync(ALL_LANES, base, 31) + end - length;
}

// Thread per arc, then per slot, then per arc again, grid-stride; two grid-wide barriers. source, row and the two counters
// have all bits set at first. Atomics: one on the source and one on the length of the row per arc, then one for its place.
// The order within a row is that of the schedule.
extern "C" __global__ void __launch_bounds__(256) fill_rows(const __grid_constant__ Rows a) {
    const long long first = thread_id(), step = thread_count();
    for (long long i = first; i < a.size; i += step)
        if (!a.status || a.status[i] == a.wanted) atomicAdd(a.row + slot_of_source(a, a.src[i]), 1u);
    grid_barrier(a.counters, 1);
    for (long long s = first; s - (threadIdx.x & 31) < a.slots; s += step) {
        const bool used = s < a.slots && load_word(a.source + s) != EMPTY;
        const uint32_t begin =
            take_words(a.counters + 1, used ? load_word(a.row + s) + 2u : 0u);  // the length, and one
        if (!used) continue;
        a.rows[begin] = 0;
        a.row[s] = begin;
    }
    grid_barrier(a.counters, 2);
    for (long long i = first; i < a.size; i += step) {
        if (a.status && a.status[i] != a.wanted) continue;
        const uint32_t begin = load_word(a.row + slot_of_source(a, a.src[i]));
        a.rows[begin + 1u + atomicAdd(a.rows + begin, 1u)] = uint32_t(i);
    }
}
