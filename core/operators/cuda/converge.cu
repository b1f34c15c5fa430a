// converge: rounds of pulling over an active set, in one cooperative launch of blocks that all stay resident.
//
// A round has two phases, each followed by a grid-wide barrier: every active vertex reduces its neighbours and runs `then_fn`, which
// only notes what it says; then it is committed, and it and its neighbours are made active for the next round. Heavy
// vertices add a barrier to their phase. A small active set is a list; of a large one only the stamps tell, and a round passes over
// them all. While the list is so short that one block can serve it, block 0 goes on alone, and the others wait at the next barrier.
//
// What a block must see of the others is written before a barrier and read behind it; the barriers' fences make it visible
// (see loop.cuh). Stamps and counters are read past the L1 caches, except where a neighbour is woken, and changed by atomics or by
// stores of one value.
#include "wake.cuh"

#define ALONE 64  // up to this many vertices block 0 works alone
#define FEW 4096  // of so few vertices those of more than FEW_LIMIT neighbours are split, of more those above WIDE
#define FEW_LIMIT 512
#define SPARSE 128  // a set of less than one vertex in so many is a list

// Of this launch, all zero before it; counters rotate over three turns: one is read, one written, one cleared.
struct Rounds {
    unsigned long long heavy[3], waking[3];  // totals of the lists of heavy vertices of both phases
    uint32_t queued[3];  // vertices of the next round, if it is a list
    uint32_t computed[3];  // vertices of this round
    uint32_t level, number, dense, ended;  // where block 0 has got to alone
    uint32_t stop;  // the host wants the loop to end
};
static_assert(sizeof(Rounds) <= 8 * ROUND_WORDS, "the host allocates the memory for it");

// A counter behind a barrier; block 0 alone looks into L2, where it counts.
template <class T> __device__ __forceinline__ T seen(bool alone, const T& counter) {
    return alone ? fresh(counter) : counted(counter);
}

// Add up `mine` of all threads of the block into *total. All of them call it; it synchronises the block.
__device__ __forceinline__ void count_block(uint32_t mine, uint32_t* total, uint32_t* sum) {
    if (threadIdx.x == 0) *sum = 0;
    __syncthreads();
    if (mine) atomicAdd(sum, mine);
    __syncthreads();
    if (threadIdx.x == 0 && *sum) atomicAdd(total, *sum);
}

// frontier: the active vertices, without repeats. Round i (from 0) stamps with the epoch + 1 + i. memory.near and memory.spare are
// the lists, memory.far holds a byte per position of a round. ROUND_FINISH moves what the block added to accumulators to the
// places of `round`, ROUND_READ reads the totals, ROUND_CLEAR (one thread) clears the places that the next round adds to, and
// LOOP_FINISH (one thread) leaves the totals where the next operator looks for them. UNTIL is the condition that ends the loop.
extern "C" __global__ void __launch_bounds__(CONVERGE_BLOCK, CONVERGE_BLOCKS)
converge(VIEWS, WAKE_VIEWS, uint32_t num_vertices, Vertices frontier, uint32_t max_steps, double bound,
         LoopMemory memory, unsigned char* heavy_memory, uint32_t heavy_capacity, Rounds* rounds,
         Outcome* outcome PARAMS) {
    LOCALS
    __shared__ PullShared<CONVERGE_BLOCK> shared;
    __shared__ WakeShared woken;
    __shared__ uint32_t sum;
    LoopState* const state = (LoopState*)memory.state;
    uint8_t* const notes = (uint8_t*)memory.far;
    const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
    uint32_t expected = state->base;
    const uint32_t epoch = first_epoch(state, memory.stamp, num_vertices, expected);
    const uint32_t* ids = frontier.ids;
    uint32_t number = frontier.count ? *frontier.count : frontier.size, round = 0;
    unsigned long long touched = 0;
    bool dense = false, ended = number == 0;
    if (threadIdx.x == 0) woken.filled = 0;

    while (!ended && round < max_steps) {  // the same in all threads of the grid
        const bool alone = !dense && number <= ALONE;
        const uint32_t block = blockIdx.x, blocks = alone ? 1 : gridDim.x;
        // Alone block 0 clears counters without waiting for others, which must have read them.
        if (alone && round > 0) grid_barrier(state, expected);
        const auto barrier = [&]() {
            if (alone) __syncthreads();
            else grid_barrier(state, expected);
        };
        while (!alone || block == 0) {
            const uint32_t turn = round % 3, next_turn = (round + 1) % 3, current = epoch + round;
            if (first_thread) {  // last read two rounds ago
                rounds->heavy[next_turn] = rounds->waking[next_turn] = 0;
                rounds->queued[next_turn] = rounds->computed[next_turn] = 0;
            }
            const uint32_t warps = CONVERGE_BLOCK / 32;
            const uint32_t share = min((unsigned long long)CONVERGE_BLOCK,
                                       warps * ((number - 1) / ((unsigned long long)warps * blocks) + 1));
            const uint32_t limit = alone ? EMPTY : !dense && number <= FEW ? FEW_LIMIT : WIDE;
            const Heavy heavy = heavy_in(heavy_memory, &rounds->heavy[turn], heavy_capacity);
            uint32_t mine = 0;
            const auto complete = [&](uint32_t i, uint32_t x, out_t value) {
                const bool counts = x < num_vertices;
                notes[i] = counts ? uint8_t(COMPUTED | (then_fn(x, value ARGS) & (STAYS | WAKES))) : 0;
                mine += counts;
            };
            const auto active = [&](long long i) {
                const uint32_t x = ids ? ids[i] : uint32_t(i);
                return dense && fresh(memory.stamp[x]) != current ? EMPTY : x;
            };
            pull_vertices<CONVERGE_BLOCK>(WALKED, num_vertices, active, number, share, block, blocks,
                                          IS_MODE ? EMPTY : limit, heavy, shared, complete ARGS);
            count_block(mine, &rounds->computed[turn], &sum);
            barrier();
            const unsigned long long packed = alone ? 0 : counted(rounds->heavy[turn]);
            if (packed != 0) {
                mine = 0;
                reduce_heavy(WALKED, packed, heavy, complete ARGS);
                count_block(mine, &rounds->computed[turn], &sum);
                barrier();
            }
            const uint32_t computed = seen(alone, rounds->computed[turn]);
            if (computed == 0) {
                ended = true;
                number = 0;
                dense = false;
                break;
            }

            // Everybody has passed a barrier since `stop` was read, and passes another one before it is read again.
            if (first_thread && (round & ABORT_MASK) == ABORT_MASK && memory.abort) rounds->stop = fresh(*memory.abort);

            const bool will_be_dense = computed > num_vertices / SPARSE && computed > 4 * ALONE;
            uint32_t* const queue = round & 1 ? memory.near : memory.spare;
            const NextRound next = {memory.stamp, current + 1, queue, &rounds->queued[turn], will_be_dense};
            const Heavy waking = heavy_in(heavy_memory, &rounds->waking[turn], heavy_capacity);
            finish_round<CONVERGE_BLOCK>(WOKEN, ids, number, notes, share, block, blocks, limit, waking, next, shared,
                                         woken ARGS);
            ROUND_FINISH
            barrier();
            const unsigned long long heavy_wakers = alone ? 0 : counted(rounds->waking[turn]);
            if (heavy_wakers != 0) {
                const auto parts = [&](uint32_t x) { return wake_buckets(WOKEN, x); };
                for_split_runs(heavy_wakers, waking, parts, [&](uint32_t, uint32_t x, uint32_t from, uint32_t to) {
                    for (uint32_t k = from; k < to; ++k)
                        wake_bucket(WOKEN, x, k, threadIdx.x % BUCKET_LANES, next, woken);
                });
                flush_active(next, woken);
                barrier();
            }
            ++round;
            ROUND_READ
            touched += computed;
            dense = will_be_dense;
            ids = dense ? nullptr : queue;
            number = dense ? num_vertices : seen(alone, rounds->queued[turn]);
            ended = number == 0 || UNTIL || seen(alone, rounds->stop) != 0;
            if (!alone || ended || dense || number > ALONE || round >= max_steps) break;
            __syncthreads();  // everybody has read the counters
        }
        if (alone) {
            if (first_thread) {
                rounds->level = round;
                rounds->number = number;
                rounds->dense = dense;
                rounds->ended = ended;
            }
            grid_barrier(state, expected);
            round = counted(rounds->level);
            number = counted(rounds->number);
            dense = counted(rounds->dense);
            ended = counted(rounds->ended);
            ids = dense ? nullptr : round & 1 ? memory.spare : memory.near;
            ROUND_READ
        }
    }
    LOOP_FINISH
    if (dense) {  // how many are left only the stamps tell
        uint32_t left = 0;
        for (unsigned long long v = thread_id(); v < num_vertices; v += thread_count())
            left += fresh(memory.stamp[v]) == epoch + round;
        count_block(left, (uint32_t*)&outcome->left, &sum);
    }
    if (first_thread) {  // the other blocks have read what it changes: they were at the first barrier
        outcome->steps = round;
        outcome->pushed = touched;
        if (!dense) outcome->left = number;
        state->base = expected;
        state->epoch = epoch + round;
    }
}
