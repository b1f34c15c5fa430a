"""Some CUDA programs of every template, to be compiled on a machine without a GPU."""
