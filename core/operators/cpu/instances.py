"""Instances of the CPU templates: a Numba module per combination of template, cursor, functions and reduction.

An instance is the template in which the import of ``bindings`` is replaced by the imports of the backend's cursor, the
functions of the call and the reduction, and the import of another template by its text. It is kept as a file (see
``suricate.kernels.generated``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from suricate.base.once import Once
from suricate.base.types import StoreView
from suricate.edgefn import TypedFunction
from suricate.edgefn.layout import HALF
from suricate.edgefn.parameters import COLUMN
from suricate.edgefn.typed import import_line
from suricate.kernels.generated import cursor_functions, load_module, offers
from suricate.operators.call import AT_ONCE, Call, Swap, identity_of
from suricate.state.scalar import Scalar

FAR = 3 << 20  #: bytes of arrays that are read at random, from which they are prefetched: more than a core's own cache
HERE = Path(__file__).parent
CORE = HERE.parents[1]
TEMPLATES = {file.stem: file for file in HERE.rglob("[a-z]*.py")}  #: by name

#: what a reduction does to a running total
COMBINE = {
    "sum": "old + new",
    "min": "new if new < old else old",
    "max": "new if new > old else old",
    "or": "old | new",
    "argmin": "new if less_word(new, old) else old",
}

_MONOTONE = """\
@inner
def store(out, v, value):
    new = cast(value)
    if new {sign} out[v]:
        out[v] = new
        return True
    return False
"""
_OTHER = """\
@inner
def store(out, v, value):
    old = out[v]
    new = cast(combine(old, cast(value)))
    if new != old:
        out[v] = new
        return True
    return False
"""
_PUT_BEST = """\
@inner
def put(out, i, value):
    labels, scores = out
    best, points, held = value
    for j in range(labels.shape[1]):
        labels[i, j] = best[j] if j < held else 0xFFFFFFFF
        scores[i, j] = points[j] if j < held else -np.inf
"""
_PUT_COLUMNS = """\
@inner
def put(out, i, values):
    for j in range(len(values)):
        out[np.int64(i) * len(values) + j] = values[j]
"""
_WORD = """\
@inner
def store(out, v, value):
    old = load_word(out, v)
    if less_word(value, old):
        store_word(out, v, value)
        return not same_keys(value, old)
    return False
"""

_SHARED_ORDERED = """\
@inner
def store(out, v, value):
    new, old = cast(value), out[v]
    while new {sign} old:
        if exchange(out, v, old, new):
            return True
        old = out[v]
    return False
"""
_SHARED_OTHER = """\
@inner
def store(out, v, value):
    old = out[v]
    new = cast(combine(old, cast(value)))
    while new != old:
        if exchange(out, v, old, new):
            return True
        old = out[v]
        new = cast(combine(old, cast(value)))
    return False
"""
_SHARED_WORD = """\
@inner
def store(out, v, value):
    old = {load}(out, v)
    while less_word(value, old):
        if {exchange}(out, v, old, value):
            return not same_keys(value, old)
        old = {load}(out, v)
    return False
"""
ATOMICS = import_line("suricate.cpu.atomics")  #: what several threads take in place of the plain functions

#: what functions, reductions and ``cursor_functions`` use
IMPORTS = "import math\n\nimport numpy as np\nfrom numba import njit\n\nfrom suricate.cpu.jit import inner"

BINDINGS_IMPORT = re.compile(
    r"^from suricate\.operators\.cpu\.bindings import (\((?P<lines>[^)]+)\)|(?P<names>.+))$", re.MULTILINE
)
_IMPORT = re.compile(
    r"^from suricate\.(?P<module>(operators|repair)\.cpu\.[\w.]+) import (\((?P<lines>[^)]+)\)|(?P<names>.+))\n",
    re.MULTILINE,
)
_HEADER = re.compile(r'^""".*?"""\n\nfrom __future__ import annotations\n', re.DOTALL)
#: bindings that no cursor gives
_OWN = frozenset(
    {
        "arc_weight", "ask", "both", "by_runs", "carry", "cast", "combine", "commit", "copies", "edge",
        "edge_of_column", "ends", "exact", "far", "final", "gapless", "has_commit", "has_then", "identity",
        "in_any_order", "in_round", "kept", "looks_ahead", "put", "runs", "score", "spreads", "store", "then", "turn",
        "visit", "visit_vertex", "begun", "done",
    }
)  # fmt: skip

_instances = Once[tuple, ModuleType]()


class Traversal(NamedTuple):
    """How a template walks edges: over ``view``, and if ``both`` is set also over a second view.

    If ``swapped`` is set, the edge function gets the neighbour as ``u`` and the owner of the row as ``v``. ``view`` is
    None if no edges are walked.
    """

    view: StoreView | None
    both: bool = False
    swapped: bool = False


def instance(
    template: str, walk: Traversal, call: Call, *, shared: bool = False, loop: tuple[Swap, int] | None = None
) -> ModuleType:
    """Return the module of ``template`` with a cursor and functions, made once; ``shared``: several threads write.

    ``loop``: pairs of arguments that change places between rounds, and the scalar that ends them (``"passes"``).
    """
    view = walk.view
    cursor = None if view is None else (view.cursor, view.weight_dtype is not None, view.owner_per)
    functions, kept = (call.function, *call.functions.items()), call.vote and (call.vote.keep, call.vote.best > 0)
    key = (template, shared, cursor, walk[1:], functions, call.reduce, call.dtype, kept, loop)
    return _instances.get(key) or _instances.make(
        key, lambda: load_module(template, _module_text(template, walk, call, shared=shared, loop=loop))
    )


def _module_text(
    template: str, walk: Traversal, call: Call, *, shared: bool, loop: tuple[Swap, int] | None = None
) -> str:
    """Return the source of an instance: the definitions that replace the bindings, then the text of the template."""
    wanted: set[str] = set()
    instead = {"pulling": f"pulling_{call.reduce}"} if call.reduce in AT_ONCE else {}
    instead |= {"pulling": "pulling_best"} if call.vote is not None and call.vote.best else {}
    instead |= {"pulling": "pulling_columns"} if call.columns else {}
    body = expanded(TEMPLATES[template], wanted, instead)
    parts = [*_imports(call), *([ATOMICS] if shared else [])]
    from_cursor = (wanted - _OWN) | call.function.cursor_names
    if walk.view is not None and from_cursor:
        parts.append(cursor_functions(walk.view, from_cursor))
    parts += _functions(walk, call, wanted)
    parts += _reduction(call, wanted, shared=shared)
    parts += [] if loop is None else _rounds(call, *loop)
    if "visit_vertex" in wanted:
        for written, instead_of_it in _visits(call):
            body = body.replace(written, instead_of_it)
    parameters = "".join(f", a{i}" for i in range(len(call.function.arguments)))
    return re.sub(r",\s*\*args\b", parameters, "\n\n".join([*parts, body]))


def _imports(call: Call) -> list[str]:
    lines = [function.numba_imports for function in (call.function, *call.functions.values())]
    return [IMPORTS, *filter(None, dict.fromkeys(lines))]


#: what a loop passes to the functions of a call, besides the arguments
_GIVEN = {"then": "v, given", "commit": "v", "score": "v, label, total", "turn": "v, step"}


def _functions(walk: Traversal, call: Call, wanted: set[str]) -> Iterator[str]:
    """Yield source text that defines the constants and user functions in ``wanted``, a set of names of ``bindings``."""
    weighted = walk.view is not None and walk.view.weight_dtype is not None
    runs = walk.view is not None and offers(walk.view, "run")
    constants = {
        "both": walk.both, "has_then": call.then is not None, "has_commit": call.commit is not None,
        "copies": walk.view is not None and not weighted and not _ends_early(call) and offers(walk.view, "copied"),
        "exact": call.function.result == np.int64,
        "gapless": walk.view is not None and offers(walk.view, "GAPLESS"),
        "runs": runs,
        "spreads": _spreads(call),
        "by_runs": runs and _spreads(call) and call.then is None and not (walk.both or weighted),
        "in_any_order": call.then is None or call.then.result is None,
        "looks_ahead": walk.view is not None and offers(walk.view, "later") and bool(_read_at_neighbour(walk, call)),
    }  # fmt: skip
    yield from (f"{name} = {value}" for name, value in constants.items() if name in wanted)
    if "arc_weight" in wanted:
        yield f"@inner\ndef arc_weight(weights, i):\n    return {'weights[i]' if weighted else '1'}"
    if "edge" in wanted:
        yield from _turned(call.function, ("u", "v", "w"), ("v", "u", "w") if walk.swapped else ("u", "v", "w"), "edge")
    if "edge_of_column" in wanted:
        ends = ("v", "u") if walk.swapped else ("u", "v")
        yield from _turned(call.function, ("u", "v", "w", COLUMN), (*ends, "w", COLUMN), "edge_of_column")
    if "ask" in wanted:
        yield from _asking(_read_at_neighbour(walk, call))
    if "visit" in wanted:
        yield from _turned(call.function, ("i", "u", "v", "w"), call.function.leading, "visit")
    if "visit_vertex" in wanted and call.columns:
        yield from _in_all_columns(call.function, "user_visit_vertex", "i, v")
    elif "visit_vertex" in wanted:
        yield _function_text(call.function, "user_visit_vertex", _carried(call))
    for name, given in _GIVEN.items():
        if name in wanted:
            function = call.functions.get(name)
            if function is None:
                yield f"@inner\ndef {name}({given}, *args):\n    return {'total' if name == 'score' else True}"
            elif name == "then" and call.vote is not None:
                yield _function_text(function, "user_then")
                yield "@inner\ndef then(v, given, *args):\n    return user_then(v, given[0], given[1], *args)"
            elif call.columns:
                yield from _in_all_columns(function, name, given)
            else:
                yield _function_text(function, name)
    if "kept" in wanted:
        place = None if call.vote is None else call.vote.keep
        yield f"@inner\ndef kept(v, *args):\n    return np.int64({-1 if place is None else f'a{place}[v]'})"


def _rounds(call: Call, swap: Swap, until: int) -> Iterator[str]:
    """Yield text of ``in_round``, ``carry`` and ``ends``, for rounds in which ``swap`` changes places."""
    names = [f"a{i}" for i in range(len(call.values))]
    given, turned = ", ".join(names), list(names)
    for a, b in swap:
        turned[a], turned[b] = names[b], names[a]
    later = ", ".join(turned)
    yield f"@inner\ndef in_round(rounds, {given}):\n    return ({later},) if rounds & 1 else ({given},)"
    scalars = {name: value for name, value in zip(names, call.values, strict=True) if isinstance(value, Scalar)}
    yield from (f"neutral_{name} = {_literal(value.neutral)}" for name, value in scalars.items())
    lines = [f"{name}[0][0] = {name}[1][0]\n    {name}[1][0] = neutral_{name}" for name in scalars]
    yield "\n    ".join([f"@inner\ndef carry(new, {given}):", *lines, "pass"])
    yield f"@inner\ndef ends(bound, {given}):\n    return not a{until}[1][0] > bound"


def _read_at_neighbour(walk: Traversal, call: Call) -> dict[int, int]:
    """Return the arrays that the edge function reads at the neighbour: position of the argument -> bytes per entry."""
    positions = call.function.indexed.get("u" if walk.swapped else "v", ())
    arguments = ((position, call.function.arguments[position]) for position in positions)
    flat = ((position, one) for position, one in arguments if one.layout is None or one.layout.bits == HALF)
    return {position: 8 if one.dtype is None else one.dtype.itemsize for position, one in flat}


def _asking(read: dict[int, int]) -> Iterator[str]:
    """Yield source text of the functions ``far`` and ``ask`` of ``bindings``, which control prefetching."""
    sizes = [f"{size} * len(a{position}) > {FAR}" for position, size in read.items()]
    yield f"@inner\ndef far(g, *args):\n    return {' or '.join(sizes) or 'False'}"
    lines = [f"prefetch(a{position}, min(np.int64(v), len(a{position}) - 1))" for position in read]
    yield "\n    ".join(
        [f"{import_line('suricate.cpu.prefetch', 'prefetch')}\n\n@inner\ndef ask(v, *args):", *lines, "pass"]
    )


def _turned(function: TypedFunction, given: tuple[str, ...], taken: tuple[str, ...], name: str) -> Iterator[str]:
    """Yield source text of a function ``name`` with the parameters ``given``, which templates call."""
    if given == taken:
        yield _function_text(function, name)
        return
    yield _function_text(function, f"user_{name}")
    yield f"@inner\ndef {name}({', '.join(given)}, *args):\n    return user_{name}({', '.join(taken)}, *args)"


def _carried(call: Call) -> tuple[int, ...]:
    """Return the positions of the scalars whose totals a loop over vertices carries along."""
    if call.function.by_hand or call.columns:
        return ()
    return tuple(i for i, one in enumerate(call.function.arguments) if one.kind == "accumulator")


def _visits(call: Call) -> Iterator[tuple[str, str]]:
    """Yield calls in a loop over vertices, and what is written in their place, as functions take time to compile."""
    places, taken = _carried(call), "i, v" if call.columns else ", ".join(call.function.leading)
    found = f"user_visit_vertex({taken}, *args, totals)" if places else f"user_visit_vertex({taken}, *args), totals"
    yield "visit_vertex(i, v, totals, *args)", found
    yield "begun(end, *args)", f"({''.join(f'a{i}[0][0], a{i}[1][0], ' for i in places)})"
    lines = "; ".join(f"a{place}[1][0] = totals[{2 * i + 1}]" for i, place in enumerate(places))
    yield "done(totals, *args)", lines or "pass"


def _in_all_columns(function: TypedFunction, name: str, given: str) -> Iterator[str]:
    """Yield source text of ``name``, with the parameters ``given``, that calls ``function`` for each column, in order.

    The result has the bits that it returned for any of them; the number of columns is the last argument.
    """
    yield _function_text(function, f"user_{name}")
    taken = ", ".join(_OF_COLUMN.get(one, one) for one in function.leading)
    yield f"""\
@inner
def {name}({given}, *args):
    says = np.int64(0)
    for j in range(a{len(function.arguments) - 1}):
        says |= np.int64(user_{name}({taken}, *args))
    return says"""


_OF_COLUMN = {"value": "given[np.uint64(j)]", COLUMN: "np.uint64(j)"}  #: what a function of one column takes


def _function_text(function: TypedFunction, name: str, carried: tuple[int, ...] = ()) -> str:
    return f"{'@njit' if function.by_hand else '@inner'}\n{function.numba_source(name, carried)}"


def _reduction(call: Call, wanted: set[str], *, shared: bool) -> Iterator[str]:
    """Yield text of ``cast``, ``combine``, ``identity``, ``put`` and ``store``, if any is wanted, and ``final``."""
    if not wanted & {"cast", "combine", "identity", "put", "store"}:
        return
    if call.layout is not None:
        yield call.layout.numba_source
        yield "identity = identity_word"
        yield "@inner\ndef cast(word):\n    return word"
        yield "@inner\ndef put(out, i, word):\n    store_word(out, i, word)"
        half = "_pair" if call.layout.bits > HALF else ""
        words = {"load": f"load{half or '_word'}", "exchange": f"exchange{half}"}
        yield _SHARED_WORD.format(**words) if shared else _WORD
    else:
        assert call.dtype is not None
        yield f"cast = np.{call.dtype.name}"
        yield f"identity = {_literal(identity_of(call.reduce, call.dtype))}"
        taken = "" if call.vote is None else "[0]"
        plain = f"@inner\ndef put(out, i, value):\n    out[i] = value{taken}"
        yield _PUT_COLUMNS if call.columns else _PUT_BEST if call.vote is not None and call.vote.best else plain
        sign = {"min": "<", "max": ">"}.get(call.reduce)
        ordered, other = (_SHARED_ORDERED, _SHARED_OTHER) if shared else (_MONOTONE, _OTHER)
        yield other if sign is None else ordered.format(sign=sign)
    yield f"@inner\ndef combine(old, new):\n    return {COMBINE.get(call.reduce, 'new')}"
    if "final" in wanted:
        yield f"@inner\ndef final(total):\n    return {'total != 0' if _ends_early(call) else 'False'}"


def _spreads(call: Call) -> bool:
    """Return whether a pull may call the edge function once more for an edge, and add up values in any order."""
    return call.reduce == "sum" and call.dtype is not None and call.dtype.kind == "f" and call.function.is_light


def _ends_early(call: Call) -> bool:
    """Return whether a pull may stop at the first true value: an ``"or"`` of bools that adds to no ``su.Scalar``."""
    counts = any(argument.kind == "accumulator" for argument in call.function.arguments)
    return call.reduce == "or" and call.function.result == "bool" and not counts


def expanded(template: Path, wanted: set[str], instead: dict[str, str]) -> str:
    """Return the text of ``template`` with each import of another template replaced by the text of that template.

    ``instead`` maps names of templates to the names of those to insert in their place. The names that are imported from
    ``bindings`` are added to ``wanted``, in place.
    """
    text = _HEADER.sub("", template.read_text(), count=1)

    def replacement(found: re.Match[str]) -> str:
        *folders, name = found["module"].split(".")
        if name not in ("bindings", "forest_bindings"):
            return expanded(CORE.joinpath(*folders, f"{instead.get(name, name)}.py"), wanted, instead)
        wanted.update({name.strip() for name in (found["names"] or found["lines"]).split(",")} - {""})
        return ""

    return _IMPORT.sub(replacement, text)


def _literal(value: Any) -> str:
    return f"np.{value.dtype.name}('{value}')" if value.dtype.kind == "f" else f"np.{value.dtype.name}({int(value)})"
