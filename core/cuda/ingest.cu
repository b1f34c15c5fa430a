// Checks and converts a batch that lies on the device; see ingest.cuh.
#include "ingest.cuh"

struct Arguments {
    Copies to;
    Unvalidated batch;
};

// Thread per edge, grid-stride. Atomics: only for bad entries. Does not synchronise.
extern "C" __global__ void ingest(const __grid_constant__ Arguments a) {
    if (thread_id() == 0) begin_call(a.batch);
    take_entries<4>(a.batch, a.to);
}
