"""The rules by which tests are chosen (``tests/support/tiers.py``)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tiers
from turns import few

from suricate.testing.algorithms import VARIANTS

BACKENDS = (tiers.DEFAULT, *tiers.TURNS)


def item(nodeid: str, *marks: str | pytest.Mark, **params: Any) -> pytest.Item:
    """What the rules look at of a test."""
    name = f"{nodeid}[{'-'.join(map(str, params.values()))}]" if params else nodeid
    found = {getattr(mark, "name", mark): mark for mark in marks}
    callspec = SimpleNamespace(params=params)
    return cast("pytest.Item", SimpleNamespace(nodeid=name, callspec=callspec, get_closest_marker=found.get))


def params_of(item: pytest.Item) -> dict[str, Any]:
    return cast("dict[str, Any]", item.callspec.params)  # type: ignore[attr-defined]


def on_backends(nodeid: str, *marks: str, kinds: int = 3) -> list[pytest.Item]:
    return [item(nodeid, *marks, backend=name, kind=kind) for name in BACKENDS for kind in range(kinds)]


def chosen(items: list[pytest.Item], named: str = "tests", **options: Any) -> list[pytest.Item]:
    """What pytest would run."""
    deselected: list[pytest.Item] = []
    option = SimpleNamespace(**{"tier": "quick", "share_of": None, "compiled_part": False} | options)
    hook = SimpleNamespace(pytest_deselected=lambda items: deselected.extend(items))
    kept = [*items]
    tiers.select(cast("pytest.Config", SimpleNamespace(option=option, hook=hook, args=[named], stash={})), kept)
    assert len(kept) + len(deselected) == len(items)
    return kept


LARGE = item("tests/algorithms/test_a.py::test_large", "compiled")
PLAIN = item("tests/test_b.py::test_ranks", "plain")
SUITE = [
    *(one for number in range(40) for one in on_backends(f"tests/core/test_{number}.py::test_it")),
    *on_backends("tests/core/operators/test_a.py::TestA::test_one"),
    *on_backends("tests/core/operators/test_a.py::TestA::test_other"),
    *on_backends("tests/algorithms/test_a.py::test_one"),
    LARGE,
    item("tests/test_b.py::test_emulated", "slow"),
    PLAIN,
    item("tests/test_b.py::test_for_minutes", "soak"),
]


@pytest.fixture(autouse=True)
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "PLAIN", False)


def test_the_quick_tier_has_the_default_backend_and_one_other_by_turns() -> None:
    turns = set()
    for number in range(40):
        group = on_backends(f"tests/core/test_{number}.py::test_it")
        quick = chosen(group)
        backends = {cast("str", tiers.backend_of(one)) for one in quick}
        assert len(quick) == 6
        assert tiers.DEFAULT in backends
        turns |= backends - {tiers.DEFAULT}
    assert turns == set(tiers.TURNS)
    everywhere = [item("tests/test_c.py::test_it", every_backend=name, kind=kind) for name in BACKENDS for kind in "ab"]
    assert chosen(everywhere) == everywhere
    assert len(chosen(on_backends("tests/test_c.py::test_it", "compiled"))) == 3


def of_kit(function: str, *marks: str) -> list[pytest.Item]:
    """A test of the kit of algorithms."""
    return [
        item(f"tests/algorithms/test_a.py::TestA::{function}", *marks, backend=name, variant=kind, params=params)
        for name in BACKENDS
        for kind in VARIANTS
        for params in ({}, {"k": 2}, {"k": 3})
    ]


def split(quick: list[pytest.Item]) -> tuple[list[Any], list[Any], list[Any]]:
    """Kinds on the default backend with the first parameters; other parameters there; what is on other backends."""
    every = [params_of(one) for one in quick]
    default = [each for each in every if each["backend"] == tiers.DEFAULT]
    first, others = ([each for each in default if bool(each["params"]) is other] for other in (False, True))
    others.sort(key=lambda each: each["params"]["k"])
    return [each["variant"] for each in first], others, [each for each in every if each not in default]


def test_a_kit_of_algorithms_runs_in_every_kind_on_the_default_backend_and_in_one_otherwise() -> None:
    kinds, others, elsewhere = split(chosen(of_kit("test_update")))
    assert kinds == list(VARIANTS)
    assert [each["params"] for each in others] == [{"k": 2}, {"k": 3}]
    assert len(elsewhere) == 1


def test_what_shows_less_of_a_kit_of_algorithms_runs_in_a_directed_and_an_undirected_kind() -> None:
    kinds, others, elsewhere = split(tiers.quick_parts(of_kit("test_compute"))[0])
    assert sorted(kind.directed for kind in kinds) == [False, True]
    assert (others, elsewhere) == ([], [])


def test_tests_of_a_kit_share_what_is_compiled() -> None:
    names = ("test_compute", "test_update", "test_mismatch", "test_every_change")
    runs = [chosen(of_kit(name), compiled_part=True) for name in names]
    assert [len(each) for each in runs] == [1] * 4
    (kind,) = {params_of(each[0])["variant"] for each in runs}
    assert kind.weight_dtype is None
    assert chosen(of_kit("test_by_operators"), compiled_part=True) == []


@pytest.mark.parametrize("compiled", [False, True])
def test_indices_are_checked_but_where_a_kit_is_compiled_once_more(compiled: bool) -> None:
    params = {"variant": VARIANTS[0], "params": {}}
    elsewhere = item("tests/core/kernels/test_a.py::TestA::test_update", **params)
    for one, is_checked in ((of_kit("test_update")[0], not compiled), (elsewhere, True)):
        one.config = cast("pytest.Config", SimpleNamespace(option=SimpleNamespace(compiled_part=compiled)))
        assert tiers.checks_indices(one) is is_checked


def test_on_cuda_a_kit_of_algorithms_has_weights_of_one_type() -> None:
    kinds, others, elsewhere = split(chosen(of_kit("test_compute", "gpu")))
    assert kinds[:3] == list(VARIANTS[:3])
    assert len(kinds) == 4
    assert (others, elsewhere) == ([], [])
    kinds, others, elsewhere = split(chosen(of_kit("test_update", "gpu")))
    assert len(kinds) == 4
    assert [each["params"] for each in others] == [{"k": 2}, {"k": 3}]
    assert len(elsewhere) == 1
    kinds, others, elsewhere = split(chosen(of_kit("test_by_operators", "gpu")))
    assert kinds == list(VARIANTS[:3])


def test_on_cuda_a_test_runs_once_on_another_backend() -> None:
    quick = [params_of(one) for one in chosen(on_backends("tests/test_c.py::test_it", "gpu"))]
    assert [each["kind"] for each in quick if each["backend"] == tiers.DEFAULT] == [0, 1, 2]
    assert len(quick) == 4


def test_on_cuda_weights_are_of_one_type() -> None:
    dtypes = (None, "float32", "float64", "int32")
    group = [item("tests/test_c.py::test_it", "gpu", weight_dtype=each, size=k) for each in dtypes for k in (1, 2)]
    quick = [params_of(one) for one in chosen(group)]
    assert [each["size"] for each in quick if each["weight_dtype"] is None] == [1, 2]
    assert [each["size"] for each in quick if each["weight_dtype"] is not None] == [1, 2]


def test_heavy_tests_of_the_kit_of_backends_have_weights_of_one_type_on_the_cpu_too() -> None:
    dtypes = (None, "float32", "float64", "int32")
    for name, count in (("test_large_batches", 2), ("test_every_operation", 4)):
        quick = [
            params_of(one) for one in chosen([item(f"tests/a.py::T::{name}", weight_dtype=each) for each in dtypes])
        ]
        assert len(quick) == count
        assert quick[0]["weight_dtype"] is None
    limits = [
        item("tests/a.py::T::test_operations_at_the_limit", weight_dtype=each, operation=operation)
        for operation in "abcdefgh"
        for each in dtypes
    ]
    quick = [params_of(one) for one in chosen(limits)]
    assert [each["operation"] for each in quick] == [*"abcdefgh"]
    assert len({each["weight_dtype"] for each in quick}) > 1


def test_on_cuda_a_long_test_of_the_kit_of_backends_runs_once_per_file() -> None:
    nodes = [f"tests/test_{file}.py::Test{kind}::test_one_edge_at_a_time" for file in "ab" for kind in "cd"]
    group = [item(node, "gpu", weight_dtype=each) for node in nodes for each in (None, "float32")]
    assert sorted(one.nodeid.partition("::")[0] for one in chosen(group)) == ["tests/test_a.py", "tests/test_b.py"]
    assert len(chosen([item(node, weight_dtype=None) for node in nodes])) == 4
    assert chosen([item("tests/core/testing/test_a.py::TestC::test_one_edge_at_a_time", "gpu")]) == []


def test_of_a_few_parameters_all_but_the_first_are_slow() -> None:
    def quick(values: list[Any]) -> list[tuple[Any, ...]]:
        return [each.values for each in values if not each.marks]

    found = few([("a", 0), ("a", 1), ("b", 2), pytest.param("b", 3, marks=pytest.mark.gpu)], lambda name, _: name)
    assert quick(found) == [("a", 0), ("b", 2)]
    assert [each.values for each in found] == [("a", 0), ("a", 1), ("b", 2), ("b", 3)]
    assert [[mark.name for mark in each.marks] for each in found] == [[], ["slow"], [], ["gpu", "slow"]]
    assert quick(few([{}, {"k": 1}])) == [({},)]


def test_backends_are_named_or_given_as_classes_and_others_are_left_alone() -> None:
    classes = [item("tests/test_c.py::test_it", backend=SimpleNamespace(name=name)) for name in (*BACKENDS, "mine")]
    assert len(chosen(classes)) == 3
    mine = [item("tests/test_c.py::test_it", backend=name) for name in ("mine", "yours", "theirs")]
    assert chosen(mine) == mine


def test_all_is_everything_but_soaks() -> None:
    assert chosen(SUITE, tier="all") == SUITE[:-1]
    assert chosen(SUITE, tier="soak") == SUITE[-1:]


def test_shares_cover_what_the_quick_tier_leaves_out_without_overlap() -> None:
    commits = [f"{number:040x}" for number in range(200)]
    shares = {tuple(map(id, chosen(SUITE, share_of=commit))) for commit in commits}
    assert 1 < len(shares) <= tiers.SHARES
    together = [each for share in shares for each in share]
    rest = set(map(id, SUITE[:-1])) - set(map(id, chosen(SUITE)))
    assert sorted(together) == sorted({*rest, id(PLAIN)}), "compiled, it is left out"


def test_shares_have_few_of_the_tests_that_take_minutes() -> None:
    ways = [f"{backend}-{way}" for backend in BACKENDS for way in range(5)]
    cells = [item(f"tests/test_c.py::{name}[{way}]", "slow") for name in tiers.APART for way in ways]
    shares = [chosen(cells, share_of=f"{number:040x}") for number in range(200)]
    assert max(map(len, shares)) <= 3


def test_plain_and_compiled_parts_make_the_quick_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, compiled = chosen(SUITE), chosen(SUITE, compiled_part=True)
    monkeypatch.setattr(tiers, "PLAIN", True)
    plain = chosen(SUITE)
    assert {*map(id, plain)} | {*map(id, compiled)} == {*map(id, quick)}
    assert not any(one.get_closest_marker("compiled") for one in plain)
    small = [one for one in compiled if "core/operators/" in one.nodeid]
    assert [tiers.backend_of(one) for one in small] == [tiers.DEFAULT] * 2, "each of the two tests once more"
    assert [one for one in compiled if "algorithms/" in one.nodeid] == [LARGE], "of algorithms, the kit only"
    assert len({params_of(one)["kind"] for one in small}) == 1, "on graphs of the same kind"


def test_in_plain_python_a_set_of_parameters_is_on_one_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "PLAIN", True)
    plain = chosen(on_backends("tests/algorithms/test_a.py::test_one"))
    assert sorted(params_of(one)["kind"] for one in plain) == [0, 1, 2]
    assert len({tiers.backend_of(one) for one in plain}) == 2
    assert len(chosen(of_kit("test_update"))) == 9, "a kit is thinned out otherwise"


def test_plain_tests_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    group = [item("tests/test_c.py::test_it", "plain", kind=kind) for kind in "abc"]
    assert chosen(group, compiled_part=True) == []
    assert chosen(group) == group
    assert chosen(group, tier="all") == group
    monkeypatch.setattr(tiers, "PLAIN", True)
    assert chosen(group) == group


def test_files_without_plain_tests_are_not_read_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[1]

    def left_out(name: str, **options: Any) -> bool:
        option = SimpleNamespace(**{"tier": "quick", "share_of": None, "markexpr": ""} | options)
        return tiers.is_left_out(cast("pytest.Config", SimpleNamespace(option=option, rootpath=root)), root / name)

    files = {
        "tests/core/cpu/test_plain.py": False, "tests/algorithms/test_bfs.py": False, "tests/core/cpu": False,
        "tests/core/cpu/test_cores.py": True, "tests/core/operators/test_operator_cores.py": True,
    }  # fmt: skip
    assert not any(map(left_out, files))
    on_cuda = "tests/core/parallel/test_parallel_cuda.py"
    assert [left_out(on_cuda, markexpr=expression) for expression in ("", "gpu", "not gpu")] == [False, False, True]
    monkeypatch.setattr(tiers, "PLAIN", True)
    assert {name: left_out(name) for name in files} == files
    assert not any(left_out(name, tier="all") or left_out(name, share_of="1") for name in files)


def test_what_a_mark_leaves_out_is_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(markexpr: str, calls: list[str], *marks: str) -> list[str]:
        found = [SimpleNamespace(id=call, marks=[SimpleNamespace(name="gpu")] * ("cuda" in call)) for call in calls]
        config = SimpleNamespace(option=SimpleNamespace(markexpr=markexpr, tier="all"))
        metafunc = SimpleNamespace(config=config, definition=item("test_it", *marks), _calls=found)
        tiers.prune(cast("pytest.Metafunc", metafunc))
        return [call.id for call in metafunc._calls]

    both = ["cpu-1", "cuda-1", "cpu-2", "cuda-2"]
    assert kept("not gpu", both) == ["cpu-1", "cpu-2"]
    assert kept("gpu", both) == ["cuda-1", "cuda-2"]
    assert kept("", both) == kept("gpu or slow", both) == both
    assert kept("gpu", both[::2], "gpu") == both[::2], "the mark is that of the function"
    assert kept("not gpu", both[1::2]) == ["cuda-1"], "an empty list would be a test without parameters"
    assert kept("not gpu", []) == []


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("part", [False, True])
def test_what_is_left_out_is_not_collected(monkeypatch: pytest.MonkeyPatch, plain: bool, part: bool) -> None:
    """Whether parameters are dropped before pytest makes tests of them or not, the same tests run."""
    monkeypatch.setattr(tiers, "PLAIN", plain)
    option = SimpleNamespace(markexpr="", tier="quick", share_of=None, compiled_part=part)
    config = SimpleNamespace(option=option, args=["tests"], stash={}, hook=SimpleNamespace(pytest_deselected=dict))
    suite = [*SUITE, *of_kit("test_update"), *of_kit("test_compute")]
    functions: dict[str, list[pytest.Item]] = {}
    for one in suite:
        functions.setdefault(one.nodeid.partition("[")[0], []).append(one)
    left = []
    for name, items in functions.items():
        calls: list[Any] = [
            SimpleNamespace(id=one.nodeid[len(name) + 1 : -1], params=params_of(one), marks=[], item=one)
            for one in items
            if params_of(one)
        ]
        marks = [
            SimpleNamespace(name=each) for each in ("slow", "soak", "compiled") if items[0].get_closest_marker(each)
        ]
        definition = SimpleNamespace(nodeid=name, iter_markers=lambda marks=marks: iter(marks))
        definition.get_closest_marker = items[0].get_closest_marker
        metafunc = SimpleNamespace(config=config, definition=definition, _calls=[*calls])
        tiers.prune(cast("pytest.Metafunc", metafunc))
        assert bool(metafunc._calls) == bool(calls)
        left += [call.item for call in metafunc._calls] or items
    assert len(left) < len(suite) // 2
    tiers.select(cast("pytest.Config", config), left)
    assert left == chosen(suite, compiled_part=part)


@pytest.mark.parametrize("number", [0, 5, 23, 40])
def test_parts_of_workers_begin_with_what_takes_long(number: int) -> None:
    items = [item(f"tests/test_a.py::test_{each}") for each in range(number)]
    long = [item(f"tests/test_b.py::{name}") for name in tiers.FIRST[:4]]
    for workers in (1, 2, 3, 16):
        ordered = tiers.long_first(items + long, workers)
        assert sorted(map(id, ordered)) == sorted(map(id, items + long))
        parts = [len(ordered) * worker // workers for worker in range(workers + 1)]
        counts = [sum(one in long for one in ordered[begin:end]) for begin, end in pairwise(parts)]
        if number >= 23:
            assert max(counts) <= -(-len(long) // workers)
            heads = [ordered[begin : begin + count] for begin, count in zip(parts[:-1], counts, strict=True)]
            assert all(one in long for head in heads for one in head)


def test_a_test_that_is_named_runs() -> None:
    slow = [item("tests/test_b.py::test_emulated", "slow")]
    assert chosen(slow, named="tests/test_b.py") == []
    assert chosen(slow, named="tests/test_b.py::test_emulated") == slow
