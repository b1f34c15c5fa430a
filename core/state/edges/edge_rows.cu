// The rows of an edge set by source, in one cooperative launch: the CUDA twin of fill_rows() in edge_set_cpu.py. The struct
// Rows comes from edge_set_cuda.py.
#include "edge_fill.cuh"

// Thread per arc, then per slot, then per arc again, grid-stride; two grid-wide barriers. source, row and the two counters
// have all bits set at first. Atomics: one on the source and one on the length of the row per arc, then one for its place.
// The order within a row is that of the schedule.
extern "C" __global__ void __launch_bounds__(256) fill_rows(const __grid_constant__ Rows a) {
    const long long first = thread_id(), step = thread_count();
    uint32_t expected = EMPTY;  // as many arrivals as all bits of the counter say
    for (long long i = first; i < a.size; i += step)
        if (!a.status || a.status[i] == a.wanted) atomicAdd(a.row + slot_for_source(a.source, a.slots, a.src[i]), 1u);
    grid_barrier(a.counters, expected);
    for (long long s = first; s - (threadIdx.x & 31) < a.slots; s += step) {
        const bool used = s < a.slots && a.source[s] != EMPTY;
        const uint32_t begin = take_words(a.counters + 1, used ? a.row[s] + 2u : 0u);  // the length, and one
        if (!used) continue;
        a.rows[begin] = 0;
        a.row[s] = begin;
    }
    grid_barrier(a.counters, expected);
    for (long long i = first; i < a.size; i += step) {
        if (a.status && a.status[i] != a.wanted) continue;
        const uint32_t begin = a.row[slot_of_source(a.source, a.slots, a.src[i])];
        a.rows[begin + 1u + atomicAdd(a.rows + begin, 1u)] = uint32_t(i);
    }
}
