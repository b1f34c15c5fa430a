// Checks and converts a batch that lies on the device; see ingest.cuh.
#include "ingest.cuh"

// Thread per edge, grid-stride. Atomics: only for bad entries. Does not synchronise.
extern "C" __global__ void ingest(Raw r) {
    if (thread_id() == 0) begin_call(r);
    take_entries<4>(r);
}
