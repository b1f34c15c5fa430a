"""What all pictures and pages share: one colour per backend, its pale shade, and how many panels fit on a screen."""

from __future__ import annotations

import zlib

from suricate.bench.defaults import COLOURS

PANELS_IN_A_ROW = 4
PANELS = 12  #: of a picture
NO_DIFFERENCE = 1.2  #: a lead below this is none
GREY = "#dddddd"  #: of cells without a difference
FURTHER = "#bcbd22", "#7f7f7f", "#aec7e8", "#98df8a", "#c49c94", "#f7b6d2"  #: for backends that have no colour in data
PALE = 0.55  #: share of white in the shade of cells and legends


def colour(backend: str) -> str:
    """Return the colour of a backend, ``"#rrggbb"``: the same in every picture and on every page, on any machine."""
    return COLOURS.get(backend) or FURTHER[zlib.crc32(backend.encode()) % len(FURTHER)]


def pale(backend: str) -> str:
    """Return the shade of :func:`colour` for cells and their legend, in which text can be read."""
    parts = (int(colour(backend)[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + PALE * (255 - part)):02x}" for part in parts)


def shade(backend: str, lead: float) -> str:
    """Return the colour of a cell that ``backend`` leads by this factor; grey if that is no difference."""
    return pale(backend) if lead >= NO_DIFFERENCE else GREY
