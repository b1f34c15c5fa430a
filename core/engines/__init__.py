"""Engines that start the ranks of a divided graph where data engineers are: ``suricate.engines.dask.run``.

MPI is joined by ``connect()``; one's own engines come by the hook ``suricate_comms``. See docs/engines.md.
"""

from __future__ import annotations

from suricate.base.public import on_use
from suricate.comm.protocol import Comm
from suricate.engines.links import DaskComm
from suricate.plugins.hookspecs import hookimpl

__getattr__ = on_use(__name__, {"dask": f"{__name__}.dask"}, extra="dask")


@hookimpl
def suricate_comms() -> list[type[Comm]]:
    """Return the communication of ranks that Dask has started."""
    return [DaskComm]
