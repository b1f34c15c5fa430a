"""Join the processes that a launcher has started."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from suricate.base.devices import cuda_device_count
from suricate.base.errors import CommunicationError, DeviceError, MissingLibraryError
from suricate.base.notice import tell
from suricate.base.parameters import one_of
from suricate.comm.context import started as started_with
from suricate.comm.protocol import Comm, SelfComm

if TYPE_CHECKING:
    from suricate.comm.mpi import MPIComm

LIBRARIES = ("auto", "mpi", "nccl")
INSTALLED: list[Callable[[], Mapping[str, type[Comm]]]] = []  #: return comms of plugins by name
SIZES = (
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_STEP_NUM_TASKS",
)  #: of launchers of MPI: how many they started
OTHERS = ("WORLD_SIZE", "PALS_SIZE", "MV2_COMM_WORLD_SIZE", "JSM_NAMESPACE_SIZE", "FLUX_JOB_SIZE", "HOROVOD_SIZE")
#: the same of launchers that this module does not know; containers set such variables for programs of one process, too
ALONE = "suricate: start jobs by `python -m mpi4py job.py`, else a process that fails early leaves others waiting"


def connect(library: str = "auto") -> Comm:
    """Join the processes that an MPI launcher or another engine started; return the communication with them.

    In a job that an engine has started (``suricate.parallel.run``, or Dask, or one's own: ``suricate.parallel.using``)
    this returns the communication that it was started with. Otherwise start the job with
    ``mpiexec -n 4 python -m mpi4py job.py``; without a launcher this process is the only rank. A
    process that raises, ends, or keeps others waiting at a collective for ``SURICATE_TIMEOUT`` seconds (600; time
    spent compiling, reading the source of a stream, or inside ``with comm.busy():`` does not count) ends the whole job.
    Only rank 0 prints notices. A launcher that is not one of MPI, or unknown, starts jobs of one process each: then
    there is a warning. Graphs with ``device="cuda"`` are
    on the GPU of their rank; the processes of one host take its GPUs in turn.

    Args:
        library: what carries arrays on GPUs; the rest goes by MPI. ``"nccl"``: NCCL, one GPU per process; ``"mpi"``:
            MPI, through the host; ``"auto"``: ``"nccl"`` if every process has a GPU for itself, else ``"mpi"``. Or the
            name of an engine, ``"dask"`` or that of a plugin (hook ``suricate_comms``): only a job of that engine goes
            on.

    Raises:
        UnknownNameError: there is no such library.
        MissingLibraryError: a launcher has started several processes, and mpi4py or a library of MPI is missing; or
            NCCL is missing.
        CommunicationError: the launcher and the library of MPI disagree about the number of processes; or this is no
            job of the engine that ``library`` names.
        ParameterError: the job was started with something else than ``library``.
        DeviceError: with ``"nccl"``, two processes have the same GPU, or there is none.
    """
    if (comm := started_with(library)) is not None:
        return comm
    if library not in LIBRARIES:
        others = {name: kind for installed in INSTALLED for name, kind in installed().items()}
        one_of("library", library, (*LIBRARIES, *others))
        return others[library].join()
    started = next((int(os.environ[name]) for name in SIZES if os.environ.get(name, "").isdigit()), 1)
    try:
        from suricate.comm.mpi import found
    except (ImportError, RuntimeError) as error:  # the latter: mpi4py finds no libmpi
        if started > 1:
            raise MissingLibraryError(
                f"{started} processes were started, and mpi4py cannot be loaded ({error}): pip install suricate[mpi], "
                "or suricate[mpi-local], which brings a library of MPI"
            ) from error
        return _alone()
    size, name = found()
    if size != started and started > 1:
        raise CommunicationError(f"the launcher started {started} processes, {name} sees {size}: use its own launcher")
    if size == 1:
        return _alone()
    joined = _joined()
    if library == "mpi" or (library == "auto" and not _have_gpus_each(joined)):
        return joined
    return _with_nccl(joined)


def _alone() -> SelfComm:
    """Return the communication of a job of one process; warn if a variable says that there are several."""
    for name in OTHERS:
        if (value := os.environ.get(name, "")).isdigit() and int(value) > 1:
            warnings.warn(
                f"connect: {name}={value}, but no MPI joins these processes: each is rank 0 of 1, a job of its own; "
                "start them by mpiexec or srun to share a graph",
                stacklevel=3,
            )
            break
    return SelfComm()


@lru_cache(maxsize=1)
def _joined() -> MPIComm:
    """Return the MPI communication of this process, the same object in all calls."""
    from suricate.comm.mpi import MPIComm

    comm = MPIComm()
    if comm.rank:
        os.environ.setdefault("SURICATE_QUIET", "1")
    if "mpi4py" not in sys.orig_argv[1:]:
        tell(ALONE)
    return comm


def _with_nccl(comm: MPIComm) -> Comm:
    """Return a communication by NCCL; if that is impossible on any rank, raise the reason on all ranks."""
    with comm.alike():
        if not cuda_device_count():
            raise DeviceError("library 'nccl' needs a CUDA device per process, and the driver reports none: use 'mpi'")
        if not has_nccl():
            raise MissingLibraryError("library 'nccl' needs CuPy with NCCL: pip install nvidia-nccl-cu13, or use 'mpi'")
    from suricate.comm.nccl import NCCLComm

    return NCCLComm(comm, comm.index)


def _have_gpus_each(comm: MPIComm) -> bool:
    """Return whether every process has NCCL, and a GPU that no other process of its host takes."""
    count = cuda_device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    usable = count > 0 and has_nccl()
    found = comm.allgather((os.uname().nodename, visible, comm.index) if usable else None)
    return None not in found and len(set(found)) == len(found)


def has_nccl() -> bool:
    """Return whether CuPy is there, with NCCL."""
    if importlib.util.find_spec("cupy") is None:
        return False
    from cupy.cuda import nccl

    return bool(nccl.available)
