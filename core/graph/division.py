"""How a graph learns that its edges are divided among processes; room ``parallel``, below, divides them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from suricate.base.errors import ParameterError
from suricate.base.parameters import shown
from suricate.comm.protocol import Comm, SelfComm
from suricate.store import Store


class Division(Protocol):
    """What a graph asks of what divides it: its communication, the stores, operators, batches and copies."""

    comm: Comm
    memory_limit: int | None
    stores: tuple[Store, ...]

    def __getattr__(self, name: str) -> Any: ...


#: what divides graphs: called with graph, comm, options, a function that makes the stores, hints, and count of vertices
DIVIDERS: list[Callable[..., Any]] = []


def demand_comm(comm: Any) -> None:
    """Raise ``ParameterError`` unless ``comm`` is a ``Comm`` or None."""
    if not (comm is None or isinstance(comm, Comm)):
        raise ParameterError(f"comm must be a Comm, which connect() or run() gives, got {shown(comm)}")


def divided(
    graph: Any, comm: Comm | None, options: Any, make: Callable[..., tuple[Store, ...]], hints: Any, count: int
) -> tuple[tuple[Store, ...], Division | None]:
    """Return the stores of a new ``graph``, and how it is divided; None without other processes.

    ``make``: returns empty stores of ``count`` vertices, given ``hints``: expected out- and in-degrees, or None each.
    """
    if comm is None or isinstance(comm, SelfComm):
        return make(*hints), None
    division = DIVIDERS[-1](graph, comm, options, make, hints, count)
    return division.stores, division
