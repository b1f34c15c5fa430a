// Core numbers from scratch on CUDA (see core_numbers.py): a cooperative kernel, whose arguments core_changes.cu describes. It is apart
// from the kernel there since it compiles in a tenth of the time. always 0: only if that one, launched before, has given up.
#include "core_numbers.cuh"

extern "C" __global__ void __launch_bounds__(CORE_BLOCK, 1)
peel(VIEWS, uint32_t n, uint32_t always, uint64_t* entry, int* left, uint32_t* rest, uint32_t* buffer, uint32_t* queue0,
     uint32_t* queue1, uint32_t* stamp, uint32_t* states, unsigned long long* kept) {
    if (!always && kept[3]) return;
    WALKED
    Rounds r = begin(states, stamp, queue0, queue1, kept, n);
    const uint32_t base = r.epoch;
    peel_all(g, n, entry, left, rest, buffer, r);
    if (thread_id() == 0) {
        end(states, r);
        kept[0] = r.epoch;
        kept[2] = ORIGIN + (r.epoch - base);
        kept[3] = 0;
        kept[4] = ORIGIN;
    }
}
