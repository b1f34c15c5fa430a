"""Frames of deltas: edges by name, old and new weights, columns; compared with edges counted in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
import suricate.stream as st
from suricate.errors import RequirementError


def payments(count: int, accounts: int, days: int) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    names = np.array([f"a{i}" for i in range(accounts)], object)
    src, dst = names[rng.integers(0, accounts, (2, count))]
    return {
        "time": np.sort(rng.integers(0, days * 10, count)), "src": src, "dst": dst,
        "weight": rng.integers(1, 9, count), "fee": rng.integers(1, 5, count),
    }  # fmt: skip


def edges_of(table: dict[str, Any], begin: int, end: int) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return by edge the sum of amounts, and of fees, of the events at ``begin`` <= time < ``end``."""
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for time, src, dst, weight, fee in zip(*(part.tolist() for part in table.values()), strict=True):
        if begin <= time < end:
            sums = found.get((src, dst), (0, 0))
            found[src, dst] = sums[0] + weight, sums[1] + fee
    return found


@pytest.mark.parametrize("attributes", [None, {"fee": "sum"}], ids=str)
def test_rows_are_the_changes_of_edges_by_name_although_names_leave(attributes: Any) -> None:
    pytest.importorskip("pandas")
    table = payments(300, 40, 12)  # few enough that names leave and come back
    given = table if attributes else {name: part for name, part in table.items() if name != "fee"}
    job = st.Window(given, size="20", slide="10", names=True, combine="sum", attributes=attributes,
                    graph={"device": "cpu"})  # fmt: skip
    before: dict[tuple[str, str], tuple[int, ...]] = {}
    left = 0
    for w in job:
        after = edges_of(table, w.start, w.end)
        if not attributes:
            after = {edge: sums[:1] for edge, sums in after.items()}
        wanted = []
        for edge in {edge: 0 for edge in (*before, *after) if before.get(edge) != after.get(edge)}:
            old, new = before.get(edge), after.get(edge)
            kind = "inserted" if old is None else "deleted" if new is None else "replaced"
            wanted.append((*edge, kind, new and new[0], old and old[0], *(new or old or ())[1:]))
        frame = w.delta.to_pandas()
        assert [*frame.columns] == ["src", "dst", "kind", "weight", "old_weight", *(attributes or {})]
        rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
        assert sorted(rows, key=str) == sorted(wanted, key=str)
        left += len(w.delta.deleted_vertices)
        before = after
    assert left > 20


def test_graphs_and_other_libraries() -> None:
    graph = su.Graph(3, device="cpu", directed=False)
    delta = graph.insert_edges([1, 0], [0, 2])
    assert delta.to_arrow().to_pydict() == {"src": [0, 0], "dst": [1, 2], "kind": ["inserted"] * 2}
    polars = pytest.importorskip("polars")
    frame = graph.delete_edges([2], [0]).to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.rows() == [(0, 2, "deleted")]


def test_nulls_are_nulls_in_arrow() -> None:
    pytest.importorskip("pyarrow")
    graph = su.Graph(2, device="cpu", weight_dtype="float32", names=["ann", "bob"])
    graph.insert_edges(["ann"], ["bob"], [1.5])
    delta = graph.apply(su.Batch(insert=(["bob", "ann"], ["ann", "cy"], [2.5, 3.5]), delete=(["ann"], ["bob"])))
    assert delta.to_arrow().to_pylist() == [
        {"src": "bob", "dst": "ann", "kind": "inserted", "weight": 2.5, "old_weight": None},
        {"src": "ann", "dst": "cy", "kind": "inserted", "weight": 3.5, "old_weight": None},
        {"src": "ann", "dst": "bob", "kind": "deleted", "weight": None, "old_weight": 1.5},
    ]


def test_a_kept_delta_says_that_its_names_are_gone() -> None:
    job = st.Window(payments(60, 9, 6), size="20", slide="10", names=True, combine="sum", graph={"device": "cpu"})
    first = next(job).delta
    next(job)
    with pytest.raises(RequirementError, match="before the next one"):
        first.to_arrow()


@pytest.mark.parametrize("name", ["kind", "src", "dst", "old_weight"])
def test_a_column_of_edges_is_not_lost_behind_one_of_frames(name: str) -> None:
    graph = su.Graph(3, device="cpu", edge_columns={"weight": "int32", name: "int32"})
    delta = graph.insert_edges([0], [1], {"weight": [4], name: [5]})
    with pytest.raises(RequirementError, match=f"a column '{name}' of its own: rename that of the edges"):
        delta.to_pandas()
