// Modes of heavy vertices: the passes over the neighbours of each are shared out among all blocks, in the launch or phase behind the one
// that listed them. Included by at_once.cuh where IS_MODE is 1.
#pragma once
#include "mode.cuh"

#define BEING_CHANGED 0xFFFFFFFFu  // a count of a heavy vertex' best while a thread changes it

// One thread: make the better of `best` and a heavy vertex' best that vertex' best.
__device__ __forceinline__ void add_best(Reduced* sum, const Counted& best) {
    uint32_t* const count = &sum->count;
    uint32_t before;
    while ((before = atomicExch(count, BEING_CHANGED)) == BEING_CHANGED) {}
    __threadfence();  // the value is that of the count
    const Counted both = better({*(volatile out_t*)&sum->value, before}, best);
    *(volatile out_t*)&sum->value = both.value;
    __threadfence();
    atomicExch(count, both.count);
}

// The passes of all listed vertices, in turns by the blocks `block` of `blocks`, all threads of which call it. The thread that completes
// a vertex calls finish(place, vertex, reduced). `packed` is the final *heavy.list.total, where passes stand for buckets.
template <int THREADS, class F>
__device__ __forceinline__ void values_of_heavy(WALK, unsigned long long packed, const Heavy& heavy, uint32_t block,
                                                uint32_t blocks, ValueTable& table, F&& finish FORMALS) {
    const HeavyList& list = heavy.list;
    const uint32_t number = kept_entries(packed, list);
    if (number == 0) return;
    const long long all = list.base[number - 1] + parts_of_values(degree_of(WALKED, list.entry[number - 1]));
    for (long long item = block; item < all; item += blocks) {
        const uint32_t k = entry_at(list, number, item), x = list.entry[k];
        const uint32_t neighbors = degree_of(WALKED, x), passes = parts_of_values(neighbors);
        const uint32_t pass = uint32_t(item - list.base[k]);
        const Places places = places_for(table, 0, MODE_PLACES, 0, neighbors);
        const Counted part = best_of_pass<THREADS>(WALKED, x, places, pass, passes ARGS);
        const Counted best = best_of_block<THREADS>(table, part);
        if (threadIdx.x == 0) {
            add_best(heavy.sum + k, best);
            __threadfence();  // the part is in place before it counts as done
            if (atomicSub(heavy.left + k, 1u) == 1u) {
                __threadfence();  // what the others added is seen
                Reduced whole = nothing_reduced();
                whole.value = read_value(&heavy.sum[k].value);
                finish(heavy.place[k], x, whole);
            }
        }
        __syncthreads();  // table.best is free again
    }
}
