"""Workloads on graphs that are drawn in pieces on the device: large graphs, and long windows."""
