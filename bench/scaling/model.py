"""A model of the time on several ranks: the time of one rank divided by their number, plus that of the collectives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """The time of collectives: ``latency`` seconds for each call, and ``seconds_per_byte`` for the bytes received."""

    latency: float = 0.0
    seconds_per_byte: float = 0.0

    @classmethod
    def of(cls, shares: Mapping[int, float], ranks: int) -> Model:
        """Return the model that fits measured times of the collective ``Comm.share`` on ``ranks`` ranks.

        ``shares``: seconds of a call, by the bytes that all ranks share in it; at least two sizes.
        """
        small, large = min(shares), max(shares)
        received = large * (ranks - 1) / ranks
        return cls(shares[small], max(0.0, shares[large] - shares[small]) / received)

    def expected(self, alone: float, ranks: int, calls: int, received: int) -> float:
        """Return the seconds that a workload should take on ``ranks`` ranks.

        ``alone``: its seconds on one rank; ``calls``: the number of its collectives; ``received``: the bytes received
        in them.
        """
        return alone / ranks + calls * self.latency + received * self.seconds_per_byte
