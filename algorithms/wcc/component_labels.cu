// Labels of the forest of components: the smallest member of each vertex's component. One thread per vertex, grid-stride; none
// synchronises. word int64[n] (none is UNREACHED), smallest and label uint32[n].
#include "suricate.cuh"

// The vertex whose root_word() (see component_forest.cu) `word` belongs to: the scrambling of its id undone.
__device__ __forceinline__ uint32_t root_of(int64_t word, const Layout& layout) {
    const int bits = layout.root_bits, half = bits / 2;
    const uint64_t mask = (1ull << bits) - 1, mixed = uint64_t(word >> layout.root_shift) & mask;
    return uint32_t(((mixed ^ (mixed >> half) ^ (mixed >> (2 * half))) * layout.unmix) & mask);
}

// Set the words of vertices begin <= v < n, which are new and have no edges yet: roots of the worst class.
extern "C" __global__ void make_roots(int64_t* word, uint32_t* parent, uint32_t begin, uint32_t n, Layout layout) {
    const int bits = layout.root_bits;
    for (uint32_t v = begin + thread_id(); v < n; v += thread_count()) {
        int64_t id = ((int64_t)v * MIX) & ((1ll << bits) - 1);
        id ^= id >> (bits / 2);
        word[v] = (((int64_t)layout.last_rank << bits) | id) << layout.root_shift;
        parent[v] = EMPTY;
    }
}

// smallest[v] = v at roots; adds their number to *components, which is 0 at launch (one atomic per block).
extern "C" __global__ void count_roots(const int64_t* word, uint32_t* smallest, uint32_t n, Layout layout,
                                       unsigned long long* components) {
    __shared__ uint32_t roots;
    if (threadIdx.x == 0) roots = 0;
    __syncthreads();
    uint32_t mine = 0;
    for (uint32_t v = thread_id(); v < n; v += thread_count()) {
        if (word[v] & ((1ll << layout.root_shift) - 1)) continue;
        smallest[v] = v;
        ++mine;
    }
    if (mine) atomicAdd(&roots, mine);
    __syncthreads();
    if (threadIdx.x == 0 && roots) atomicAdd(components, (unsigned long long)roots);
}

// smallest[root of v] = the least of its members. A read spares nearly all atomics.
extern "C" __global__ void find_smallest(const int64_t* word, uint32_t* smallest, uint32_t n, Layout layout) {
    for (uint32_t v = thread_id(); v < n; v += thread_count()) {
        uint32_t* at = smallest + root_of(word[v], layout);
        if (*(volatile uint32_t*)at > v) atomicMin(at, v);
    }
}

// label[v] = the least member of v's component.
extern "C" __global__ void write_labels(const int64_t* word, const uint32_t* smallest, uint32_t* label, uint32_t n,
                                        Layout layout) {
    for (uint32_t v = thread_id(); v < n; v += thread_count()) label[v] = smallest[root_of(word[v], layout)];
}
