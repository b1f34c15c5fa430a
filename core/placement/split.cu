// Which edges of a batch a rank holds, and what became of them (see split.py for the structs Own, Parts and Report).
//
// Macros: WEIGHT_T  unsigned integer of the size of a weight, WEIGHTED 1 if there are weights; BOTH 1: a second store holds the
//         edges by destination; BLOCKS 1: there are blocks of new vertices (see ownership.py).
#include "lists.cuh"

constexpr uint32_t THREADS = 256, ITEMS = 4, TILE = THREADS * ITEMS, WARP = 32, WARPS = THREADS / WARP;

// Sum over a warp, in all its lanes.
template <class T>
__device__ __forceinline__ T warp_sum(T x) {
    for (int step = WARP / 2; step; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    return x;
}

// A range of ids is [low, low + size): below low the difference is large.
__device__ __forceinline__ bool within(uint32_t id, uint32_t low, uint32_t size) { return id - low < size; }

#if BLOCKS
// The rank that owns a vertex from `base` on. The number of a block is the place of the highest bit of its vertices, and the next `bits` bits.
template <class Owners> __device__ __forceinline__ uint32_t owner_of_new(const Owners& a, uint32_t id) {
    const uint32_t high = 31 - __clz(id), leading = high >= a.bits ? id >> (high - a.bits) : id << (a.bits - high);
    return a.owners[(high << a.bits) + leading - (1u << a.bits) - a.first];
}

__device__ __forceinline__ uint32_t owner_of(const Parts& a, uint32_t id) {
    if (id >= a.base) return owner_of_new(a, id);
    uint32_t rank = 0;
    for (uint32_t end = a.ranks; end - rank > 1;) {
        const uint32_t middle = rank + (end - rank) / 2;
        if (a.bounds[middle] <= id) rank = middle;
        else end = middle;
    }
    return rank;
}
#endif

__device__ __forceinline__ bool is_own(const Own& a, uint32_t id) {
#if BLOCKS
    if (id >= a.base) return owner_of_new(a, id) == a.rank;
#endif
    return within(id, a.low, a.size);
}

// Block: add what its threads have to two sums in shared memory, which all see afterwards.
template <class T> __device__ __forceinline__ void add_of_block(T* sums, T out, T in) {
    out = warp_sum(out);
    in = warp_sum(in);
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&sums[0], out);
        atomicAdd(&sums[1], in);
    }
    __syncthreads();
}

// Warp per 32 edges, grid-stride: count the edges of what a rank passes that each rank holds by source, and by destination. A lane
// counts those of one rank. The last block tells the host. Atomics: in shared memory, and two per block and rank; one per block. Barriers of the block.
extern "C" __global__ void __launch_bounds__(THREADS) count_parts(const __grid_constant__ Parts a) {
    __shared__ uint32_t sums[2][WARP];
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t first = 0; first < a.ranks; first += WARP) {
        if (threadIdx.x < 2 * WARP) sums[threadIdx.x / WARP][lane] = 0;
        __syncthreads();
        const uint32_t some = min(WARP, a.ranks - first);
        uint32_t out = 0, in = 0;
        for (long long base = wide_thread_id() - lane; base < a.n; base += wide_thread_count()) {
            const bool is_edge = base + lane < a.n;
            const uint32_t src = is_edge ? a.src[base + lane] : 0, dst = is_edge ? a.dst[base + lane] : 0;
#if BLOCKS
            const uint32_t of_src = owner_of(a, src) - first, of_dst = owner_of(a, dst) - first;
#endif
            for (uint32_t k = 0; k < some; k++) {
#if BLOCKS
                const bool is_out = of_src == k, is_in = of_dst == k;
#else
                const uint32_t low = a.bounds[first + k], size = a.bounds[first + k + 1] - low;
                const bool is_out = within(src, low, size), is_in = within(dst, low, size);
#endif
                const uint32_t outs = __popc(__ballot_sync(~0u, is_edge && is_out)),
                               ins = __popc(__ballot_sync(~0u, is_edge && is_in));
                out += lane == k ? outs : 0;
                in += lane == k ? ins : 0;
            }
        }
        atomicAdd(&sums[0][lane], out);
        atomicAdd(&sums[1][lane], in);
        __syncthreads();
        if (threadIdx.x < some) {
            atomicAdd(&a.counts[first + lane], sums[0][lane]);
            atomicAdd(&a.counts[a.ranks + first + lane], sums[1][lane]);
        }
        __syncthreads();
    }
    if (!is_last_block(a.done)) return;
    for (uint32_t k = 0; k < 2 * a.ranks; k++) {
        a.answers[k] = fresh(a.counts[k]);
        a.counts[k] = 0;
    }
    __threadfence_system();
    if (a.number) answer_call(a.answer, a.number);
}

// Block of THREADS: count the edges of its part of the batch that the rank holds by source and by destination, and add them up.
// Atomics: in shared memory, and two per block. Barriers of the block.
extern "C" __global__ void __launch_bounds__(THREADS) count_own(const __grid_constant__ Own a) {
    __shared__ uint32_t sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    const long long begin = blockIdx.x * a.part, end = min(a.n, begin + a.part);
    uint32_t out = 0, in = 0;
    for (long long i = begin + threadIdx.x; i < end; i += THREADS) {
        out += is_own(a, a.src[i]);
        if (BOTH) in += is_own(a, a.dst[i]);
    }
    add_of_block(sums, out, in);
    if (threadIdx.x >= 2) return;
    a.counts[2 + threadIdx.x * gridDim.x + blockIdx.x] = sums[threadIdx.x];
    atomicAdd(&a.counts[threadIdx.x], sums[threadIdx.x]);
}

// Block: how many edges the blocks before it hold by source (low half), and by destination (high half of two words).
__device__ __forceinline__ void before_block(const Own& a, unsigned long long* sums) {
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    unsigned long long out = 0, in = 0;
    for (uint32_t k = threadIdx.x; k < blockIdx.x; k += THREADS) {
        out += a.counts[2 + k];
        in += a.counts[2 + gridDim.x + k];
    }
    add_of_block(sums, out, in);
}

// Block of THREADS: write the edges of its part that the rank holds, in the order of the batch, and their places; those by
// destination turned round. A warp has consecutive edges of a tile, 32 at a time. Behind count_own on the same grid. Atomics: in
// shared memory. Barriers of the block.
extern "C" __global__ void __launch_bounds__(THREADS) write_own(const __grid_constant__ Own a) {
    __shared__ unsigned long long sums[2];
    __shared__ uint32_t of_warp[2][WARPS];  // of two tiles in turn: a barrier for each suffices
    before_block(a, sums);
    unsigned long long out = sums[0], in = sums[1];
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, lower = (1u << lane) - 1;
    const long long begin = blockIdx.x * a.part, end = min(a.n, begin + a.part);
    uint32_t turn = 0;
    for (long long tile = begin; tile < end; tile += TILE, turn ^= 1) {
        const long long first = tile + warp * WARP * ITEMS + lane;
        uint32_t src[ITEMS], dst[ITEMS], outs[ITEMS],
            ins[ITEMS];  // the lanes whose edge is held by source, by destination
        uint32_t mine = 0;  // of the warp: by source, and from bit 16 on by destination
        for (uint32_t k = 0; k < ITEMS; k++) {
            const long long i = first + k * WARP;
            const bool is_edge = i < end;
            src[k] = is_edge ? a.src[i] : 0;
            dst[k] = is_edge ? a.dst[i] : 0;
            outs[k] = __ballot_sync(~0u, is_edge && is_own(a, src[k]));
            ins[k] = __ballot_sync(~0u, BOTH && is_edge && is_own(a, dst[k]));
            mine += __popc(outs[k]) | __popc(ins[k]) << 16;
        }
        if (lane == 0) of_warp[turn][warp] = mine;
        __syncthreads();
        uint32_t before = 0, total = 0;
        for (uint32_t w = 0; w < WARPS; w++) {
            if (w < warp) before += of_warp[turn][w];
            total += of_warp[turn][w];
        }
        unsigned long long to_out = out + (before & 0xFFFF), to_in = in + (before >> 16);
        for (uint32_t k = 0; k < ITEMS; k++) {
            const long long i = first + k * WARP;
            const bool is_out = outs[k] >> lane & 1, is_in = ins[k] >> lane & 1;
#if WEIGHTED
            const WEIGHT_T weight = is_out || is_in ? a.weight[i] : 0;
#endif
            if (is_out) {
                const unsigned long long to = to_out + __popc(outs[k] & lower);
                a.at[to] = uint32_t(i);
                a.out_src[to] = src[k];
                a.out_dst[to] = dst[k];
#if WEIGHTED
                a.out_weight[to] = weight;
#endif
            }
            if (is_in) {
                const unsigned long long to = to_in + __popc(ins[k] & lower);
                a.in_src[to] = dst[k];
                a.in_dst[to] = src[k];
#if WEIGHTED
                a.in_weight[to] = weight;
#endif
            }
            to_out += __popc(outs[k]);
            to_in += __popc(ins[k]);
        }
        out += total & 0xFFFF;
        in += total >> 16;
    }
}

// Thread per edge of the rank, grid-stride: write its status to its place in the batch (unless `whole` is null), and add up how
// many edges were changed, and how many of these are self-loops. Atomics: two per warp. No barrier.
extern "C" __global__ void __launch_bounds__(THREADS) report_own(const __grid_constant__ Report a) {
    unsigned long long changed = 0, loops = 0;
    for (long long i = wide_thread_id(); i < a.n; i += wide_thread_count()) {
        const uint8_t status = a.status[i];
        if (a.whole) a.whole[a.at[i]] = status;
        if (status != a.wanted) continue;
        changed++;
        if (a.src) loops += a.src[i] == a.dst[i];
    }
    changed = warp_sum(changed);
    loops = warp_sum(loops);
    if (threadIdx.x % WARP) return;
    if (changed) atomicAdd(a.counts, changed);
    if (loops) atomicAdd(a.counts + 1, loops);
}
