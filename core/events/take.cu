// Events on their way to a log on the device (taking_cuda.py); ID_T is the type of their ids.
#include "lists.cuh"

// Write src[n], dst[n] and time[n] to rings of mask + 1 entries, from the place ``at`` on, and answer the host with: the largest id, negative ones being
// larger than all others; whether times descend anywhere; the first and the last of them. Thread per event, grid-stride; atomics: per warp that has a
// larger id than was there, or finds times that descend, and one per block. state[2] and *done are 0 before and afterwards. 32 bytes per event at ids of
// 32 bits.
extern "C" __global__ void take_events(const ID_T* src, const ID_T* dst, const long long* time, long long n,
                                       uint32_t* sources, uint32_t* targets, long long* times, long long at,
                                       long long mask, unsigned long long* state, uint32_t* done,
                                       unsigned long long* answer, unsigned long long number) {
    unsigned long long most = 0;
    bool descends = false;
    for (long long i = wide_thread_id(); i < n; i += wide_thread_count()) {
        const ID_T u = src[i], v = dst[i];
        const long long now = time[i], place = (at + i) & mask;
        most = max(most, max((unsigned long long)u, (unsigned long long)v));
        descends |= i + 1 < n && time[i + 1] < now;
        sources[place] = uint32_t(u);
        targets[place] = uint32_t(v);
        times[place] = now;
    }
    for (int d = 16; d; d >>= 1) most = max(most, __shfl_xor_sync(~0u, most, d));
    descends = __any_sync(~0u, descends);
    if ((threadIdx.x & 31) == 0) {
        if (most > fresh(state[0])) atomicMax(&state[0], most);
        if (descends && !fresh(state[1])) atomicMax(&state[1], 1ull);
    }
    if (!is_last_block(done)) return;
    answer[1] = fresh(state[0]);
    answer[2] = fresh(state[1]);
    answer[3] = time[0];
    answer[4] = time[n - 1];
    state[0] = state[1] = 0;
    answer_call(answer, number);
}
