"""Instances of the CPU templates: a Numba module per combination of template, cursor, edge function and reduction.

An instance is the template in which the import of ``bindings`` is replaced by the imports of the backend's cursor, the
edge function and the reduction. It is kept as a file (see ``suricate.generated``).
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from suricate.generated import cursor_functions, load_module
from suricate.operators.call import Call, identity_of
from suricate.types import StoreView

TEMPLATES = Path(__file__).parent / "templates"

COMBINE = {
    "sum": "old + new",
    "min": "new if new < old else old",
    "max": "new if new > old else old",
    "or": "old | new",
}

#: what edge functions, reductions and ``cursor_functions`` use
IMPORTS = "import math\n\nimport numpy as np\nfrom numba import njit\n\nfrom suricate.jit import inner"

BINDINGS_IMPORT = re.compile(
    r"^from suricate\.operators\.cpu\.templates\.bindings import (\((?P<lines>[^)]+)\)|(?P<names>.+))$", re.MULTILINE
)

_instances: dict[tuple, ModuleType] = {}
_lock = threading.Lock()  # of adding to _instances: one instance is made once, whichever threads ask


def instance(template: str, view: StoreView | None, call: Call, dtype: np.dtype, over: str = "out") -> ModuleType:
    """Return the module of ``template`` over the cursor of ``view``, with the edge function of ``call``."""
    cursor, walk = None, None
    if view is not None:
        cursor, walk = view.cursor, (view.cursor, view.weight_dtype is not None, view.owner_per)
    key = (template, walk, call.function.key, len(call.values), call.reduce, dtype, over)
    module = _instances.get(key)
    if module is None:
        with _lock:
            module = _instances.get(key)
            if module is None:
                text = _module_text(template, view, call, dtype, over)
                module = _instances[key] = load_module(template, text, cursor)
    return module


def _module_text(template: str, view: StoreView | None, call: Call, dtype: np.dtype, over: str) -> str:
    """Return the source of an instance: what its template imports from ``bindings``, then the template."""
    body = (TEMPLATES / f"{template}.py").read_text()
    found = BINDINGS_IMPORT.search(body)
    assert found is not None, f"{template}.py imports no bindings"
    wanted = {name.strip() for name in (found["names"] or found["lines"]).split(",")} - {""}
    parameters = [f"a{i}" for i in range(len(call.values))]
    from_cursor = wanted - {"cast", "combine", "edge", "identity"}
    parts = ["" if view is None else cursor_functions(view, from_cursor, absent_weight=1)]
    parts.append(_edge_text(call, parameters, over))
    if "combine" in wanted:
        parts.append(f"@inner\ndef combine(old, new):\n    return {COMBINE[call.reduce]}")
    if "cast" in wanted:
        parts.append(f"cast = np.{dtype.name}")
    if "identity" in wanted:
        parts.append(f"identity = {_literal(identity_of(call.reduce, dtype))}")
    head = "\n\n".join([IMPORTS, call.function.numba_imports, *filter(None, parts)]) + "\n"
    start, end = found.span()
    body = body[:start] + head + body[end:]
    return re.sub(r",\s*\*args\b", "".join(f", {name}" for name in parameters), body)


def _edge_text(call: Call, parameters: list[str], over: str) -> str:
    decorator = "@njit" if call.function.by_hand else "@inner"
    if over == "out":
        return f"{decorator}\n{call.function.numba_source('edge')}"
    arguments = ", ".join(("v", "u", "w", *parameters))
    swapped = f"@inner\ndef edge(u, v, w{''.join(f', {name}' for name in parameters)}):"
    stored = f"{decorator}\n{call.function.numba_source('stored_edge')}"
    return f"{stored}\n\n{swapped}\n    return stored_edge({arguments})"


def _literal(value: Any) -> str:
    return f"np.{value.dtype.name}('{value}')" if value.dtype.kind == "f" else f"np.{value.dtype.name}({int(value)})"
