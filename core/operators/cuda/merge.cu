// Several lists of vertices become one without repeats, two lists per launch. Types: ids, queue uint32[], stamp
// uint32[num_vertices] without the value `step` in it before the first list.
#include "lists.cuh"

// Generated from programs.py: List, ids[0 .. *count), or `size` of them if count is null; ids null: the vertices below the number.
// `others` is null, or as long and merged, too. Entries with another status (or null) than `wanted` are left out.

// A thread per entry, grid-stride. Ids that are not below num_vertices are left out; one atomic per entry on the stamp of its vertex, and one per
// warp on *queued, which is the number of vertices in `queue`. No barrier.
extern "C" __global__ void __launch_bounds__(BLOCK) merge_vertices(uint32_t num_vertices, List first, List second,
                                                                   uint32_t* stamp, uint32_t step, uint32_t* queue,
                                                                   uint32_t* queued) {
    for (int k = 0; k < 2; ++k) {
        const List list = k ? second : first;
        const uint32_t number = list.count ? *list.count : list.size;
        for (unsigned long long i = thread_id(); i < number; i += thread_count()) {
            if (list.status && list.status[i] != list.wanted) continue;
            for (int end = 0; end < (list.others ? 2 : 1); ++end) {
                const uint32_t v = end ? list.others[i] : list.ids ? list.ids[i] : uint32_t(i);
                if (v < num_vertices && atomicExch(stamp + v, step) != step) append(queue, queued, v);
            }
        }
    }
}
