"""Operators on the CPU: a Numba module per combination of template, cursor, edge function and reduction.

Numba cannot keep closures on disk, so every instance is written as a Python file of its own: the template
(``cpu_*.py``) in which the import of ``bindings`` is replaced by the imports of the engine's cursor, the edge function
and the reduction. Its name is a digest of all of that, so a file never changes and Numba's own disk cache, which lies
beside it, stays valid. The folder is ``$SURICATE_CACHE_DIR``, else ``$XDG_CACHE_HOME/suricate``, else
``~/.cache/suricate``; where that cannot be written, a temporary folder that lives as long as the process.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from suricate.cursors import has_updated_iterator
from suricate.frontier import Frontier
from suricate.operators import updated
from suricate.operators.call import Call, identity_of, scratch_of
from suricate.store import EdgeList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph

HERE = Path(__file__).parent

COMBINE = {
    "sum": "old + new",
    "min": "new if new < old else old",
    "max": "new if new > old else old",
    "or": "old | new",
}

BINDINGS_IMPORT = re.compile(
    r"^from suricate\.operators\.bindings import (\((?P<lines>[^)]+)\)|(?P<names>.+))$", re.MULTILINE
)

_instances: dict[tuple, ModuleType] = {}


def neighbor_reduce(
    graph: Graph, call: Call, vertices: np.ndarray | None, out: np.ndarray, over: str, scheme: str
) -> None:
    """Fill ``out`` (see ``suricate.operators.neighbor_reduce``).

    There are two loops: over the edges inserted since the mark, and one for all other schemes.
    """
    view = graph.view(over)
    source = _source(graph, over, scheme, view)
    if source == updated.ITERATOR:
        module = _instance("cpu_reduce_updated", view, call, out.dtype, over)
        module.neighbor_reduce(view.data, view.num_vertices, out, *call.values)
        return
    if source == updated.LISTED:
        view = updated.inserted_view(graph, over)
    module = _instance("cpu_neighbor_reduce", view, call, out.dtype, over)
    ids = _NO_VERTICES if vertices is None else vertices
    module.neighbor_reduce(view.data, view.num_vertices, ids, vertices is None, out, *call.values)


def advance(graph: Graph, call: Call, frontier: Frontier, out: np.ndarray, scheme: str) -> Frontier:
    """Push once along the out-edges of ``frontier``; return what changed. Loops: as in :func:`neighbor_reduce`."""
    view, scratch = graph.view("out"), scratch_of(graph)
    source = _source(graph, "out", scheme, view)
    if source == updated.LISTED:
        return advance_edges(graph, call, graph.store("out").updated(), out)
    changed = graph.workspace.array("operators.queue", view.num_vertices, np.uint32)
    if source == updated.ITERATOR:
        module = _instance("cpu_advance_updated", view, call, out.dtype)
        count = module.advance(
            view.data, view.num_vertices, out, scratch.stamp, scratch.steps(1), changed, *call.values
        )
        return Frontier(graph.device, changed[:count].copy())
    module = _instance("cpu_advance", view, call, out.dtype)
    ids = _NO_VERTICES if frontier.is_all else frontier.buffer
    count = module.advance(
        view.data, view.num_vertices, ids, frontier.is_all, len(frontier), out, scratch.stamp, scratch.steps(1),
        changed, *call.values,
    )  # fmt: skip
    return Frontier(graph.device, changed[:count].copy())


def advance_edges(graph: Graph, call: Call, edges: EdgeList, out: np.ndarray) -> Frontier:
    """Apply the edge function to exactly ``edges``; return what changed."""
    view, scratch = graph.view("out"), scratch_of(graph)
    module = _instance("cpu_advance", view, call, out.dtype)
    changed = graph.workspace.array("operators.queue", view.num_vertices, np.uint32)
    weights = edges.weight if edges.weight is not None else np.broadcast_to(np.int64(1), len(edges.src))
    count = module.advance_edges(
        view.num_vertices, edges.src, edges.dst, weights, out, scratch.stamp, scratch.steps(1), changed, *call.values
    )
    return Frontier(graph.device, changed[:count].copy())


def propagate(graph: Graph, call: Call, frontier: Frontier, out: np.ndarray, max_steps: int) -> int:
    """Push until nothing changes; return the number of steps."""
    view, scratch = graph.view("out"), scratch_of(graph)
    module = _instance("cpu_advance", view, call, out.dtype)
    ids = _NO_VERTICES if frontier.is_all else frontier.buffer
    queue = graph.workspace.array("operators.queue", view.num_vertices, np.uint32)
    spare = graph.workspace.array("operators.spare", view.num_vertices, np.uint32)
    first = scratch.steps(max_steps)
    steps = module.propagate(
        view.data, view.num_vertices, ids, frontier.is_all, len(frontier), out, scratch.stamp, first, max_steps,
        queue, spare, *call.values,
    )  # fmt: skip
    scratch.give_back(first + steps)
    return steps


def select(graph: Graph, call: Call, frontier: Frontier) -> Frontier:
    """Return the vertices of ``frontier`` that pass the predicate."""
    module = _instance("cpu_filter", None, call, np.dtype(bool))
    ids = _NO_VERTICES if frontier.is_all else frontier.buffer
    kept = np.empty(len(frontier), np.uint32)
    count = module.select(graph.num_vertices, ids, frontier.is_all, len(frontier), kept, *call.values)
    return Frontier(graph.device, kept[:count].copy())


def intersect(graph: Graph, call: Call, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with one sum per pair."""
    view = graph.view("out")
    module = _instance("cpu_intersect", view, call, out.dtype)
    module.intersect(view.data, left, right, out, *call.values)


_NO_VERTICES = np.empty(0, np.uint32)


def _source(graph: Graph, over: str, scheme: str, view: StoreView) -> str:
    """Return which edges a scheme walks, and how: see ``updated.source_of``."""
    if scheme != "updated":
        return updated.EVERYTHING
    return updated.source_of(graph, over, has_updated_iterator(view.cursor))


# -- instances ---------------------------------------------------------------------------------------------------------


def _instance(template: str, view: StoreView | None, call: Call, dtype: np.dtype, over: str = "out") -> ModuleType:
    cursor = None if view is None else view.cursor
    weighted = view is not None and view.weight_dtype is not None
    key = (template, cursor, weighted, call.function.key, len(call.values), call.reduce, dtype, over)
    module = _instances.get(key)
    if module is None:
        text = _module_text(template, cursor, weighted, call, dtype, over)
        module = _instances[key] = _load(template, text, cursor)
    return module


def _module_text(template: str, cursor: str | None, weighted: bool, call: Call, dtype: np.dtype, over: str) -> str:
    """Return the source of an instance: what its template imports from ``bindings``, then the template."""
    body = (HERE / f"{template}.py").read_text()
    found = BINDINGS_IMPORT.search(body)
    assert found is not None, f"{template}.py imports no bindings"
    wanted = {name.strip() for name in (found["names"] or found["lines"]).split(",")} - {""}
    parameters = [f"a{i}" for i in range(len(call.values))]
    parts = [_cursor_imports(cursor, wanted, weighted), _edge_text(call, parameters, over)]
    if "combine" in wanted:
        parts.append(f'@njit(inline="always")\ndef combine(old, new):\n    return {COMBINE[call.reduce]}')
    if "cast" in wanted:
        parts.append(f"cast = np.{dtype.name}")
    if "identity" in wanted:
        parts.append(f"identity = {_literal(identity_of(call.reduce, dtype))}")
    head = "import math\n\nimport numpy as np\n\n" + "\n\n".join(part for part in parts if part) + "\n"
    start, end = found.span()
    body = body[:start] + head + body[end:]
    return re.sub(r",\s*\*args\b", "".join(f", {name}" for name in parameters), body)


def _cursor_imports(cursor: str | None, wanted: set[str], weighted: bool) -> str:
    names = wanted - {"cast", "combine", "edge", "identity"}
    lines = []
    if "weight" in names and not weighted:
        names.remove("weight")
        lines.append('@njit(inline="always")\ndef weight(g, slot):\n    return 1')
    if names:
        lines.insert(0, f"from {cursor} import {', '.join(sorted(names))}")
    return "\n\n".join(lines)


def _edge_text(call: Call, parameters: list[str], over: str) -> str:
    if over == "out":
        return f"@njit\n{call.function.numba_source('edge')}"
    arguments = ", ".join(("v", "u", "w", *parameters))
    swapped = f'@njit(inline="always")\ndef edge(u, v, w{"".join(f", {name}" for name in parameters)}):'
    return f"@njit\n{call.function.numba_source('stored_edge')}\n\n{swapped}\n    return stored_edge({arguments})"


def _literal(value: Any) -> str:
    return f"np.{value.dtype.name}('{value}')" if value.dtype.kind == "f" else f"np.{value.dtype.name}({int(value)})"


def _load(template: str, text: str, cursor: str | None) -> ModuleType:
    """Import the instance with this text, from its file in the cache folder."""
    versions = (numba.__version__, np.__version__, sys.version, _source_digest(cursor))
    digest = hashlib.sha256("\0".join((text, *versions)).encode()).hexdigest()[:24]
    name = f"suricate_{template}_{digest}"
    path = cache_folder() / f"{name}.py"
    if not path.exists():
        _write(path, text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Numba looks for it when it loads machine code from disk
    spec.loader.exec_module(module)
    return module


@cache
def _source_digest(cursor: str | None) -> str:
    """Return a digest of the package of a cursor module: Numba does not notice changes in what an instance imports."""
    if cursor is None:
        return ""
    file = sys.modules[cursor].__file__ if cursor in sys.modules else importlib.import_module(cursor).__file__
    assert file is not None
    sources = sorted(Path(file).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a file in one step, so that another process never reads half of it."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as part:
        part.write(text)
    os.replace(part.name, path)


@cache
def cache_folder() -> Path:
    """Return the folder of the generated modules; it exists and can be written."""
    named = os.environ.get("SURICATE_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(named) if named else Path(base) / "suricate"
    writable = _existing_ancestor(folder)
    if os.access(writable, os.W_OK | os.X_OK) and writable.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return Path(_temporary_folder().name)


def _existing_ancestor(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="suricate-")
