// Checks and converts a batch that lies on the device; see ingest.cuh.
#include "ingest.cuh"

struct Arguments {
    Copies to;
    Unvalidated batch;
};

// Block, when its entries are checked: the last block of the grid to come here tells the host, where the copies may be.
// Atomics: one per block.
__device__ __forceinline__ void answer_at_end(const Unvalidated& r) {
    if (r.mode & MORE_PARTS) return;
    __syncthreads();
    if (threadIdx.x) return;
    Status* mine = r.status + (r.call & 1);
    __threadfence_system();
    if (atomicAdd(&mine->finished, 1u) + 1 < gridDim.x) return;
    atomicExch(&mine->finished, 0u);
    __threadfence_system();
    answer(r, atomicAdd(&mine->guard, 0u) != 0);
}

// Thread per edge, grid-stride. Atomics: for bad entries, and as above. A barrier of the block, none of the grid.
extern "C" __global__ void ingest(const __grid_constant__ Arguments a) {
    if (thread_id() == 0) begin_call(a.batch);
    take_entries<4>(a.batch, a.to);
    answer_at_end(a.batch);
}
