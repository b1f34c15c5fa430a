"""Write ``core/graph/interface/calls.pyi``: what ``Graph.track`` and ``Graph.compute`` take and return, by algorithm.

Run it after the parameters or the result of a built-in algorithm have changed: ``python .ci/call_types.py``.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from suricate import plugins
from suricate.graph.naming import VERTICES
from suricate.plugins.algorithm import Algorithm

FILE = Path(__file__).resolve().parents[1] / "core" / "graph" / "interface" / "calls.pyi"
HEAD = '''"""Types of ``Graph.track`` and ``Graph.compute`` by the name of an algorithm: made by ``.ci/call_types.py``.

Only type checkers use this module; ``Forest`` is what ``Graph.forest`` returns. The last overload is for algorithms of
plugins, and for names in variables.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, Required, TypedDict, Unpack, overload

from suricate.base.devices import GivenArray, GivenVertices, ReturnedArray
from suricate.graph.tracker import Tracker
from suricate.plugins.algorithm import Algorithm
from suricate.repair.forest import Forest as Forest
'''
WEIGHT = '''
class Parameters(TypedDict, total=False):
    """What every algorithm takes: ``weight``, the column of edges with the weights."""

    weight: str
'''
CALL = """
    @overload
    def __call__(self, algorithm: Literal["{name}"], **params: Unpack[{params}]) -> {result}: ...
"""
LAST = """
    @overload
    def __call__(self, algorithm: str | type[Algorithm], **params: Any) -> {result}: ...
"""


def built_in() -> list[type[Algorithm]]:
    """Return the algorithms of this package, by name."""
    named = {
        entry.name
        for entry in metadata.entry_points(group="suricate")
        if entry.value.startswith("suricate.algorithms.")
    }
    kinds = plugins.algorithms()
    return [kinds[name] for name in sorted(named & kinds.keys())]


def type_of(name: str, parameter: inspect.Parameter) -> str:
    """Return the type of a parameter as users may give it, with names in place of ids."""
    text = "Any" if parameter.annotation is parameter.empty else str(parameter.annotation)
    if name in VERTICES:
        text = {"int": "int | str", "Any": "GivenVertices | None"}.get(text, text)
    text = re.sub(r"\bArray\b", "GivenArray", text)
    text = text.replace("Mapping[int, float]", "Mapping[int, float] | Mapping[str, float]")
    return f"Required[{text}]" if parameter.default is parameter.empty else text


def result_of(kind: type[Algorithm]) -> str:
    """Return the type of a result."""
    return str(kind.result.fget.__annotations__["return"])  # type: ignore[attr-defined]


def generated() -> str:
    """Return the text of the file."""
    kinds = built_in()
    results = {(kind.__module__, result_of(kind)) for kind in kinds}
    imports = sorted((module, name) for module, name in results if name not in ("ReturnedArray", "Any"))
    homes = {name: (module, getattr(sys.modules[module], name).__module__) for module, name in imports}
    found = {name: module if home == "types" else home for name, (module, home) in homes.items()}  # "types" of unions
    parts = [HEAD, *(f"from {module} import {name}\n" for name, module in sorted(found.items())), "\n", WEIGHT]
    for kind in kinds:
        parameters = inspect.signature(kind).parameters.items()
        lines = "".join(f"    {name}: {type_of(name, parameter)}\n" for name, parameter in parameters)
        about = f'    """Parameters of ``{kind.name}``."""\n'
        parts.append(f"\n\nclass {kind.__name__}(Parameters, total=False):\n{about}\n{lines}".rstrip("\n") + "\n")
    for title, about, form in (
        ("Track", "Types of the trackers of ``Graph.track``, by the algorithm's name.", "Tracker[{}]"),
        ("Compute", "Types of the results of ``Graph.compute``, by the algorithm's name.", "{}"),
    ):
        parts.append(f'\n\nclass {title}(Protocol):\n    """{about}"""\n')
        for kind in kinds:
            result = form.format(result_of(kind))
            parts.append(CALL.format(name=kind.name, params=kind.__name__, result=result))
        parts.append(LAST.format(result=form.format("Any")))
    command = [sys.executable, "-m", "ruff"]
    given = {"input": "".join(parts), "capture_output": True, "text": True, "check": True, "cwd": FILE.parents[3]}
    name = ["--stdin-filename", str(FILE), "-"]
    sorted_imports = subprocess.run([*command, "check", "--fix-only", "-q", *name], **given).stdout  # type: ignore[call-overload]
    text: str = subprocess.run([*command, "format", "-q", *name], **{**given, "input": sorted_imports}).stdout  # type: ignore[call-overload]
    return text


if __name__ == "__main__":
    FILE.write_text(generated())
