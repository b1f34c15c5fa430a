// Which edges of a batch a rank holds, and what became of them (see split.py for the structs Own, Owners and Report).
//
// Macros: WEIGHT_T  unsigned integer of the size of a weight, WEIGHTED 1 if there are weights; BOTH 1: a second store holds the
//         edges by destination.
#include "suricate.cuh"

constexpr uint32_t THREADS = 256, ITEMS = 4, TILE = THREADS * ITEMS, WARP = 32, WARPS = THREADS / WARP;

// Sum over a warp, in all its lanes.
template <class T>
__device__ __forceinline__ T warp_sum(T x) {
    for (int step = WARP / 2; step; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    return x;
}

// A range of ids is [low, low + size): below low the difference is large.
__device__ __forceinline__ bool within(uint32_t id, uint32_t low, uint32_t size) { return id - low < size; }

// Block of THREADS: count the edges of its part of the batch that the rank holds by source and by destination. Atomics: in
// shared memory. Barriers of the block.
extern "C" __global__ void __launch_bounds__(THREADS) count_own(const __grid_constant__ Own a) {
    __shared__ uint32_t sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    const long long begin = blockIdx.x * a.part, end = min(a.n, begin + a.part);
    uint32_t out = 0, in = 0;
    for (long long i = begin + threadIdx.x; i < end; i += THREADS) {
        out += within(a.src[i], a.low, a.size);
        if (BOTH) in += within(a.dst[i], a.low, a.size);
    }
    out = warp_sum(out);
    in = warp_sum(in);
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&sums[0], out);
        atomicAdd(&sums[1], in);
    }
    __syncthreads();
    if (threadIdx.x < 2) a.counts[threadIdx.x * gridDim.x + blockIdx.x] = sums[threadIdx.x];
}

// Block: how many edges the blocks before it hold by source (low half), and by destination (high half of two words).
__device__ __forceinline__ void before_block(const Own& a, unsigned long long* sums) {
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    unsigned long long out = 0, in = 0;
    for (uint32_t k = threadIdx.x; k < blockIdx.x; k += THREADS) {
        out += a.counts[k];
        in += a.counts[gridDim.x + k];
    }
    out = warp_sum(out);
    in = warp_sum(in);
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&sums[0], out);
        atomicAdd(&sums[1], in);
    }
    __syncthreads();
}

// Block of THREADS: write the edges of its part that the rank holds, in the order of the batch, and their places; those by
// destination turned round. Behind count_own on the same grid. Atomics: in shared memory. Barriers of the block.
extern "C" __global__ void __launch_bounds__(THREADS) write_own(const __grid_constant__ Own a) {
    __shared__ unsigned long long sums[2];
    __shared__ uint32_t of_warp[2][WARPS];  // of two tiles in turn: a barrier for each suffices
    before_block(a, sums);
    unsigned long long out = sums[0], in = sums[1];
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const long long begin = blockIdx.x * a.part, end = min(a.n, begin + a.part);
    uint32_t turn = 0;
    for (long long tile = begin; tile < end; tile += TILE, turn ^= 1) {
        const long long first = tile + threadIdx.x * ITEMS;
        uint32_t src[ITEMS], dst[ITEMS], holds = 0, mine = 0;  // mine: by source, and from bit 16 on by destination
        for (uint32_t k = 0; k < ITEMS; k++) {
            if (first + k >= end) continue;
            src[k] = a.src[first + k];
            dst[k] = a.dst[first + k];
            const uint32_t by = within(src[k], a.low, a.size) | (BOTH && within(dst[k], a.low, a.size)) << 1;
            holds |= by << 2 * k;
            mine += (by & 1) | (by >> 1) << 16;
        }
        uint32_t upto = mine;
        for (uint32_t step = 1; step < WARP; step *= 2) {
            const uint32_t other = __shfl_up_sync(~0u, upto, step);
            if (lane >= step) upto += other;
        }
        if (lane == WARP - 1) of_warp[turn][warp] = upto;
        __syncthreads();
        uint32_t before = upto - mine, total = 0;
        for (uint32_t w = 0; w < WARPS; w++) {
            if (w < warp) before += of_warp[turn][w];
            total += of_warp[turn][w];
        }
        unsigned long long to_out = out + (before & 0xFFFF), to_in = in + (before >> 16);
        for (uint32_t k = 0; k < ITEMS; k++) {
            const uint32_t by = holds >> 2 * k & 3;
            if (!by) continue;
#if WEIGHTED
            const WEIGHT_T weight = a.weight[first + k];
#endif
            if (by & 1) {
                a.at[to_out] = uint32_t(first + k);
                a.out_src[to_out] = src[k];
                a.out_dst[to_out] = dst[k];
#if WEIGHTED
                a.out_weight[to_out] = weight;
#endif
                to_out++;
            }
            if (by & 2) {
                a.in_src[to_in] = dst[k];
                a.in_dst[to_in] = src[k];
#if WEIGHTED
                a.in_weight[to_in] = weight;
#endif
                to_in++;
            }
        }
        out += total & 0xFFFF;
        in += total >> 16;
    }
}

// Warps, grid-stride: add up how many of the edges each rank holds by source, and behind these by destination. Lane r counts
// those of rank r, of 32 ranks at a time. Atomics: two per lane. No barrier.
extern "C" __global__ void __launch_bounds__(THREADS) count_owners(const __grid_constant__ Owners a) {
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t group = 0; group < a.ranks; group += WARP) {
        const uint32_t ranks = min(WARP, a.ranks - group);
        unsigned long long out = 0, in = 0;
        for (long long i = wide_thread_id(); i - lane < a.n; i += wide_thread_count()) {
            const bool is_edge = i < a.n;
            const long long src = is_edge ? (long long)a.src[i] : -1, dst = is_edge ? (long long)a.dst[i] : -1;
            for (uint32_t r = 0; r < ranks; r++) {
                const long long low = a.bounds[group + r], high = a.bounds[group + r + 1];
                const uint32_t by_src = __popc(__ballot_sync(~0u, src >= low && src < high));
                const uint32_t by_dst = __popc(__ballot_sync(~0u, dst >= low && dst < high));
                if (lane == r) {
                    out += by_src;
                    in += by_dst;
                }
            }
        }
        if (lane < ranks && out) atomicAdd(a.counts + group + lane, out);
        if (lane < ranks && in) atomicAdd(a.counts + a.ranks + group + lane, in);
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
