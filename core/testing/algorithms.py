"""The conformance kit of algorithms: computed and updated results against an oracle."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings

from suricate.base.errors import RequirementError, UnknownNameError, VertexRangeError
from suricate.edgefn import bounds
from suricate.plugins import backends
from suricate.plugins.algorithm import Algorithm
from suricate.store import Store
from suricate.testing import changes
from suricate.testing.changes import CHANGE_KINDS, Changer, Script, change_lists
from suricate.testing.draws import demand_class, device_params, garbled, named_vertices, run_examples

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.tracker import Tracker

Params = Mapping[str, Any]

NO_LIVE = "changes that delete vertices were left out: give the oracle, verify() or reference() a parameter `live`"
NAN = float("nan")
WRONG_VALUES: dict[type, tuple[Any, ...]] = {  #: of parameters, by the type of their default
    int: (1.5, "1", True, None, NAN, [1]),
    float: ("1", True, None, NAN, [0.5]),
    bool: ("no", 2, None),
    str: (5, "no such value", None),
}


class Variant(NamedTuple):
    """A kind of graph: how the graph of a test is built, as keyword arguments of ``Graph``."""

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

OTHER_WEIGHTS = (  #: kinds with the other weight dtypes: tried on one backend, after changes of every kind
    Variant(directed=False, weight_dtype="float32"),
    Variant(directed=False, weight_dtype="int32"),
    Variant(directed=False, weight_dtype="uint32"),
    Variant(in_edges=True, weight_dtype="float64"),
    Variant(in_edges=True, weight_dtype="uint32"),
)


def _checking_indices(test: Callable[..., None]) -> Callable[..., None]:
    """Wrap ``test`` so that array indices of edge functions are checked: one out of range raises an exception."""

    @wraps(test)
    def checked(*args: Any, **options: Any) -> None:
        with bounds.checking():
            test(*args, **options)

    return checked


class AlgorithmConformance:
    """The test of an algorithm; a subclass named ``Test...`` sets ``algorithm`` and defines :meth:`oracle`.

    Without :meth:`oracle` or :meth:`verify`, results are compared with the ``reference()`` of the algorithm, if it has
    one. In tests that add vertices, indices of the algorithm's functions are checked as with ``SURICATE_CHECKS=1``, so
    that an array that does not grow raises ``VertexRangeError``.

    Attributes:
        algorithm: the class under test.
        params: parameter sets to test it with.
        methods: by name, values of parameters that choose how a result is computed, and must not change it.
        backends: names or classes of the backends to test it on; all that are installed by default.
        devices: device kinds to test. CUDA is skipped where there is none.
        weights: the edge weights to draw from.
        reads_weights: False if the algorithm ignores weights: then one weight type is tested, not three.
        num_vertices: number of vertices of the random graphs.
        rtol, atol: how close floats must be to the oracle; everything else must be equal.
        examples: random update sequences per backend and kind of graph; at most 10 by default.
        cuda_marks: pytest marks for the CUDA variants.
    """

    algorithm: ClassVar[type[Algorithm]]
    params: ClassVar[Sequence[Params]] = ({},)
    methods: ClassVar[Mapping[str, Sequence[Any]]] = MappingProxyType({})
    backends: ClassVar[Sequence[str | type[Store]] | None] = None
    devices: ClassVar[Sequence[str]] = ("cpu", "cuda")
    weights: ClassVar[Sequence[float]] = (1, 2, 3, 7)
    reads_weights: ClassVar[bool] = True
    num_vertices: ClassVar[int] = 30
    rtol: ClassVar[float] = 1e-5
    atol: ClassVar[float] = 1e-8
    examples: ClassVar[int | None] = None
    cuda_marks: ClassVar[Sequence[pytest.MarkDecorator]] = ()

    def oracle(
        self, num_vertices: int, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, **params: Any
    ) -> Any:
        """Return the right result for the arcs ``src``, ``dst``, ``weight`` (host arrays; undirected: both directions).

        It has the form of ``algorithm.result``: an array, or a tuple of arrays. An oracle with a parameter ``live``
        also gets ``bool[num_vertices]``, which vertices are live; without it, no test deletes vertices.
        """
        raise NotImplementedError("define oracle(), or verify() where there is more than one right result")

    def verify(
        self, result: Any, num_vertices: int, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, **params: Any
    ) -> None:
        """Raise ``AssertionError`` if ``result``, host arrays, is wrong: by default, if :meth:`oracle` disagrees."""
        self.agree(result, self.oracle(num_vertices, src, dst, weight, **params))

    def agree(self, result: Any, wanted: Any) -> None:
        """Raise ``AssertionError`` if two results, host arrays, differ by more than ``rtol`` and ``atol`` allow."""
        pairs = zip(result, wanted, strict=True) if isinstance(result, tuple) else [(result, wanted)]
        for got, right in pairs:
            tolerance = {"rtol": self.rtol, "atol": self.atol} if np.asarray(got).dtype.kind == "f" else {"rtol": 0}
            np.testing.assert_allclose(got, right, **tolerance)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise over backends, devices, kinds of graphs and parameter sets."""
        demand_class(self, "algorithm")
        if "backend" in metafunc.fixturenames:
            metafunc.parametrize(
                ("backend", "variant"), self.pairs(), ids=lambda each: getattr(each, "name", None) or str(each)
            )
        elif "variant" in metafunc.fixturenames:
            metafunc.parametrize("variant", self.variants(), ids=str)
        if "device_kind" in metafunc.fixturenames:
            metafunc.parametrize("device_kind", device_params(self.devices, self.cuda_marks))
        if "weighted" in metafunc.fixturenames:
            others = [kind for kind in OTHER_WEIGHTS if self.lacks(kind) is None]
            metafunc.parametrize("weighted", others if self.reads_weights else others[:1], ids=str)
        if "refused" in metafunc.fixturenames:
            metafunc.parametrize("refused", [v for v in VARIANTS if self.lacks(v) is not None], ids=str)
        if "params" in metafunc.fixturenames:
            metafunc.parametrize("params", self.params, ids=lambda params: str(dict(params)))

    def backend_classes(self) -> list[type[Store]]:
        """Return the classes of the backends to test on."""
        installed = backends()
        return [installed[which] if isinstance(which, str) else which for which in self.backends or installed]

    def pairs(self) -> list[tuple[type[Store], Variant]]:
        """Return ``(backend, kind of graph)`` for each combination to test.

        The backend of highest priority gets all kinds; each other one gets two, by turns, since kinds matter to the
        algorithm more than to the backend.
        """
        kinds, pairs = self.variants(), []
        for number, backend in enumerate(sorted(self.backend_classes(), key=lambda cls: -cls.priority)):
            some = [kinds[(2 * number + k) % len(kinds)] for k in range(min(2, len(kinds)))] if number else kinds
            pairs += [(backend, kind) for kind in some]
        return pairs

    def variants(self) -> list[Variant]:
        """Return the kinds of graphs that the algorithm takes; if it ignores weights, only one with weights."""
        able = [variant for variant in VARIANTS if self.lacks(variant) is None]
        if self.reads_weights:
            return able
        weighted = [variant for variant in able if variant.weight_dtype is not None]
        return [variant for variant in able if variant.weight_dtype is None or variant == weighted[-1]]

    def lacks(self, variant: Variant) -> str | None:
        """Return what graphs of kind ``variant`` lack for the algorithm, as text; None if they lack nothing."""
        directed, in_edges, weight_dtype = variant
        facts = SimpleNamespace(directed=directed, has_in_edges=in_edges or not directed, weight_dtype=weight_dtype)
        return self.algorithm.requires.missing(cast("Graph", facts))

    def build(self, backend: type[Store], device_kind: str, variant: Variant) -> Graph:
        """Return a graph of kind ``variant`` without edges; skip the test if ``backend`` does not run on the device."""
        from suricate.graph import Graph

        if device_kind not in backend.devices:
            pytest.skip(f"{backend.name} does not run on {device_kind}")
        options: dict[str, Any] = {"device": device_kind, **variant._asdict()}
        return Graph(self.num_vertices, backend=backend, **options)

    def changer(self, graph: Graph, seed: int) -> Changer:
        """Return a :class:`Changer` that makes random changes of ``graph``, the same ones for the same seed."""
        return Changer(graph, self.weights, seed)

    def brings_oracle(self) -> bool:
        """Return whether the subclass defines :meth:`oracle` or :meth:`verify`."""
        base, kit = AlgorithmConformance, type(self)
        return kit.oracle is not base.oracle or kit.verify is not base.verify

    def takes_live(self) -> bool:
        """Return whether the ``verify``, ``oracle`` or ``reference()`` that judges results has a parameter ``live``."""
        base, kit = AlgorithmConformance, type(self)
        source: Any = kit.verify if kit.verify is not base.verify else kit.oracle
        if not self.brings_oracle():
            source = self.algorithm.reference
        return "live" in inspect.signature(source).parameters

    def kinds_of_changes(self) -> tuple[str, ...]:
        """Return the kinds of changes to test; deletions of vertices only if :meth:`takes_live`."""
        return tuple(kind for kind in CHANGE_KINDS if self.takes_live() or kind not in ("delete_vertices", "recycle"))

    def judge(self, result: Any, graph: Graph, params: Params) -> None:
        """Verify ``result``, of the algorithm with ``params``, against the arcs of ``graph``."""
        answer = on_host(result, graph)
        arcs = self.changer(graph, 0).arcs()
        known = {**params, "live": graph.device.to_numpy(graph.live)} if self.takes_live() else params
        if self.brings_oracle() or not self.algorithm.has_reference():
            self.verify(answer, graph.num_vertices, *arcs, **known)
            return
        right = self.algorithm.reference(*arcs, graph.num_vertices, graph.directed, **known)
        wrong = self.algorithm.mismatch(answer, right, **params)
        assert wrong is None, wrong

    def judge_tracker(self, tracker: Tracker, graph: Graph, params: Params) -> None:
        """Verify the result of a tracker; reading it must raise if the algorithm refuses the graph."""
        if self.has_no_result(graph, params):
            for read in (lambda: tracker.result, lambda: tracker.at([0])):
                with pytest.raises(VertexRangeError):
                    read()
        else:
            some = self.entries_of(tracker, graph)
            self.judge(tracker.result, graph, params)
            for got, part in zip(some, as_parts(on_host(tracker.result, graph)), strict=True) if some else ():
                right = part[::3] if np.ndim(part) else part
                assert np.array_equal(got, right), f"at() gives {got} instead of {right}"

    def entries_of(self, tracker: Tracker, graph: Graph) -> tuple[Any, ...]:
        """Return ``tracker.at()`` for every third vertex, a tuple of host arrays; () if ``at`` is not overridden."""
        if self.algorithm.at is Algorithm.at or not graph.num_vertices:
            return ()
        return as_parts(on_host(tracker.at(np.arange(graph.num_vertices)[::3]), graph))

    def has_no_result(self, graph: Graph, params: Params) -> bool:
        """Return whether ``compute`` refuses the graph, as one of ``params`` names a deleted vertex."""
        defaults = {name: each.default for name, each in inspect.signature(self.algorithm).parameters.items()}
        named = named_vertices({**defaults, **params}.values())
        if named.isdisjoint(graph.deleted_vertices.tolist()):
            return False
        try:
            graph.compute(self.algorithm, **params)
        except VertexRangeError:
            return True
        return False

    def refuses(self, graph: Graph, **params: Any) -> bool:
        """Return whether tracking with the first parameter set of the kit, changed by ``params``, raises an error."""
        try:
            graph.track(self.algorithm, **{**self.params[0], **params})
        except (TypeError, ValueError, UnknownNameError):
            return True
        return False

    def overwrite(self, result: Any, graph: Graph) -> None:
        """Write other values in place to the arrays of ``result``, on the device of ``graph``, unless read-only."""
        for part in result if isinstance(result, tuple) else (result,):
            if isinstance(part, graph.device.xp.ndarray):
                with suppress(ValueError):  # read-only
                    part[...] = part[::-1] + part.dtype.type(1)

    def follow(self, script: Script, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """Track the algorithm on a random graph through a script of changes; verify its result after each."""
        graph = self.build(backend, device_kind, variant)
        changer = self.changer(graph, 50)
        graph.insert_edges(*changer.draw(3 * self.num_vertices))
        tracker = graph.track(self.algorithm, **params)
        for _ in script(changer):
            self.judge_tracker(tracker, graph, params)

    def a_graph(self) -> Graph:
        """Return a graph on the CPU, without edges, of a kind that the algorithm takes; skip the test if none is."""
        kinds = self.variants()
        if not kinds:
            pytest.skip("no kind of graph has what the algorithm needs")
        return self.build(self.on_cpu(), "cpu", kinds[0])

    def on_cpu(self) -> type[Store]:
        """Return the backend of highest priority that runs on the CPU; skip the test if none does."""
        able = [cls for cls in self.backend_classes() if "cpu" in cls.devices]
        if not able:
            pytest.skip("no backend runs on the CPU")
        return max(able, key=lambda cls: cls.priority)

    # -- the class -----------------------------------------------------------------------------------------------------

    def test_is_named(self) -> None:
        """The algorithm is an Algorithm with a name and a docstring, and every parameter can be given by keyword."""
        assert issubclass(self.algorithm, Algorithm)
        assert isinstance(self.algorithm.name, str)
        assert self.algorithm.name, "it has no name"
        assert self.algorithm.__doc__, "it has no docstring"
        for p in list(inspect.signature(self.algorithm).parameters.values()):
            assert p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY), f"{p} cannot be given as a keyword"

    def test_requirements(self, refused: Variant) -> None:
        """A graph that lacks what the algorithm needs raises an error that says how to build the graph."""
        with pytest.raises(RequirementError, match="build"):
            self.build(self.on_cpu(), "cpu", refused).track(self.algorithm, **self.params[0])

    def test_parameters(self) -> None:
        """Values of another type than the default's are refused: no 1.5 for 1, no text for a number, no NaN.

        None is refused unless the annotation names it.
        """
        graph = self.a_graph()
        for name, parameter in inspect.signature(self.algorithm).parameters.items():
            takes_none = "None" in str(parameter.annotation)
            kind = next((kind for kind in type(parameter.default).__mro__ if kind in WRONG_VALUES), object)
            for value in WRONG_VALUES.get(kind, ()):
                if value is None and takes_none:
                    continue
                assert self.refuses(graph, **{name: value}), f"{name}={value!r} was accepted"
        assert self.refuses(graph, no_such_parameter=1), "an unknown parameter was accepted"

    def test_reference(self, variant: Variant, params: Params) -> None:
        """The result of the algorithm's ``reference()`` agrees with the oracle of the kit."""
        if not self.algorithm.has_reference() or not self.brings_oracle():
            pytest.skip("there are no two answers to compare")
        graph = self.build(self.on_cpu(), "cpu", variant)
        for count in (0, self.num_vertices, 6 * self.num_vertices):
            graph.insert_edges(*self.changer(graph, count).draw(count))
            arcs = self.changer(graph, 0).arcs()
            answer = self.algorithm.reference(*arcs, graph.num_vertices, graph.directed, **params)
            known = {**params, "live": np.ones(graph.num_vertices, bool)} if self.takes_live() else params
            self.verify(answer, graph.num_vertices, *arcs, **known)

    def test_mismatch(self, variant: Variant, params: Params) -> None:
        """``mismatch()`` finds no difference between result and ``reference()``, and finds one for random results."""
        if not self.algorithm.has_reference():
            pytest.skip("there is no reference() to compare with")
        graph = self.build(self.on_cpu(), "cpu", variant)
        graph.insert_edges(*self.changer(graph, 3).draw(3 * self.num_vertices))
        answer = on_host(graph.compute(self.algorithm, **params), graph)
        arcs = self.changer(graph, 0).arcs()
        takes_live = "live" in inspect.signature(self.algorithm.reference).parameters
        known = {**params, "live": np.ones(graph.num_vertices, bool)} if takes_live else params
        right = self.algorithm.reference(*arcs, graph.num_vertices, graph.directed, **known)
        wrong = self.algorithm.mismatch(answer, right, **params)
        assert wrong is None, f"mismatch() does not accept the result: {wrong}"
        rng = np.random.default_rng(4)
        complaints = [self.algorithm.mismatch(garbled(answer, rng), right, **params) for _ in range(3)]
        assert all(isinstance(complaint, str) for complaint in complaints), "mismatch() accepts random results"

    # -- results -------------------------------------------------------------------------------------------------------

    @pytest.fixture(autouse=True)
    def _no_batch_recomputed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make trackers repair after every batch: on graphs as small as these they would mostly recompute."""
        monkeypatch.setattr(self.algorithm, "should_recompute", lambda algorithm, graph, *edges, **times: False)

    def test_compute(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """Results from scratch are right on empty, sparse and dense graphs, and computing does not change a graph."""
        for count in (0, self.num_vertices, self.num_vertices**2):
            graph = self.build(backend, device_kind, variant)
            graph.insert_edges(*self.changer(graph, count).draw(count))
            self.algorithm.demand(graph)
            version, instance = graph.version, self.algorithm(**params)
            instance.compute(graph)
            self.judge(instance.result, graph, params)
            assert graph.version == version, "compute() changed the graph"

    def test_results_belong_to_the_caller(
        self, backend: type[Store], device_kind: str, variant: Variant, params: Params
    ) -> None:
        """Writing to a result, of the algorithm or its tracker, changes neither later reads nor later updates."""
        graph = self.build(backend, device_kind, variant)
        changer = self.changer(graph, 51)
        graph.insert_edges(*changer.draw(3 * self.num_vertices))
        instance = self.algorithm(**params)
        instance.compute(graph)
        self.overwrite(instance.result, graph)
        self.judge(instance.result, graph, params)
        tracker = graph.track(self.algorithm, **params)
        for _ in range(2):
            self.overwrite(tracker.result, graph)
            self.judge(tracker.result, graph, params)
            changer.change("mixed", 20)
            self.judge(tracker.result, graph, params)

    @_checking_indices
    def test_other_weights(self, device_kind: str, weighted: Variant, params: Params) -> None:
        """A tracker is right after changes of every kind, on one backend, with weight dtypes that other tests lack."""
        backend = max(self.backend_classes(), key=lambda cls: cls.priority)
        graph = self.build(backend, device_kind, weighted)
        tracker = graph.track(self.algorithm, **params)
        for seed, kind in enumerate(self.kinds_of_changes()):
            self.changer(graph, seed).change(kind, 20)
            self.judge_tracker(tracker, graph, params)

    def test_methods(self, device_kind: str) -> None:
        """Parameters in ``methods`` change no result, neither from scratch nor after changes of every kind."""
        backend = max(self.backend_classes(), key=lambda cls: cls.priority)
        chosen = [{name: value} for name, values in self.methods.items() for value in values]
        if not chosen:
            pytest.skip("the kit names no parameters in `methods`")
        for variant in self.variants():
            graph = self.build(backend, device_kind, variant)
            trackers = [graph.track(self.algorithm, **{**self.params[0], **params}) for params in ({}, *chosen)]
            for seed, kind in enumerate(("insert", *self.kinds_of_changes())):
                self.changer(graph, seed).change(kind, 2 * self.num_vertices)
                if not self.has_no_result(graph, self.params[0]):
                    first, *others = [on_host(tracker.result, graph) for tracker in trackers]
                    for result in others:
                        self.agree(result, first)

    @_checking_indices
    def test_every_change(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """After changes of every kind a tracker gives what the oracle gives."""
        graph = self.build(backend, device_kind, variant)
        tracker = graph.track(self.algorithm, **params)
        for seed, kind in enumerate(self.kinds_of_changes() * 2):
            self.changer(graph, seed).change(kind, 20)
            self.judge_tracker(tracker, graph, params)
        if not self.takes_live():
            pytest.skip(NO_LIVE)

    def test_self_loops(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """A tracker gives the right result after self-loops of all vertices were inserted and deleted."""
        self.follow(changes.self_loops, backend, device_kind, variant, params)

    @_checking_indices
    def test_deleted_vertices(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """A tracker is right after vertices, also those that ``params`` name, were deleted, revived and recycled."""
        if not self.takes_live():
            pytest.skip(NO_LIVE)
        given = [value for value in params.values() if isinstance(value, (int, list, tuple))]
        named = [value for value in sorted(named_vertices(given)) if 0 < value < self.num_vertices]
        chosen = list(dict.fromkeys([*named, 0, self.num_vertices // 2]))
        script = partial(changes.deleted_vertices, chosen=chosen)
        self.follow(script, backend, device_kind, variant, params)

    def test_mixed_batches(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """A tracker gives the right result after batches that delete and insert, also the same edges."""
        self.follow(changes.mixed_batches, backend, device_kind, variant, params)

    def test_replaced_weights(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """A tracker gives the right result after weights of stored edges were replaced."""
        if variant.weight_dtype is None:
            pytest.skip("no weights")
        self.follow(changes.replaced_weights, backend, device_kind, variant, params)

    @_checking_indices
    def test_update(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """A tracker is right after random sequences of changes; a failure names the shortest sequence that shows it."""
        count = min(10, settings().max_examples) if self.examples is None else self.examples
        self.build(backend, device_kind, variant)  # skips here, not inside an example

        def body(density: int, steps: list[tuple[str, int, int]]) -> None:
            graph = self.build(backend, device_kind, variant)
            graph.insert_edges(*self.changer(graph, density).draw(density * self.num_vertices))
            tracker = graph.track(self.algorithm, **params)
            for kind, size, seed in steps:
                self.changer(graph, seed).change(kind, size)
                self.judge_tracker(tracker, graph, params)
            if not self.has_no_result(graph, params):
                self.judge(graph.compute(self.algorithm, **params), graph, params)

        run_examples(body, count, density=st.integers(0, 4), steps=change_lists(self.kinds_of_changes()))
        if not self.takes_live():
            pytest.skip(NO_LIVE)


class OwnKernelsConformance(AlgorithmConformance):
    """The kit of an algorithm with a parameter ``kernels``: kernels of its own (True), or operators only (False).

    Besides the tests of :class:`AlgorithmConformance` it tracks the algorithm in both ways through scripts, functions
    that change a graph step by step.
    """

    def scripts(self, variant: Variant) -> list[Script]:
        """Return the scripts of changes to run on graphs of kind ``variant``."""
        scripts: list[Script] = [self.every_change, changes.self_loops, changes.mixed_batches]
        if self.takes_live():
            scripts.append(partial(changes.deleted_vertices, chosen=[0, self.num_vertices // 2]))
        return scripts if variant.weight_dtype is None else [*scripts, changes.replaced_weights]

    def every_change(self, changer: Changer) -> Iterator[None]:
        """Make a change of every kind, of about 20 edges or vertices; yield after each."""
        for kind in self.kinds_of_changes():
            changer.change(kind, 20)
            yield

    def test_parameter(self) -> None:
        """``kernels`` is True by default."""
        assert self.algorithm().kernels is True  # type: ignore[attr-defined]
        assert self.algorithm(kernels=False).kernels is False  # type: ignore[call-arg,attr-defined]

    def test_by_operators(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """After each change the trackers with and without kernels have the same result, which is right."""
        for script in self.scripts(variant):
            graph = self.build(backend, device_kind, variant)
            changer = self.changer(graph, 50)
            graph.insert_edges(*changer.draw(3 * self.num_vertices))
            without = {**params, "kernels": False}
            by_operators, by_kernels = graph.track(self.algorithm, **without), graph.track(self.algorithm, **params)
            for _ in script(changer):
                self.judge_tracker(by_operators, graph, params)
                self.compare(by_operators.result, by_kernels.result, graph)
            computed = graph.compute(self.algorithm, **without)
            self.compare(computed, graph.compute(self.algorithm, **params), graph)

    def compare(self, by_operators: Any, by_kernels: Any, graph: Graph) -> None:
        """Assert that results on ``graph``, ``by_operators`` and ``by_kernels``, are equal, floats within rounding."""
        pairs = zip(as_parts(on_host(by_operators, graph)), as_parts(on_host(by_kernels, graph)), strict=True)
        for one, other in pairs:
            if one is None and other is None:
                continue
            np.testing.assert_allclose(one, other, rtol=1e-12)
            assert np.asarray(one).dtype == np.asarray(other).dtype


def as_parts(result: Any) -> tuple[Any, ...]:
    """Return the arrays of a result as a tuple: ``result`` if it is a tuple, else ``(result,)``."""
    return result if isinstance(result, tuple) else (result,)


def on_host(result: Any, graph: Graph) -> Any:
    """Return a result with NumPy arrays in place of its arrays; fail if one is not on the device of ``graph``."""
    xp = graph.device.xp
    parts = as_parts(result)
    for part in parts:
        assert not hasattr(part, "dtype") or isinstance(part, (xp.ndarray, np.generic)), "result on another device"
    host = [graph.device.to_numpy(part) if isinstance(part, xp.ndarray) else part for part in parts]
    form = getattr(type(result), "_make", tuple)  # a NamedTuple stays one
    return form(host) if isinstance(result, tuple) else host[0]
