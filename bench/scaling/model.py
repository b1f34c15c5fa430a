"""What a row of several ranks is expected to take: the work of one rank divided, and the collectives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """The time of collectives: ``latency`` seconds for each, and ``seconds_per_byte`` for what is received."""

    latency: float = 0.0
    seconds_per_byte: float = 0.0

    @classmethod
    def of(cls, shares: Mapping[int, float], ranks: int) -> Model:
        """Return the model for ``ranks`` ranks; ``shares``: seconds of ``share`` by bytes of all ranks, two or more."""
        small, large = min(shares), max(shares)
        received = large * (ranks - 1) / ranks
        return cls(shares[small], max(0.0, shares[large] - shares[small]) / received)

    def expected(self, alone: float, ranks: int, calls: int, received: int) -> float:
        """Return the seconds that a row should take on ``ranks`` ranks.

        ``alone``: its seconds on one rank; ``calls``: the number of collectives; ``received``: the bytes they bring.
        """
        return alone / ranks + calls * self.latency + received * self.seconds_per_byte
