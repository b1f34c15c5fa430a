"""Windows whose weights decay, against the rule by brute force in plain Python, and NetworkX for what follows them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from data_folder import DATA
from test_alerts import fires
from turns import few
from window_model import Event, model

import suricate as su
import suricate.stream as st
from suricate.errors import ParameterError, RequirementError
from suricate.io import read
from suricate.parallel import Comm, run
from suricate.windows.ring.decay import RENEWED

DAY, HALF = 86_400, 7
CPU = {"device": "cpu"}
RULE: dict[str, Any] = {"size": "40s", "slide": "8s", "lateness": "5s", "combine": "decay", "half_life": f"{HALF}s"}
Rows = dict[tuple[int, int], float]


def drawn(seed: int, *, kinds: bool = True, weighted: bool = True, count: int = 250) -> list[Event]:
    """Events out of order, some of them late, with deletions and sets among them."""
    rng = np.random.default_rng(seed)
    time = np.arange(count) // 2 + 1000 - 9 * (rng.integers(0, 9, count) == 0)
    kind = rng.choice([1, 1, 1, -1, 0], count) if kinds else np.ones(count, int)
    weight = rng.integers(1, 99, count) if weighted else np.ones(count, int)
    rows = zip(time.tolist(), *rng.integers(0, 7, (2, count)).tolist(), weight.tolist(), kind.tolist(), strict=True)
    return [Event(*row) for row in rows]


def chunks(events: list[Event], size: int = 45, *, weighted: bool = True, kinds: bool = True) -> Any:
    names = [*("time", "src", "dst"), *["weight"] * weighted, *["kind"] * kinds]
    parts = [events[at : at + size] for at in range(0, len(events), size)]
    return st.source(
        [{name: np.array([getattr(event, name) for event in part]) for name in names} for part in parts], time_unit="s"
    )


def expected(events: list[Event], *, directed: bool = True) -> list[tuple[int, Rows]]:
    """The ends of slides, and the weights as of then."""
    base = events[0].time
    relative = [each._replace(weight=each.weight * 2 ** ((each.time - base) / HALF)) for each in events]
    found = model(relative, size=40, slide=8, lateness=5, combine="sum", directed=directed)
    factors = [2 ** ((base - each.end) / HALF) for each in found]
    return [(each.end, {pair: weight * by for pair, weight in each.edges.items()})
            for each, by in zip(found, factors, strict=True)]  # fmt: skip


def rows_of(graph: Any, edges: Any) -> Rows:
    src, dst, weight = (graph.device.to_numpy(part) for part in edges)
    return dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weight.tolist(), strict=True))


def seconds(moment: Any) -> int:
    return int(moment.astype("M8[s]").astype(int))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_and_deltas_have_the_weights_of_the_end(device: su.Device, directed: bool, weighted: bool) -> None:
    events = drawn(int(directed), weighted=weighted)
    job = st.Window(chunks(events, weighted=weighted), graph={"device": device, "directed": directed}, **RULE)
    right, before = expected(events, directed=directed), {}
    for w, (end, edges) in itertools.zip_longest(job, right):
        assert seconds(w.end) == end
        now = rows_of(w.graph, w.graph.edges())
        assert now == pytest.approx(edges, rel=1e-12)
        inserted, deleted, replaced = (
            rows_of(w.graph, part) for part in (w.delta.inserted, w.delta.deleted, w.delta.replaced)
        )
        assert {**inserted, **replaced} == {pair: now[pair] for pair in [*inserted, *replaced]}
        assert inserted.keys() == now.keys() - before.keys()
        assert deleted == {pair: before[pair] for pair in before.keys() - now.keys()}
        old = w.graph.device.to_numpy(w.delta.replaced_old).tolist()
        assert old == [before[pair] for pair in replaced]
        arcs = rows_of(w.graph, w.delta.arcs("inserted").read())
        assert {(u, v) if directed else (min(u, v), max(u, v)) for u, v in arcs} == inserted.keys()
        before = now
    assert len(right) > 10


def test_every_question_gives_the_same_weights(tmp_path: Path) -> None:
    events = drawn(5)
    job = st.Window(chunks(events), graph=CPU, **RULE)
    w = list(itertools.islice(job, 9))[-1]
    graph, now = w.graph, rows_of(w.graph, w.graph.edges())
    ends = np.array(list(now)).T
    assert graph.edge_weights(*ends).tolist() == [*now.values()]
    vertex = int(ends[0, 0])
    near = graph.adjacency([vertex])
    assert near.weight is not None
    assert dict(zip(near.dst.tolist(), near.weight.tolist(), strict=True)) == {
        v: weight for (u, v), weight in now.items() if u == vertex
    }
    matrix = graph.to_scipy_sparse()
    assert {pair: matrix[pair] for pair in now} == now
    assert graph.to_csr().weight.sum() == pytest.approx(sum(now.values()))
    graph.save(tmp_path / "graph.npz")
    for copy in (graph.to("cpu"), su.Graph.load(tmp_path / "graph.npz", device="cpu")):
        assert rows_of(copy, copy.edges()) == now
        assert copy.weight_scale is None
        copy.check()
    assert graph.store("out").edges().weight is not None
    relative = graph.store("out").edges().weight * graph.weight_scale
    assert relative.tolist() == [*now.values()]


@pytest.mark.slow
@pytest.mark.usefixtures("data_dir")
def test_ranks_are_networkx_s_with_truly_decayed_weights() -> None:
    file = read(DATA / "temporal" / "CollegeMsg.txt.gz")
    columns = {name: getattr(file, name).astype(np.int64) for name in ("time", "src", "dst")}
    job = st.Window(st.source(columns, time_unit="s"), size="30d", slide="1d", combine="decay", half_life="7d",
                    graph={**CPU, "in_edges": True})  # fmt: skip
    ranks, compared = job.track("pagerank", weighted=True, tol=1e-12), 0
    time, src, dst = columns.values()
    for number, w in enumerate(job):
        if number % 40 != 20:
            continue
        end, there = seconds(w.end), nx.DiGraph()
        live = (time >= end - 30 * DAY) & (time < end)
        there.add_nodes_from(w.graph.live_vertices.tolist())
        for moment, u, v in zip(time[live].tolist(), src[live].tolist(), dst[live].tolist(), strict=True):
            more = 2 ** ((moment - end) / (7 * DAY))
            there.add_edge(u, v, weight=there.get_edge_data(u, v, {"weight": 0})["weight"] + more)
        assert there.number_of_edges() == w.graph.num_edges
        right = nx.pagerank(there, tol=1e-13, max_iter=1000)
        found = ranks.result
        assert max(abs(found[vertex] - rank) for vertex, rank in right.items()) < 1e-8
        compared += 1
    assert compared >= 4


@pytest.mark.parametrize("weighted", few([True, False]))
def test_a_stream_of_a_hundred_thousand_half_lives(weighted: bool) -> None:
    """Half-lives of a second: each slide is compared with sums of Python, and bases move every 500 of them."""
    rng = np.random.default_rng(3)
    time = np.sort(rng.integers(0, 100_000, 6000))
    src, dst, weight = rng.integers(0, 5, 6000), rng.integers(0, 5, 6000), rng.random(6000) + 0.1
    table = {"time": time, "src": src, "dst": dst} | ({"weight": weight} if weighted else {})
    job = st.Window(st.source(table, time_unit="s"), size="300s", slide="150s", combine="decay", half_life="1s",
                    graph={**CPU, "in_edges": True})  # fmt: skip
    ranks, components = job.track("pagerank"), job.track("wcc")
    begin, whole, slides = 0, 0, 0
    for w in job:
        slides, end = slides + 1, seconds(w.end)
        begin = int(np.searchsorted(time, end - 300))
        right: Rows = {}
        for at in range(begin, int(np.searchsorted(time, end))):
            pair = int(src[at]), int(dst[at])
            right[pair] = right.get(pair, 0.0) + (weight[at] if weighted else 1) * 2.0 ** (time[at] - end)
        assert rows_of(w.graph, w.graph.edges()) == pytest.approx(right, rel=1e-12)
        whole += len(w.delta.replaced.src) + len(w.delta.inserted.src) == len(right)
        assert job.contents.decay is not None
        assert end - job.contents.decay.base <= RENEWED
        assert ranks.result.sum() == pytest.approx(1)
    assert slides > 600
    assert whole > 100_000 / (RENEWED + 150)
    assert ranks.updates.failed == components.updates.failed == 0


def test_communities_are_those_of_truly_decayed_weights() -> None:
    """Half-lives of a second: from scratch the same labels, after updates the quality that NetworkX has for them."""
    rng = np.random.default_rng(5)
    time = np.sort(rng.integers(0, 1500, 6000))
    src, dst, weight = rng.integers(0, 40, 6000), rng.integers(0, 40, 6000), rng.random(6000) * 1e24
    weight[src // 10 == dst // 10] *= 20  # four communities
    table = {"time": time, "src": src, "dst": dst, "weight": weight}
    job = st.Window(st.source(table, time_unit="s"), size="200s", slide="20s", combine="decay", half_life="1s",
                    graph={**CPU, "directed": False})  # fmt: skip
    kept, fresh, slides, bases = job.track("leiden"), job.track("leiden", every=3), 0, set()
    for w in job:
        slides += 1
        bases.add(job.contents.decay.base)  # type: ignore[union-attr]
        found, there = kept.result, w.graph.to("cpu")  # of true weights
        assert there.weight_scale is None
        if slides % 3 == 0:
            right = there.compute("leiden")
            assert np.array_equal(fresh.result.label, right.label)
            assert fresh.result.quality == pytest.approx(right.quality, abs=1e-9)
        again = nx.Graph()
        again.add_weighted_edges_from(zip(*(part.tolist() for part in there.edges()), strict=True))
        groups: dict[int, set[int]] = {}
        for v in again:
            groups.setdefault(int(found.label[v]), set()).add(v)
        assert found.quality == pytest.approx(nx.community.modularity(again, groups.values()), abs=1e-9)
    assert slides > 60
    assert len(bases) > 2
    assert kept.updates.failed == 0


@pytest.mark.parametrize("gap", [600, 850, 5000, 10**7])
def test_silence_neither_overflows_nor_loses_weights(gap: int) -> None:
    time = np.array([0, 1, gap, gap + 1, gap + 2, 2 * gap])
    table = {"time": time, "src": [0, 1, 2, 0, 3, 1], "dst": [1, 2, 0, 1, 0, 2]}
    job = st.Window(st.source(table, time_unit="s"), size="900s", slide="300s", combine="decay", half_life="1s",
                    empty="emit" if gap < 6000 else "skip", graph=CPU)  # fmt: skip
    for w in job:
        end, right = seconds(w.end), dict[tuple[int, int], float]()
        for moment, u, v in zip(time.tolist(), table["src"], table["dst"], strict=True):
            if end - 900 <= moment < end:
                right[u, v] = right.get((u, v), 0) + 2.0 ** (moment - end)
        assert rows_of(w.graph, w.graph.edges()) == pytest.approx(right, rel=1e-12)
        stored = w.graph.store("out").edges().weight
        assert stored is not None
        assert not len(stored) or stored.max() < 2.0 ** (RENEWED + 2)
        assert w.graph.num_edges == 0 or np.isfinite(w.graph.compute("pagerank")).all()


def test_when_bases_move_shows_in_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    def weights() -> list[Any]:
        job = st.Window(chunks(drawn(8)), graph=CPU, **RULE)
        return [
            [(pair, weight.hex()) for pair, weight in sorted(rows_of(w.graph, w.graph.edges()).items())] for w in job
        ]

    late = weights()
    monkeypatch.setattr("suricate.windows.ring.decay.RENEWED", 2)
    assert weights() == late


@pytest.mark.parametrize("names", [True, False])
def test_a_job_that_goes_on_has_the_same_bits(names: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suricate.windows.ring.decay.RENEWED", 4)

    def slides(folder: Path | None, most: int) -> list[Any]:
        job = st.Window(chunks(drawn(9)), names=names, checkpoint=folder, checkpoint_every=1,
                        graph={**CPU, "in_edges": True}, **RULE)  # fmt: skip
        job.alert("edges", below=0.5)
        found = []
        for w in job:
            edges = rows_of(w.graph, w.graph.edges())
            fired = [row.tolist() for row in job.alerts[0].fired._columns.values()]
            found.append((str(w.end), {pair: weight.hex() for pair, weight in edges.items()}, fired))
            if len(found) == most:
                break
        return found

    whole = slides(None, 10**6)
    assert len(whole) > 12
    for begin in range(10):  # each time the second slide is not in the checkpoint yet
        assert slides(tmp_path, 2) == whole[begin : begin + 2]


def test_alerts_compare_weights_that_only_decayed() -> None:
    events = drawn(11, kinds=False)
    rules = {"above": 40.0}, {"below": 20.0}, {"shrank": "2x"}, {"shrank": 15.0}, {"grew": 10.0}
    job = st.Window(chunks(events, kinds=False), graph=CPU, **RULE)
    alerts = [job.alert("edges", **rule) for rule in rules]
    before: Rows = {}
    counts = [0] * len(rules)
    for w in job:
        now = rows_of(w.graph, w.graph.edges())
        for number, (alert, rule) in enumerate(zip(alerts, rules, strict=True)):
            right = sorted(pair for pair, value in now.items() if fires(rule, value, before.get(pair)))
            fired = alert.fired
            assert list(zip(fired["src"].tolist(), fired["dst"].tolist(), strict=True)) == right
            assert fired["value"].tolist() == [now[pair] for pair in right]
            counts[number] += len(right)
        before = now
    assert all(counts)


def test_several_ranks_have_the_weights_of_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("suricate.windows.ring.decay.RENEWED", 4)
    events = drawn(12)

    def slides(comm: Comm | None) -> list[Any]:
        source = chunks(events) if comm is None or comm.rank == 0 else []
        graph = {**CPU, "num_vertices": 7} | ({} if comm is None else {"comm": comm})
        job = st.Window(source, graph=graph, names=True, **RULE)
        ranks, found = job.track("pagerank"), []
        for w in job:
            rows = sorted(rows_of(w.graph, w.graph.edges()).items())
            found.append((rows, sorted(rows_of(w.graph, w.delta.deleted).items()), ranks.result.round(9).tolist()))
        return found

    alone = slides(None)
    assert len(alone) > 10
    first, second = run(slides, 2)
    assert first == second
    assert [each[:2] for each in first] == [each[:2] for each in alone]


def test_algorithms_that_need_the_weights_themselves_are_refused() -> None:
    job = st.Window(chunks(drawn(13)), graph={**CPU, "in_edges": True, "num_vertices": 8}, **RULE)
    for name, params in (("sssp", {"source": 0}), ("spmv", {"x": [1.0] * 7}), ("katz", {}),
                         ("degree", {"weighted": True}), ("closeness", {"weighted": True}),
                         ("spmv", {"x": [1.0] * 7, "weighted": None})):  # fmt: skip
        with pytest.raises(RequirementError, match=rf"{name}: the weights of this window decay.*copy\.copy"):
            job.track(name, **params)
    taken = [job.track(name, **params) for name, params in (
        ("wcc", {}), ("bfs", {"source": 0}), ("pagerank", {"every": 2}), ("hits", {}), ("degree", {}),
        ("spmv", {"x": np.ones(8), "weighted": False}), ("random_walks", {"length": 3}))]  # fmt: skip
    w = list(itertools.islice(job, 4))[-1]
    assert all(tracker.result is not None for tracker in taken)
    with pytest.raises(RequirementError, match="sssp: the weights"):
        w.graph.compute("sssp", source=0)
    with pytest.raises(RequirementError, match="weights that decay"):
        w.replay(taken[0], at=0)
    edges = rows_of(w.graph, w.graph.edges())
    there = nx.DiGraph([(u, v, {"weight": weight}) for (u, v), weight in edges.items()])
    source = next(iter(edges))[0]
    found = w.graph.to("cpu").compute("sssp", source=source).distance
    for vertex, far in nx.single_source_dijkstra_path_length(there, source).items():
        assert found[vertex] == pytest.approx(far, rel=1e-12)


TABLE = {"time": [1, 2], "src": [0, 1], "dst": [1, 0]}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"half_life": None}, "half_life='7d', say, goes with combine='decay'"),
        ({"combine": "sum"}, "and neither without the other"),
        ({"size": None}, "a window without size is too long for half_life='7s'.*900 half-lives"),
        ({"size": "6301s"}, "size='6301s' is too long.*at most 900 half-lives"),
        ({"size": 9, "slide": 3, "lateness": 0}, "windows of time without attributes: this one counts counts"),
        ({"attributes": {"fee": "sum"}}, "those of attributes do not decay"),
        ({"half_life": 0}, "is too long for half_life=0"),
        ({"half_life": "-1s"}, "half_life"),
        ({"half_life": "7"}, "half_life='7' has no unit"),
        ({"half_life": 7}, "half_life must be a duration"),
        ({"graph": {"weight_dtype": "float32"}}, "the graph has float64 weights"),
        ({"graph": {"weight_dtype": None}}, "the graph has float64 weights"),
        ({"graph": {"edge_columns": {"weight": "float64"}}}, "no columns of edges"),
    ],
)
def test_options_that_do_not_fit_are_named(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        st.Window(st.source(TABLE, time_unit="s"), **{"graph": CPU, **RULE, **options})


def test_times_need_a_unit() -> None:
    with pytest.raises(ParameterError, match="half_life: times have no unit; time_unit= says it"):
        next(st.Window(TABLE, size="40", slide="8", combine="decay", half_life="7s", graph=CPU))


def test_a_size_of_nine_hundred_half_lives_is_taken() -> None:
    w = next(st.Window(st.source(TABLE, time_unit="s"), **{**RULE, "size": "6300s"}, graph=CPU))
    assert rows_of(w.graph, w.graph.edges())[0, 1] == pytest.approx(math.exp2((1 - seconds(w.end)) / HALF))
