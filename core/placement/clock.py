"""Times that all ranks agree on: whether an algorithm updates or computes from scratch goes by the clock of rank 0.

A span in which some rank compiled does not count, as the others waited for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suricate.comm.protocol import Comm
    from suricate.plugins.clock import Clock


class AgreedClock:
    """A clock for a graph of several ranks: every rank gets the times that rank 0 measured.

    Args:
        comm: the communication.
        clock: the clock of this rank.
    """

    def __init__(self, comm: Comm, clock: Clock) -> None:
        self._comm, self._clock = comm, clock

    def start(self) -> bool:
        """Begin a span of time; return whether rank 0 did: not if its last span is not over. Collective."""
        return bool(self._comm.agree(self._clock.start()))

    def stop(self) -> None:
        """End the span of time that :meth:`start` began."""
        self._clock.stop()

    def seconds(self) -> float | None:
        """Return the length of the last span on rank 0 in seconds; 0 if it does not count on some rank. Collective.

        None: rank 0 does not know it yet, as work on its device is not over.
        """
        found: list[float | None] = self._comm.allgather(self._clock.seconds())
        return 0.0 if found[0] is not None and 0 in found else found[0]
