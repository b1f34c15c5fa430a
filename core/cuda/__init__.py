"""CUDA support: programs, structs that Python packs, launches, and batches that lie on the device."""
