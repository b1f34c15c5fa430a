"""What the first row of a text file says about all rows: whether ids are texts, and what times look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from suricate.io.options import ReadOptions
from suricate.io.times import LOOKS_DECIMAL, LOOKS_LIKE_TIME, looks_zoned

_WHOLE, _CANONICAL = re.compile(rb"-?\d+"), re.compile(rb"0|-?[1-9]\d*")  # where ids become names, 007 is a text


def has_texts(first_id: int, tokens: Mapping[str, bytes], options: ReadOptions) -> bool:
    """Return whether ids are texts: one in the first row, ``tokens``, is no 64-bit integer as Python writes it."""
    first, found = options.first, [tokens[role] for role in ("src", "dst") if role in tokens]
    if first.texts is None and found:
        pattern = _CANONICAL if options.names is not False and first_id == 0 else _WHOLE
        first.texts = not all(pattern.fullmatch(token) for token in found)
        if not first.texts:
            low, high = (fn(map(int, (token[:25] for token in found))) for fn in (min, max))
            first.texts = low < -(1 << 63) or high >= 1 << (63 if low < 0 else 64)
    return bool(first.texts)


def time_facts(token: bytes, options: ReadOptions) -> dict[str, Any]:
    """Return how times are read, as fields of ``formats.Layout``, by the first one, ``token``."""
    first, scale = options.first, options.time_scale
    if not LOOKS_LIKE_TIME.fullmatch(token):
        finer = scale if scale > 1 else None
        return {"time_ticks": scale if finer and LOOKS_DECIMAL.fullmatch(token) else 1, "finer_ticks": finer}
    if first.zoned is None:
        first.zoned = looks_zoned(token)
    return {"time_ticks": -1 if scale else 0, "finer_ticks": -1, "zoned": first.zoned}
