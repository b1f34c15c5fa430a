"""Loops and kernels outside the operators that walk a view by its cursor, whichever backend it belongs to.

A module of CPU loops is a template: what it imports from ``suricate.kernels``, in one line, is replaced by functions of
the backend's cursor. ``for v, slot in neighbors(g, u):`` visits the edges of ``u``.
"""

from __future__ import annotations

import importlib
import re
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.once import Once
from suricate.base.types import StoreView

if TYPE_CHECKING:
    from suricate.cuda.program import Program
    from suricate.cuda.structs import ViewStruct

TAKEN = re.compile(r"^from suricate\.(?:kernels|cursors\.bindings) import (.+)$", re.MULTILINE)

DECORATORS = {"allocating_kernel", "inner", "kernel"}  #: of ``suricate.cpu.jit``
OFFERED = {"copies", "joins"}  #: whether the cursor has ``copied``, and ``common`` that takes less than a pass
LOOKUP_COST = {"hash": 8, "sorted": 100, "linear": 1 << 40}  #: of an edge on the CPU, by ``find``, in marks of a vertex
ROUND_WORDS = 24  #: of 32 bits: the memory of the struct ``RoundState`` of ``rounds.cuh``

_NO_WEIGHTS = np.empty(0, np.uint32)
#: what a loop may take from a cursor besides ``weight``
_WALKING = {
    "begin", "buckets", "common", "copied", "degree", "end", "find", "first", "following", "is_fresh", "key", "later",
    "segment_owner", "slot_owner", "updated_count", "updated_segment",
}  # fmt: skip
#: what a template may take: the names of ``suricate.cursors.bindings``
FUNCTIONS = _WALKING - {"segment_owner", "slot_owner"} | OFFERED
FUNCTIONS |= {"ahead", "copied_weights", "neighbors", "owner", "weight"}

_modules = Once[tuple, ModuleType]()
_programs: Once[tuple, Program] = Once()
_shapes: dict[tuple, tuple[str, ViewStruct]] = {}
_walks: dict[int, tuple[weakref.ref[StoreView], Walk]] = {}


def loops_over(view: StoreView, template: Path) -> ModuleType:
    """Return the Numba module made from the file ``template`` for the cursor of ``view``; it is made once per cursor.

    Pass ``without_weights(view)`` to loops that read no weights, so that they are not compiled per type of weights; to
    the others pass ``view.data``.
    """
    key = (template, view.cursor, view.weight_dtype is not None, view.owner_per, view.find)
    return _modules.get(key) or _modules.make(key, lambda: _module(view, template))


def plain_view(view: StoreView) -> StoreView:
    """Return ``view`` as loops take it that read no weights: without weights, if they can be left out.

    It is made once per view. Such loops are compiled once for all types of weights.
    """
    held = vars(view)
    if "plain" not in held:
        data = without_weights(view)
        held["plain"] = None if data is view.data else replace(view, data=data, weight_dtype=None)
    return held["plain"] or view  # no view holds itself: it would stay until a garbage collection


def without_weights(view: StoreView) -> Any:
    """Return ``view.data`` with an empty ``uint32`` array of weights, for loops that read no weights.

    Such a loop is compiled once for all types of weights. If a function of the cursor other than ``weight`` and
    ``ahead`` reads weights, ``view.data`` itself is returned. It is made once per view.
    """
    held = vars(view)
    if "bare" not in held:
        held["bare"] = data_without_weights(view, view.data)
    return held["bare"]


def data_without_weights(view: StoreView, data: Any) -> Any:
    """Return ``data``, of ``view`` or another view of its kind, as :func:`without_weights` returns that of a view."""
    if getattr(data, "weight", None) is _NO_WEIGHTS:
        return data
    kind: Any = type(data)
    return data._replace(weight=_NO_WEIGHTS) if _can_drop_weights(view.cursor, kind) else data


@cache
def _can_drop_weights(cursor: str, kind: type) -> bool:
    from suricate.cpu.code_key import attributes_of

    if "weight" not in getattr(kind, "_fields", ()):
        return False
    functions = vars(importlib.import_module(cursor))
    names = _WALKING & functions.keys()
    return not any("weight" in attributes_of(functions[name]) for name in names)


def _module(view: StoreView, template: Path) -> ModuleType:
    from suricate.kernels.generated import cursor_functions, load_module, offers

    text = template.read_text()
    names = {name for line in TAKEN.findall(text) for name in line.split(", ")}
    assert names, f"{template.name} takes nothing from suricate.kernels"
    lines = [f"from suricate.cpu.jit import {', '.join(sorted(names & DECORATORS | {'inner'}))}"]
    if others := names - DECORATORS - FUNCTIONS:
        lines.append(f"from suricate.kernels import {', '.join(sorted(others))}")
    functions = cursor_functions(view, names & FUNCTIONS - OFFERED)
    offered = f"copies = {offers(view, 'copied')}\njoins = {offers(view, 'common') and view.find != 'linear'}\n"
    bindings = iter([f"{chr(10).join(lines)}\n\n{functions}\n{offered}"])
    return load_module(template.stem, TAKEN.sub(lambda _: next(bindings, ""), text))


def assembled(view: StoreView, source: Path, prelude: str) -> Program:
    """Return the CUDA program of the file ``source`` over the cursor of ``view``, for cooperative launches.

    ``prelude`` is C++ text that is inserted between the cursor and the source. This needs no GPU.
    """
    from suricate.cuda.program import Program
    from suricate.cuda.structs import enum, view_prelude

    text = "\n".join([view_prelude(view), enum("", {"ROUND_WORDS": ROUND_WORDS}), prelude])
    return Program(source, text, include=(source.parent, view.header.parent), cooperative=True)


def program_over(view: StoreView, source: Path, prelude: Callable[[StoreView], str], kind: str = "") -> Program:
    """Return the CUDA program of the file ``source`` over the cursor of ``view``, for cooperative launches.

    ``prelude(view)`` returns C++ text to insert before the source. The program is made once for all views with the same
    types and constants, and each ``kind`` of text.
    """
    key = source, kind, view.header, walk_of(view).prelude, view.find
    return _programs.get(key) or _programs.make(key, lambda: assembled(view, source, prelude(view)))


def packed(view: StoreView) -> Any:
    """Return the C++ struct ``View`` of ``view``, to be passed to a kernel; it is packed once per view."""
    return walk_of(view).packed


class Walk:
    """The arguments and the C++ text with which CUDA kernels walk one view by its cursor.

    Attributes:
        num_vertices, bound: number of vertices, as int and as ``uint32``.
        header: the ``.cuh`` file of the cursor.
        prelude: C++ text that declares ``View`` and includes the header; one object for all views with the same types
            and constants.
    """

    def __init__(self, view: StoreView) -> None:
        self.num_vertices = view.num_vertices
        self.bound = np.uint32(view.num_vertices)  # as kernels take it
        self.header = view.header
        self.prelude, self._struct = _shape_of(view)
        self._view = weakref.ref(view)

    @cached_property
    def packed(self) -> np.void:
        """The C++ struct ``View`` of the view, to be passed to a kernel."""
        view = self._view()
        assert view is not None
        packed: np.void = self._struct.pack(view.data)
        return packed


def walk_of(view: StoreView) -> Walk:
    """Return the :class:`Walk` of ``view``, always the same object."""
    key = id(view)
    held = _walks.get(key)
    if held is not None and held[0]() is view:
        return held[1]
    walk = Walk(view)
    _walks[key] = weakref.ref(view, lambda _: _walks.pop(key, None)), walk
    return walk


def _shape_of(view: StoreView) -> tuple[str, ViewStruct]:
    """Return C++ text with the struct ``View`` and the cursor, and a ``ViewStruct``, which packs it."""
    from suricate.cuda.structs import view_prelude, view_struct

    dtypes = tuple([getattr(part, "dtype", None) for part in view.data])
    flags = (view.weight_dtype, view.can_scan, view.has_updated, view.owner_per, view.by_row)
    key = (type(view.data), dtypes, view.header, view.declarations, flags, *view.constants.items())
    shape = _shapes.get(key)
    if shape is None:
        shape = _shapes[key] = view_prelude(view), view_struct(view.data)
    return shape


@cache
def resident_blocks(index: int, threads: int, per_multiprocessor: int = 1) -> int:
    """Return the number of blocks of ``threads`` threads for a cooperative launch on CUDA device ``index``.

    These are ``per_multiprocessor`` blocks per multiprocessor, or fewer if a multiprocessor cannot hold so many
    threads.
    """
    import cupy

    attributes = cupy.cuda.Device(index).attributes
    held = max(1, attributes["MaxThreadsPerMultiProcessor"] // threads)
    return min(per_multiprocessor, held) * attributes["MultiProcessorCount"]
