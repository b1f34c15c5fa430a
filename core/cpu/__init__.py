"""The CPU as a device: compiled loops and their cache keys, threads, atomics and other machine operations."""
