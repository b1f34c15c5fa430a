// The batches of suricate.state.union_find on CUDA. All kernels: one thread per entry, grid-stride; none synchronises.
#include "union_find.cuh"

// parent[i] = i for begin <= i < end.
extern "C" __global__ void make_singletons(uint32_t* parent, long long begin, long long end) {
    for (long long i = begin + thread_id(); i < end; i += thread_count()) parent[i] = uint32_t(i);
}

// parent[v] = v for the first *device_count (null: size) entries of vertices; repeated ones are harmless.
extern "C" __global__ void detach(uint32_t* parent, const uint32_t* vertices, const uint32_t* device_count,
                                  long long size) {
    const long long count = device_count ? *device_count : size;
    for (long long i = thread_id(); i < count; i += thread_count()) parent[vertices[i]] = vertices[i];
}

// Unite src[i] and dst[i] for i < n where status[i] == wanted (null: all); repeated pairs are harmless.
extern "C" __global__ void unite_pairs(uint32_t* parent, const uint32_t* src, const uint32_t* dst,
                                       const uint8_t* status, uint32_t wanted, long long n) {
    for (long long i = thread_id(); i < n; i += thread_count())
        if (!status || status[i] == wanted) unite(parent, src[i], dst[i]);
}

// parent[i] = the root of i for i < n, and label[i] too unless it is null; adds the number of roots to *components, which is
// 0 at launch (one atomic per block). Runs without unions at the same time, so that every thread sees the same roots.
extern "C" __global__ void compress(uint32_t* parent, uint32_t* label, long long n, unsigned long long* components) {
    __shared__ uint32_t roots;
    if (threadIdx.x == 0) roots = 0;
    __syncthreads();
    uint32_t mine = 0;
    for (long long i = thread_id(); i < n; i += thread_count()) {
        const uint32_t root = flatten_one(parent, uint32_t(i));
        mine += root == uint32_t(i);
        if (label) label[i] = root;
    }
    if (mine) atomicAdd(&roots, mine);
    __syncthreads();
    if (threadIdx.x == 0 && roots) atomicAdd(components, (unsigned long long)roots);
}

// same[i] = whether a[i] and b[i] have one root, for i < n. Runs without unions at the same time.
extern "C" __global__ void same_component(uint32_t* parent, const uint32_t* a, const uint32_t* b, bool* same,
                                          long long n) {
    for (long long i = thread_id(); i < n; i += thread_count())
        same[i] = root_of(parent, a[i]) == root_of(parent, b[i]);
}
