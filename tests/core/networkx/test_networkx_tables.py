"""Results as dictionaries that are decoded when they are read: each use of a dictionary does what a plain one does."""

from __future__ import annotations

import copy
import json
import marshal
import pickle
from collections import ChainMap, Counter, OrderedDict, defaultdict
from collections.abc import Callable
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suricate.networkx.table import Decoded, Rows, Table, Values, table

NODES = ["c", "a", (1, 2), None, "b", 7]
NUMBERS = {node: at for at, node in enumerate(NODES)}
VALUES = np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])


def lazy(vertices: list[int] | None = None) -> dict[Any, Any]:
    """A table that nobody has read, of some vertices or all."""
    chosen = np.arange(6) if vertices is None else np.array(vertices, np.int64)
    held = None if vertices is None else np.isin(np.arange(6), chosen)
    return table(Rows(NODES, NUMBERS, Values(VALUES), chosen, held))


def plain() -> dict[Any, Any]:
    return dict(zip(NODES, VALUES.tolist(), strict=True))


def merged(found: dict) -> dict:
    found |= {"new": 1}
    return found


def matched(found: dict) -> Any:
    match found:
        case {"a": value, **rest}:
            return value, rest
    return None


USES: list[Callable[[Any], Any]] = [
    dict, list, lambda d: sorted(d.items(), key=str), len, bool, repr, str,
    lambda d: d["a"], lambda d: d.get("x", 3), lambda d: d.get("b"), lambda d: "a" in d, lambda d: "x" in d,
    lambda d: d == plain(), lambda d: plain() == d, lambda d: d != plain(), lambda d: plain() != d,
    lambda d: d == lazy(), lambda d: lazy() == d, lambda d: d == {}, lambda d: d == {},
    lambda d: {**d}, lambda d: [*d], lambda d: {"x": 1} | d, lambda d: d | {"x": 1}, lambda d: d | lazy([0]),
    lambda d: merged(d), lambda d: (d.update({"c": 9}), d), lambda d: ({}.update(d), dict(d)),
    lambda d: list(d.keys()), lambda d: list(d.values()), lambda d: list(reversed(d)), lambda d: d.copy(),
    lambda d: (d.pop("a"), d), lambda d: (d.popitem(), d), lambda d: (d.setdefault("z", 1), d),
    lambda d: (d.setdefault("a", 1), d), lambda d: (d.clear(), d), lambda d: (d.__setitem__("a", 2), d),
    lambda d: (d.__delitem__("a"), d), lambda d: max(d, key=d.get),
    lambda d: [(d.__contains__, list(d))[0](key) for key in ("a", "x")], lambda d: sum(d.values()),
    copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d)), OrderedDict, Counter,
    lambda d: json.dumps({str(key): value for key, value in d.items()}), lambda d: pd.Series(d).tolist(),
    lambda d: (lambda **kw: kw)(**{str(key): value for key, value in d.items()}), lambda d: isinstance(d, dict),
    lambda d: "{a}".format_map(d), lambda d: dict.fromkeys(d),
    lambda d: pd.Series(["a", "x", "b"]).map(d).fillna(-1).tolist(), lambda d: pd.Index(["a", "b"]).map(d).tolist(),
    lambda d: pd.DataFrame({"k": ["a", "c"]})["k"].replace(d).tolist(), lambda d: hasattr(d, "__missing__"),
    lambda d: ChainMap({}, d)["b"], lambda d: itemgetter("a", "b")(d), lambda d: list(map(d.__getitem__, ["a", "b"])),
    lambda d: [(d.__getitem__, list(d))[0](key) for key in ("a", "b")], lambda d: Counter(d).most_common(2),
    lambda d: dict(d.items() & plain().items()), lambda d: dict(zip(d, d.values(), strict=True)), matched,
    lambda d: defaultdict(int, d)["b"], lambda d: (defaultdict(int) | d)["b"], lambda d: d == OrderedDict(plain()),
    lambda d: np.fromiter(d.values(), float).sum(), lambda d: MappingProxyType(d)["a"], lambda d: any(d.values()),
]  # fmt: skip


@pytest.mark.parametrize("use", USES, ids=range(len(USES)))
def test_each_use_of_a_dictionary(use: Callable[[Any], Any]) -> None:
    assert use(lazy()) == use(plain())
    found = lazy()
    assert list(found) == NODES  # read once, it is the same
    assert use(found) == use(plain())


@pytest.mark.parametrize("key", ["x", 99, (1, 3)])
def test_missing_keys(key: Any) -> None:
    for found in (lazy(), lazy([2, 0])):
        with pytest.raises(KeyError) as error:
            found[key]
        assert error.value.args == (key,)
        assert key not in found
    with pytest.raises(KeyError):
        lazy([2, 0])["a"]
    with pytest.raises(TypeError, match="unhashable"):
        lazy()[[]]


def test_json_and_numbers_are_pythons() -> None:
    found = table(Rows(["a", "b"], {"a": 0, "b": 1}, Values(np.array([3, 4], np.uint32)), np.arange(2), None))
    assert json.dumps(found) == '{"a": 3, "b": 4}'
    assert type(found["a"]) is int


def test_nothing_is_decoded_before_it_is_read() -> None:
    found = lazy([4, 1, 2])
    assert (found["b"], found.get("a"), len(found), "c" in found, bool(found)) == (4.5, 1.5, 3, False, True)
    assert type(found) is Table
    assert list(found.items()) == [("b", 4.5), ("a", 1.5), ((1, 2), 2.5)]
    assert type(found) is Decoded
    assert type(copy.copy(found)) is type(pickle.loads(pickle.dumps(found))) is dict
    assert lazy([]) == {}


def test_reading_one_node_decodes_one_value() -> None:
    class Counted(Values):
        def at(self, vertex: int) -> Any:
            asked.append(vertex)
            return super().at(vertex)

        def of(self, vertices: np.ndarray) -> Any:
            asked.extend(vertices.tolist())
            return super().of(vertices)

    asked: list[int] = []
    found = table(Rows(NODES, NUMBERS, Counted(VALUES), np.arange(6), None))
    asked.clear()  # the first entry is always there
    assert (found["b"], found.get("a"), found.get("x"), "c" in found, len(found), bool(found)) == (
        4.5,
        1.5,
        None,
        True,
        6,
        True,
    )
    assert itemgetter("a")(found) == found.__getitem__("a") == 1.5
    assert asked == [NUMBERS["b"], NUMBERS["a"], NUMBERS["a"], NUMBERS["a"]]
    assert pd.Series(["a", "x"]).map(found).tolist()[0] == 1.5
    assert len(asked) == 4 + 6


READERS = [dict.items, dict.copy, lambda d: marshal.loads(marshal.dumps(d)), lambda d: OrderedDict(plain()) == d]


@pytest.mark.parametrize("read", READERS)
def test_what_reads_the_memory_of_a_dictionary_needs_a_plain_one(read: Callable[[Any], Any]) -> None:
    assert read(dict(lazy())) == read(plain())


def test_nodes_that_come_later_are_not_in_it() -> None:
    nodes, numbers = ["a", "b"], {"a": 0, "b": 1}
    found = table(Rows(nodes, numbers, Values(VALUES[:2]), np.arange(2), None))
    nodes.append("c")
    numbers["c"] = 2
    assert "c" not in found
    assert found.get("c") is None
    assert found == {"a": 0.5, "b": 1.5}
