"""What an algorithm implements: :meth:`Algorithm.compute` from scratch, :meth:`Algorithm.update` after a batch.

An algorithm is written against the operators (``suricate.operators``) and never names a backend. It keeps its state in
itself; ``graph.track(name, **params)`` makes an instance, computes it, and calls :meth:`Algorithm.update` after every
batch that changed something (see ``suricate.graph.tracker``).

To be verified and timed by ``suricate bench`` it also brings :meth:`Algorithm.reference`, an independent answer.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, SuricateError
from suricate.base.progress import can_show, working
from suricate.plugins.pace import Pace

if TYPE_CHECKING:
    from typing import Self, TypeAlias

    from suricate.base.devices import Array
    from suricate.base.types import ArcList, PlacedArcs, StoreView
    from suricate.cuda.program import Program
    from suricate.plugins.step import Step
    from suricate.state.edges.edge_set import EdgeSet

    Changed: TypeAlias = EdgeSet | ArcList | PlacedArcs

UPDATE_KINDS = {  #: how ``update`` of an algorithm brings its result up to date
    "dynamic": "the work follows the change, for insertions and deletions",
    "repair": "the result is repaired around the change",
    "warm": "iterates over the whole graph, starting from the previous result",
    "recompute": "computes from scratch",
}
LARGE = "the batch is large for the graph"  #: a reason to compute from scratch
SLOWER = "updates of such batches took longer"  #: another
ID_BYTES, OFFSET_BYTES = 4, 8  #: of a vertex id, and of the position where the edges of a vertex start


@dataclass(frozen=True)
class Requirements:
    """What a graph must have: True: required, False: forbidden (``weighted`` and ``undirected``), None: either.

    Example:
        >>> su.Requirements(undirected=True)
        Requirements(in_edges=False, weighted=None, undirected=True)
    """

    in_edges: bool = False
    weighted: bool | None = None
    undirected: bool | None = None

    def missing(self, graph: Any) -> str | None:
        """Return None if ``graph`` meets all requirements, else what it lacks and how to build a graph that fits.

        Example:
            >>> g = su.Graph(3, in_edges=True, device="cpu")
            >>> su.Requirements(in_edges=True).missing(g) is None
            True
            >>> su.Requirements(weighted=True).missing(g)
            "it needs edge weights: build the graph with Graph(..., weight_dtype='float32')"
        """
        if self.in_edges and not graph.has_in_edges:
            return "it needs in-edges: build the graph with Graph(..., in_edges=True) or directed=False"
        if self.weighted is True and graph.weight_dtype is None:
            return "it needs edge weights: build the graph with Graph(..., weight_dtype='float32')"
        if self.weighted is False and graph.weight_dtype is not None:
            return "it is for unweighted graphs: build the graph without weight_dtype"
        if self.undirected is True and graph.directed:
            return "it needs an undirected graph: build it with Graph(..., directed=False)"
        if self.undirected is False and not graph.directed:
            return "it needs a directed graph: build it with Graph(..., directed=True)"
        return None


class Algorithm(ABC):
    """Base class of all algorithms; parameters are keyword arguments of ``__init__``, which validates them.

    Class methods that compare or compute results get the same parameters in ``params``.

    Attributes:
        name: what users call it.
        requires: what a graph must have.
        suites: the suites of ``suricate bench`` that time it.
        update_kind: how :meth:`update` works, one of ``UPDATE_KINDS``; ``suricate plugins`` shows it.
        divided: a text: what differs on a graph of several processes; empty: nothing. ``suricate plugins`` shows it.
        divided_kernels: for an algorithm with a parameter ``kernels``: whether its kernels also work on such a graph,
            over the rows of each process (``graph.partition``); if not, it runs there as with ``kernels=False``.
        recompute_share: after batches of more than this share of the graph's arcs :meth:`should_recompute` is true.
        recompute_share_on_cpu: the same on the CPU; None: no other one.
        learns: whether :meth:`should_recompute` also depends on how long earlier batches took; only valid if an update
            and a computation from scratch give the same result.
        uses_weights: whether the graph's weights may change the result; False if they do so only with a parameter
            ``weighted=True``.
        scale_free: whether the result stays, but for rounding, if all weights are multiplied by one positive number:
            windows whose weights decay take no other algorithm that uses weights.
        groups: the name of the array of the result ("value" if it is the only one) that holds, at every vertex of a
            group, the same vertex of the group, as labels of components do; ``suricate run`` prints the largest
            groups.
        pointers: the names of arrays of the result whose entries are vertices, or negative; ``suricate run`` prints
            the original ids of these vertices.
        if_directed: for algorithms of undirected graphs, the name of the one for directed graphs, which errors
            mention.
        quality_within: for algorithms whose right results differ in :meth:`quality`: by which share the quality after
            updates may be below that of a computation from scratch, on average. None: results do not differ.
        iterations: number of steps of the last computation or update; None if the algorithm does not count them.

    Example:
        >>> class InDegrees(su.Algorithm):
        ...     name, requires = "in_degrees", su.Requirements(in_edges=True)
        ...     def compute(self, graph):
        ...         self._degrees = graph.degrees(over="in")
        ...     @property
        ...     def result(self):
        ...         return self._degrees.copy()
        >>> g = su.Graph.from_coo([0, 1], [2, 2], in_edges=True, device="cpu")
        >>> tracker = g.track(InDegrees)
        >>> delta = g.insert_edges([2], [0])
        >>> tracker.result.tolist()
        [1, 0, 2]
    """

    name: ClassVar[str]
    requires: ClassVar[Requirements] = Requirements()
    suites: ClassVar[tuple[str, ...]] = ("algorithms",)
    update_kind: ClassVar[str] = "recompute"
    divided: ClassVar[str] = ""
    divided_kernels: ClassVar[bool] = False
    recompute_share: ClassVar[float] = math.inf
    recompute_share_on_cpu: ClassVar[float | None] = None
    learns: ClassVar[bool] = False
    uses_weights: ClassVar[bool] = True
    scale_free: ClassVar[bool] = False
    groups: ClassVar[str] = ""
    pointers: ClassVar[tuple[str, ...]] = ()
    if_directed: ClassVar[str] = ""
    quality_within: ClassVar[float | None] = None
    is_kept: bool = True  #: False: only the result is kept, which then need not be a copy of the state
    pace: Pace | None = None  #: what was learnt; of an algorithm that a tracker keeps current
    iterations: int | None = None
    _why = "its update calls compute()"  # the reason to give for the next computation from scratch
    _recomputed: str | None = None  # the reason for a computation since the tracker last asked

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "compute" in cls.__dict__:
            cls.compute = _noted(cls.compute)  # type: ignore[assignment,method-assign]

    @abstractmethod
    def compute(self, graph: Any) -> None:
        """Compute the result on ``graph`` from scratch.

        Example:
            >>> bfs = su.algorithm("bfs").create({"source": 0})
            >>> bfs.compute(su.Graph.from_coo([0, 1], [1, 2], device="cpu"))
            >>> bfs.result.level.tolist()
            [0, 1, 2]
        """

    def update(self, graph: Any, delta: Any) -> None:
        """Bring the result up to date; ``graph`` already holds ``delta``. The default computes from scratch.

        If this or :meth:`compute` raises, a tracker computes the next result with a new instance.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], num_vertices=4, device="cpu")
            >>> bfs = su.algorithm("bfs").create({"source": 0})
            >>> bfs.compute(g)
            >>> bfs.update(g, g.insert_edges([2], [3]))
            >>> bfs.result.level.tolist()
            [0, 1, 2, 3]
        """
        self.recomputes("it has no update of its own")
        self.compute(graph)

    def recomputes(self, reason: str | None = None) -> None:
        """Record that :meth:`update` computes from scratch, and why, so that trackers count it.

        A call of :meth:`compute` is recorded automatically, with the reason given before, if any. Call this in an
        update that recomputes in another way. ``None``: the reason that :meth:`should_recompute` found.

        Example:
            >>> bfs = su.algorithm("bfs").create({"source": 0})
            >>> bfs.recomputes("the source has moved")
            >>> bfs.take_recomputed()
            'the source has moved'
        """
        self._recomputed = reason or self._recomputed or self._why

    def take_recomputed(self) -> str | None:
        """Return why the result was computed from scratch since the last call of this method, None if it was not.

        Example:
            >>> bfs = su.algorithm("bfs").create({"source": 0})
            >>> bfs.recomputes("the source has moved")
            >>> bfs.take_recomputed(), bfs.take_recomputed()
            ('the source has moved', None)
        """
        reason, self._recomputed = self._recomputed, None
        self.__dict__.pop("_why", None)
        return reason

    def should_recompute(
        self,
        graph: Any,
        deleted: Changed | None = None,
        *others: Changed | None,
        times: float = 1.0,
        each: float = 1.0,
    ) -> bool:
        """Return whether repairing the result after these changes is expected to cost more than recomputing it.

        It compares upper bounds, the sizes of the edge sets and the number of arcs of ``graph``, and so does not wait
        for the device. If the algorithm :attr:`learns`, measured times decide as well; nothing else that a tracker does
        depends on a clock. An update calls it once.

        Args:
            graph: the graph, which already holds the changes.
            deleted: the deleted edges.
            others: edges that were inserted, or whose weights were replaced.
            times: weight of a deletion.
            each: weight of another change.

        Example:
            >>> g = su.Graph.from_coo(np.zeros(99, int), np.arange(1, 100), device="cpu")
            >>> delta = g.delete_edges(np.zeros(90, int), np.arange(1, 91))
            >>> su.algorithm("bfs").create({"source": 0}).should_recompute(g, delta.edge_set("deleted"))
            True
        """
        lost, gained = 0 if deleted is None else deleted.size, 0
        for part in others:
            gained += 0 if part is None else part.size
        size, arcs = times * lost + each * gained, max(graph.most_arcs, 1)
        share = None if graph.device.is_cuda else self.recompute_share_on_cpu
        bound = (self.recompute_share if share is None else share) * arcs
        answer = (
            size > bound if self.pace is None else self.pace.should_recompute((lost > 0, gained > 0), size, bound, arcs)
        )
        if answer:
            self._why = LARGE if size > bound else SLOWER
        return answer

    @property
    @abstractmethod
    def result(self) -> Any:
        """The current result: an array on the graph's device, one entry per vertex, or a NamedTuple of arrays.

        A NamedTuple whose first fields are ``src`` and ``dst`` (``uint32[m]``, ascending by both; of undirected edges
        ``src <= dst``) has values per edge in its other arrays of this length. Frames, ``top`` and ``at`` show edges.

        The arrays are copies: changing them does not change the algorithm's state, unless that is not ``is_kept``.
        """

    def at(self, vertices: Array) -> Any:
        """Return :attr:`result` at some vertices only, if that is cheaper; None (the default): use the whole result.

        ``vertices``: ``int64[k]``, valid, on the graph's device. The arrays are new; parts of the result without an
        entry per vertex are returned whole.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> g.track("bfs", source=0).algorithm.at(np.array([2])).level.tolist()
            [2]
        """
        return None

    def of_own(self, graph: Any) -> Any:
        """Return :attr:`result` at the vertices of this process, if that needs no others; None: use the whole result.

        Of a graph of several processes; ascending by id. A call of all of them.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> g.track("bfs", source=0).algorithm.of_own(g) is None
            True
        """
        return None

    def event_step(self, graph: Any) -> Step | str:
        """Return how a compiled loop on the CPU updates the state edge by edge, for ``suricate.replay``.

        The step works in place on the algorithm's state for ``graph``. A text in place of a step says why there is no
        step; ``replay`` then calls the graph for each event.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], in_edges=True, device="cpu")
            >>> g.track("scc").algorithm.event_step(g)
            'scc has no step of its own'
        """
        return f"{self.name} has no step of its own"

    def __reduce__(self) -> tuple[Any, ...]:
        raise ParameterError(
            "an algorithm holds what it computed on its graph and cannot be copied or pickled: copy its result"
        )

    @classmethod
    def create(cls, params: Mapping[str, Any]) -> Self:
        """Return an instance with the parameters ``params``, a mapping from names to values.

        Raises:
            ParameterError: a parameter is unknown or missing, or ``__init__`` refuses its value.

        Example:
            >>> su.algorithm("bfs").create({"source": 3}).name
            'bfs'
        """
        try:
            return cls(**params)
        except TypeError as error:
            if isinstance(error, SuricateError):
                raise
            cls.demand_names(params)
            raise

    @classmethod
    def demand_names(cls, params: Mapping[str, Any]) -> None:
        """Raise ``ParameterError`` if one of ``params`` is unknown, or one without a default is missing.

        Example:
            >>> bfs = su.algorithm("bfs")
            >>> print(bfs.demand_names({"source": 0}))
            None
        """
        signature = inspect.signature(cls)
        try:
            signature.bind(**params)
        except TypeError as misfit:
            known = ", ".join(signature.parameters) or "none"
            raise ParameterError(f"{cls.name}: {misfit} (its parameters: {known})") from None

    @classmethod
    def demand(cls, graph: Any) -> None:
        """Raise ``RequirementError`` if ``graph`` lacks what the algorithm needs.

        Example:
            >>> su.algorithm("wcc").demand(su.Graph(3, directed=False, device="cpu"))
            >>> su.algorithm("kcore").requires
            Requirements(in_edges=False, weighted=None, undirected=True)
        """
        reason = cls.requires.missing(graph)
        if reason is not None:
            other = f"; {cls.if_directed} is for directed graphs" if cls.if_directed and graph.directed else ""
            raise RequirementError(f"{cls.name} cannot run on this graph: {reason}{other}")

    @classmethod
    def demand_scale_free(cls, params: Mapping[str, Any]) -> None:
        """Raise ``RequirementError`` if a common factor of weights changes the result with these ``params``.

        Example:
            >>> su.algorithm("pagerank").demand_scale_free({})
            >>> su.algorithm("pagerank").scale_free, su.algorithm("sssp").scale_free
            (True, False)
        """
        weighted = params.get("weighted", cls.uses_weights)
        if not cls.scale_free and (weighted or weighted is None):
            what = "the weights of this window decay, all of them at every slide, and the result needs more than ratios"
            advice = f"copy.copy(w.graph).compute({cls.name!r}) has the weights as of a slide"
            raise RequirementError(f"{cls.name}: {what}: {advice}; weighted=False, if it has that, uses none")

    # -- answers that depend on history, optional ----------------------------------------------------------------------

    def state(self) -> dict[str, Array] | None:
        """Return the state from which the next update continues, arrays by name, if results depend on earlier changes.

        Checkpoints of jobs store it. None: the result is a function of the graph, and is computed again.

        Example:
            >>> su.algorithm("bfs").create({"source": 0}).state() is None
            True
        """
        return None

    def restore(self, graph: Any, state: Mapping[str, Array]) -> None:
        """Continue from a :meth:`state`, given in arrays on the graph's device, in place of :meth:`compute`.

        The graph has the same edges as when the state was taken, and the same vertices, or more without edges.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], directed=False, device="cpu")
            >>> first, second = (su.algorithm("leiden").create({}) for _ in range(2))
            >>> first.compute(g)
            >>> second.restore(g, first.state())
            >>> second.result.label.tolist() == first.result.label.tolist()
            True
        """
        raise NotImplementedError(f"{self.name} has no state to go on from")

    # -- verification and benchmark, all optional ----------------------------------------------------------------------

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        **params: Any,
    ) -> Any:
        """Return the right result, computed by another method, with NumPy and SciPy only.

        Args:
            src: ``uint32[m]``, the sources of the arcs; an undirected edge is two arcs.
            dst: ``uint32[m]``, their destinations.
            weight: their weights, or None on an unweighted graph.
            num_vertices: the number of vertices.
            directed: whether the graph is directed.
            params: as given to ``__init__``. If the method has a parameter ``live``, it also gets
                ``bool[num_vertices]``, which vertices are live; otherwise all vertices may be taken as live.

        Returns:
            What :meth:`mismatch` compares with: by default NumPy arrays in the form of :attr:`result`.

        Example:
            >>> src, dst = np.array([0, 1], np.uint32), np.array([1, 2], np.uint32)
            >>> su.algorithm("bfs").reference(src, dst, None, 3, True, source=0)[0].tolist()
            [0, 1, 2]
        """
        raise NotImplementedError(f"{cls.name} brings no reference()")

    @classmethod
    def has_reference(cls) -> bool:
        """Return whether the algorithm overrides :meth:`reference`.

        Example:
            >>> su.algorithm("bfs").has_reference()
            True
        """
        return getattr(cls.reference, "__func__", None) is not Algorithm.reference.__func__  # type: ignore[attr-defined]

    @classmethod
    def mismatch(cls, result: Any, reference: Any, **params: Any) -> str | None:
        """Return what is wrong with ``result`` (NumPy arrays), as a text, or None if it agrees with ``reference``.

        By default integers must be equal, and floats within a relative tolerance of 1e-5.

        Example:
            >>> degree = su.algorithm("degree")
            >>> degree.mismatch(np.array([1, 2]), np.array([1, 2])) is None
            True
            >>> degree.mismatch(np.array([1, 2]), np.array([1, 3]))
            '1 of 2 values of result differ from the reference'
        """
        fields = getattr(result, "_fields", ("result",))
        several = isinstance(result, tuple)
        for name, got, right in zip(
            fields, result if several else (result,), reference if several else (reference,), strict=True
        ):
            got, right = np.asarray(got), np.asarray(right)
            if got.shape != right.shape:
                return f"{name} has shape {got.shape} instead of {right.shape}"
            is_float = got.dtype.kind == "f"
            close = np.isclose(got, right, rtol=1e-5, atol=1e-8, equal_nan=True) if is_float else got == right
            if not close.all():
                return f"{np.count_nonzero(~close)} of {close.size} values of {name} differ from the reference"
        return None

    @classmethod
    def quality(cls, result: Any, graph: Any, **params: Any) -> float:
        """Return how good ``result`` is on ``graph``, computed from its edges; more is better.

        Only for an algorithm with :attr:`quality_within`.

        Example:
            >>> g = su.Graph.from_coo([0, 1, 3, 4], [1, 2, 4, 5], directed=False, device="cpu")
            >>> result = g.compute("leiden")
            >>> float(su.algorithm("leiden").quality(result, g)) == result.quality
            True
        """
        raise NotImplementedError(f"{cls.name} brings no quality()")

    @classmethod
    def gains(cls, result: Any, reference: Any, **params: Any) -> float:
        """Return by how much the best single step improves ``result`` (NumPy arrays), 0 if none does.

        Only for an algorithm with :attr:`quality_within`; of a computation from scratch it must be below 1e-9.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], directed=False, device="cpu")
            >>> leiden = su.algorithm("leiden")
            >>> result = g.compute("leiden")
            >>> reference = leiden.reference(*(part.copy() for part in su.arcs(g)[:2]), None, 3, False)
            >>> leiden.gains(result, reference) < 1e-9
            True
        """
        raise NotImplementedError(f"{cls.name} brings no gains()")

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return the parameters to benchmark with; ``centre`` is a vertex that reaches much of the graph.

        Example:
            >>> su.algorithm("bfs").sample_params(10, centre=3)
            {'source': 3}
        """
        return {}

    @classmethod
    def variants(cls) -> Mapping[str, Mapping[str, Any]]:
        """Return sets of parameters, by name, for ``suricate bench --suite methods`` to compare.

        By default, for an algorithm with a parameter ``kernels``: with and without its own kernels.

        Example:
            >>> sorted(su.algorithm("triangles").variants())
            ['kernels', 'operators']
        """
        both = {"kernels": {}, "operators": {"kernels": False}}
        return both if "kernels" in inspect.signature(cls).parameters else {}

    @classmethod
    def error(cls, result: Any, reference: Any) -> float | None:
        """Return how far ``result`` (NumPy arrays) is from the right one, ``reference``; None: results are exact.

        Example:
            >>> su.algorithm("bfs").error(np.array([1]), np.array([1])) is None
            True
        """
        return None

    @classmethod
    def programs(cls, view: StoreView) -> list[Program]:
        """Return the CUDA programs of the algorithm's own kernels over ``view``, to be compiled without a GPU in CI.

        The module must be importable without CuPy.

        Example:
            >>> view = su.Graph(2, device="cpu").view()
            >>> su.algorithm("hits").programs(view)
            []
        """
        return []

    def traffic(self, graph: Any) -> int | None:
        """Return the least number of bytes that the last :meth:`compute` on ``graph`` had to move; None: unknown.

        Example:
            >>> wcc = su.algorithm("wcc").create({})
            >>> g = su.Graph.from_coo([0, 1], [1, 2], directed=False, device="cpu")
            >>> wcc.compute(g)
            >>> wcc.traffic(g)
            72
        """
        return None


def _noted(compute: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Return a version of ``compute`` that first calls :meth:`Algorithm.recomputes`: trackers count the calls."""

    @wraps(compute)
    def noting(self: Any, graph: Any) -> None:
        self._recomputed = self._recomputed or self._why  # as recomputes() does
        if not can_show():
            compute(self, graph)
            return
        with working(f"computing {self.name} from scratch"):
            compute(self, graph)

    return noting


def pull_bytes(num_vertices: int, num_edges: int, value_bytes: int, weight_bytes: int = 0) -> int:
    """Return the least number of bytes that one pull over ``num_edges`` edges moves.

    Ids, weights (``weight_bytes`` each) and offsets are read once; one value (``value_bytes``) for each of
    ``num_vertices`` is read and one written.
    """
    edges = num_edges * (ID_BYTES + weight_bytes)
    return edges + (num_vertices + 1) * OFFSET_BYTES + 2 * num_vertices * value_bytes
