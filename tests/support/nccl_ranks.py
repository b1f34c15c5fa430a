"""Ranks that are threads and exchange by NCCL, over the emulated device; modules that import this run there only."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from suricate.parallel import Comm

cupy = pytest.importorskip("cupy")
if cupy.__version__ != "emulated":
    pytest.skip("ranks of NCCL are processes, with a GPU each", allow_module_level=True)


def gpus_of_threads(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As if each thread had a GPU for itself; what is noted of calls of NCCL."""
    from cupy.cuda import nccl, runtime

    monkeypatch.setattr(
        runtime, "deviceGetPCIBusId", lambda index: f"GPU of {threading.current_thread().name}", raising=False
    )
    monkeypatch.setattr(nccl, "CALLS", [])
    return nccl


def by_nccl(comm: Comm) -> Comm:
    """Connect this rank; what is noted afterwards leaves out the first exchanges."""
    from cupy.cuda import nccl

    from suricate.comm.nccl import NCCLComm

    found = NCCLComm(comm, 0)
    comm.barrier()
    if comm.rank == 0:
        nccl.CALLS.clear()
    comm.barrier()
    return found
