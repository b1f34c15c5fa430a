// A whole batch of csr_baseline in one cooperative launch, from the sorted keys to the new arrays. Because the graph is sorted by
// the same key, a merge is arithmetic:
//   old edge in slot e      -> e + number of new edges whose slot is at most e
//   new edge with slot s    -> s + number of new edges before it in the batch
// where the slot of an edge is the first that is not below it. A deletion is the same with the signs turned.
//
//   locate every entry | list the changes in order; report; write new edges | new offsets, old edges
//
// with a grid-wide barrier at each bar. In an invalid batch no entry counts, so the graph is copied as it is.
#include "merge.cuh"

// Grid of CHANGE_BLOCK threads.
extern "C" __global__ void __launch_bounds__(CHANGE_BLOCK, 2) merge_batch(const __grid_constant__ Merge m) {
    uint32_t expected = m.expected;
    const Entries entries = entries_of_block(m);
    locate_entries(m, entries);
    grid_barrier(m.arrived, expected);
    const Count count = count_changes(m, entries);
    list_changes(m, entries, count.before, [&](uint32_t rank, long long slot, uint64_t key, uint32_t item) {
        m.changed_source[rank] = source(key);
        if (m.deleting) return;
        m.new_dst[slot + rank] = uint32_t(key);
        if (WEIGHT_BITS) m.new_weight[slot + rank] = m.batch_weight[item];
    });
    report_entries(m, entries);
    grid_barrier(m.arrived, expected);
    __shared__ Ranges ranges;
    find_ranges(m, count.total, ranges);
    shift_offsets(m, ranges);
    move_edges(m, ranges, count.total);
}
