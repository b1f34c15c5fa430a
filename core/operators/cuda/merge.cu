// Several lists of vertices become one without repeats, with one launch per list. Types: ids, queue uint32[], stamp
// uint32[num_vertices] without the value `step` in it before the first list.
#include "lists.cuh"

// ids[0 .. *device_count), or `size` of them if device_count is null; ids null: the vertices below the number. `others` is null, or as
// long and merged, too. Entries with another status (uint8[], or null) than `wanted` are left out, and ids that are not below
// num_vertices. A thread per entry; one atomic per vertex on its stamp, and one per warp on *count, which is the number of
// vertices in `queue`.
extern "C" __global__ void __launch_bounds__(BLOCK)
merge_vertices(uint32_t num_vertices, const uint32_t* ids, const uint32_t* others, const uint32_t* device_count,
               uint32_t size, const uint8_t* status, uint32_t wanted, uint32_t* stamp, uint32_t step, uint32_t* queue,
               uint32_t* count) {
    const uint32_t number = device_count ? *device_count : size;
    for (unsigned long long i = thread_id(); i < number; i += thread_count()) {
        if (status && status[i] != wanted) continue;
        for (int end = 0; end < (others ? 2 : 1); ++end) {
            const uint32_t v = end ? others[i] : ids ? ids[i] : uint32_t(i);
            if (v < num_vertices && atomicExch(stamp + v, step) != step) append(queue, count, v);
        }
    }
}
