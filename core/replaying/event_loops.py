"""Compiled loops over events: the template ``loop`` over the functions of a store and of a step."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import ModuleType

from suricate.kernels.generated import load_module

TEMPLATE = Path(__file__).with_name("loop.py")
BINDINGS_IMPORT = re.compile(r"^from suricate\.replaying\.bindings import \([^)]+\)$", re.MULTILINE)


@cache
def loop_over(store: str, step: str, weighted: bool) -> ModuleType:
    """Return the module with the compiled loop ``run`` for one store and one algorithm; made once.

    ``store``, ``step``: names of the modules with the store's functions, and with ``step`` of the algorithm.
    """
    functions = (
        f"from {store} import delete_edge, fetch, fetch_far, has_space, insert_edge\n"
        f"from {step} import record, step\n\n\n"
        f"@inner\ndef arc_weight(weights, i):\n    return {'weights[i]' if weighted else '1'}"
    )
    text, count = BINDINGS_IMPORT.subn(functions, TEMPLATE.read_text())
    assert count == 1
    return load_module(TEMPLATE.stem, text)
