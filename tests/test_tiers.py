"""The rules by which tests are chosen (``tests/support/tiers.py``)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import tiers

BACKENDS = (tiers.DEFAULT, *tiers.TURNS)


def item(nodeid: str, *marks: str, **params: Any) -> pytest.Item:
    """What the rules look at of a test."""
    name = f"{nodeid}[{'-'.join(map(str, params.values()))}]" if params else nodeid
    found = {mark: SimpleNamespace(name=mark) for mark in marks}
    callspec = SimpleNamespace(params=params)
    return cast("pytest.Item", SimpleNamespace(nodeid=name, callspec=callspec, get_closest_marker=found.get))


def on_backends(nodeid: str, *marks: str, kinds: int = 3) -> list[pytest.Item]:
    return [item(nodeid, *marks, backend=name, kind=kind) for name in BACKENDS for kind in range(kinds)]


def chosen(items: list[pytest.Item], named: str = "tests", **options: Any) -> list[pytest.Item]:
    """What pytest would run."""
    deselected: list[pytest.Item] = []
    option = SimpleNamespace(**{"tier": "quick", "share_of": None, "compiled_part": False} | options)
    hook = SimpleNamespace(pytest_deselected=lambda items: deselected.extend(items))
    kept = [*items]
    tiers.select(cast("pytest.Config", SimpleNamespace(option=option, hook=hook, args=[named])), kept)
    assert len(kept) + len(deselected) == len(items)
    return kept


SUITE = [
    *(one for number in range(40) for one in on_backends(f"tests/core/test_{number}.py::test_it")),
    *on_backends("tests/algorithms/test_a.py::TestA::test_one"),
    *on_backends("tests/algorithms/test_a.py::TestA::test_other"),
    item("tests/algorithms/test_a.py::test_large", "compiled"),
    item("tests/test_b.py::test_emulated", "slow"),
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
    assert len(chosen(on_backends("tests/test_c.py::test_it", "every_backend"))) == 15


def test_on_cuda_a_kit_of_algorithms_runs_with_few_sets_of_parameters() -> None:
    group = [
        item("tests/algorithms/test_a.py::TestA::test_one", "gpu", backend=name, variant=kind, params=params)
        for name in BACKENDS
        for kind in ("directed", "undirected", "weighted")
        for params in ({}, {"k": 2})
    ]
    quick = [one.callspec.params for one in chosen(group)]  # type: ignore[attr-defined]
    default = [each for each in quick if each["backend"] == tiers.DEFAULT]
    assert [each["variant"] for each in default if not each["params"]] == ["directed", "undirected", "weighted"]
    assert len([each for each in default if each["params"]]) == 1
    assert [each["params"] for each in quick if each not in default] == [{}]


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
    assert sorted(together) == sorted(rest)


def test_plain_and_compiled_parts_make_the_quick_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, compiled = chosen(SUITE), chosen(SUITE, compiled_part=True)
    monkeypatch.setattr(tiers, "PLAIN", True)
    plain = chosen(SUITE)
    assert {*map(id, plain)} | {*map(id, compiled)} == {*map(id, quick)}
    twice = [one for one in plain if any(one is other for other in compiled)]
    assert [tiers.backend_of(one) for one in twice] == [tiers.DEFAULT] * 2
    assert len({one.callspec.params["kind"] for one in twice}) == 1  # type: ignore[attr-defined]
    assert not any(one.get_closest_marker("compiled") for one in plain)


def test_a_test_that_is_named_runs() -> None:
    slow = [item("tests/test_b.py::test_emulated", "slow")]
    assert chosen(slow, named="tests/test_b.py") == []
    assert chosen(slow, named="tests/test_b.py::test_emulated") == slow
