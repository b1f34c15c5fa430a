"""``intersect`` on CUDA, with its kernels."""
