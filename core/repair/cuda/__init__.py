"""The dependence forest on CUDA, with its kernels."""
