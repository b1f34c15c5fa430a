// A whole batch of hornet_like with ascending adjacencies, in one cooperative launch, from the sorted keys on:
//
//   locate every entry | list the changes in order | plan: which vertices migrate, and who moves what | report |
//   move the edges that were there (long adjacencies: in waves) | write new edges; point vertices at their blocks; free blocks
//
// with a grid-wide barrier at each bar. If the pool is too small for the plan nothing is changed, and the host is told. In place, an insertion moves an adjacency from its end and a deletion from its first change,
// by chunks that are read as a whole before they are written. See moves.cuh.
#include "plan.cuh"
#include "moves.cuh"

// Grid of CHANGE_BLOCK threads. Atomics: class counts and lists once per block and round.
extern "C" __global__ void __launch_bounds__(CHANGE_BLOCK, 2) update_sorted(const __grid_constant__ Arguments a) {
    const Graph& g = a.g;
    const Update& c = a.u;
    uint32_t expected = c.expected;
    const Entries entries = entries_of_block(c);
    locate_entries(c, entries);
    grid_barrier(c.arrived, expected);
    const Count count = count_changes(c, entries);
    list_changes(c, entries, count.before, [&](uint32_t rank, long long, uint64_t key, uint32_t item) {
        c.changed_key[rank] = key;
        c.changed_item[rank] = item;
    });
    uint32_t laps =
        threadIdx.x == 0 ? *(const volatile uint32_t*)c.laps : 0;  // nobody arrives there before the third barrier
    if (blockIdx.x == 0 && threadIdx.x < CLASSES) c.counts[(c.turn ? FREED_NEXT : FREED) + threadIdx.x] = 0;
    grid_barrier(c.arrived, expected);
    plan_changes(g, c, count.total);
    grid_barrier(c.arrived, expected);
    __shared__ Handout blocks;
    hand_out(g, c, blocks);
    const bool fits = !c.only_plans && blocks.end <= c.slots;
    if (thread_id() == 0 && c.answer) *(volatile uint64_t*)c.answer = uint64_t(c.ticket_of_call) << 1 | fits;
    if (!fits) {
        grid_barrier(c.laps, laps);
        if (blockIdx.x == 0) clear_counts(c);
        return;
    }
    report_entries(c, entries);
#if WEIGHT_BITS
    grid_barrier(c.laps, laps);  // replaced weights move, too
#endif
    move_long(g, c, blocks, laps);
    move_rest(g, c, blocks, count.total);
    grid_barrier(c.laps, laps);
    commit_changes(g, c, blocks, count.total);
    if (blockIdx.x == 0) {
        clear_counts(c);
        count_blocks(g, c, blocks, count.total);
    }
}
