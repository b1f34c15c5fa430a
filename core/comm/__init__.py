"""How the processes of a job communicate: the protocol, and its forms for threads, MPI and NCCL; knows no graphs.

``suricate.parallel`` has the public names.
"""
