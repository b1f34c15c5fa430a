// The hash table of an edge set, and the net change of a batch that deletes and inserts: the CUDA twin of edge_set_cpu.py.
// The structs Fill and Net come from edge_set_cuda.py. Grid-stride loops of one thread per arc; nothing synchronises.
#include "edge_fill.cuh"

// Put arcs into the table, whose bits are all set: of each that counts, and of an undirected edge the arc from the smaller
// id. With `mark`, of arcs that are there more than once the last one counts: whoever finds that an entry is superseded,
// its own or the one before, clears the mark of that one, so that the last mark alone remains. Undirected edges are then
// there as both arcs, the second `half` entries behind the first, and a self-loop keeps the first of its marks.
extern "C" __global__ void fill_table(const __grid_constant__ Fill a) {
    const long long count = a.mark && a.half ? a.half : a.size;
    for (long long i = thread_id(); i < count; i += thread_count()) {
        if (a.status && a.status[i] != a.wanted) continue;
        const uint32_t u = a.src[i], v = a.dst[i];
        if (!a.directed && u > v) continue;
        if (a.mark && a.half && u == v) a.mark[a.half + i] = 0;
        const uint32_t at = slot_for_key(a.key, a.capacity, key_of_edge(u, v, a.directed));
        const uint32_t mine = FIRST_ENTRY - uint32_t(i), before = atomicMin(a.entry + at, mine);
        if (!a.mark || before > FIRST_ENTRY) continue;
        const uint32_t superseded = FIRST_ENTRY - max(before, mine);
        a.mark[superseded] = 0;
        if (a.half) a.mark[a.half + superseded] = 0;
    }
}

// Take arcs that were removed and are NEW again out of both halves of a batch; they are REPLACED if the weight differs. At
// most one entry of either half has an arc's status, so no two threads write to one place.
extern "C" __global__ void net_change(const __grid_constant__ Net a) {
    const EdgeTable table = {a.key, a.entry, nullptr, a.capacity, 1};
    for (long long i = thread_id(); i < a.size; i += thread_count()) {
        if (a.status[i] != NEW) continue;
        const long long place = place_of(table, a.src[i], a.dst[i]);
        if (place < 0) continue;
        bool differs = false;
        for (uint32_t k = 0; k < a.words; ++k) {
            const uint32_t before = a.removed_old[a.words * place + k];
            differs |= before != a.weight[a.words * i + k];
            a.old[a.words * i + k] = before;
        }
        a.removed_status[place] = UNCHANGED;
        a.status[i] = differs ? REPLACED : UNCHANGED;
    }
}
