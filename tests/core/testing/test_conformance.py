"""The conformance kits are strict: backends and algorithms with one fault each are caught, sound ones pass."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import Phase, settings
from sound_backend import SoundStore
from suricate_tutorial import TutorialStore
from wrong_algorithms import SOUND, WRONG_ALGORITHMS, InDegree
from wrong_settings import WRONG_BACKENDS

from suricate import plugins
from suricate.base.types import StoreView
from suricate.errors import CapacityError, UnknownNameError
from suricate.plugins.algorithm import Algorithm
from suricate.store import Store
from suricate.testing import VARIANTS, AlgorithmConformance, StoreConformance, Variant, memory
from suricate.testing.algorithms import OTHER_WEIGHTS
from suricate.testing.model import ModelledStore

PROFILE = os.environ.get("SURICATE_TEST_PROFILE", "ci")  # as in conftest.py
CRASHES = (CapacityError, IndexError, TypeError, ValueError)  # it broke before anything was compared
FAILURES = (AssertionError, pytest.fail.Exception, RuntimeError, *CRASHES)


def cases(wrong: Mapping[type, tuple[str, ...]]) -> list[Any]:
    """One parameter per wrong class and test that must catch it."""
    return [pytest.param(cls, test, id=f"{cls.__name__}-{test}") for cls, tests in wrong.items() for test in tests]


@pytest.fixture
def no_shrinking() -> Iterator[None]:
    """Failures are expected here: nobody needs the shortest example."""
    settings.register_profile("no_shrinking", parent=settings.get_profile(PROFILE), phases=[Phase.generate])
    settings.load_profile("no_shrinking")
    yield
    settings.load_profile(PROFILE)


# -- backends ----------------------------------------------------------------------------------------------------------


def run_store_test(backend: type[Store], test: str) -> None:
    """Run a test of the kit on the CPU, on the first weight dtype."""
    kit = type("Kit", (StoreConformance,), {"backend": backend, "weight_dtypes": ("float32",)})()
    function = getattr(kit, test)
    names = inspect.signature(function).parameters
    for operation in memory.OPERATIONS if test == "test_operations_at_the_limit" else ("insert",):
        known = {"device_kind": "cpu", "weight_dtype": "float32", "operation": operation}
        function(**{name: known[name] for name in names})


class TestSoundStore(StoreConformance):
    """What the wrong backends are made of has no fault."""

    backend = SoundStore


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize(("backend", "test"), cases(WRONG_BACKENDS))
def test_wrong_backend_is_caught(backend: type[Store], test: str) -> None:
    with pytest.raises(FAILURES):
        run_store_test(backend, test)


class OddView(TutorialStore):
    """Its view has another array of destinations for each ``form``."""

    form = staticmethod(np.copy)

    def view(self) -> StoreView:
        view = super().view()
        return replace(view, data=view.data._replace(dst=self.form(view.data.dst)))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (lambda dst: dst.repeat(2)[::2], "dst of the view is not contiguous"),
        (lambda dst: dst.astype(np.int64), "those of an earlier one"),
    ],
)
def test_views_are_of_contiguous_arrays_of_the_same_types(form: Any, message: str) -> None:
    modelled = ModelledStore(OddView(9))
    modelled.insert(np.arange(3, dtype=np.uint32), np.arange(3, dtype=np.uint32), None)
    modelled.verify_view(np.random.default_rng(0))
    modelled.store.form = form
    with pytest.raises(AssertionError, match=message):
        modelled.verify_view(np.random.default_rng(0))


# -- algorithms --------------------------------------------------------------------------------------------------------


def algorithm_kit(algorithm: type[Algorithm]) -> AlgorithmConformance:
    """A kit whose oracle is the reference of the sound algorithm that ``algorithm`` is made of."""
    sound = next(cls for cls in SOUND if issubclass(algorithm, cls))

    class Kit(AlgorithmConformance):
        backends = (TutorialStore,)

        def oracle(self, num_vertices: int, src: Any, dst: Any, weight: Any, live: Any = None, **params: Any) -> Any:
            return sound.reference(src, dst, weight, num_vertices, True, live=live, **params)

    Kit.algorithm, Kit.methods = algorithm, getattr(algorithm, "methods", {})
    return Kit()


def run_algorithm_test(algorithm: type[Algorithm], test: str) -> None:
    """Run a test of the kit on the CPU, on every kind of graph that it is for."""
    kit = algorithm_kit(algorithm)
    function = getattr(kit, test)
    names = list(inspect.signature(function).parameters)
    refused = "refused" in names
    kinds = OTHER_WEIGHTS if "weighted" in names else VARIANTS
    for variant in [variant for variant in kinds if (kit.lacks(variant) is not None) == refused]:
        known: dict[str, Any] = dict.fromkeys(("variant", "refused", "weighted"), variant)
        known |= {"backend": TutorialStore, "device_kind": "cpu", "params": {}}
        function(**{name: known[name] for name in names})


class OnTutorialStore(AlgorithmConformance):
    backends = (TutorialStore,)
    devices = ("cpu",)


class TestInDegree(OnTutorialStore):
    algorithm = SOUND[0]


class TestInStrength(OnTutorialStore):
    algorithm = SOUND[1]


class TestLevels(OnTutorialStore):
    algorithm = SOUND[2]
    params = ({}, {"source": 7})


class TestLiveShare(OnTutorialStore):
    algorithm = SOUND[3]


def test_without_the_mask_what_deletes_vertices_is_left_out_and_shown() -> None:
    def reference(cls: Any, src: Any, dst: Any, weight: Any, num_vertices: int, directed: bool, **params: Any) -> Any:
        return SOUND[3].reference(src, dst, weight, num_vertices, directed, live=np.ones(num_vertices, bool))

    blind = type("Blind", (SOUND[3],), {"reference": classmethod(reference), "__doc__": "Text."})
    kit = type("Kit", (OnTutorialStore,), {"algorithm": blind})()
    for test in (kit.test_every_change, kit.test_deleted_vertices, kit.test_update):
        with pytest.raises(pytest.skip.Exception, match=r"give the oracle, .* a parameter `live`"):
            test(TutorialStore, "cpu", VARIANTS[0], {})
    kit.test_mixed_batches(TutorialStore, "cpu", VARIANTS[0], {})


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize(("algorithm", "test"), cases(WRONG_ALGORITHMS))
def test_wrong_algorithm_is_caught(algorithm: type[Algorithm], test: str) -> None:
    with pytest.raises(FAILURES):
        run_algorithm_test(algorithm, test)


def test_the_kit_knows_the_requirements() -> None:
    kit = algorithm_kit(InDegree)
    assert [variant for variant in VARIANTS if kit.lacks(variant) is None] == [
        variant for variant in VARIANTS if variant.weight_dtype is None
    ]


def test_where_weights_are_not_read_one_type_of_them_will_do() -> None:
    kit = type("Kit", (OnTutorialStore,), {"algorithm": plugins.algorithm("bfs"), "reads_weights": False})()
    assert [str(variant) for variant in kit.variants()] == [
        "directed", "directed-in_edges", "undirected", "directed-in_edges-int32",
    ]  # fmt: skip


def test_one_backend_is_tested_on_all_kinds_of_graphs_and_the_others_on_two() -> None:
    kit = type("Kit", (AlgorithmConformance,), {"algorithm": plugins.algorithm("bfs")})()
    tested: dict[str, list[Variant]] = {}
    for backend, variant in kit.pairs():
        tested.setdefault(backend.name, []).append(variant)
    default, *others = sorted(plugins.backends().values(), key=lambda cls: -cls.priority)
    assert tested.pop(default.name) == list(VARIANTS)
    assert [len(set(kinds)) for kinds in tested.values()] == [2] * len(others)


@pytest.mark.parametrize(("kit", "attribute"), [(StoreConformance, "backend"), (AlgorithmConformance, "algorithm")])
def test_a_class_that_does_not_say_what_it_tests_is_an_error(kit: type, attribute: str) -> None:
    forgotten = type("TestMine", (kit,), {})()
    with pytest.raises(pytest.UsageError, match=f"TestMine does not say what it tests: set {attribute} ="):
        forgotten.pytest_generate_tests(SimpleNamespace(fixturenames=[]))


class OneSide(InDegree):
    """The number of arcs into each vertex; another choice is refused by the error for unknown names."""

    def __init__(self, side: str = "in") -> None:
        if side != "in":
            raise UnknownNameError(f"there is no side {side!r}")


def test_a_choice_may_be_refused_as_an_unknown_name() -> None:
    algorithm_kit(OneSide).test_parameters()


def test_methods_that_agree_pass() -> None:
    class Two(OnTutorialStore):
        algorithm = plugins.algorithm("kcore")
        methods: ClassVar = {"kernels": (True, False)}

    Two().test_methods("cpu")


def test_an_algorithm_without_any_oracle_is_an_error() -> None:
    silent = type("Silent", (InDegree,), {"reference": Algorithm.reference, "__doc__": "Text."})
    kit = type("Kit", (OnTutorialStore,), {"algorithm": silent})()
    with pytest.raises(NotImplementedError, match="oracle"):
        kit.test_compute(TutorialStore, "cpu", VARIANTS[0], {})


# -- both --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "least"), [(WRONG_BACKENDS, 30), (WRONG_ALGORITHMS, 10)], ids=["stores", "algos"])
def test_every_fault_has_its_own_evidence(wrong: Mapping[type, tuple[str, ...]], least: int) -> None:
    """No two faults show in one and the same test only: two tests catch it, or one that is no other's only one."""
    assert len(wrong) >= least
    assert all(1 <= len(set(tests)) == len(tests) <= 2 for tests in wrong.values())
    alone = [tests[0] for tests in wrong.values() if len(tests) == 1]
    assert len(alone) == len(set(alone)), sorted(alone)


def test_every_built_in_backend_is_put_through_the_kit() -> None:
    """Some test module subclasses StoreConformance and names the backend."""
    kits = [
        text
        for text in (file.read_text() for file in Path(__file__).parents[2].rglob("test_*.py"))
        if re.search(r"^class Test\w+\((\w+, *)*StoreConformance\b", text, re.MULTILINE)
    ]
    built_in = {plugin.name for plugin in plugins.installed() if plugin.source == "suricate"}
    for name in built_in & set(plugins.backends()):
        assert any(name in text for text in kits), f"no conformance test for {name}"
