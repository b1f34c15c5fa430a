// A whole batch of hornet_like with ascending adjacencies, in one cooperative launch, from the sorted keys on:
//
//   locate every entry | list the changes in order | plan: which vertices migrate, and how many of their edges move | report; number the
//   edges that move through | move them | write new edges; point vertices at their blocks; free blocks
//
// with a grid-wide barrier at each bar. If the pool is too small for the plan nothing is changed, and the host is told; when it has grown
// another launch resumes behind the plan. Every block works on equal shares: of entries, of changes, of edges that move.
#include "moves.cuh"
#include "commit.cuh"

// Grid of CHANGE_BLOCK threads.
extern "C" __global__ void __launch_bounds__(CHANGE_BLOCK, 2) update_sorted(const __grid_constant__ Arguments a) {
    __shared__ Tickets tickets;
    __shared__ Moves moves;
    __shared__ Handout blocks;
    const Graph& g = a.g;
    const Update& c = a.u;
    uint32_t expected = c.expected;
    const Entries entries = entries_of_block(c);
    if (!c.resumed) {
        locate_entries(c, entries);
        grid_barrier(c.arrived, expected);
    }
    const Count count = count_changes(c, entries);
    if (!c.resumed)
        list_changes(c, entries, count.before, [&](uint32_t rank, long long, uint64_t key, uint32_t item) {
            c.changed_key[rank] = key;
            c.changed_item[rank] = item;
        });
    uint32_t laps =
        threadIdx.x == 0 ? *(const volatile uint32_t*)c.laps : 0;  // nobody arrives there before this barrier
    grid_barrier(c.arrived, expected);
    const Share mine = changes_of_block(count.total);
    if (c.resumed) {
        resume(c, tickets);
    } else {
        plan_changes(g, c, mine, tickets, count.total);
        grid_barrier(c.arrived, expected);
    }
    hand_out(g, c, blocks);
    const bool fits = !c.only_plans && blocks.end <= c.slots;
    if (thread_id() == 0 && c.answer) *(volatile uint64_t*)c.answer = uint64_t(c.ticket_of_call) << 1 | fits;
    if (!fits) {
        keep_tickets(c, tickets);
        grid_barrier(c.laps, laps);
        if (blockIdx.x == 0) clear_counts(c);
        return;
    }
    count_moves(c, moves);
    __syncthreads();
    place_changes(c, mine, moves, count.total);
    place_vertices(g, c, mine, blocks, tickets, moves);
    report_entries(c, entries);  // replaced weights move, too
    grid_barrier(c.laps, laps);
    move_edges(g, c, moves, count.total);
    grid_barrier(c.laps, laps);
    commit_changes(g, c, mine, blocks, tickets);
    if (blockIdx.x == 0) {
        count_blocks(g, c, blocks, count.total);
        clear_counts(c);
    }
}
