"""Functions per vertex and per edge on CUDA, with their kernels."""
