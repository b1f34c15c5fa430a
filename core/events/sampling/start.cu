// The trees of a sample before its first hop (cuda.py, which has the struct Started). A root that is no vertex, and a time of which the sample could still
// change, are noted in ``fault``, and the host raises when it reads that.
#include "roots.cuh"

// Warp per tree, grid-stride. No atomics: all that write a fault write the same. Two searches of some 6 dependent loads, and 29 bytes written.
extern "C" __global__ void start_trees(const __grid_constant__ Started s) {
    for (long long b = wide_thread_id() / 32; b < s.trees; b += wide_thread_count() / 32) {
        const Tree tree = start_tree(s, b);
        if (threadIdx.x % 32 != 0) continue;
        if (!tree.is_valid) *s.fault = 1;
        s.root[b] = tree.root;
        s.key[b] = tree.key;
        s.cut[b] = tree.cut;
        s.low_of[b] = tree.low;
    }
}
