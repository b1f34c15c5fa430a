"""Compiling edge functions: from a Python function and the types of its arguments to a :class:`TypedFunction`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from suricate.base.forks import renewed
from suricate.edgefn import bounds, emit_cuda, emit_numba
from suricate.edgefn.by_hand import EdgeFunction
from suricate.edgefn.derived.asks import asks_of, reads
from suricate.edgefn.layout import Layout
from suricate.edgefn.parameters import EDGE, Argument, Signature, check_columns, check_count, check_events, refuse_row
from suricate.edgefn.source import Name, find_source, plain_function, reader
from suricate.edgefn.translate import translate
from suricate.edgefn.tree import constant
from suricate.edgefn.typed import TypedFunction
from suricate.edgefn.types import PAIR, storage


def compile_function(
    fn: Callable[..., Any] | EdgeFunction,
    arguments: tuple[Argument, ...],
    *,
    weight_dtype: np.dtype | None,
    leading: tuple[str, ...] = EDGE,
    role: str = "edge",
    value_dtype: np.dtype | Layout | None = None,
    result_layout: Layout | None = None,
) -> TypedFunction:
    """Translate ``fn`` for the given types; a repeated call costs about two microseconds.

    Args:
        fn: a function of the leading parameters and one more per argument (missing ones take their default value), or
            an :class:`EdgeFunction`; ``*others`` takes arguments that the function does not use.
        arguments: the types of the parameters after the leading ones (see :func:`argument_of`).
        weight_dtype: dtype of the weights, None if there are none.
        leading: names of the leading parameters: ``"w"`` is the weight, ``"row"`` in its place the row of the edge,
            ``"w, row"`` both (of arguments with ``weights_by_row``), ``"a"`` and ``"b"`` are the weights of two edges,
            of ``weight_dtype`` and ``value_dtype``, ``"row_a"`` and ``"row_b"`` their rows, ``"i"`` and ``"step"`` are
            int64, ``"value"`` and ``"total"`` have ``value_dtype``, any other name is a vertex id or a label.
        role: ``"edge"``: the function reads arrays and returns a value; ``"vote"``: two, a label and a weight (the
            dtype of the result is that of the weight, int64 or float64). ``"vertex"``: it may write ``array[v]`` and
            returns a bool or an integer, False if it returns nothing; it may have effects. ``"effect"``: it may have
            effects, and returns nothing or a number.
        value_dtype: dtype of the leading parameter ``"value"`` or ``"total"``. If it is a layout, the function takes
            the fields of a word as separate parameters, while generated code passes the word.
        result_layout: if given, the function returns a tuple with a value for each of its fields, which generated code
            returns as a word.

    Raises:
        EdgeFunctionError: ``fn`` cannot be translated; the message has file, line and the reason.
    """
    types = (tuple(map(id, arguments)), weight_dtype, leading, role, value_dtype, result_layout, bounds.CHECKED)
    if type(fn) is FunctionType:
        seen = _SEEN.get((id(fn.__code__), types))
        found = seen and seen[1].variant(fn)
        if found:
            return found
    signature = Signature(arguments, *types[1:])
    if isinstance(fn, EdgeFunction):
        return fn.typed(signature)
    function = plain_function(fn)
    key = (id(function.__code__), signature)
    entry = _COMPILED.get(key) or _COMPILED.setdefault(key, Translations(function.__code__))
    found = entry.variant(function)
    if found is None:
        with _LOCK:
            found = entry.variant(function) or entry.add(function, signature)
    if len(_SEEN) == MOST_SEEN:
        _SEEN.clear()
    _SEEN[id(function.__code__), types] = arguments, entry  # held, so that their ids stay taken
    return found


def translations_of(fn: FunctionType, typed: TypedFunction) -> Translations:
    """Return all translations of the code of ``fn`` for the types of ``typed``, which is one of them."""
    return _COMPILED[id(fn.__code__), typed.signature]


class Translations:
    """Translations of one code object for one set of types, one for each set of values of its globals and defaults."""

    def __init__(self, code: Any) -> None:
        self._code = code  # held, so that its id stays taken
        self._names: dict[
            Name, Callable[[FunctionType], Any]
        ] = {}  # that translations rely on, and how to look them up
        self._variants: dict[tuple[Any, ...], tuple[TypedFunction, Any]] = {}

    def variant(self, function: FunctionType) -> TypedFunction | None:
        """Return the stored translation for the present globals, closure variables and defaults of ``function``."""
        found = self._variants.get(_values(self._held(function)))
        return None if found is None else found[0]

    def add(self, function: FunctionType, signature: Signature) -> TypedFunction:
        """Translate ``function`` for ``signature``, store the translation and return it; the caller holds ``_LOCK``."""
        found, used = _translated(function, signature)
        if not used <= self._names.keys():
            self._names = self._names | {name: reader(self._code, name) for name in used}
            self._variants = {}
        held = self._held(function)
        self._variants[_values(held)] = (found, held)  # held, so that their ids stay taken
        return found

    def _held(self, function: FunctionType) -> list[Any]:
        return [read(function) for read in self._names.values()]


_COMPILED: dict[Any, Translations] = {}
_SEEN: dict[
    Any, tuple[tuple[Argument, ...], Translations]
] = {}  # by the ids of arguments, which takes no hash of types
MOST_SEEN = 4096  #: of them: some arguments are new objects each time
_LOCK = renewed(threading.RLock())  # of translations: calls of several graphs may come from several threads


_NUMBERS = int, float, np.generic


def _values(held: list[Any]) -> tuple[Any, ...]:
    """Return a dictionary key made of the outside values ``held``: of numbers type and value, of others identity."""
    values: list[Any] = []
    for value in held:
        is_number = isinstance(value, _NUMBERS)
        values += (type(value), repr(value) if value == 0 else value) if is_number else (None, id(value))
    return tuple(values)


def _known_ahead(label: str) -> bool:
    """Return whether the parameter ``label`` has its value before an operator runs: vertex, position or argument."""
    return label in ("i", "u", "v", "x") or label.startswith("a")


def _translated(function: FunctionType, signature: Signature) -> tuple[TypedFunction, set[Name]]:
    """Return the translation of ``function`` for ``signature``, and the names of outside values that it uses."""
    source = find_source(function)
    names = source.parameters(rest=True)
    defaults = function.__defaults__ or ()
    check_count(source, len(names) - len(defaults), len(names), signature)
    refuse_row(source, names, signature)
    parameters, labels, given = signature.parameters, signature.labels, signature.bindings()
    bindings = dict(zip(names, given, strict=False))
    used: set[Name] = set()
    for i, name in enumerate(names[len(given) :], start=len(given) + len(defaults) - len(names)):
        number = constant(defaults[i])
        if number is None:
            source.fail(source.node, f"the default value of {name} is not a number")
        bindings[name] = number
        used.add(Name(None, i))
    tree = translate(source, bindings, signature.role, signature.result_layout)
    check_columns(source, signature, tree.writes - tree.effects.keys())
    check_events(source, names, signature, tree.writes | tree.effects.keys())
    declarations, headers = signature.declarations(labels, tree.writes), signature.headers
    if tree.effects and "effects.cuh" not in headers:
        headers = (*headers, "effects.cuh")
    before = "\n".join(filter(None, dict.fromkeys(one.declarations for one in parameters)))
    typed = TypedFunction(
        None if tree.result is None or signature.result_layout else np.dtype(storage(tree.result.removeprefix(PAIR))),
        signature,
        partial(emit_numba.numba_source, tree, labels),
        lambda name: f"{before}\n{emit_cuda.cuda_source(tree, declarations, headers, name)}",
        tree.writes,
        tree.effects,
        elsewhere=tree.elsewhere,
        indexed=tree.indexed,
        asks=asks_of(tree.statements, _known_ahead, tree.writes),
        reads_weight=reads(tree.statements, "w"),
    )
    return typed, used | tree.names
