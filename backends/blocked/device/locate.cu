// Locating the entries of a batch of queries; see locate.cuh. Updates locate theirs themselves.
#include "locate.cuh"

// LANES threads per entry.
extern "C" __global__ void locate(Graph g, LocatedBatch b) {
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    if (i < b.size) locate_entry(g, b, uint32_t(i));  // the whole tile
}

// Thread per entry.
extern "C" __global__ void list_heads(LocatedBatch b, uint32_t* first) {
    const uint32_t i = thread_id();
    if (i < b.size) list_head(b, first, i);
}

// Threads in a grid-stride loop, after list_heads.
extern "C" __global__ void locate_scan(Graph g, LocatedBatch b, const uint32_t* first) { scan_slots(g, b, first); }
