"""Join the processes that a launcher has started."""

from __future__ import annotations

import os

from suricate.base.errors import CommunicationError, MissingLibraryError
from suricate.parallel.comm import Comm, SelfComm

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")  #: where launchers say how many processes there are


def connect() -> Comm:
    """Return the communication of this process with the others of its job; alone, it is the only rank.

    Start the job by a launcher of MPI: ``mpiexec -n 4 python -m mpi4py job.py``. Without ``-m mpi4py`` a rank that
    raises may leave the others waiting.

    Raises:
        MissingLibraryError: a launcher has started several processes, and mpi4py is not installed.
        CommunicationError: the launcher and the library of MPI do not agree about the number of processes.
    """
    started = next((int(os.environ[name]) for name in SIZES if os.environ.get(name, "").isdigit()), 1)
    try:
        from suricate.parallel.mpi import MPIComm
    except ImportError as error:
        if started > 1:
            raise MissingLibraryError(
                f"{started} processes were started, and mpi4py cannot be loaded ({error}): pip install suricate[mpi]"
            ) from error
        return SelfComm()
    comm = MPIComm()
    if comm.size != started and started > 1:
        raise CommunicationError(
            f"the launcher started {started} processes, {comm.library} sees {comm.size}: use its own launcher"
        )
    return comm if comm.size > 1 else SelfComm()
