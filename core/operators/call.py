"""What the operators share on both devices: validated calls, what they start from, and the drivers that run them.

A *driver* is the module ``suricate.operators.<device kind>.driver``, or the partition of a graph of several processes.
The public functions check everything and then call the function of the same name in the driver of the graph. These
signatures are fixed, but that a partition takes graphs and edge sets in place of the views of ``intersect``:

.. code-block:: python

    advance(graph, call, start, out, over, scheme) -> Frontier
    propagate(graph, call, start, out, over, max_steps, layers, once) -> Propagated
    neighbor_reduce(graph, call, vertices, out, over, scheme) -> Frontier | None
    converge(graph, call, start, over, wake, max_steps, until, most, swap, after) -> Propagated
    vertex_map(graph, call, start) -> Frontier
    edge_map(graph, call, start, over) -> None
    intersect(graph, call, left, right, pairs, out, oriented, method) -> None
    iterate(device, body, until, max_steps, swap) -> int
    map_all(graph, call) -> None; MapOfAll(graph, call), Passes(graph, call, over, until, swap)  # of Repeated, on CUDA

``call``
    A :class:`Call`: typed functions, the values of the arguments, the reduction and the type of what is reduced.
``start``
    A :class:`Start`: frontiers and arc lists, whose union is meant. ``start.single`` is the frontier if there is
    exactly one and it has no repeats: it needs no deduplication.
``over``
    Resolved: on an undirected graph it is ``"out"`` in pushes and ``edge_map``, and never ``"both"`` in pulls. It says
    which vertices the function gets as ``u`` and ``v``:

    - push over ``"out"``: ``u`` is the owner in ``graph.view("out")``, ``v`` its neighbour; over ``"in"``: the same in
      ``graph.view("in")``; over ``"both"``: first one, then the other without self-loops;
    - pull over ``"out"``: ``u`` is the owner in ``graph.view("out")``, ``v`` its neighbour; over ``"in"``: ``v`` is the
      owner in ``graph.view("in")``, ``u`` its neighbour; over ``"both"``: ``v`` is the owner in both views, ``u`` its
      neighbour, without self-loops in the second view.
``out``
    An array, a ``Words`` (``reduce="argmin"``), a pair of arrays (best labels and scores), or None in a pull with
    ``then``. In a pull it has one entry per vertex of the graph, or one per id if ``vertices`` are ids.
``vertices``
    For a pull: None (all), ``uint32[k]`` ids in any order with repeats (only without ``then``), a :class:`Start` of
    frontiers (only with ``then``), or :class:`~suricate.operators.results.Layers`. The driver returns the frontier of
    those for which ``then`` returns True, and None without ``then``.
``layers``, ``once``
    ``layers`` is a bool. ``once`` is ``""``, ``"final"`` (a value is final after the step that first changes it) or
    ``"equal"`` (in addition all offers to a vertex in one step are equal).
``max_steps``, ``until``, ``most``
    ``max_steps`` is at most ``MAX_STEPS``, ``most`` at most ``UNLIMITED``; ``until`` is an :class:`Until`, in
    ``converge`` also None.
``swap``, ``after``
    ``swap`` has pairs of positions in ``call.values``, of arrays of one type and length (one entry per vertex, or one
    in all). If it is not empty, ``start`` is all vertices, ``wake`` and ``call.commit`` are None, and the result of
    ``call.then`` is ignored. ``after`` is a :class:`Propagated` of the same driver, or None; always None without
    ``swap``.
``wake``
    The direction over which a vertex of ``converge`` activates neighbours: ``"out"``, ``"in"`` or ``"both"``, resolved
    as for pushes; None: it activates none.
``left``, ``right``, ``pairs``, ``oriented``
    Two views; the pairs as an :class:`ArcList`, or None for every arc of ``left`` (``out`` then has one entry, or with
    ``oriented`` one or one per vertex); None, ``"degree"`` or ``"id"``.

In ``converge`` and ``vertex_map`` the arcs of a :class:`Start` stand for both of their ends.

A function that takes a position has ``"i"`` as the first of ``call.function.leading``. ``call.values`` are checked, but
not converted: pass ``argument.packed(value)`` to kernels, ``argument.numba_value(value)`` to Numba, once per operator.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import EMPTY, ArcList
from suricate.edgefn import TypedFunction
from suricate.graph import Graph
from suricate.state.frontier import Frontier

REDUCTIONS = ("sum", "min", "max", "or", "argmin", "mode", "hindex", "vote")
#: reductions that take all values of a vertex at once, since what parts give cannot be combined
AT_ONCE = ("mode", "hindex", "vote")
OUT_DTYPES = tuple(np.dtype(name) for name in ("int32", "uint32", "int64", "uint64", "float32", "float64"))

LAST_STEP = 2**32 - 1  #: stamps are uint32
MAX_STEPS = 2**31 - 1  #: of one propagation
UNLIMITED = 2**62  #: vertices and edges


class Vote(NamedTuple):
    """What ``reduce="vote"`` needs besides.

    Attributes:
        labels, place: labels are below this number, which has this position in ``Call.values``.
        keep: the position there of the labels by vertex that win among the best, or None.
        before: on CUDA with ``best``: the position there of five arguments by which launches give one label after the
            other, see ``vote.cuh``; else None.
        score: ``score(v, label, total, *args)``, or None: the total.
        best: how many labels are wanted, with their scores; 0: one, without its score.
        given: ``(score, keep)`` as the user wrote them.
    """

    labels: int
    place: int
    keep: int | None = None
    before: int | None = None
    score: TypedFunction | None = None
    best: int = 0
    given: tuple[Any, Any] = (None, None)


class Call(NamedTuple):
    """A validated call of an operator.

    Attributes:
        function: the edge function (or predicate, or effect), compiled for the types of its arguments.
        values: the arguments as the user gave them, checked.
        reduce: the reduction.
        dtype: dtype of the reduced values; None if there are none (effects), or words (``"argmin"``).
        then: the second phase, with the same arguments, or None.
        commit: the third phase of ``converge``, or None.
        layout: the fields of the words that ``"argmin"`` reduces, else None.
        given: ``(fn, args, then, commit, dtype)`` as the user wrote them, from which a partition calls operators again.
        vote: what ``"vote"`` needs besides, else None; ``dtype`` is then that of labels, and the function returns the
            dtype of totals.
        turn: ``turn(v, step, *args)`` of ``converge``, and as the user wrote it, or None.
        columns: of a pull whose values have columns, their number; else 0.
    """

    function: TypedFunction
    values: tuple[Any, ...]
    reduce: str = "sum"
    dtype: np.dtype | None = None
    then: TypedFunction | None = None
    commit: TypedFunction | None = None
    layout: Any = None
    given: tuple[Any, ...] = ()
    vote: Vote | None = None
    turn: tuple[TypedFunction, Any] | None = None
    columns: int = 0

    @property
    def functions(self) -> dict[str, TypedFunction]:
        """The functions of the call but the edge function: those of ``score``, ``then``, ``commit``, ``turn``."""
        named = {"then": self.then, "commit": self.commit}
        named |= {"score": self.vote and self.vote.score, "turn": self.turn and self.turn[0]}
        return {name: function for name, function in named.items() if function is not None}

    @property
    def has_effects(self) -> bool:
        """Whether one of the functions changes arguments by effects, of which several threads need the atomic forms."""
        return any(one is not None and one.effects for one in (self.function, self.then, self.commit))

    @property
    def result(self) -> np.dtype:
        """The dtype that the edge function returns."""
        assert self.function.result is not None
        return self.function.result

    @property
    def of_two(self) -> bool:
        """Whether the function of ``intersect`` takes the weights, or rows, of the edges to a common neighbour."""
        return self.function.leading[-1] == "w_b"


class Start(NamedTuple):
    """The frontiers and arcs from which a push, a map or a pull with ``then`` starts; their union is meant.

    A push applies its function to the given arcs and to the edges of the given vertices. A vertex that occurs several
    times counts once (drivers use stamps for that); an id that is not below ``num_vertices`` is ignored.
    """

    frontiers: tuple[Frontier, ...]
    arcs: tuple[ArcList, ...] = ()

    @property
    def single(self) -> Frontier | None:
        """The frontier if there is exactly one, its ids are distinct and there are no arcs; else None."""
        if len(self.frontiers) == 1 and not self.arcs and self.frontiers[0].distinct:
            return self.frontiers[0]
        return None

    def is_all(self, num_vertices: int) -> bool:
        """Return whether this is the frontier of all vertices of a graph of ``num_vertices``."""
        return self.single is not None and self.single.is_all and self.single.capacity == num_vertices

    @property
    def at_most(self) -> int:
        """An upper bound of the number of vertices and arcs, which is known without waiting for the device."""
        return sum(one.at_most for one in self.frontiers) + sum(arcs.size for arcs in self.arcs)


Swap = tuple[tuple[int, int], ...]  #: positions in ``Call.values`` of arrays that change places between rounds


@dataclass(frozen=True)
class Stop:
    """What ends a loop of ``suricate.converge`` before its active set is empty.

    Attributes:
        until: a ``Scalar`` that ``then`` adds to: the loop ends after the round in which its total is 0, with
            ``(scalar, bound)`` at most ``bound``; or None.
        most: end the loop as *crowded* after a round with more work than this: its vertices plus the edges over which
            they would activate others. No vertex is activated then. None: no limit.

    Example:
        >>> su.Stop(most=100)
        Stop(until=None, most=100)
    """

    until: Any = None
    most: int | None = None


class Until(NamedTuple):
    """The condition that ends a loop: the total of ``scalar`` in the last round is at most ``bound``, or NaN."""

    scalar: Any
    bound: float

    def ends_loop(self) -> bool:
        """Read the scalar and return whether the condition holds; waits for the device."""
        return not self.scalar.read() > self.bound


@cache
def identity_of(reduce: str, dtype: np.dtype) -> Any:
    """Return the neutral value of the reduction ``reduce`` as a scalar of ``dtype``."""
    if reduce in ("sum", "or", "hindex"):
        return dtype.type(0)
    if reduce == "vote":
        return dtype.type(EMPTY)
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduce == "max" else np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if reduce == "max" else limits.max)


class Stamps:
    """A number per vertex, by which loops see that a vertex is in a queue already; one object per graph.

    ``array`` is ``uint32[num_vertices]``. Every step of every operator has a number of its own, so that earlier stamps
    need not be cleared; the array is set to 0 only when the numbers run out.
    """

    def __init__(self, device: Device) -> None:
        self.array: Array = device.xp.empty(0, np.uint32)
        self._last = 0

    def steps(self, count: int) -> int:
        """Reserve ``count`` consecutive unused numbers, none of which is 0; return the first."""
        if self._last + count > LAST_STEP:
            self.array.fill(0)
            self._last = 0
        first = self._last + 1
        self._last += count
        return first

    def give_back(self, next_step: int) -> None:
        """Release those of the numbers reserved last from ``next_step`` on; they must not have been used."""
        self._last = next_step - 1


def stamps_of(graph: Graph) -> Stamps:
    """Return the stamps of ``graph``, with one entry per vertex it has now."""
    stamps = graph.workspace.state(Stamps)
    stamps.array = graph.workspace.array("operators.stamp", graph.num_vertices, np.uint32)
    return stamps


def driver_of(graph: Graph) -> Any:
    """Return what runs operators on ``graph``: the module of its device, or how it is divided among processes."""
    return driver_on(graph.device) if graph.partition is None else graph.partition


def driver_on(device: Device) -> ModuleType:
    """Return the module whose functions run operators on ``device``."""
    return _driver(device.kind)


@cache
def _driver(kind: str) -> ModuleType:
    return importlib.import_module(f"suricate.operators.{kind}.driver")
