"""Other libraries that compute the same: each a module that says how it builds a graph, and its answer by algorithm.

A module is imported where its library is installed. All of them have ``MODULE`` (what is imported), ``build(src, dst,
weight, num_vertices, directed)``, whose edges are distinct and listed once, and ``ANSWERS``, to which a plugin may add
one for an algorithm of its own. These modules name algorithms; nothing else in bench does.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from suricate.bench import constants
from suricate.bench.verify.edges import EdgeModel, expect
from suricate.errors import MissingLibraryError
from suricate.plugins.algorithm import Algorithm

MODULES = constants.LIBRARIES
RTOL = 1e-4  #: of floats, which a library may keep in 32 bits
RESULT = "result"  #: the name of the only field of a result that is an array


class Answer(NamedTuple):
    """How a library computes an algorithm, and which part of the result that is.

    Attributes:
        compute: ``compute(graph, **params)``, which is timed; ``params`` are those of the algorithm.
        fields: ``fields(found, params)``, not timed: arrays or numbers by the name of a field, for verification.
        loops: whether its graph has the self-loops of the input; a library may count them where suricate does not.
        scaled: whether the values are proportional to those of suricate, not equal.
        labels: whether many answers are right, which are labels of vertices: their quality tells.
    """

    compute: Callable[..., Any]
    fields: Callable[[Any, Mapping[str, Any]], dict[str, Any]]
    loops: bool = True
    scaled: bool = False
    labels: bool = False


def field(name: str = RESULT) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]]:
    """Return the argument ``fields`` of an answer that is the field ``name``."""
    return lambda found, params: {name: found}


def library(name: str) -> Any:
    """Return the module here of the library ``name``; raise ``MissingLibraryError`` if that is not installed."""
    if not installed(name):
        raise MissingLibraryError(f"{name} is not installed: module {MODULES[name]} cannot be imported")
    return importlib.import_module(f"{__name__}.{name}")


def installed(name: str) -> bool:
    """Return whether the library ``name`` can be imported: that of Debian only beside Debian's NumPy."""
    try:
        return importlib.util.find_spec(MODULES[name]) is not None and bool(importlib.import_module(MODULES[name]))
    except (ImportError, AttributeError):  # compiled for another NumPy
        return False


def libraries_of(kind: type[Algorithm], among: tuple[str, ...] = tuple(MODULES), *, labels: bool = False) -> list[str]:
    """Return the installed libraries ``among`` the known ones that have the algorithm; ``labels``: see ``Answer``."""
    answers = {name: library(name).ANSWERS.get(kind.name) for name in among if installed(name)}
    return [name for name, answer in answers.items() if answer is not None and answer.labels is labels]


def without_loops(model: EdgeModel) -> EdgeModel:
    """Return the set of edges without self-loops."""
    kept = model.src != model.dst
    weight = None if model.weight is None else model.weight[kept]
    return model if kept.all() else EdgeModel(model.src[kept], model.dst[kept], weight, directed=model.directed)


def build(name: str, answer: Answer, model: EdgeModel, num_vertices: int) -> Any:
    """Return the graph of ``model`` of the library ``name``, as ``answer`` needs it."""
    model = model if answer.loops else without_loops(model)
    return library(name).build(model.src, model.dst, model.weight, num_vertices, model.directed)


def sources_of(name: str, params: Mapping[str, Any], num_vertices: int) -> list[int]:
    """Return the vertices that an algorithm with a sample of sources draws with these parameters."""
    from suricate.plugins import algorithm

    made: Any = algorithm(name).create(dict(params))
    return [int(vertex) for vertex in made.sample.drawn(num_vertices)]


def sampled(values: Any, name: str, params: Mapping[str, Any]) -> np.ndarray:
    """Return sums of shares of paths, where a sampled source, to which its own search adds nothing, counts for more."""
    found = np.array(values, np.float64)
    sources = sources_of(name, params, len(found))
    if 1 < len(sources) < len(found):
        found[sources] *= len(sources) / (len(sources) - 1)
    return found


def check(kind: type[Algorithm], answer: Answer, found: Any, right: Any, params: Mapping[str, Any]) -> None:
    """Raise ``Mismatch`` unless what a library found agrees with ``right``, the algorithm's ``reference()``."""
    for name, values in answer.fields(found, params).items():
        one, other = np.asarray(values), np.asarray(right if name == RESULT else getattr(right, name))
        expect(one.shape == other.shape, f"its {name} has shape {one.shape} instead of {other.shape}")
        if name == kind.groups:
            equal = first_of_group(one) == first_of_group(other)
        elif name == RESULT and not answer.scaled and one.dtype.kind == "f":
            wrong = kind.mismatch(one, other, **params)  # an approximation by design has a bound of its own
            expect(wrong is None, f"its {name}: {wrong}")
            continue
        else:
            one, other = (each / each.sum() if answer.scaled else each for each in (one, other))
            floats = "f" in (one.dtype.kind, other.dtype.kind)
            one = np.where(np.isinf(one), -1, one) if one.dtype.kind == "f" and other.dtype.kind == "i" else one
            equal = np.isclose(one, other, rtol=RTOL, atol=1e-9, equal_nan=True) if floats else one == other
        wrong_ones = int(np.count_nonzero(~np.asarray(equal)))
        expect(wrong_ones == 0, f"{wrong_ones} of {one.size} values of its {name} differ from the reference")


def first_of_group(label: np.ndarray) -> np.ndarray:
    """Return for each vertex the smallest one of equal label."""
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    return first[group]
