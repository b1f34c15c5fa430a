"""The conformance kit of algorithms: computed and updated results against an oracle."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings

from suricate.algorithm import Algorithm
from suricate.errors import RequirementError
from suricate.plugins import backends
from suricate.store import Store
from suricate.testing.draws import device_params, run_examples
from suricate.types import EdgeList

if TYPE_CHECKING:
    from suricate.graph import Graph


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
        backends: names or classes of the backends to test it on; all that are installed by default.
        devices: device kinds to test. CUDA is skipped where there is none.
        weights: the edge weights to draw from.
        num_vertices: number of vertices of the random graphs.
        rtol, atol: how close floats must be to the oracle; everything else must be equal.
        examples: random update sequences per backend and kind of graph; at most 10 by default.
        cuda_marks: pytest marks for the CUDA variants.
    """

    algorithm: ClassVar[type[Algorithm]]
    params: ClassVar[Sequence[Mapping[str, Any]]] = ({},)
    backends: ClassVar[Sequence[str | type[Store]] | None] = None
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
        """Parametrise over backends, devices, kinds of graphs and parameter sets."""
        if "backend" in metafunc.fixturenames:
            metafunc.parametrize("backend", self.backend_classes(), ids=lambda cls: cls.name)
        if "device_kind" in metafunc.fixturenames:
            metafunc.parametrize("device_kind", device_params(self.devices, self.cuda_marks))
        if "variant" in metafunc.fixturenames:
            metafunc.parametrize("variant", [v for v in VARIANTS if self.lacks(v) is None], ids=str)
        if "refused" in metafunc.fixturenames:
            metafunc.parametrize("refused", [v for v in VARIANTS if self.lacks(v) is not None], ids=str)
        if "params" in metafunc.fixturenames:
            metafunc.parametrize("params", self.params, ids=lambda params: str(dict(params)))

    def backend_classes(self) -> list[type[Store]]:
        """Return the backends to test on."""
        installed = backends()
        return [installed[which] if isinstance(which, str) else which for which in self.backends or installed]

    def lacks(self, variant: Variant) -> str | None:
        """Return what graphs of this kind lack for the algorithm, or None."""
        directed, in_edges, weight_dtype = variant
        facts = SimpleNamespace(directed=directed, has_in_edges=in_edges or not directed, weight_dtype=weight_dtype)
        return self.algorithm.requires.missing(cast("Graph", facts))

    def build(self, backend: type[Store], device_kind: str, variant: Variant) -> Graph:
        """Return a graph without edges; skips the test if the backend does not run on the device."""
        from suricate.graph import Graph

        if device_kind not in backend.devices:
            pytest.skip(f"{backend.name} does not run on {device_kind}")
        return Graph(self.num_vertices, backend=backend, device=device_kind, **variant._asdict())

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
        from suricate.delta import Batch

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
        able = [cls for cls in self.backend_classes() if "cpu" in cls.devices]
        if not able:
            pytest.skip("no backend runs on the CPU")
        with pytest.raises(RequirementError, match="build"):
            self.build(able[0], "cpu", refused).track(self.algorithm, **self.params[0])

    def test_compute(self, backend: type[Store], device_kind: str, variant: Variant, params: Mapping[str, Any]) -> None:
        """From scratch: a graph without edges, a sparse one, a dense one; the graph is left alone."""
        for count in (0, self.num_vertices, self.num_vertices**2):
            graph = self.build(backend, device_kind, variant)
            graph.insert_edges(*self.draw(graph, np.random.default_rng(count), count))
            self.algorithm.demand(graph)
            version, instance = graph.version, self.algorithm(**params)
            instance.compute(graph)
            self.judge(instance.result, graph, params)
            assert graph.version == version, "compute() changed the graph"

    def test_every_change(
        self, backend: type[Store], device_kind: str, variant: Variant, params: Mapping[str, Any]
    ) -> None:
        """After changes of every kind a tracker gives what the oracle gives."""
        graph = self.build(backend, device_kind, variant)
        tracker = graph.track(self.algorithm, **params)
        for seed, kind in enumerate(CHANGE_KINDS * 2):
            self.change(graph, kind, 20, seed)
            self.judge(tracker.result, graph, params)

    def test_update(self, backend: type[Store], device_kind: str, variant: Variant, params: Mapping[str, Any]) -> None:
        """So after random sequences of them; a failure is reported with the shortest sequence that shows it."""
        count = min(10, settings().max_examples) if self.examples is None else self.examples
        self.build(backend, device_kind, variant)  # skips here, not inside an example

        def body(density: int, changes: list[tuple[str, int, int]]) -> None:
            graph = self.build(backend, device_kind, variant)
            graph.insert_edges(*self.draw(graph, np.random.default_rng(density), density * self.num_vertices))
            tracker = graph.track(self.algorithm, **params)
            for step in changes:
                self.change(graph, *step)
                self.judge(tracker.result, graph, params)
            self.judge(graph.compute(self.algorithm, **params), graph, params)

        run_examples(body, count, density=st.integers(0, 4), changes=CHANGES)
