// A whole batch of blocked in one cooperative launch, from the sorted keys on, with a grid-wide barrier at each bar:
//
//   locate: count pieces within shares | list them | search them | (of a batch that is large for the graph: clear | list heads | scan the pool |)
//   rank within shares | ranks |
//   insertion: count blocks within shares | sums; report | append and link | commit
//   deletion: mark, list tails | clear tails | pair holes and survivors within shares | list them | fill holes, commit
//
// A block has the same share of entries wherever sums are formed. Queries end when all are located; if the host only wants to know how many
// blocks an insertion takes, the launch ends with the sums. In an invalid batch no entry counts, and nothing but statuses is written.
#include "grid_barrier.cuh"
#include "locate.cuh"
#include "insert.cuh"
#include "delete.cuh"

struct Arguments {
    Graph g;
    LocatedBatch b;
    Update c;
};

constexpr uint32_t WARPS = UPDATE_BLOCK / 32;

struct Share {
    uint32_t first, last;  // entries of a block
};

__device__ __forceinline__ Share share_of_block(long long size) {
    const long long share = (size + gridDim.x - 1) / gridDim.x;
    return {uint32_t(min(size, blockIdx.x * share)), uint32_t(min(size, (blockIdx.x + 1) * share))};
}

// Block: inclusive sum of the threads' values up to the calling one, and of all in ``total``. Two barriers of the block.
__device__ __forceinline__ long long sum_up_to(long long value, long long& total) {
    __shared__ long long sums[WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int s = 1; s < 32; s *= 2) {
        const long long below = __shfl_up_sync(0xFFFFFFFFu, value, s);
        if (lane >= s) value += below;
    }
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    total = 0;
    for (uint32_t w = 0; w < WARPS; ++w) {
        value += w < warp ? sums[w] : 0;
        total += sums[w];
    }
    __syncthreads();
    return value;
}

// Block: sums[i] = the sum of value(i) over its share up to entry i; ``block_totals`` receives that of the share.
template <class T, class F>
__device__ __forceinline__ void sum_share(const Share& mine, T* sums, long long* block_totals, F&& value) {
    long long before = 0;
    for (uint32_t base = mine.first; base < mine.last; base += UPDATE_BLOCK) {
        const uint32_t i = base + threadIdx.x;
        long long total;
        const long long sum = sum_up_to(i < mine.last ? value(i) : 0, total);
        if (i < mine.last) sums[i] = T(before + sum);
        before += total;
    }
    if (threadIdx.x == 0) block_totals[blockIdx.x] = before;
}

// Block, behind a barrier of the grid: the totals of the first `blocks` blocks.
__device__ __forceinline__ long long sum_of(const long long* block_totals, uint32_t blocks) {
    long long mine = 0, total;
    for (uint32_t k = threadIdx.x; k < blocks; k += UPDATE_BLOCK) mine += block_totals[k];
    sum_up_to(mine, total);
    return total;
}

__device__ __forceinline__ long long sum_before(const long long* block_totals) {
    return sum_of(block_totals, blockIdx.x);
}

// Grid: search the chains of the batch's vertices. ``ends`` is used for sums of pieces.
__device__ __forceinline__ void search_chains(const Graph& g, const LocatedBatch& b, const Update& c, const Share& mine,
                                              uint32_t& expected) {
    __shared__ uint32_t filters[WARPS][FILTER_WORDS];
    const uint32_t warp = threadIdx.x / 32;
    sum_share(mine, c.ends, c.totals, [&](uint32_t i) { return count_pieces(g, b, i); });
    grid_barrier(c.arrived, expected);
    const uint32_t before = uint32_t(sum_before(c.totals)), count = uint32_t(sum_of(c.totals, gridDim.x));
    Piece* const pieces = reinterpret_cast<Piece*>(c.pieces);
    list_pieces(g, b, c.ends, mine.first, mine.last, mine.first + warp, WARPS, pieces + before);
    grid_barrier(c.arrived, expected);
    const uint32_t warps = gridDim.x * WARPS;
    for (uint32_t p = warp * gridDim.x + blockIdx.x; p < count; p += warps)
        search_piece(g, b, pieces[p], filters[warp]);
}

// Grid: kinds and slots of all entries, those of the block's own share behind a barrier of the grid.
__device__ __forceinline__ void locate_entries(const Graph& g, const LocatedBatch& b, const Update& c,
                                               const Share& mine, uint32_t& expected) {
    if (!c.first) return search_chains(g, b, c, mine, expected);
    for (long long u = thread_id(); u < c.vertices; u += thread_count()) c.first[u] = EMPTY;
    grid_barrier(c.arrived, expected);
    for (uint32_t i = thread_id(); i < b.size; i += thread_count()) list_head(b, c.first, i);
    grid_barrier(c.arrived, expected);
    scan_slots(g, b, c.first);
}

__device__ __forceinline__ void insert_batch(const Graph& g, const LocatedBatch& b, const Update& c, const Share& mine,
                                             uint32_t& expected) {
    long long* const totals = c.totals + gridDim.x;
    sum_share(mine, c.ends, totals, [&](uint32_t i) { return count_blocks(g, b, c.tail, i); });
    grid_barrier(c.arrived, expected);
    const int before = int(sum_before(totals));
    for (uint32_t i = mine.first + threadIdx.x; i < mine.last; i += UPDATE_BLOCK) {
        c.ends[i] += before;
        if (c.work == INSERTS) report_insertion(g, b, c, i);
    }
    if (c.work == PLANS) return;
    grid_barrier(c.arrived, expected);
    insert_entries(g, b, c);
    grid_barrier(c.arrived, expected);
    commit_insertion(g, b, c);
}

__device__ __forceinline__ void delete_batch(const Graph& g, const LocatedBatch& b, const Update& c, const Share& mine,
                                             uint32_t& expected) {
    long long* const totals = c.totals + gridDim.x;
    for (uint32_t i = thread_id(); i < b.size; i += thread_count()) {
        mark_deleted(g, b, c, i);
        list_tails(g, b, c.tail, i);
    }
    grid_barrier(c.arrived, expected);
    for (uint32_t i = thread_id(); i < b.size; i += thread_count()) clear_tail(g, b, c, i);
    grid_barrier(c.arrived, expected);
    sum_share(mine, c.sums, totals, [&](uint32_t i) { return c.pairs[i] = pair_of(g, b, c, i); });
    grid_barrier(c.arrived, expected);
    const long long before = sum_before(totals);
    for (uint32_t i = mine.first + threadIdx.x; i < mine.last; i += UPDATE_BLOCK) {
        const long long sum = c.sums[i] + before;
        list_hole(b, c, i, c.pairs[i], sum);
        if (i + 1 == b.size) c.sums[i] = sum;
    }
    grid_barrier(c.arrived, expected);
    const uint32_t holes = uint32_t(c.sums[b.size - 1]);
    for (uint32_t i = thread_id(); i < b.size; i += thread_count()) {
        if (i < holes) fill_hole(g, c, i);
        commit_deletion(g, b, c.tail, i);
    }
}

// Grid of UPDATE_BLOCK threads.
extern "C" __global__ void __launch_bounds__(UPDATE_BLOCK, 2) update_blocks(const __grid_constant__ Arguments a) {
    const Graph& g = a.g;
    const LocatedBatch& b = a.b;
    const Update& c = a.c;
    uint32_t expected = c.expected;
    const Share mine = share_of_block(b.size);
    locate_entries(g, b, c, mine, expected);
    if (c.work == LOCATES) return;
    grid_barrier(c.arrived, expected);
    const uint8_t wanted = c.work == DELETES ? PRESENT : ABSENT;
    sum_share(mine, c.rank, c.totals, [&](uint32_t i) { return b.kind[i] == wanted; });
    grid_barrier(c.arrived, expected);
    const int before = int(sum_before(c.totals));
    for (uint32_t i = mine.first + threadIdx.x; i < mine.last; i += UPDATE_BLOCK) c.rank[i] += before;
    grid_barrier(c.arrived, expected);
    if (c.work == DELETES) delete_batch(g, b, c, mine, expected);
    else insert_batch(g, b, c, mine, expected);
}
