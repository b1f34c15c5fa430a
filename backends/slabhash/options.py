"""The options of ``slabhash``, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suricate.backends.slabhash.layout import SLAB_BYTES
from suricate.base.parameters import choice, flag, real
from suricate.errors import ParameterError

IN_FLIGHT = (1, 2, 4)
DEFAULT_IN_FLIGHT = 1
LOAD_FACTORS = 0.01, 16.0  # from, up to
REFERENCE_BYTES = 128


@dataclass(frozen=True)
class Options:
    """The checked options of a store; see :class:`suricate.backends.slabhash.store.SlabHashStore`."""

    slab_bytes: int | str
    load_factor: float
    hashing: bool
    in_flight: int | str
    reference: bool

    @classmethod
    def checked(cls, **given: Any) -> Options:
        """Return all options, ``given`` by name, as plain Python objects; raises ``ParameterError`` for a bad one."""
        low, high = LOAD_FACTORS
        options = cls(
            slab_bytes=choice("slabhash: slab_bytes", given["slab_bytes"], (*SLAB_BYTES, "auto")),
            load_factor=real("slabhash: load_factor", given["load_factor"], low=low, high=high),
            hashing=flag("slabhash: hashing", given["hashing"]),
            in_flight=choice("slabhash: in_flight", given["in_flight"], (*IN_FLIGHT, "auto")),
            reference=flag("slabhash: reference", given["reference"]),
        )
        if options.reference and options.slab_bytes not in ("auto", REFERENCE_BYTES):
            raise ParameterError(f"slabhash: reference=True has slabs of 128 bytes, not {options.slab_bytes!r}")
        return options

    @property
    def edges_in_flight(self) -> int:
        """Number of edges of a query that a tile works on at a time."""
        return DEFAULT_IN_FLIGHT if self.in_flight == "auto" else int(self.in_flight)
