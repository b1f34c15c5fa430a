// converge: rounds of pulling over an active set, in one cooperative launch of blocks that all stay resident.
//
// A round has two phases, each followed by a grid-wide barrier: every active vertex reduces its neighbours and runs `then_fn`, which
// only notes what it says; then it is committed, and it and its neighbours are made active for the next round. Heavy
// vertices add a barrier to their phase. A small active set is a list; of a large one only the stamps tell, and a round begins by making
// a list of them, or, where most vertices were active, passes over all. While the list is so short, and its rows too, that one block can
// serve it, block 0 goes on alone, and the others wait at the next barrier.
//
// Where most vertices are active and a backend's segments are wide and have one owner, the first phase passes over the storage instead.
// Where most are activated, no vertex wakes them: they see the bits of their neighbours when they pull (SYMMETRIC).
//
// With HAS_TURN rounds form cycles, whose set is a list that stays the same: `turn_fn` is asked for those that had no turn yet, and only those
// whose turn it is are computed, in large sets of a list that a phase before makes. Stamps and queues are those of the next cycle, which
// begins when nobody waits. With HAS_TABLES votes of heavy vertices take a phase more, see vote_tables.cuh.
//
// What a block must see of the others is written before a barrier and read behind it; the barriers' fences make it visible
// (see loop.cuh). Stamps and counters are read past the L1 caches, except where a neighbour is activated, and changed by atomics or by
// stores of one value.
#include "round_state.cuh"
#include "stamped.cuh"

// frontier: the active vertices, without repeats. Round (or cycle) i (from 0) stamps with the epoch + 1 + i. memory.near and memory.buffer are
// the lists, memory.heavy_vertex that of turns, memory.far holds a byte per position of a round and one per position of a cycle. ROUND_FINISH
// moves what the block added to accumulators to the places of `round`, ROUND_READ reads the totals, ROUND_CLEAR (one thread) clears the places that the next round adds to, and
// LOOP_FINISH (one thread) leaves the totals where the next operator looks for them. UNTIL is the condition that ends the loop. So does a
// round of more than `most` vertices and arcs over which they would wake others; no vertex is activated then.
extern "C" __global__ void __launch_bounds__(CONVERGE_BLOCK, CONVERGE_BLOCKS)
converge(VIEWS, WAKE_VIEWS, uint32_t num_vertices, unsigned long long num_arcs, Vertices frontier, uint32_t max_steps,
         unsigned long long most, double bound, LoopMemory memory, unsigned char* heavy_memory, uint32_t heavy_capacity,
         Rounds* rounds, Outcome* outcome TABLES PARAMS) {
    LOCALS
    __shared__ PullShared<CONVERGE_BLOCK> shared;
    __shared__ ActiveShared activated;
    __shared__ RoundCount sum;
    LoopState* const state = (LoopState*)memory.state;
    uint8_t* const notes = (uint8_t*)memory.far;
    [[maybe_unused]] uint8_t* const had_turn = notes + num_vertices;
    const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
    uint32_t expected = state->base;
    const uint32_t epoch = first_epoch(state, memory.stamp, num_vertices, expected);
    const uint32_t* ids = frontier.ids;
    uint32_t number = frontier.count ? *frontier.count : frontier.size, round = 0, cycle = 0;
    [[maybe_unused]] bool begins = true, dense_cycle = false;
    unsigned long long touched = 0;
    bool dense = false, by_bits = false, crowded = false, ended = number == 0;
    uint32_t last = num_vertices;  // active in the round before
    [[maybe_unused]] const bool limited = most < UNLIMITED;
    [[maybe_unused]] bool clean = false;  // whether the sums of a scan are neutral
    if (threadIdx.x == 0) activated.filled = 0;

    while (!ended && round < max_steps) {  // the same in all threads of the grid
        const bool alone = !dense && is_little(WALKED, num_vertices, ids, number, ALONE, ALONE_LIMIT);
        const uint32_t block = blockIdx.x, blocks = alone ? 1 : gridDim.x;
        // Alone block 0 clears counters without waiting for others, which must have read them.
        if (alone && round > 0) grid_barrier(state, expected);
        const auto barrier = [&]() {
            if (alone) __syncthreads();
            else grid_barrier(state, expected);
        };
        while (!alone || block == 0) {
            const uint32_t turn = round % 3, next_turn = (round + 1) % 3, of_cycle = cycle % 3, current = epoch + cycle;
            if (first_thread) {  // last read two rounds ago
                rounds->heavy[next_turn] = rounds->waking[next_turn] = rounds->arcs[next_turn] = 0;
                rounds->computed[next_turn] = rounds->waiting[next_turn] = rounds->asked[next_turn] = 0;
                rounds->queued[(cycle + 1) % 3] = rounds->listed[(cycle + 1) % 3] = 0;
            }
            if (dense && (HAS_TURN || (!by_bits && last <= num_vertices / LIST_SHARE))) {
                uint32_t* const list = cycle & 1 ? memory.buffer : memory.near;
                list_stamped<CONVERGE_BLOCK>(memory.stamp, current, num_vertices, list, &rounds->listed[of_cycle],
                                             shared.place);
                barrier();
                ids = list;
                number = counted(rounds->listed[of_cycle]);
                dense = false;
                if (HAS_TURN && number == 0) {
                    ended = true;
                    break;
                }
            }
            const uint32_t warps = CONVERGE_BLOCK / 32;
            const uint32_t* served = ids;
            uint32_t serving = number;
            [[maybe_unused]] bool waits = false, asks = HAS_TURN;
#if HAS_TURN
            const auto is_asked = [&](uint32_t i, uint32_t x) {
                if (x >= num_vertices || (!begins && had_turn[i])) return false;
                const bool is_turn = turn_fn(x, (long long)round ARGS) != 0;
                had_turn[i] = is_turn;
                waits = waits || !is_turn;
                return is_turn;
            };
            if (number / (warps * blocks) >= TURNS_LISTED && !alone) {
                for_active(ids, number, [&](uint32_t i, uint32_t x) {
                    if (is_asked(i, x)) append(memory.heavy_vertex, &rounds->asked[turn], x);
                });
                barrier();
                served = memory.heavy_vertex;
                serving = counted(rounds->asked[turn]);
                asks = false;
            }
#endif
            const uint32_t share = min((unsigned long long)CONVERGE_BLOCK,
                                       warps * ((max(serving, 1u) - 1) / ((unsigned long long)warps * blocks) + 1));
            const uint32_t limit = alone ? EMPTY : !dense && serving <= FEW ? FEW_LIMIT : SPLIT_ABOVE;
            Heavy heavy = heavy_in(heavy_memory, &rounds->heavy[turn], heavy_capacity);
#if HAS_TABLES
            heavy.tables = tables;
#endif
            // Whether positions are vertices, and a warp has 32 of them in a row.
            const bool in_order = served == nullptr && serving == num_vertices && share == CONVERGE_BLOCK;
            const Wakers wakers = wakers_of(by_bits ? memory.near : nullptr);
            RoundCount mine = {0, 0};
            const auto judged = [&](uint32_t x, const Reduced& reduced) {
                const bool counts =
                    x < num_vertices && (!by_bits || is_activated(reduced) || fresh(memory.stamp[x]) == current);
                const uint8_t says = counts ? uint8_t(COMPUTED | (THEN(x, reduced) & (STAYS | WAKES))) : 0;
                mine.vertices += counts;
                if (HAS_WAKE && (says & WAKES) && (limited || (SYMMETRIC && in_order)))
                    mine.arcs += wake_degree(WAKE_GIVEN, x);
                return says;
            };
            const auto complete = [&](uint32_t i, uint32_t x, const Reduced& reduced) {
                notes[i] = HAS_TURN && x == EMPTY ? 0 : judged(x, reduced);
            };
            const auto active = [&](long long i) {
                const uint32_t x = served ? served[i] : uint32_t(i);
#if HAS_TURN
                return !asks || is_asked(uint32_t(i), x) ? x : EMPTY;
#endif
                return dense && !by_bits && fresh(memory.stamp[x]) != current ? EMPTY : x;
            };
            const auto count = [&]() {
                count_block(mine, &rounds->computed[turn], &rounds->arcs[turn], &sum);
                mine = {0, 0};
                if (HAS_TURN && __any_sync(ALL_LANES, waits) && threadIdx.x % 32 == 0) rounds->waiting[turn] = 1;
            };
#if SCANS
            if (in_order && (by_bits || last > num_vertices / SCAN_SHARE)) {
                scan_round(g, wakers, num_vertices, memory, current, notes, round == 0, clean, barrier, judged ARGS);
                clean = true;
            } else
#endif
                pull_vertices<CONVERGE_BLOCK>(WALKED, wakers, num_vertices, active, serving, share, block, blocks,
                                              HAS_TABLES && !alone ? TABLE_ABOVE : limit, heavy, shared, complete ARGS);
            count();
            barrier();
            const unsigned long long packed = alone ? 0 : counted(rounds->heavy[turn]);
            if (packed != 0) {
                reduce_in_phases(WALKED, wakers, packed, heavy, block, blocks, shared, barrier, complete ARGS);
                count();
                barrier();
            }
            const uint32_t computed = seen(alone, rounds->computed[turn]);
            if (!HAS_TURN && computed == 0) {
                ended = true;
                number = 0;
                dense = by_bits = false;
                break;
            }

            crowded = computed + seen(alone, rounds->arcs[turn]) > most;
            const bool will_be_dense = dense_cycle || (computed > num_vertices / SPARSE && computed > 4 * ALONE);
            const bool next_by_bits =
                !crowded && will_be_dense && in_order && counted(rounds->arcs[turn]) > num_arcs / BITS_SHARE;
            uint32_t* const queue = cycle & 1 ? memory.near : memory.buffer;
            const NextRound next = {
                memory.stamp,
                current + 1,
                queue,
                &rounds->queued[of_cycle],
                will_be_dense,
                !crowded,
                next_by_bits ? memory.near : nullptr};
            // Everybody passes a barrier before it and behind it.
            if (first_thread && (round & ABORT_MASK) == ABORT_MASK && memory.abort) rounds->stop = fresh(*memory.abort);
            const Heavy waking = heavy_in(heavy_memory, &rounds->waking[turn], heavy_capacity);
            finish_round<CONVERGE_BLOCK>(WAKE_GIVEN, served, serving, notes, share, block, blocks, limit, waking, next,
                                         shared, activated ARGS);
            ROUND_FINISH
            barrier();
            const unsigned long long heavy_wakers = alone || !HAS_WAKE ? 0 : counted(rounds->waking[turn]);
            if (heavy_wakers != 0) {
                const auto parts = [&](uint32_t x) { return wake_buckets(WAKE_GIVEN, x); };
                for_split_runs(heavy_wakers, waking, block, blocks, parts,
                               [&](uint32_t, uint32_t x, uint32_t from, uint32_t to) {
                                   for (uint32_t k = from + threadIdx.x % 32 / BUCKET_LANES; k < to;
                                        k += 32 / BUCKET_LANES)
                                       wake_bucket(WAKE_GIVEN, x, k, threadIdx.x % BUCKET_LANES, next, activated);
                                   __syncwarp();
                               });
                flush_active(next, activated);
                barrier();
            }
            ++round;
            ROUND_READ
            touched += computed;
            begins = !HAS_TURN || seen(alone, rounds->waiting[turn]) == 0;
            if (begins) {
                ++cycle;
                last = computed;
                dense = will_be_dense;
                by_bits = next_by_bits;
                ids = dense ? nullptr : queue;
                number = dense ? num_vertices : seen(alone, rounds->queued[of_cycle]);
            }
            if (HAS_TURN) dense_cycle = will_be_dense && !begins;
            crowded = crowded && !(UNTIL);
            ended = crowded || number == 0 || UNTIL || seen(alone, rounds->stop) != 0;
            if (!alone || ended || dense || round >= max_steps) break;
            if (begins && !is_little(WALKED, num_vertices, ids, number, ALONE, ALONE_LIMIT)) break;
            __syncthreads();  // everybody has read the counters
        }
        if (alone) {
            if (first_thread) {
                rounds->level = round;
                rounds->cycle = cycle;
                rounds->number = number;
                rounds->dense = dense;
                rounds->ended = ended;
            }
            grid_barrier(state, expected);
            round = counted(rounds->level);
            cycle = counted(rounds->cycle);
            number = counted(rounds->number);
            dense = counted(rounds->dense);
            ended = counted(rounds->ended);
            ids = dense ? nullptr : cycle & 1 ? memory.buffer : memory.near;
            ROUND_READ
        }
    }
    LOOP_FINISH
    if (dense) {  // whether some are left only the stamps tell, or the arcs over which they would be activated
        RoundCount left = {0, 0};
        for (unsigned long long v = thread_id(); v < num_vertices; v += thread_count())
            left.vertices += fresh(memory.stamp[v]) == epoch + cycle;
        left.vertices += (by_bits || crowded) && first_thread;
        count_block(left, (uint32_t*)&outcome->left, nullptr, &sum);
    }
    if (first_thread) {  // the other blocks have read what it changes: they were at the first barrier
        outcome->steps = round;
        outcome->pushed = touched;
        outcome->crowded = crowded;
        if (!dense) outcome->left = crowded ? 1 : number;
        state->base = expected;
        state->epoch = epoch + cycle + HAS_TURN;  // in a cycle that has not ended some are stamped
    }
}
