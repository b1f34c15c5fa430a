// Union-find over uint32_t parent[n]: a root is its own parent, every other parent has a smaller id, so that the root
// of a component is its smallest member. Hooking is asynchronous as in Meerkat's WCC: many unions at once, no barrier.
#include "suricate.cuh"

// The root of x. Halves the path on the way: each store replaces a parent by one of its ancestors, which stays true
// whatever other threads do, so these stores need no atomics. Volatile, because others write meanwhile.
__device__ __forceinline__ uint32_t root_of(volatile uint32_t* parent, uint32_t x) {
    uint32_t p = parent[x];
    while (p != x) {
        uint32_t above = parent[p];
        if (above != p) parent[x] = above;
        x = p;
        p = above;
    }
    return x;
}

// parent[i] = i for begin <= i < end. One thread per element.
extern "C" __global__ void make_singletons(uint32_t* parent, long long begin, long long end) {
    for (long long i = begin + thread_id(); i < end; i += thread_count()) parent[i] = uint32_t(i);
}

// Unites src[i] and dst[i] for i < n; repeated pairs are harmless. One thread per pair, grid-stride. The larger root is
// hooked under the smaller by one CAS, which only succeeds while it still is a root; a loser goes on from the new parent.
extern "C" __global__ void unite(uint32_t* parent, const uint32_t* src, const uint32_t* dst, long long n) {
    for (long long i = thread_id(); i < n; i += thread_count()) {
        uint32_t a = root_of(parent, src[i]), b = root_of(parent, dst[i]);
        while (a != b) {
            uint32_t high = max(a, b), low = min(a, b);
            uint32_t seen = atomicCAS(&parent[high], high, low);
            if (seen == high) break;
            a = root_of(parent, seen);
            b = root_of(parent, low);
        }
    }
}

// label[i] = parent[i] = the root of i, for i < n: full path compression. One thread per element; runs without unions at
// the same time, so that every thread sees the same roots.
extern "C" __global__ void compress(uint32_t* parent, uint32_t* label, long long n) {
    for (long long i = thread_id(); i < n; i += thread_count()) {
        uint32_t root = root_of(parent, uint32_t(i));
        parent[i] = label[i] = root;
    }
}

// same[i] = whether a[i] and b[i] have one root, for i < n. One thread per pair; runs without unions at the same time.
extern "C" __global__ void same_component(uint32_t* parent, const uint32_t* a, const uint32_t* b, bool* same,
                                          long long n) {
    for (long long i = thread_id(); i < n; i += thread_count())
        same[i] = root_of(parent, a[i]) == root_of(parent, b[i]);
}
