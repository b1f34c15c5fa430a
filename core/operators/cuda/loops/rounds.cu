// iterate: the end of a round of recorded launches, what such launches fill, and the exchange of arrays at the end. TOTAL_T is the type of the scalar that ends the
// loop. Types: control uint32[2], the flag that stops the loop and the number of rounds done. No atomics; no barrier across blocks.
#include "suricate.cuh"

// One thread, before the first round: *outer is the flag of the loop around this one, or null.
extern "C" __global__ void start_rounds(uint32_t* control, const uint32_t* outer, volatile uint32_t* pinned) {
    control[0] = outer ? *outer : 0;
    control[1] = 0;
    *pinned = control[0];
}

// One block, after each round: counts it, and stops the loop unless the total is above `bound` (a NaN stops it). The host sees both in
// *pinned, host memory: twice the rounds done, plus 1 if it is over. Unless it is, clears counters[0 .. words) for the
// next round; the block has that many threads, or more.
extern "C" __global__ void end_round(const TOTAL_T* total, double bound, uint32_t* control, volatile uint32_t* pinned,
                                     unsigned long long* counters, uint32_t words) {
    const bool over = control[0] != 0, stop = !(double(*total) > bound);
    __syncthreads();  // everybody has read control
    if (over) return;
    if (!stop && threadIdx.x < words) counters[threadIdx.x] = 0;
    if (threadIdx.x > 0) return;
    const uint32_t rounds = control[1] + 1;
    control[0] = stop;
    control[1] = rounds;
    *pinned = 2 * rounds + stop;
    __threadfence_system();
}

// values[i] = value for i < size, a thread each, grid-stride, unless the loop has stopped.
extern "C" __global__ void fill_values(TOTAL_T* values, long long size, TOTAL_T value, const uint32_t* stop) {
    if (*stop) return;
    for (long long i = thread_id(); i < size; i += thread_count()) values[i] = value;
}

// a and b exchange their contents, `words` of 32 bits each; a thread per word, grid-stride.
extern "C" __global__ void exchange(uint32_t* a, uint32_t* b, unsigned long long words) {
    for (unsigned long long i = thread_id(); i < words; i += thread_count()) {
        const uint32_t held = a[i];
        a[i] = b[i];
        b[i] = held;
    }
}
