// A deletion and then an insertion, in one cooperative launch that reads and writes the graph once. The edges of both are one sorted batch, in
// which those to be deleted come first among equal ones. The steps are those of merge.cu; what an old edge moves by is what the changes up to
// its slot add, less what they remove:
//
//   old edge in slot e that stays       -> e + sum over changes whose slot is at most e
//   new edge with slot s                -> s + sum over the changes before it
//
// An edge that is deleted and inserted again goes and is new.
#include "merge.cuh"

constexpr uint8_t AGAIN = 3;  // kind of an entry: stored, and deleted by this batch before it is inserted

__device__ __forceinline__ bool removes(const MergeBoth& m, long long i) { return m.order[i] < m.deletes; }

__device__ __forceinline__ bool changes(uint8_t kind, bool removes) {
    return removes ? kind == PRESENT : kind == ABSENT || kind == AGAIN;
}

// Thread: kind of entry i, which the graph stores or not. Of equal edges the last deletion counts, and the last insertion.
__device__ __forceinline__ uint8_t kind_of(const MergeBoth& m, long long i, bool is_stored) {
    const uint64_t key = m.keys[i];
    const bool repeated = i + 1 < m.size && m.keys[i + 1] == key;
    if (repeated && !(removes(m, i) && !removes(m, i + 1))) return DUPLICATE;
    if (!is_stored) return ABSENT;
    return !removes(m, i) && removes(m, gallop_down(m.keys, uint32_t(i), key)) ? AGAIN : PRESENT;
}

// Block: see locate_entries; also what the changes of the block up to each entry add.
__device__ __forceinline__ void locate_both(const MergeBoth& m, const Entries& entries) {
    const bool invalid = m.guard && *m.guard;
    uint32_t counted = 0;
    int net = 0;
    for (long long base = entries.first; base < entries.last; base += CHANGE_BLOCK) {
        const long long i = base + threadIdx.x;
        uint8_t kind = DUPLICATE;
        long long at = 0;
        bool adds = false, takes = false;
        if (i < entries.last && !invalid) {
            const uint32_t u = source(m.keys[i]), v = uint32_t(m.keys[i]);
            const long long end = m.end[u];
            at = lower_bound(m.dst, m.begin[u], end, v);
            kind = kind_of(m, i, at < end && m.dst[at] == v);
            takes = removes(m, i) && changes(kind, true);
            adds = !removes(m, i) && changes(kind, false);
        }
        uint32_t added, taken;
        const uint32_t adding = rank_in_block(adds, added), taking = rank_in_block(takes, taken);
        if (i < entries.last) {
            m.kind[i] = kind;
            m.slot[i] = at;
            m.rank[i] = counted + adding + taking;
            m.net[i] = net + int(adding) - int(taking);
        }
        counted += added + taken;
        net += int(added) - int(taken);
    }
    if (threadIdx.x == 0 && entries.first < entries.last) {
        m.totals[blockIdx.x] = counted;
        m.net_totals[blockIdx.x] = net;
    }
}

// Block, behind a barrier of the grid: what the changes of the blocks before this one, which has entries, add.
__device__ __forceinline__ int net_before(const MergeBoth& m) {
    __shared__ int sums[CHANGE_WARPS];
    int sum = 0;
    for (uint32_t k = threadIdx.x; k < blockIdx.x; k += CHANGE_BLOCK) sum += m.net_totals[k];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, s);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (uint32_t w = 0; w < CHANGE_WARPS; ++w) sum += sums[w];
    return sum;
}

// Thread: list the change of entry i, and write a new edge.
__device__ __forceinline__ void list_change(const MergeBoth& m, long long i, uint32_t rank, int net) {
    const bool takes = removes(m, i);
    const int what = takes ? REMOVES : m.kind[i] == AGAIN ? ADDS_AGAIN : ADDS;
    const long long slot = m.slot[i];
    m.changed_slot[rank] = slot;
    m.changed_source[rank] = source(m.keys[i]);
    m.changed_net[rank] = 4 * net + what;
    if (takes) return;
    const long long to = slot + net - (what == ADDS);
    m.new_dst[to] = uint32_t(m.keys[i]);
    if (WEIGHT_BITS) m.new_weight[to] = m.batch_weight[m.order[i] - m.deletes];
}

// Thread: report entry i. A weight that is replaced is written to the old slot.
__device__ __forceinline__ void report_both(const MergeBoth& m, long long i) {
    const uint8_t kind = m.kind[i];
    const uint32_t item = m.order[i];
    const bool takes = removes(m, i);
    uint8_t status = !changes(kind, takes) ? UNCHANGED : takes ? REMOVED : NEW;
    if (WEIGHT_BITS && kind == PRESENT) {
        const bits_t old = m.weight[m.slot[i]];
        m.before[item] = old;
        if (!takes && old != m.batch_weight[item - m.deletes]) {
            m.weight[m.slot[i]] = m.batch_weight[item - m.deletes];
            status = REPLACED;
        }
    }
    m.status[item] = status;
}

// Grid of CHANGE_BLOCK threads.
extern "C" __global__ void __launch_bounds__(CHANGE_BLOCK, 2) merge_both(const __grid_constant__ MergeBoth m) {
    uint32_t expected = m.expected;
    const Entries entries = entries_of_block(m);
    locate_both(m, entries);
    grid_barrier(m.arrived, expected);
    const Count count = count_changes(m, entries);
    const int net = net_before(m);
    for (long long i = entries.first + threadIdx.x; i < entries.last; i += CHANGE_BLOCK) {
        if (changes(m.kind[i], removes(m, i))) list_change(m, i, count.before + m.rank[i] - 1, net + m.net[i]);
        report_both(m, i);
    }
    grid_barrier(m.arrived, expected);
    __shared__ Ranges ranges;
    find_ranges(m, count.total, ranges);
    shift_offsets(m, ranges);
    move_edges(m, ranges, count.total);
}
