"""Windows whose options are given together: those of the source go to it."""

from __future__ import annotations

from typing import Any

import suricate.stream as st
from suricate.stream.window import OF_SOURCE


def window_of(source: Any, **options: Any) -> st.Window:
    of_source = {name: options.pop(name) for name in OF_SOURCE if name in options}
    return st.Window(st.source(source, **of_source) if of_source else source, **options)
