"""Events that the caller gave, made into arrays and checked as a whole before anything changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import DTypeError, ParameterError, SelfLoopError, ShapeError, WeightError
from suricate.base.types import EMPTY
from suricate.graph.naming import are_texts
from suricate.intake.arrays import (
    as_array,
    as_ids,
    as_weights,
    checked_edges,
    converted_weights,
    loop_message,
    on_host,
    same_length,
    weight_message,
)
from suricate.intake.name_values import as_values
from suricate.replaying.report import DELETE, INSERT, NOTHING

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.intake.names import Names


class Events:
    """Checked events, on the host.

    Attributes:
        src, dst: ``uint32[n]``; ``EMPTY`` for a name that was not known yet.
        kind: ``uint8[n]``: ``INSERT``, ``DELETE``, or ``NOTHING`` for an event without effect.
        weight: of the dtype of the graph's weights, unspecified for deletions; None on an unweighted graph.
        columns: values of the columns of edges by name, if the graph has some and they were given.
        unknown: indices of events with names that were not known at the start, ascending.
    """

    def __init__(self, src: np.ndarray, dst: np.ndarray, kind: np.ndarray, weight: np.ndarray | None) -> None:
        self.src, self.dst, self.kind, self.weight = src, dst, kind, weight
        self.columns: dict[str, Any] | None = None
        self.unknown = np.empty(0, np.int64)
        self._names: dict[int, tuple[str, str]] = {}  # both names of the events ``unknown``
        self._next = 0  # of ``unknown``

    def __len__(self) -> int:
        return len(self.src)

    def weight_at(self, i: int) -> Any:
        """Return the weight of event ``i``, in an array of length 1; None without weights.

        If the graph has columns of edges, return the values of these by name.
        """
        if self.columns is not None:
            return {name: part[i : i + 1] if part.ndim else part for name, part in self.columns.items()}
        return None if self.weight is None else self.weight[i : i + 1]

    def ends_at(self, i: int) -> tuple[Any, Any]:
        """Return both ends of event ``i`` as a graph takes them: arrays of one id, or lists of one name."""
        if EMPTY in (self.src[i], self.dst[i]):
            src, dst = self._names[i]
            return [src], [dst]
        return self.src[i : i + 1], self.dst[i : i + 1]

    def known_until(self, begin: int, end: int, names: Names | None, num_vertices: int) -> int:
        """Look up names that were unknown when the events were checked; return where the range of known names ends.

        The range begins at event ``begin`` and ends before the first insertion with an unknown name, at most at
        ``end``. The ids found are written to ``src`` and ``dst``. A deletion with an unknown name gets the kind
        ``NOTHING``.
        """
        while names is not None and self._next < len(self.unknown) and self.unknown[self._next] < end:
            i = int(self.unknown[self._next])
            if i >= begin and not self._looked_up(i, names, num_vertices):
                if self.kind[i] == INSERT:
                    return i
                self.kind[i] = NOTHING
            self._next += 1
        return end

    def _looked_up(self, i: int, names: Names, num_vertices: int) -> bool:
        """Look up both names of event ``i``; return whether each is known as a vertex below ``num_vertices``."""
        found = [int(names.find(end)[0]) for end in self.ends_at(i)]
        if not all(0 <= vertex < num_vertices for vertex in found):
            return False
        self.src[i], self.dst[i] = found
        return True

    @classmethod
    def of(cls, graph: Graph, given: Any) -> Events:
        """Return the events that were ``given`` to ``replay``, converted and checked; raises if they are invalid."""
        if not isinstance(given, (tuple, list)) or len(given) not in (3, 4):
            raise ShapeError("events must be (src, dst, inserted) or (src, dst, inserted, weight)")
        src, dst, inserted, weight = (*given, None)[:4]
        inserted = _as_flags(inserted)
        if are_texts(src) or are_texts(dst):
            events = _by_names(graph, src, dst, inserted)
        else:
            ends = on_host(as_ids(src, "src")), on_host(as_ids(dst, "dst"))
            same_length(*ends, None, "")
            _require_length("inserted", inserted, len(ends[0]))
            edges = checked_edges((*ends, None), graph.num_vertices)
            events = cls(edges.src, edges.dst, _kinds(inserted), None)
        events._treat_loops(graph, inserted)
        if graph.edge_table is None:
            events.weight = _weights(graph, weight, inserted)
        elif weight is not None:
            events.columns = graph.edge_table.checked(weight, len(inserted))
        return events

    def _treat_loops(self, graph: Graph, inserted: np.ndarray) -> None:
        """Make inserted self-loops ``NOTHING`` if the graph drops them; raise ``SelfLoopError`` if it refuses them."""
        if graph.self_loops == "allow":
            return
        loops = np.flatnonzero((self.src == self.dst) & (self.src != EMPTY) & inserted)
        if graph.self_loops == "drop":
            self.kind[loops] = NOTHING
            return
        for i, (src, dst) in self._names.items():
            if inserted[i] and src == dst:
                raise SelfLoopError(f"src[{i}] and dst[{i}] are both {src!r}, a self-loop")
        if len(loops):
            at = int(loops[0])
            raise SelfLoopError(loop_message("", at, int(self.src[at])))


def _as_flags(values: Any) -> np.ndarray:
    """Return ``bool[n]``: which events are insertions."""
    flags = on_host(as_array(values, "inserted"))
    if flags.ndim != 1:
        raise ShapeError(f"inserted has shape {flags.shape}: pass one bool per event")
    if flags.dtype != bool:
        if len(flags) and (flags.dtype.kind not in "iu" or not ((flags == 0) | (flags == 1)).all()):
            raise DTypeError(f"inserted has dtype {flags.dtype}: True is an insertion, False a deletion")
        flags = flags.astype(bool)
    return flags


def _require_length(name: str, values: np.ndarray, count: int) -> None:
    if len(values) != count:
        raise ShapeError(f"{name} has {len(values)} entries for {count} events")


def _kinds(inserted: np.ndarray) -> np.ndarray:
    return np.where(inserted, INSERT, DELETE).astype(np.uint8)


def _by_names(graph: Graph, src: Any, dst: Any, inserted: np.ndarray) -> Events:
    """Return events whose ends ``src`` and ``dst`` are names; ``inserted`` says which events are insertions."""
    if not (are_texts(src) and are_texts(dst)):
        raise ParameterError("src and dst must both be names, or both be ids")
    names = graph.names
    if names is None:
        as_ids(src, "src")  # raises: texts are no ids
        raise ParameterError("src and dst are names, but the graph has none: set graph.names")
    ids = [names.find(as_values(part, names.dtype)) for part in (src, dst)]
    same_length(ids[0], ids[1])
    _require_length("inserted", inserted, len(ids[0]))
    missing = [(part < 0) | (part >= graph.num_vertices) for part in ids]
    ends = [np.where(absent, EMPTY, part).astype(np.uint32) for part, absent in zip(ids, missing, strict=True)]
    events = Events(ends[0], ends[1], _kinds(inserted), None)
    events.unknown = np.flatnonzero(missing[0] | missing[1])
    if len(events.unknown):
        texts = [part.to_pylist() if hasattr(part, "to_pylist") else list(part) for part in (src, dst)]
        events._names = {i: (str(texts[0][i]), str(texts[1][i])) for i in events.unknown.tolist()}
    return events


def _weights(graph: Graph, given: Any, inserted: np.ndarray) -> np.ndarray | None:
    """Return a weight per event (``given`` by the caller), of the graph's dtype; None if the graph has no weights."""
    dtype = graph.weight_dtype
    if dtype is not None and given is None and not inserted.any():
        return np.zeros(len(inserted), dtype)
    weight = as_weights(given, dtype)
    if weight is None or dtype is None:
        return None
    if not weight.ndim:
        return np.full(len(inserted), weight, dtype)
    weight = on_host(weight)
    _require_length("weight", weight, len(inserted))
    held, wrong = converted_weights(weight[inserted], dtype)
    if wrong is not None:
        at = int(np.flatnonzero(inserted)[wrong])
        raise WeightError(weight_message(f"weight[{at}]", weight[at], dtype))
    found = np.zeros(len(inserted), dtype)
    found[inserted] = held
    return found
