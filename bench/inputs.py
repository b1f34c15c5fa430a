"""Graphs to measure on: generated from a seed, or read from a file."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.types import MAX_VERTICES
from suricate.bench import constants
from suricate.bench.verify.edges import EdgeModel
from suricate.errors import UnknownNameError

GENERATORS = {  #: name -> how it is written, and the same as a pattern
    "rmat": ("rmat:SCALE[:EDGE_FACTOR]", r"(\d{1,2})(?::(\d{1,9}))?"),
    "grid": ("grid:WIDTHxHEIGHT", r"(\d{1,10})[x:](\d{1,10})"),
    "uniform": ("uniform:VERTICES:EDGES", r"(\d{1,10}):(\d{1,12})"),
}
REAL = ("static", "temporal")  #: where the graphs are in the folder of real graphs; others are streams of changes


@dataclass(frozen=True)
class Input:
    """A list of edges as read or generated, in its original order, with duplicates and self-loops.

    Attributes:
        src, dst: uint32[m].
        weight: float32[m], drawn from the seed, uniform in [0.5, 1.5), whatever the file contains.
        temporal: whether the edges are in the order of their times.
        sha256: the digest of the file, or of the generated arrays.
        centre: the vertex in the middle of a grid; None for other graphs.
        time: the times of the edges, int64[m], ascending; None if the file has none, or the edges are generated.
    """

    name: str
    num_vertices: int
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    temporal: bool
    sha256: str
    centre: int | None = None
    time: np.ndarray | None = None
    _models: dict[tuple[bool, bool], EdgeModel] = field(default_factory=dict, repr=False, compare=False)
    cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  #: what tasks of all backends share

    @property
    def edges_given(self) -> int:
        """The length of the list: the number of edges, repeats included."""
        return len(self.src)

    @property
    def model(self) -> EdgeModel:
        """The set of the distinct edges, directed and without weights."""
        return self.model_of()

    def model_of(self, *, weighted: bool = False, directed: bool = True) -> EdgeModel:
        """Return the set of distinct edges, weighted or not, directed or undirected; each of the four is made once."""
        key = weighted, directed
        if key not in self._models:
            self._models[key] = EdgeModel(self.src, self.dst, self.weight if weighted else None, directed=directed)
        return self._models[key]

    @cached_property
    def out_degrees(self) -> np.ndarray:
        """The exact out-degrees, repeated edges counted once, int64[num_vertices]."""
        return np.bincount(self.model.src, minlength=self.num_vertices)

    @cached_property
    def in_degrees(self) -> np.ndarray:
        """The exact in-degrees, repeated edges counted once, int64[num_vertices]."""
        return np.bincount(self.model.dst, minlength=self.num_vertices)

    @cached_property
    def degrees(self) -> np.ndarray:
        """The exact degrees of the undirected graph, int64[num_vertices]."""
        src, _, _ = self.model_of(directed=False).arcs()
        return np.bincount(src, minlength=self.num_vertices)

    @cached_property
    def hub(self) -> int:
        """The vertex of largest out-degree; if there are several, the middle one of their ids."""
        largest = np.flatnonzero(self.out_degrees == self.out_degrees.max())
        return int(largest[len(largest) // 2])

    @property
    def source(self) -> int:
        """The vertex that searches start from: the centre of a grid, and on other graphs the :attr:`hub`."""
        return self.hub if self.centre is None else self.centre

    def describe(self) -> dict[str, Any]:
        """Return name, sizes, source and digest, for the header of a results file."""
        return {
            "graph": self.name, "num_vertices": self.num_vertices, "edges_given": len(self.src),
            "num_edges": len(self.model), "source": self.source, "temporal": self.temporal, "sha256": self.sha256,
        }  # fmt: skip


def data_folder() -> Path | None:
    """Return the folder of real graphs: ``$SURICATE_DATA``, else ``shared/data`` beside a checkout; None if missing."""
    checkout = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("SURICATE_DATA") or checkout.parent / "shared" / "data")
    return folder if folder.is_dir() else None


def real_graphs() -> list[str]:
    """Return the paths of the static, then of the temporal graphs in :func:`data_folder`; [] without the folder."""
    folder = data_folder()
    return [] if folder is None else [str(path) for part in REAL for path in sorted((folder / part).glob("*.*"))]


def temporal_graphs() -> list[str]:
    """Return the paths of the temporal graphs in :func:`data_folder`, or of the bundled CollegeMsg if it has none."""
    folder = data_folder()
    found = [] if folder is None else sorted((folder / "temporal").glob("*.*"))
    return [str(path) for path in found] or [str(constants.COLLEGEMSG)]


class Spec(NamedTuple):
    """A parsed specification of a graph.

    ``text``: as given; ``kind``: the name of the generator, empty for a file; ``numbers``: the generator's parameters.
    """

    text: str
    kind: str
    numbers: tuple[int, ...]


def parse(text: str) -> Spec:
    """Return the specification of a graph; nothing is read or generated yet.

    Args:
        text: ``rmat:SCALE[:EDGE_FACTOR]``, ``grid:WIDTHxHEIGHT``, ``uniform:VERTICES:EDGES``, or a file that
            ``suricate.io.read`` reads.

    Raises:
        UnknownNameError: it is neither the name of a generator nor a file.
        ValueError: the part after the generator's name is malformed, or a number is 0.
    """
    if Path(text).is_file():
        return Spec(text, "", ())
    kind, _, rest = text.partition(":")
    if kind not in GENERATORS or not rest:
        known = ", ".join(written for written, _ in GENERATORS.values())
        raise UnknownNameError(f"{text!r} is not a file, nor one of {known}")
    written, pattern = GENERATORS[kind]
    found = re.fullmatch(pattern, rest, re.ASCII)
    numbers = tuple(int(part) for part in found.groups() if part is not None) if found else ()
    if not found or 0 in numbers:
        raise ValueError(f"{text!r} is not {written} with integers above 0")
    return Spec(text, kind, numbers)


def size_of(spec: Spec) -> int:
    """Return the number of edges that the generator of ``spec`` draws; 0 for a file or a grid."""
    if spec.kind == "rmat":
        scale, factor = (*spec.numbers, constants.EDGE_FACTOR)[:2]
        return factor << scale
    return spec.numbers[1] if spec.kind == "uniform" else 0


def load(spec: str | Spec, *, seed: int = constants.SEED) -> Input:
    """Return the graph for ``spec``, a specification or its text (see :func:`parse`).

    ``seed`` is for the generator and for the weights.

    Raises:
        UnknownNameError: ``spec`` is neither the name of a generator nor a file.
        ValueError: ``spec`` is malformed, its numbers are too large, or the graph has no edges.
    """
    spec = parse(spec) if isinstance(spec, str) else spec
    if spec.kind:
        name, time = spec.text, None
        num_vertices, src, dst, centre = _generate(spec.kind, spec.numbers, seed)
        digest = hashlib.sha256(src.tobytes() + dst.tobytes()).hexdigest()
    else:
        name, centre = Path(spec.text).name.partition(".")[0], None
        num_vertices, src, dst, time, digest = _read(Path(spec.text))
    if not len(src):
        raise ValueError(f"{spec.text} has no edges: there is nothing to measure")
    weight = np.random.default_rng([seed, 1]).uniform(0.5, 1.5, len(src)).astype(np.float32)
    return Input(name, num_vertices, src, dst, weight, time is not None, digest, centre, time)


def _read(path: Path) -> tuple[int, np.ndarray, np.ndarray, np.ndarray | None, str]:
    """Return number of vertices, sources, destinations, ascending times or None, and the file's digest.

    Edges of an undirected file without times are returned in both directions.
    """
    from suricate import io

    file = io.read(path)
    src, dst, time = file.src, file.dst, file.time
    if time is not None:
        order = np.argsort(time, kind="stable")
        src, dst, time = src[order], dst[order], time[order]
    elif file.directed is False:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    return file.num_vertices, src, dst, time, file.sha256


def _generate(kind: str, numbers: tuple[int, ...], seed: int) -> tuple[int, np.ndarray, np.ndarray, int | None]:
    """Return number of vertices, sources, destinations and centre of a generated graph; edges are in random order.

    ``kind``: the generator, "rmat", "uniform" or "grid"; ``numbers``: its parameters, as the user gave them.
    The centre is None except for a grid.
    """
    from suricate import generate

    centre = None
    if kind == "rmat":
        scale, factor = (*numbers, constants.EDGE_FACTOR)[:2]
        edges, num_vertices = generate.rmat(scale, factor, seed=seed), 1 << scale
    elif kind == "grid":
        width, height = numbers
        edges, num_vertices, centre = generate.grid(width, height), width * height, height // 2 * width + width // 2
    else:
        num_vertices, num_edges = numbers
        if num_vertices > MAX_VERTICES:
            raise ValueError(f"{num_vertices} vertices are too many: there are {MAX_VERTICES} ids")
        edges = generate.uniform(num_vertices, num_edges, seed=seed)
    order = np.random.default_rng([seed, 2]).permutation(len(edges.src))
    return num_vertices, edges.src[order], edges.dst[order], centre
