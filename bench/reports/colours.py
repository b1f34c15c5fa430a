"""What all pictures share: one colour per backend, and how many panels fit beside each other and on a screen."""

from __future__ import annotations

from suricate.plugins import backends

PANELS_IN_A_ROW = 4
PANELS = 12  #: of a picture


def colour(backend: str) -> str:
    """Return the colour of a backend, the same in every picture; grey for references and backends not installed."""
    names = list(backends())
    return f"C{names.index(backend) % 10}" if backend in names else "grey"
