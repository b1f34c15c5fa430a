"""Graphs to measure on that no host has to hold: the first edges of a stream, drawn in pieces on the device."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suricate.base.types import EdgeList
from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.inputs import Spec, parse
from suricate.bench.runner import Skipped
from suricate.generate.edge_streams import EdgeStream, GridStream, RMATStream, UniformStream


@dataclass(frozen=True)
class DrawnInput:
    """A graph that is never stored as a whole: the first ``num_edges`` edges of a random ``stream``, drawn when needed.

    Edges have the numbers 0 to ``num_edges - 1``, and may repeat each other.
    """

    name: str
    num_edges: int
    stream: EdgeStream

    @classmethod
    def of(cls, fixture: Fixture) -> DrawnInput:
        """Return the input of ``fixture``, which must be a drawn one."""
        data: Any = fixture.data
        assert isinstance(data, cls)
        return data

    @property
    def num_vertices(self) -> int:
        """The number of vertices, a power of two."""
        return self.stream.num_vertices

    @property
    def edges_given(self) -> int:
        """The number of edges, repeats included."""
        return self.num_edges

    @property
    def source(self) -> int:
        """The vertex that searches start from: the source of the stream's first edge."""
        return int(self.stream.piece(0, 1).src[0])

    def edges(self, begin: int, end: int, xp: Any = np) -> EdgeList:
        """Return the edges with the numbers ``begin`` to ``end - 1``, in arrays of ``xp``, NumPy or CuPy."""
        src, dst = (xp.empty(end - begin, np.uint32) for _ in range(2))
        at = 0
        for piece in self.pieces(begin, end, xp):
            src[at : at + len(piece.src)], dst[at : at + len(piece.src)] = piece.src, piece.dst
            at += len(piece.src)
        return EdgeList(src, dst)

    def pieces(self, begin: int, end: int, xp: Any = np) -> Iterator[EdgeList]:
        """Yield the edges with the numbers ``begin`` to ``end - 1``, ``PIECE`` at a time; ``xp``: NumPy or CuPy."""
        for at in range(begin, end, constants.PIECE):
            yield self.stream.piece(at, min(at + constants.PIECE, end), xp)

    def describe(self) -> dict[str, Any]:
        """Return name, sizes, and the digest of the first edges, as a dict for the header of a results file."""
        first = self.stream.piece(0, min(self.num_edges, constants.DIGESTED))
        digest = hashlib.sha256(first.src.tobytes() + first.dst.tobytes()).hexdigest()
        return {
            "graph": self.name, "num_vertices": self.num_vertices, "edges_given": self.num_edges,
            "temporal": False, "sha256": digest,
        }  # fmt: skip


class DrawnFixture(Fixture):
    """A fixture on a drawn input; its degree hints are the out-degrees with repeated edges counted."""

    def _degree_hints(self, in_edges: bool, directed: bool) -> dict[str, Any]:
        if in_edges or not directed:
            raise Skipped("hints of drawn graphs are out-degrees only")
        return {"degree_hints": drawn_degrees(self)}


def drawn_degrees(fixture: Fixture) -> Any:
    """Return the number of drawn edges that leave each vertex, repeats included, uint32[n] on the device; made once."""
    if "drawn degrees" not in fixture.cache:
        data, xp = DrawnInput.of(fixture), fixture.device.xp
        degrees = fixture.cache["drawn degrees"] = xp.zeros(data.num_vertices, np.uint32)
        for piece in data.pieces(0, data.num_edges, xp):
            xp.add.at(degrees, piece.src, np.uint32(1))
    return fixture.cache["drawn degrees"]


def load(spec: str | Spec, *, seed: int = constants.SEED) -> DrawnInput:
    """Return the graph for ``spec``, drawn in pieces: ``rmat:SCALE[:EDGE_FACTOR]``, a uniform graph or a grid.

    ``seed`` is for the generator. The edges differ from those of ``inputs.load``, those of a grid in their order.

    Raises:
        UnknownNameError: ``spec`` is neither the name of a generator nor a file.
        ValueError: ``spec`` is malformed, or its graph cannot be drawn in pieces.
    """
    spec = parse(spec) if isinstance(spec, str) else spec
    if spec.kind == "rmat":
        scale, factor = (*spec.numbers, constants.EDGE_FACTOR)[:2]
        return DrawnInput(spec.text, factor << scale, RMATStream(scale, seed))
    if spec.kind == "grid":
        width, height = spec.numbers
        stream = GridStream(max(1, (width * height).bit_length() - 1), seed)
        if (width, width * height) != (stream.width, stream.num_vertices):
            raise ValueError(
                f"{spec.text!r}: drawn in pieces, both sides are powers of two, the width is at most twice the height"
            )
        return DrawnInput(spec.text, stream.length, stream)
    if spec.kind != "uniform":
        raise ValueError(f"{spec.text!r} cannot be drawn in pieces: only rmat, grid and uniform can")
    num_vertices, num_edges = spec.numbers
    if num_vertices & (num_vertices - 1):
        raise ValueError(f"{spec.text!r}: drawn in pieces, the number of vertices is a power of two")
    pairs = UniformStream(num_vertices.bit_length() - 1, seed)
    if num_edges > pairs.length:
        raise ValueError(f"{spec.text!r}: the vertices have only {pairs.length} different edges")
    return DrawnInput(spec.text, num_edges, pairs)


def spec_of(num_edges: int, edges_per_vertex: int) -> str:
    """Return the specification of a uniform graph of ``num_edges`` edges.

    The number of vertices is a power of two for which there are about ``edges_per_vertex`` edges per vertex.
    """
    least = math.ceil(num_edges.bit_length() / 2) + 1  # so that a quarter of the pairs are edges at most
    return f"uniform:{1 << max(least, round(math.log2(max(2, num_edges / edges_per_vertex))))}:{num_edges}"
