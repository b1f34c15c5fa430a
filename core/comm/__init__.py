"""How the processes of a job communicate: the protocol, and engines for threads, MPI and NCCL; knows nothing of graphs.

``suricate.parallel`` has the public names.
"""
