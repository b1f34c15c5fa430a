"""Windows whose events are divided among ranks, against the same job on one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

import suricate.stream as st
from suricate.errors import FileFormatError, ParameterError
from suricate.parallel import Comm, run
from suricate.placement import placement
from suricate.stream import attributes
from suricate.windows.ring import Ring, decay

pytestmark = pytest.mark.plain
RULES = "last", "first", "sum", "count", "min", "max"


def drawn(seed: int, *, number: int = 160, kinds: bool, floats: bool) -> dict[str, Any]:
    """Events in no order of time, many of them at equal times; ids that grow, so that owners change."""
    rng = np.random.default_rng(seed)
    time = np.arange(number) // 5 - rng.integers(0, 9, number) * (rng.integers(0, 3, number) == 0)
    src, dst = rng.integers(0, 6, (2, number)) + np.arange(number) // 12
    src[::5] = 3  # a hub
    weight = rng.integers(1, 9, number) / 7 if floats else rng.integers(1, 9, number)
    table = {"time": time, "src": src, "dst": dst, "weight": weight}
    return {**table, "kind": rng.choice([1, 1, 1, -1, 0], number)} if kinds else table


def cut(table: dict[str, Any], size: int) -> list[dict[str, Any]]:
    return [{name: part[at : at + size] for name, part in table.items()} for at in range(0, len(table["src"]), size)]


def rows_of(edges: Any) -> list[Any]:
    return sorted(zip(*[part.tolist() for part in edges if part is not None], strict=True))


def job(comm: Comm | None, source: Any, *, directed: bool = True, first: int = 0, **options: Any) -> st.Window:
    """A job over a graph with ``first`` vertices from the beginning: if these are many, owners of them change."""
    graph = {"device": "cpu", "threads": 1, "directed": directed, "in_edges": directed, "num_vertices": first}
    lengths = {"size": "12", "slide": "4", "lateness": "5"}
    return st.Window(source, graph=graph if comm is None else {**graph, "comm": comm}, **{**lengths, **options})


def slides(window: st.Window, most: int = 10**6) -> list[Any]:
    """All that a slide says, with lists of edges in order of their ends."""
    groups, found = window.track("wcc"), []
    for w in window:
        names = None if w.graph.names is None else [w.graph.names[v] for v in w.graph.live_vertices.tolist()]
        columns = {name: w.graph.edge_columns[name].tolist() for name in w.graph.edge_columns}
        lists = [rows_of(part[:3]) for part in (w.graph.edges(), w.delta.inserted, w.delta.deleted)]
        counts = w.events, w.left, w.taken, w.unmatched, w.late, w.skipped, w.lag, w.partial, w.closed_by
        found.append([w.end, counts, names, lists, columns and sorted(map(str, columns.values())),
                      [np.asarray(part).tolist() for part in groups.result]])  # fmt: skip
        if len(found) == most:
            break
    return [*found, window.late]


@pytest.fixture(autouse=True, scope="module")
def _small_graphs_are_divided() -> Iterator[None]:
    """Vertices of these graphs move, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "FEW", 8)
        yield


def test_events_follow_vertices_that_move(monkeypatch: pytest.MonkeyPatch) -> None:
    moves, with_live = list[int](), Ring.with_live
    monkeypatch.setattr(Ring, "with_live", lambda *given: (moves.append(1), with_live(*given))[1])

    def work(comm: Comm) -> list[int]:
        window = job(comm, cut(drawn(1, kinds=True, floats=True), 40), combine="sum", first=150)
        return [len(window.contents.ring) for _ in window]

    held = run(work, 3)
    assert len(moves) > 2
    assert all(max(each) > 0 for each in held)


@settings(max_examples=12, deadline=None)
@given(
    seed=hs.integers(0, 2**20), ranks=hs.integers(2, 4), size=hs.integers(3, 60), combine=hs.sampled_from(RULES),
    kinds=hs.booleans(), named=hs.booleans(), directed=hs.booleans(), floats=hs.booleans(),
    first=hs.sampled_from([0, 150]),
)  # fmt: skip
def test_slides_are_those_of_one_process(
    seed: int, ranks: int, size: int, combine: str, kinds: bool, named: bool, directed: bool, floats: bool, first: int
) -> None:
    table = drawn(seed, kinds=kinds, floats=floats)
    options = {"combine": combine, "names": named or None, "directed": directed, "first": 0 if named else first}
    expected = slides(job(None, cut(table, 50), **options))
    assert len(expected) > 5
    found = run(lambda comm: slides(job(comm, cut(table, size) if comm.rank == 0 else [], **options)), ranks)
    assert found == [expected] * ranks


@pytest.mark.slow
def test_each_rank_has_its_share_of_the_events() -> None:
    table = drawn(1, number=1 << 16, kinds=False, floats=False)
    rng = np.random.default_rng(2)
    table |= {
        "time": np.arange(1 << 16) // 4096,
        "src": rng.integers(0, 3000, 1 << 16),
        "dst": rng.integers(0, 3000, 1 << 16),
    }

    def share(comm: Comm | None) -> int:
        window = job(comm, cut(table, 4096), size=None)
        return [w.memory["window"] for w in window][-2]

    whole, parts = share(None), run(share, 4)
    assert max(parts) <= 0.6 * whole
    assert sum(parts) <= 1.5 * whole


@pytest.mark.parametrize("combine", ["sum", "last"])
def test_a_job_goes_on_with_any_number_of_ranks(combine: str, tmp_path: Path) -> None:
    """Parts of events are with other ranks then, and sums of floats those of one process to the last bit."""
    table = cut(drawn(7, kinds=True, floats=True), 20)
    options = {"combine": combine, "names": True, "checkpoint_every": 1}
    whole, found = slides(job(None, table, **options)), list[Any]()
    for ranks, most in ((3, 3), (2, 4), (1, 2), (4, 3), (1, 99)):
        given = {**options, "checkpoint": tmp_path / "state"}
        if ranks == 1:
            found += slides(job(None, table, **given), most)[:-1]
        else:
            first, *others = run(
                lambda comm, most=most, given=given: slides(job(comm, table, **given), most)[:-1], ranks
            )
            assert others == [first] * (ranks - 1)
            found += first
        found = found[: -1 if most < 99 else None]  # it is not done: the loop was left in it
    assert found == whole[:-1]
    assert len(found) > 8


def test_a_checkpoint_has_a_part_for_each_rank(tmp_path: Path) -> None:
    table = cut(drawn(3, kinds=False, floats=False), 20)
    run(lambda comm: slides(job(comm, table, checkpoint=tmp_path, checkpoint_every=1)), 3)
    names = sorted(path.name.partition(".")[2] for path in tmp_path.glob("*.npz"))
    assert names == ["1.part.npz", "1.part.npz", "2.part.npz", "2.part.npz", "npz", "npz"]
    newest = max(tmp_path.glob("*.1.part.npz"))
    newest.write_bytes(newest.read_bytes()[:100])

    def refused(comm: Comm) -> None:
        with pytest.raises(FileFormatError, match="part of a checkpoint is damaged"):
            job(comm, table, checkpoint=tmp_path)

    run(refused, 3)


def test_a_folder_that_a_rank_does_not_see_is_an_error_at_the_start(tmp_path: Path) -> None:
    def refused(comm: Comm) -> None:
        with pytest.raises(ParameterError, match="name a folder that all see"):
            job(comm, [], checkpoint=tmp_path / str(comm.rank))

    run(refused, 2)
    assert not [*(tmp_path / "0").iterdir()]


def test_texts_of_edges_and_decaying_weights_are_those_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributes, "TEXTS", 4)  # unused ones are forgotten now and then
    monkeypatch.setattr(decay, "RENEWED", 3)
    table = drawn(5, kinds=True, floats=False)
    texts = np.char.add("t", (np.arange(len(table["src"])) // 9).astype(str)).astype(object)
    for options in (
        {"attributes": {"place": "last", "n": "count"}, "source": {**table, "place": texts}},
        {"combine": "decay", "half_life": "3s", "size": "12s", "slide": "4s", "lateness": "5s",
         "source": {**table, "time": table["time"].astype("M8[s]")}},
    ):  # fmt: skip
        source = cut(options.pop("source"), 30)
        expected = slides(job(None, source, **options))
        assert run(lambda comm, s=source, o=options: slides(job(comm, s, **o)), 3) == [expected] * 3
        assert len(expected) > 8
