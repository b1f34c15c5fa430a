// Ids that users give operators in device memory (see id_checks.py for Given and Report, ID_T for their type).
#include "lists.cuh"

// Note the first id that is out of range, unless an earlier call has noted one. Thread per id, grid-stride; the last block to end looks the
// id up. Atomics: for ids out of range, and one per block. Does not wait for other blocks.
extern "C" __global__ void check_ids(const __grid_constant__ Given given) {
    const ID_T* ids = reinterpret_cast<const ID_T*>(given.ids);
    Report* report = given.report;
    for (long long i = thread_id(); i < given.size; i += thread_count()) {
        if ((unsigned long long)ids[i] < given.vertices) continue;  // false for negative ones
        const uint32_t before = atomicCAS(&report->call, 0u, given.call);
        if (before == 0 || before == given.call) atomicMax(&report->inverse, ~(unsigned long long)i);
    }
    if (!is_last_block(&report->done)) return;
    if (fresh(report->call) != given.call) return;
    const unsigned long long at = ~fresh(report->inverse);
    report->value = (long long)ids[at];
    report->vertices = given.vertices;
    report->argument = given.argument;
    report->version = given.version;
}
