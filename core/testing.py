"""Conformance kits: subclass one class in a test file, and an engine or an algorithm is tested.

>>> class TestMyStore(StoreConformance):          # doctest: +SKIP
...     engine = MyStore
>>> class TestMyAlgorithm(AlgorithmConformance):  # doctest: +SKIP
...     algorithm = MyAlgorithm
...     def oracle(self, num_vertices, src, dst, weight, **params): ...

pytest collects what the class inherits; the ``dev`` extra brings pytest and hypothesis. Every engine is compared with
one plain dictionary of edges, every algorithm with an oracle that its author writes by a different method.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from suricate.algorithm import Algorithm
from suricate.cursors import has_updated_iterator
from suricate.devices import CPU, Array, Device, cuda_device_count, resolve_device
from suricate.errors import CapacityError, RequirementError
from suricate.plugins import engines
from suricate.store import (
    NEW,
    OPERATIONS,
    REMOVED,
    REPLACED,
    TOMBSTONE,
    UNCHANGED,
    EdgeList,
    Outcome,
    Store,
    StoreView,
    edge_keys,
)

if TYPE_CHECKING:
    from suricate.graph import Graph

Edge = tuple[int, int]

SIZES = (0, 1, 2, 7, 40, 300)  # edges of a batch; ids drawn by an operation
SPREADS = (1, 3, 40, 1000)  # distinct ids among them: few make duplicates and hubs, many make growth
STRIDES = (1, 32)  # distance of these ids: 32 collides in tables and aligns with words


def device_params(kinds: Sequence[str], marks: Sequence[pytest.MarkDecorator]) -> list[Any]:
    """Return pytest parameters for devices; CUDA takes ``marks``, and is skipped where it is absent."""
    absent = cuda_device_count() == 0 or importlib.util.find_spec("cupy") is None
    skip = pytest.mark.skipif(absent, reason="no CUDA device, or no CuPy")
    return [pytest.param(kind, marks=[skip, *marks] if kind == "cuda" else []) for kind in kinds]


def run_examples(body: Callable[..., None], examples: int | None, **strategies: st.SearchStrategy[Any]) -> None:
    """Run ``body`` on examples drawn from ``strategies``; the number defaults to that of the hypothesis profile."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    count = settings().max_examples if examples is None else examples
    settings(max_examples=count, deadline=None, suppress_health_check=quiet, report_multiple_bugs=False)(
        given(**strategies)(body)
    )()


def draw_ids(rng: np.random.Generator, count: int, num_vertices: int, spread: int, stride: int) -> np.ndarray:
    """Return ``count`` ids below ``num_vertices`` (uint32), at most ``spread`` distinct ones, ``stride`` apart."""
    if num_vertices == 0:
        return np.zeros(0, np.uint32)
    return (rng.integers(0, spread, count) * stride % num_vertices).astype(np.uint32)


def draw_weights(rng: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Return few distinct weights, so that a batch often holds the weight that is there, and extreme ones."""
    if dtype.kind == "f":
        values = np.array([0.0, 0.1, 1.0, -2.5, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
    else:
        values = np.array([0, 1, 2, 7, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    return values[rng.integers(0, len(values), count)]


# -- the walk of a view ------------------------------------------------------------------------------------------------


def weight_function(view: StoreView) -> Callable[[Any, int], Any]:
    """Return ``weight`` of the cursor of ``view``; one that says 0 if there are no weights."""
    from numba import njit

    @njit
    def no_weight(g: Any, i: int) -> int:
        return 0

    return no_weight if view.weight_dtype is None else importlib.import_module(view.cursor).weight


def walker(view: StoreView) -> Callable[..., tuple[int, int]]:
    """Compile a walk over ``view`` that uses every cursor function; see the body for what it fills in."""
    from numba import njit

    cursor: ModuleType = importlib.import_module(view.cursor)
    degree, units, first, begin = cursor.degree, cursor.units, cursor.first, cursor.begin
    end, following, key, find = cursor.end, cursor.following, cursor.key, cursor.find

    weight = weight_function(view)

    @njit
    def walk(g, num_vertices, degrees, src, dst, weights, absent_src, absent_dst):
        """Write degrees and edges; return (edges met, wrong answers of find)."""
        count, wrong = 0, 0
        for u in range(num_vertices):
            degrees[u] = degree(g, u)
            for k in range(units(g, u)):
                c = first(g, u, k)
                while c >= 0:
                    for i in range(begin(g, c), end(g, c)):
                        v = key(g, i)
                        if v < TOMBSTONE:
                            if count < len(src):
                                src[count], dst[count], weights[count] = u, v, weight(g, i)
                            count += 1
                            wrong += find(g, u, v) != i
                    c = following(g, c)
        for i in range(len(absent_src)):
            wrong += find(g, absent_src[i], absent_dst[i]) != -1
        return count, wrong

    return walk


def updated_walker(view: StoreView) -> Callable[..., int]:
    """Compile a walk over the edges inserted since the mark, by the iterator of the cursor of ``view``."""
    from numba import njit

    cursor: ModuleType = importlib.import_module(view.cursor)
    begin, end, key, is_fresh = cursor.begin, cursor.end, cursor.key, cursor.is_fresh
    updated_count, updated_segment, segment_owner = cursor.updated_count, cursor.updated_segment, cursor.segment_owner

    weight = weight_function(view)

    @njit
    def walk(g, num_vertices, src, dst, weights):
        """Write the edges; return how many there are."""
        count = 0
        for i in range(updated_count(g)):
            c = updated_segment(g, i)
            u = segment_owner(g, c)
            if u < num_vertices:
                for slot in range(begin(g, c), end(g, c)):
                    v = key(g, slot)
                    if v < TOMBSTONE and is_fresh(g, slot):
                        if count < len(src):
                            src[count], dst[count], weights[count] = u, v, weight(g, slot)
                        count += 1
        return count

    return walk


_walkers: dict[tuple[str, type, np.dtype | None], Callable[..., tuple[int, int]]] = {}
_updated_walkers: dict[tuple[str, type, np.dtype | None], Callable[..., int]] = {}


def walk_view(view: StoreView, num_edges: int, absent: tuple[np.ndarray, np.ndarray]) -> tuple[EdgeList, np.ndarray]:
    """Return the edges and degrees that the cursor of a CPU view meets; ``find`` must agree and not find ``absent``."""
    which = (view.cursor, type(view.data), view.weight_dtype)
    if which not in _walkers:
        _walkers[which] = walker(view)
    degrees = np.zeros(view.num_vertices, np.int64)
    src, dst = np.zeros(num_edges, np.uint32), np.zeros(num_edges, np.uint32)
    weight = np.zeros(num_edges, view.weight_dtype or np.uint8)
    count, wrong = _walkers[which](view.data, view.num_vertices, degrees, src, dst, weight, *absent)
    assert count == num_edges, f"the cursor of the view meets {count} edges, the store has {num_edges}"
    assert wrong == 0, "find() of the cursor disagrees with the walk"
    return EdgeList(src, dst, None if view.weight_dtype is None else weight), degrees


def walk_updated(view: StoreView, num_edges: int) -> EdgeList:
    """Return the edges that the updated-edges iterator of the cursor of a CPU view meets, at most ``num_edges``."""
    which = (view.cursor, type(view.data), view.weight_dtype)
    if which not in _updated_walkers:
        _updated_walkers[which] = updated_walker(view)
    src, dst = np.zeros(num_edges, np.uint32), np.zeros(num_edges, np.uint32)
    weight = np.zeros(num_edges, view.weight_dtype or np.uint8)
    count = _updated_walkers[which](view.data, view.num_vertices, src, dst, weight)
    assert count <= num_edges, f"the updated-edges iterator meets {count} edges, the store has {num_edges}"
    return EdgeList(src[:count], dst[:count], None if view.weight_dtype is None else weight[:count])


# -- engines -----------------------------------------------------------------------------------------------------------


class ModelledStore:
    """A store beside the dictionary that it must equal; every method does one operation on both and compares."""

    def __init__(self, store: Store, *, walks: bool) -> None:
        self.store, self.device, self.walks = store, store.device, walks
        self.edges: dict[Edge, Any] = {}
        self.at_mark: set[Edge] | None = None
        self.deleted_since_mark: set[Edge] = set()

    def to_device(self, array: np.ndarray) -> Array:
        """Return a copy of ``array`` on the device of the store."""
        return self.device.xp.array(array)

    def insert(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None) -> None:
        """Insert a batch and compare the status, and the weight before, of every edge."""
        batch = [None if part is None else self.to_device(part) for part in (src, dst, weight)]
        outcome = self.host(self.store.insert(*batch), len(src))
        for part, before in zip(batch, (src, dst, weight), strict=True):
            if part is not None and before is not None:
                assert np.array_equal(self.device.to_numpy(part), before), "insert() wrote to its input"
                part[:] = 0  # the store must not keep the array
        for edge, at in positions(src, dst).items():
            status, last = outcome.status[at], at[-1]
            there = edge in self.edges
            if weight is None:
                assert (status == NEW).sum() == (not there), f"{edge}: {status}, in the store before: {there}"
                assert (status != UNCHANGED).sum() == (not there), f"{edge}: {status}"
            else:
                assert not status[:-1].any(), f"{edge}: only the last duplicate may report, got {status}"
                changed = REPLACED if there and self.edges[edge] != weight[last] else UNCHANGED
                assert status[-1] == (changed if there else NEW), f"{edge}: {status}, before: {self.edges.get(edge)}"
                if status[-1] == REPLACED:
                    assert outcome.weight is not None
                    assert outcome.weight[last] == self.edges[edge], f"{edge}: wrong weight before the batch"
            self.edges[edge] = None if weight is None else weight[last]

    def delete(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Delete a batch and compare the status, and the weight before, of every edge."""
        outcome = self.host(self.store.delete(self.to_device(src), self.to_device(dst)), len(src))
        for edge, at in positions(src, dst).items():
            status = outcome.status[at]
            assert (status == REMOVED).sum() == (edge in self.edges), f"{edge}: {status}"
            assert (status != UNCHANGED).sum() == (edge in self.edges), f"{edge}: {status}"
            if edge in self.edges and outcome.weight is not None:
                assert outcome.weight[at[status == REMOVED]][0] == self.edges[edge], f"{edge}: wrong weight before"
            self.forget(edge)

    def delete_vertices(self, vertices: np.ndarray) -> None:
        """Free the out-edges of distinct vertices."""
        self.store.delete_vertices(self.to_device(vertices))
        for edge in [edge for edge in self.edges if edge[0] in set(vertices.tolist())]:
            self.forget(edge)

    def forget(self, edge: Edge) -> None:
        """Remove an edge from the dictionary."""
        if self.edges.pop(edge, self) is not self:
            self.deleted_since_mark.add(edge)

    def resize(self, num_vertices: int) -> None:
        """Grow the store."""
        self.store.resize(num_vertices)
        assert self.store.num_vertices == num_vertices

    def mark(self) -> None:
        """Start to remember insertions."""
        self.store.mark()
        self.at_mark, self.deleted_since_mark = set(self.edges), set()

    def host(self, outcome: Outcome, count: int) -> Outcome:
        """Return ``outcome`` in NumPy arrays, of the right dtypes and length."""
        status = self.device.to_numpy(outcome.status)
        assert status.dtype == np.uint8
        assert status.shape == (count,)
        if self.store.weight_dtype is None:
            assert outcome.weight is None
            return Outcome(status)
        assert outcome.weight is not None
        weight = self.device.to_numpy(outcome.weight)
        assert weight.dtype == self.store.weight_dtype
        assert weight.shape == (count,)
        return Outcome(status, weight)

    def compare(self, edges: EdgeList, wanted: dict[Edge, Any], what: str) -> None:
        """Compare edges of the store, in any order, with those of a dictionary."""
        src, dst = self.device.to_numpy(edges.src), self.device.to_numpy(edges.dst)
        assert src.dtype == dst.dtype == np.uint32, what
        assert src.shape == dst.shape == (len(wanted),), f"{what}: {len(src)} edges instead of {len(wanted)}"
        found = set(zip(src.tolist(), dst.tolist(), strict=True))
        assert found == set(wanted), f"{what}: missing {set(wanted) - found}, superfluous {found - set(wanted)}"
        if self.store.weight_dtype is None:
            assert edges.weight is None, what
            return
        assert edges.weight is not None, what
        weight = self.device.to_numpy(edges.weight)
        assert weight.dtype == self.store.weight_dtype, what
        expected = [wanted[edge] for edge in zip(src.tolist(), dst.tolist(), strict=True)]
        assert np.array_equal(weight, np.array(expected, weight.dtype)), f"{what}: wrong weights"

    def verify(self, rng: np.random.Generator) -> None:
        """Compare everything that the store can be asked with the dictionary."""
        store, n = self.store, self.store.num_vertices
        store.check()
        edges = store.edges()
        self.compare(edges, self.edges, "edges()")
        src = self.device.to_numpy(edges.src)
        assert (src[:-1] <= src[1:]).all(), "edges() is not ordered by source"
        sources = np.array([u for u, _ in self.edges], np.int64)
        scrap = store.degrees()
        scrap += 1
        degrees = self.device.to_numpy(store.degrees())
        assert degrees.dtype == np.uint32
        assert np.array_equal(degrees, np.bincount(sources, minlength=n)), "degrees(), or it is no copy"
        assert store.num_edges == len(self.edges)
        self.verify_find(rng)
        self.verify_adjacency(rng)
        self.verify_updated()
        self.verify_view(rng)
        for part, (used, allocated) in store.memory().items():
            assert 0 <= used <= allocated, f"memory(): {part} uses {used} of {allocated} bytes"

    def sample(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs, about half of them edges (uint32)."""
        n, there = self.store.num_vertices, list(self.edges)
        chosen = [there[i] for i in rng.integers(0, len(there), 20)] if there else []
        pairs = np.array(chosen, np.uint32).reshape(-1, 2)
        pairs = np.concatenate([pairs, rng.integers(0, n, (20, 2)).astype(np.uint32)]) if n else pairs
        return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])

    def verify_find(self, rng: np.random.Generator) -> None:
        """Compare find() on edges and others, and on nothing."""
        src, dst = self.sample(rng)
        for size in (len(src), 0):
            found, weight = self.store.find(self.to_device(src[:size]), self.to_device(dst[:size]))
            found = self.device.to_numpy(found)
            assert found.dtype == bool
            pairs = list(zip(src[:size].tolist(), dst[:size].tolist(), strict=True))
            assert found.tolist() == [pair in self.edges for pair in pairs], "find()"
            assert (weight is None) == (self.store.weight_dtype is None)
            if weight is not None:
                weight = self.device.to_numpy(weight)
                assert weight.dtype == self.store.weight_dtype
                wanted = [self.edges[pair] for pair in pairs if pair in self.edges]
                assert np.array_equal(weight[found], np.array(wanted, weight.dtype)), "find(): wrong weights"

    def verify_adjacency(self, rng: np.random.Generator) -> None:
        """Compare adjacency() of vertices with repeats, and of none."""
        n = self.store.num_vertices
        vertices = rng.integers(0, n, 12 if n else 0).astype(np.uint32)
        vertices = np.concatenate([vertices, vertices[:3]])
        for some in (vertices, vertices[:0]):
            part = self.store.adjacency(self.to_device(some))
            offsets = self.device.to_numpy(part.offsets)
            assert offsets.dtype == np.int64
            assert offsets.shape == (len(some) + 1,)
            assert offsets[0] == 0
            assert offsets[-1] == len(part.dst)
            for i, u in enumerate(some.tolist()):
                lo, hi = int(offsets[i]), int(offsets[i + 1])
                owner = self.device.xp.full(hi - lo, u, np.uint32)
                weight = None if part.weight is None else part.weight[lo:hi]
                wanted = {edge: value for edge, value in self.edges.items() if edge[0] == u}
                self.compare(EdgeList(owner, part.dst[lo:hi], weight), wanted, f"adjacency() of {u}")

    def verify_updated(self) -> None:
        """Compare updated(), and what the updated-edges iterator of the cursor meets, if there is one."""
        assert self.store.has_mark == (self.at_mark is not None), f"has_mark is {self.store.has_mark}"
        self.compare_updated(self.store.updated(), "updated()")
        if self.walks and self.store.has_mark and has_updated_iterator((view := self.store.view()).cursor):
            self.compare_updated(walk_updated(view, len(self.edges)), "the walk of updated edges")

    def compare_updated(self, updated: EdgeList, what: str) -> None:
        """Compare inserted edges: one that was there at the mark and came back may be among them or not."""
        pairs = zip(self.device.to_numpy(updated.src).tolist(), self.device.to_numpy(updated.dst).tolist(), strict=True)
        optional = (self.at_mark or set()) & self.deleted_since_mark & set(pairs)
        wanted = {edge: w for edge, w in self.edges.items() if edge not in (self.at_mark or ()) or edge in optional}
        self.compare(updated, wanted, what)

    def verify_view(self, rng: np.random.Generator) -> None:
        """Walk the view of a CPU store through its cursor functions."""
        view = self.store.view()
        assert view.num_vertices == self.store.num_vertices
        assert view.weight_dtype == self.store.weight_dtype
        assert view.header.is_file(), f"{view.header} is missing"
        if not self.walks:
            return
        src, dst = self.sample(rng)
        absent = np.array([pair not in self.edges for pair in zip(src.tolist(), dst.tolist(), strict=True)], bool)
        edges, degrees = walk_view(view, len(self.edges), (src[absent], dst[absent]))
        self.compare(edges, self.edges, "the walk of the view")
        sources = np.array([u for u, _ in self.edges], np.int64)
        assert np.array_equal(degrees, np.bincount(sources, minlength=view.num_vertices)), "degree() of the cursor"

    def verify_copy(self, device: Device, rng: np.random.Generator) -> None:
        """Copy the store to ``device``; the copy is equal and independent."""
        copy = ModelledStore(self.store.copy_to(device), walks=self.walks and not device.is_cuda)
        assert copy.store.device == device
        assert copy.store.options() == self.store.options()
        copy.edges = dict(self.edges)
        copy.store.mark()
        copy.at_mark = set(copy.edges)
        copy.verify(rng)
        copy.delete_vertices(np.arange(copy.store.num_vertices, dtype=np.uint32))
        copy.verify(rng)

    def step(self, operation: str, size: int, spread: int, stride: int, seed: int) -> None:
        """Do one random operation of the given size, and verify."""
        rng, n = np.random.default_rng(seed), self.store.num_vertices
        src, dst = draw_ids(rng, size, n, spread, 1), draw_ids(rng, size, n, 1000, stride)
        dtype = self.store.weight_dtype
        if operation == "insert":
            self.insert(src, dst, None if dtype is None else draw_weights(rng, len(src), dtype))
        elif operation == "delete":
            there = np.array(list(self.edges), np.uint32).reshape(-1, 2)
            there = there[rng.random(len(there)) < rng.random()]
            src, dst = np.concatenate([src, there[:, 0]]), np.concatenate([dst, there[:, 1]])
            self.delete(src, dst)
        elif operation == "delete_vertices":
            self.delete_vertices(np.unique(src))
        elif operation == "resize":
            self.resize(n + size)
        elif operation == "mark":
            self.mark()
        elif operation == "reserve":
            self.store.reserve(size)
        elif operation == "compact":
            self.store.compact()
        elif operation == "copy":
            self.verify_copy(self.device, rng)
        self.verify(rng)


def positions(src: np.ndarray, dst: np.ndarray) -> dict[Edge, np.ndarray]:
    """Return where each edge of a batch occurs, ascending."""
    where: dict[Edge, list[int]] = {}
    for i, edge in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        where.setdefault(edge, []).append(i)
    return {edge: np.array(at) for edge, at in where.items()}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("insert", "delete", "delete_vertices", "resize", "mark", "reserve", "compact", "copy", "insert")
        ),
        st.sampled_from(SIZES),
        st.sampled_from(SPREADS),
        st.sampled_from(STRIDES),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=7,
)

TOUR = (  # every operation, most of them where they hurt: (operation, size, spread, stride, seed)
    ("delete", 7, 3, 1, 1),
    ("insert", 40, 3, 1, 2),
    ("insert", 300, 40, 1, 3),
    ("insert", 300, 40, 1, 4),
    ("copy", 0, 1, 1, 5),
    ("delete", 40, 40, 1, 6),
    ("mark", 0, 1, 1, 7),
    ("insert", 300, 40, 32, 8),
    ("compact", 0, 1, 1, 9),
    ("delete", 40, 40, 1, 10),
    ("insert", 40, 40, 1, 11),
    ("delete_vertices", 7, 40, 1, 12),
    ("resize", 300, 1, 1, 13),
    ("reserve", 300, 1, 1, 14),
    ("insert", 300, 1000, 1, 15),
    ("insert", 0, 1, 1, 16),
    ("delete_vertices", 300, 1000, 1, 17),
    ("compact", 0, 1, 1, 18),
    ("insert", 7, 3, 1, 19),
)


class StoreConformance:
    """The test of an engine; a subclass named ``Test...`` sets ``engine``.

    Attributes:
        engine: the class under test.
        options: engine options to construct it with.
        devices: device kinds to test; those of the engine by default. CUDA is skipped where there is none.
        weight_dtypes: weight dtypes to test (None: unweighted). Views are walked for the first two.
        memory_limited: whether the engine honours ``memory_limit``.
        examples: random operation sequences per dtype; the hypothesis profile says how many by default.
        cuda_marks: pytest marks for the CUDA variants.
    """

    engine: ClassVar[type[Store]]
    options: ClassVar[Mapping[str, Any]] = {}
    devices: ClassVar[Sequence[str] | None] = None
    weight_dtypes: ClassVar[Sequence[str | None]] = (None, "float32", "float64", "int32", "uint32")
    memory_limited: ClassVar[bool] = True
    examples: ClassVar[int | None] = None
    cuda_marks: ClassVar[Sequence[pytest.MarkDecorator]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise over devices and weight dtypes."""
        if "device_kind" in metafunc.fixturenames:
            kinds = self.engine.devices if self.devices is None else self.devices
            metafunc.parametrize("device_kind", device_params(kinds, self.cuda_marks))
        if "weight_dtype" in metafunc.fixturenames:
            metafunc.parametrize("weight_dtype", self.weight_dtypes, ids=str)

    def build(self, num_vertices: int, device_kind: str = "cpu", weight_dtype: str | None = None, **more: Any) -> Store:
        """Return an empty store of the engine under test."""
        dtype = None if weight_dtype is None else np.dtype(weight_dtype)
        device = resolve_device(device_kind)
        return self.engine(num_vertices, device=device, weight_dtype=dtype, **{**self.options, **more})

    def modelled(self, store: Store) -> ModelledStore:
        """Return ``store`` beside its model."""
        dtypes = [None if dtype is None else np.dtype(dtype) for dtype in self.weight_dtypes[:2]]
        return ModelledStore(store, walks=not store.device.is_cuda and store.weight_dtype in dtypes)

    def batch(self, store: Store, edges: Sequence[Edge], weights: Sequence[float]) -> tuple[Array, Array, Array | None]:
        """Return a batch on the device of ``store``; without weights if it has none."""
        xp = store.device.xp
        src, dst = xp.array([u for u, _ in edges], np.uint32), xp.array([v for _, v in edges], np.uint32)
        return src, dst, None if store.weight_dtype is None else xp.array(weights, store.weight_dtype)

    # -- the class -----------------------------------------------------------------------------------------------------

    def test_is_named(self) -> None:
        """The engine is a Store with a name, devices and a priority."""
        assert issubclass(self.engine, Store)
        assert isinstance(self.engine.name, str)
        assert self.engine.name
        assert set(self.engine.devices) <= {"cpu", "cuda"}
        assert self.engine.devices
        assert isinstance(self.engine.guarded, bool)
        assert isinstance(self.engine.priority, int)

    @pytest.mark.parametrize("operation", [*OPERATIONS, "options"])
    def test_signature(self, operation: str) -> None:
        """Every operation has the parameters of the protocol: names, kinds and defaults."""
        wanted = inspect.signature(getattr(Store, operation)).parameters.values()
        got = inspect.signature(getattr(self.engine, operation)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in got] == [(p.name, p.kind, p.default) for p in wanted]

    def test_constructor(self) -> None:
        """The constructor takes what the protocol passes; everything else is a keyword with a default."""
        protocol = inspect.signature(Store.__init__).parameters
        parameters = inspect.signature(self.engine.__init__).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            assert set(protocol) <= set(parameters)
        for p in parameters.values():
            if p.name not in protocol:
                assert p.kind is p.VAR_KEYWORD or (p.kind is p.KEYWORD_ONLY and p.default is not p.empty), p

    def test_capabilities(self) -> None:
        """capabilities() covers the protocol, and the required operations are native."""
        capabilities = self.engine.capabilities()
        assert set(capabilities) == set(OPERATIONS)
        assert set(capabilities.values()) <= {"native", "fallback"}
        assert all(capabilities[name] == "native" for name in ("insert", "delete", "edges"))

    # -- behaviour -----------------------------------------------------------------------------------------------------

    def test_every_operation(self, device_kind: str, weight_dtype: str | None) -> None:
        """A fixed tour through all operations leaves the store equal to a dictionary, in everything it can be asked."""
        model = self.modelled(self.build(40, device_kind, weight_dtype))
        for step in TOUR:
            model.step(*step)

    def test_random_operations(self, device_kind: str, weight_dtype: str | None) -> None:
        """So do random sequences of operations; a failure is reported with the shortest sequence that shows it."""
        count = settings().max_examples if self.examples is None else self.examples
        integral = weight_dtype is not None and np.dtype(weight_dtype).kind in "iu"

        def body(num_vertices: int, hinted: bool, steps: list[tuple[str, int, int, int, int]]) -> None:
            hints = np.arange(num_vertices, dtype=np.int64) % 50 if hinted else None
            model = self.modelled(self.build(num_vertices, device_kind, weight_dtype, degree_hints=hints))
            for step in steps:
                model.step(*step)

        vertices = st.sampled_from((0, 1, 2, 40, 1500))
        run_examples(
            body, max(1, count // 5) if integral else count, num_vertices=vertices, hinted=st.booleans(), steps=STEPS
        )

    def test_hub(self, device_kind: str) -> None:
        """One vertex takes thousands of edges, in growing batches, and gives them back."""
        model = self.modelled(self.build(5000, device_kind))
        rng = np.random.default_rng(1)
        every = rng.permutation(5000).astype(np.uint32)
        for lo, hi in ((0, 1), (1, 40), (40, 700), (700, 5000)):
            model.insert(np.full(hi - lo, 7, np.uint32), every[lo:hi], None)
            model.verify(rng)
        for lo, hi in ((0, 2600), (2600, 4990), (4990, 5000)):
            model.delete(np.full(hi - lo, 7, np.uint32), every[lo:hi])
            model.verify(rng)
        model.insert(np.full(3000, 7, np.uint32), every[:3000], None)
        model.verify(rng)

    def test_reuses_memory(self, device_kind: str) -> None:
        """Inserting and deleting the same edges over and over does not take more and more memory."""
        store = self.build(300, device_kind)
        rng = np.random.default_rng(2)
        src, dst = (store.device.xp.array(rng.integers(0, 300, 4000), np.uint32) for _ in range(2))
        allocated = []
        for _ in range(12):
            for change in (store.insert, store.delete):
                change(src, dst)
                store.device.synchronize()  # what an engine keeps in hand may depend on when its counters arrive
            store.compact()
            allocated.append(sum(size for _, size in store.memory().values()))
        assert store.num_edges == 0
        assert allocated[-1] <= max(allocated[:3])

    def test_memory_goes_with_the_store(self, device_kind: str) -> None:
        """A store that nobody holds is gone at once, with its memory, without a collection of garbage."""
        store = self.build(300, device_kind)
        src, dst = (store.device.xp.arange(300, dtype=np.uint32) for _ in range(2))
        collecting = gc.isenabled()
        gc.disable()
        try:
            for change in (store.insert, store.insert, store.delete):
                change(src, dst)
            store.compact()
            store.view()
            store.check()
            gone = weakref.ref(store)
            del store, change
            assert gone() is None, "a cycle of references keeps the store"
        finally:
            if collecting:
                gc.enable()

    def test_results_are_copies(self, device_kind: str, weight_dtype: str | None) -> None:
        """Writing to what edges() and adjacency() returned does not change the store."""
        store = self.build(6, device_kind, weight_dtype)
        store.insert(*self.batch(store, [(0, 1), (2, 3), (2, 4)], [1, 2, 3]))
        before = [None if part is None else store.device.to_numpy(part).copy() for part in store.edges()]
        for part in (*store.edges(), *store.adjacency(store.device.xp.array([2, 0], np.uint32))):
            if part is not None:
                part[:] = 0
        for part, wanted in zip(store.edges(), before, strict=True):
            assert (part is None) == (wanted is None)
            assert wanted is None or np.array_equal(store.device.to_numpy(part), wanted)
        store.check()

    def test_guard(self, device_kind: str, weight_dtype: str | None) -> None:
        """A guard that is not zero holds every change back."""
        if not self.engine.guarded:
            pytest.skip(f"{self.engine.name} takes no guard: the graph checks every batch before it")
        store = self.build(4, device_kind, weight_dtype)
        first = self.batch(store, [(0, 1), (1, 2)], [5, 6])
        store.insert(*first)
        before = [store.device.to_numpy(part).copy() for part in store.edges() if part is not None]
        xp = store.device.xp
        for value in (1, 2**32 - 1):
            guard = xp.array([value], np.uint32)
            more = self.batch(store, [(0, 1), (0, 3), (3, 3)], [9, 9, 9])
            assert not store.device.to_numpy(store.insert(*more, guard=guard).status).any()
            assert not store.device.to_numpy(store.delete(*first[:2], guard=guard).status).any()
            after = [store.device.to_numpy(part) for part in store.edges() if part is not None]
            assert all(np.array_equal(a, b) for a, b in zip(after, before, strict=True))
            store.check()
        zero = xp.zeros(1, np.uint32)
        assert store.device.to_numpy(store.insert(*self.batch(store, [(3, 3)], [1]), guard=zero).status).tolist() == [
            NEW
        ]
        assert store.device.to_numpy(store.delete(*first[:2], guard=zero).status).tolist() == [REMOVED, REMOVED]
        store.check()

    def test_memory_limit(self, device_kind: str, weight_dtype: str | None) -> None:
        """At the memory limit a batch fails as a whole: the store keeps what it had, and can go on."""
        if not self.memory_limited:
            pytest.skip(f"{self.engine.name} has no memory limit")
        n, rng = 2000, np.random.default_rng(3)
        empty = sum(size for _, size in self.build(n, device_kind, weight_dtype).memory().values())
        limit = empty + 50_000
        store = self.build(n, device_kind, weight_dtype, memory_limit=limit)
        size, before, failed = 1000, store.edges(), False
        while not failed and len(before.src) * 4 <= limit:  # an edge takes 4 bytes at least
            src, dst = (store.device.xp.array(rng.integers(0, n, size), np.uint32) for _ in range(2))
            weight = None if store.weight_dtype is None else store.device.xp.ones(size, store.weight_dtype)
            try:
                store.insert(src, dst, weight)
                before, size = store.edges(), size * 2
            except CapacityError:
                failed = True
        assert failed, f"{len(before.src)} edges went into {limit} bytes"
        after, device = store.edges(), store.device
        keys = [np.sort(device.to_numpy(edge_keys(part.src, part.dst))) for part in (before, after)]
        assert np.array_equal(keys[0], keys[1]), "a failed insert() changed the store"
        assert sum(allocated for _, allocated in store.memory().values()) <= limit
        store.check()
        with pytest.raises(CapacityError):
            store.reserve(2 * limit)
        store.delete(before.src, before.dst)
        store.compact()
        assert store.num_edges == 0
        store.insert(*self.batch(store, [(0, 1)], [1]))
        assert store.num_edges == 1
        store.check()

    def test_copy_to_other_device(self, weight_dtype: str | None) -> None:
        """A copy on another device holds the same edges, there and back."""
        if len(self.engine.devices) < 2 or cuda_device_count() == 0 or importlib.util.find_spec("cupy") is None:
            pytest.skip("needs an engine for both devices, a CUDA device and CuPy")
        rng = np.random.default_rng(4)
        model = self.modelled(self.build(40, "cpu", weight_dtype))
        model.step("insert", 300, 40, 1, 5)
        model.step("delete", 40, 40, 1, 6)
        there = self.modelled(model.store.copy_to(resolve_device("cuda")))
        there.edges = dict(model.edges)
        there.verify(rng)
        there.verify_copy(CPU, rng)


# -- algorithms --------------------------------------------------------------------------------------------------------


class Variant(NamedTuple):
    """How the graph of a test is built."""

    directed: bool = True
    in_edges: bool = False
    weight_dtype: str | None = None

    def __str__(self) -> str:
        parts = ["directed" if self.directed else "undirected", *(["in_edges"] if self.in_edges else [])]
        return "-".join([*parts, *([self.weight_dtype] if self.weight_dtype else [])])


VARIANTS = (
    Variant(),
    Variant(in_edges=True),
    Variant(directed=False),
    Variant(weight_dtype="float32"),
    Variant(directed=False, weight_dtype="float64"),
    Variant(in_edges=True, weight_dtype="int32"),
)

CHANGE_KINDS = ("insert", "delete", "mixed", "insert_vertices", "replace", "delete_vertices", "nothing")

CHANGES = st.lists(
    st.tuples(
        st.sampled_from([*CHANGE_KINDS, "insert", "delete"]), st.sampled_from((1, 3, 20)), st.integers(0, 2**32 - 1)
    ),
    min_size=1,
    max_size=5,
)


class AlgorithmConformance:
    """The test of an algorithm; a subclass named ``Test...`` sets ``algorithm`` and defines :meth:`oracle`.

    Attributes:
        algorithm: the class under test.
        params: parameter sets to test it with.
        engines: names or classes of the engines to test it on; all that are installed by default.
        devices: device kinds to test. CUDA is skipped where there is none.
        weights: the edge weights to draw from.
        num_vertices: number of vertices of the random graphs.
        rtol, atol: how close floats must be to the oracle; everything else must be equal.
        examples: random update sequences per engine and kind of graph; at most 10 by default.
        cuda_marks: pytest marks for the CUDA variants.
    """

    algorithm: ClassVar[type[Algorithm]]
    params: ClassVar[Sequence[Mapping[str, Any]]] = ({},)
    engines: ClassVar[Sequence[str | type[Store]] | None] = None
    devices: ClassVar[Sequence[str]] = ("cpu", "cuda")
    weights: ClassVar[Sequence[float]] = (1, 2, 3, 7)
    num_vertices: ClassVar[int] = 30
    rtol: ClassVar[float] = 1e-5
    atol: ClassVar[float] = 1e-8
    examples: ClassVar[int | None] = None
    cuda_marks: ClassVar[Sequence[pytest.MarkDecorator]] = ()

    def oracle(
        self, num_vertices: int, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, **params: Any
    ) -> Any:
        """Return the right result for these arcs (host arrays; undirected graphs: both directions).

        It has the form of ``algorithm.result``: an array, or a tuple of arrays.
        """
        raise NotImplementedError("define oracle(), or verify() where there is more than one right result")

    def verify(
        self, result: Any, num_vertices: int, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, **params: Any
    ) -> None:
        """Raise ``AssertionError`` if ``result`` (host arrays) is wrong; the default compares it with the oracle."""
        wanted = self.oracle(num_vertices, src, dst, weight, **params)
        pairs = zip(result, wanted, strict=True) if isinstance(result, tuple) else [(result, wanted)]
        for got, right in pairs:
            tolerance = {"rtol": self.rtol, "atol": self.atol} if np.asarray(got).dtype.kind == "f" else {"rtol": 0}
            np.testing.assert_allclose(got, right, **tolerance)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise over engines, devices, kinds of graphs and parameter sets."""
        if "engine" in metafunc.fixturenames:
            metafunc.parametrize("engine", self.engine_classes(), ids=lambda cls: cls.name)
        if "device_kind" in metafunc.fixturenames:
            metafunc.parametrize("device_kind", device_params(self.devices, self.cuda_marks))
        if "variant" in metafunc.fixturenames:
            metafunc.parametrize("variant", [v for v in VARIANTS if self.lacks(v) is None], ids=str)
        if "refused" in metafunc.fixturenames:
            metafunc.parametrize("refused", [v for v in VARIANTS if self.lacks(v) is not None], ids=str)
        if "params" in metafunc.fixturenames:
            metafunc.parametrize("params", self.params, ids=lambda params: str(dict(params)))

    def engine_classes(self) -> list[type[Store]]:
        """Return the engines to test on."""
        installed = engines()
        return [installed[which] if isinstance(which, str) else which for which in self.engines or installed]

    def lacks(self, variant: Variant) -> str | None:
        """Return what graphs of this kind lack for the algorithm, or None."""
        directed, in_edges, weight_dtype = variant
        facts = SimpleNamespace(directed=directed, has_in_edges=in_edges or not directed, weight_dtype=weight_dtype)
        return self.algorithm.requires.missing(cast("Graph", facts))

    def build(self, engine: type[Store], device_kind: str, variant: Variant) -> Graph:
        """Return a graph without edges; skips the test if the engine does not run on the device."""
        from suricate.graph import Graph

        if device_kind not in engine.devices:
            pytest.skip(f"{engine.name} does not run on {device_kind}")
        return Graph(self.num_vertices, backend=engine, device=device_kind, **variant._asdict())

    def draw(self, graph: Graph, rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        """Return ``count`` random edges to insert, ``(src, dst)`` or ``(src, dst, weight)``."""
        edges = tuple(rng.integers(0, graph.num_vertices, count) for _ in range(2))
        if graph.weight_dtype is None:
            return edges
        return (*edges, rng.choice(np.array(self.weights), count).astype(graph.weight_dtype))

    def some(self, graph: Graph, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return up to ``count`` random edges of the graph, ``(src, dst)``."""
        src, dst, _ = self.arcs(graph)
        at = rng.integers(0, len(src), count if len(src) else 0)
        return src[at], dst[at]

    def arcs(self, graph: Graph) -> EdgeList:
        """Return the arcs of the graph in host arrays."""
        parts = graph.store("out").edges()
        return EdgeList(*(None if part is None else graph.device.to_numpy(part) for part in parts))

    def change(self, graph: Graph, kind: str, count: int, seed: int) -> None:
        """Change the graph in one call."""
        from suricate.batch import Batch

        rng = np.random.default_rng(seed)
        if kind == "insert_vertices":
            graph.insert_vertices(count)
            return
        if kind == "delete_vertices":
            graph.delete_vertices(np.unique(rng.integers(0, graph.num_vertices, min(count, 3))))
            return
        insert = self.draw(graph, rng, count) if kind in ("insert", "mixed") else None
        if kind == "replace":
            src, dst = self.some(graph, rng, count)
            insert = (src, dst, *self.draw(graph, rng, len(src))[2:])
        delete = self.some(graph, rng, count) if kind in ("delete", "mixed") else None
        graph.apply(Batch(insert=insert, delete=delete))

    def judge(self, result: Any, graph: Graph, params: Mapping[str, Any]) -> None:
        """Verify a result against the arcs of ``graph``."""
        xp = graph.device.xp
        parts = result if isinstance(result, tuple) else (result,)
        for part in parts:
            assert not hasattr(part, "dtype") or isinstance(part, (xp.ndarray, np.generic)), "result on another device"
        host = [graph.device.to_numpy(part) if isinstance(part, xp.ndarray) else part for part in parts]
        form = getattr(type(result), "_make", tuple)  # a NamedTuple stays one
        self.verify(
            form(host) if isinstance(result, tuple) else host[0], graph.num_vertices, *self.arcs(graph), **params
        )

    # -- tests ---------------------------------------------------------------------------------------------------------

    def test_is_named(self) -> None:
        """The algorithm is an Algorithm with a name and a docstring, and every parameter has a keyword."""
        assert issubclass(self.algorithm, Algorithm)
        assert isinstance(self.algorithm.name, str)
        assert self.algorithm.name
        assert self.algorithm.__doc__
        for p in list(inspect.signature(self.algorithm).parameters.values()):
            assert p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY), f"{p} cannot be given as a keyword"

    def test_requirements(self, refused: Variant) -> None:
        """A graph that lacks what the algorithm needs is refused, in words that say how to build one."""
        able = [cls for cls in self.engine_classes() if "cpu" in cls.devices]
        if not able:
            pytest.skip("no engine runs on the CPU")
        with pytest.raises(RequirementError, match="build"):
            self.build(able[0], "cpu", refused).track(self.algorithm, **self.params[0])

    def test_compute(self, engine: type[Store], device_kind: str, variant: Variant, params: Mapping[str, Any]) -> None:
        """From scratch: a graph without edges, a sparse one, a dense one; the graph is left alone."""
        for count in (0, self.num_vertices, self.num_vertices**2):
            graph = self.build(engine, device_kind, variant)
            graph.insert_edges(*self.draw(graph, np.random.default_rng(count), count))
            self.algorithm.demand(graph)
            version, instance = graph.version, self.algorithm(**params)
            instance.compute(graph)
            self.judge(instance.result, graph, params)
            assert graph.version == version, "compute() changed the graph"

    def test_every_change(
        self, engine: type[Store], device_kind: str, variant: Variant, params: Mapping[str, Any]
    ) -> None:
        """After changes of every kind a tracker gives what the oracle gives."""
        graph = self.build(engine, device_kind, variant)
        tracker = graph.track(self.algorithm, **params)
        for seed, kind in enumerate(CHANGE_KINDS * 2):
            self.change(graph, kind, 20, seed)
            self.judge(tracker.result, graph, params)

    def test_update(self, engine: type[Store], device_kind: str, variant: Variant, params: Mapping[str, Any]) -> None:
        """So after random sequences of them; a failure is reported with the shortest sequence that shows it."""
        count = min(10, settings().max_examples) if self.examples is None else self.examples
        self.build(engine, device_kind, variant)  # skips here, not inside an example

        def body(density: int, changes: list[tuple[str, int, int]]) -> None:
            graph = self.build(engine, device_kind, variant)
            graph.insert_edges(*self.draw(graph, np.random.default_rng(density), density * self.num_vertices))
            tracker = graph.track(self.algorithm, **params)
            for step in changes:
                self.change(graph, *step)
                self.judge(tracker.result, graph, params)
            self.judge(graph.compute(self.algorithm, **params), graph, params)

        run_examples(body, count, density=st.integers(0, 4), changes=CHANGES)
