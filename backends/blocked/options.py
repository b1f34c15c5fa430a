"""The options of ``blocked``, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suricate.backends.blocked.layout import BLOCK_EDGES
from suricate.errors import ParameterError

PLACES = ("auto", "host", "device")  #: of ``batches_on``


@dataclass(frozen=True)
class Options:
    """The checked options of a store; see :class:`suricate.backends.blocked.store.BlockedStore`."""

    block_edges: int | None
    batches_on: str

    @classmethod
    def checked(cls, block_edges: Any, batches_on: Any) -> Options:
        """Return the options as plain Python objects; raises ``ParameterError``."""
        if not isinstance(batches_on, str) or batches_on not in PLACES:
            raise ParameterError(f"blocked: batches_on must be {', '.join(PLACES)}, got {batches_on!r}")
        if block_edges is None:
            return cls(None, batches_on)
        is_integer = isinstance(block_edges, (int, np.integer)) and not isinstance(block_edges, bool)
        if not is_integer or block_edges not in BLOCK_EDGES:
            allowed = ", ".join(map(str, BLOCK_EDGES))
            raise ParameterError(f"blocked: block_edges must be {allowed} or None, got {block_edges!r}")
        return cls(int(block_edges), batches_on)
