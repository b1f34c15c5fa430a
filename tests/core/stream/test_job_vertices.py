"""Vertices of jobs: names as parameters of trackers, columns, the undirected twin; also where a job goes on."""

import numpy as np
import pytest

import suricate as su
import suricate.stream as st
from suricate.errors import DTypeError, ParameterError, RequirementError

CHUNKS = [  # x -> y at 1, then others; x comes back at 12
    {"time": [1, 2, 3, 4], "src": ["x", "y", "a", "b"], "dst": ["y", "z", "b", "c"]},
    {"time": [6, 7, 8, 9], "src": ["a", "b", "c", "d"], "dst": ["b", "c", "d", "e"]},
    {"time": [12, 13, 14, 20], "src": ["x", "y", "z", "a"], "dst": ["y", "z", "w", "b"]},
]


def reached(w, tracker):
    """The names of live vertices that a search reached."""
    levels = w.graph.device.to_numpy(tracker.result.level)
    live = w.graph.live_vertices.tolist()
    return sorted(str(w.graph.names[v]) for v in live if levels[v] != np.iinfo(levels.dtype).max and levels[v] >= 0)


@pytest.mark.compiled
@pytest.mark.parametrize("keep", [False, True])
def test_sources_are_names_that_may_have_no_events(device, keep):
    names = su.Names(keep=keep)
    job = st.Window(CHUNKS, size="4", slide="1", names=names, graph={"device": device})
    near, never = job.track("bfs", source="x"), job.track("bfs", sources=["nobody", "x"])
    seen = {}
    for w in job:
        w.graph.check()
        seen[w.end] = reached(w, near)
        assert [*seen[w.end]] == reached(w, never)
        assert "nobody" not in [w.graph.names[v] for v in w.graph.live_vertices.tolist()]
        if not keep:
            assert "x" in w.graph or not seen[w.end]
    assert seen[3] == ["x", "y", "z"]
    assert seen[8] == (["x"] if keep else [])
    assert seen[15] == ["w", "x", "y", "z"]


@pytest.mark.compiled
def test_personalizations_are_names(device):
    job = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": device, "in_edges": True})
    ranks = job.track("pagerank", personalization={"x": 2, "z": 1})
    sums = {w.end: round(float(w.graph.device.to_numpy(ranks.result).sum()), 3) for w in job}
    assert sums[3] == sums[15] == 1
    assert sums[9] == 0


@pytest.mark.compiled
def test_pairs_are_names(device):
    events = {"src": ["a", "b", "a", "c", "a"], "dst": ["x", "x", "y", "y", "z"]}
    job = st.Window(events, size=4, slide=1, names=True, graph={"device": device, "directed": False})
    alike = job.track("similarity", pairs=(["a", "a", "nobody"], ["b", "c", "a"]))
    seen = []
    for w in job:
        a, b, c, nobody = w.graph.names.find(["a", "b", "c", "nobody"])
        assert nobody not in w.graph.live_vertices
        seen.append(alike.result.of([a, a], [b, c]).tolist())
    assert np.array_equal(
        seen, [[np.nan] * 2, [1, np.nan], [1 / 2, np.nan], [1 / 2, 1 / 2], [0, 1 / 2]], equal_nan=True
    )


@pytest.mark.compiled
def test_jobs_go_on_with_the_names_of_their_trackers(tmp_path):
    def job(**options):
        made = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": "cpu"}, **options)
        return made, made.track("bfs", source="x"), made.track("kcore", symmetric=True)

    whole, near, core = job()
    right = {w.end: (reached(w, near), w.graph.names[w.graph.live_vertices].tolist(), core.result.core.tolist())
             for w in whole}  # fmt: skip
    for stop in (2, 5, 9, 99):
        part, near, core = job(checkpoint=tmp_path, checkpoint_every=1)
        for w in part:
            names = w.graph.names[w.graph.live_vertices].tolist()
            assert (reached(w, near), names, core.result.core.tolist()) == right[w.end]
            if part.slides == stop:
                break
    assert part.names.find("x") >= 0
    other = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": "cpu"}, checkpoint=tmp_path)
    assert [*other] == []
    assert other.names.find("x") == -1  # no tracker names it any more


@pytest.mark.compiled
def test_the_twin_has_an_edge_wherever_there_is_an_arc(device):
    random = np.random.default_rng(3)
    src, dst = random.integers(0, 15, (2, 300))
    chunk = {"time": np.sort(random.integers(0, 40, 300)), "src": src, "dst": dst, "weight": random.random(300)}
    chunk["kind"] = random.choice([1, 1, 1, -1], 300)
    for names in (None, True):
        job = st.Window(chunk, size="6", slide="1", combine="sum", names=names, graph={"device": device})
        core, count = job.track("kcore", symmetric=True), job.track("triangles", symmetric=True, every=2)
        out = job.track("wcc")
        for w in job:
            edges = w.graph.edges()
            twin = su.Graph(w.graph.num_vertices, directed=False, device=device)
            twin.insert_edges(edges.src, edges.dst)
            twin.delete_vertices(w.graph.deleted_vertices)
            assert core.result.core.tolist() == twin.compute("kcore").core.tolist()
            assert job.graphs.twin.graph.num_edges == twin.num_edges
            job.graphs.twin.graph.check()
            if job.slides % 2 == 0:
                assert count.result.total == twin.compute("triangles").total
            assert w.memory["symmetric"] > 0
            assert core.updates.failed == out.updates.failed == 0


@pytest.mark.plain
@pytest.mark.parametrize(
    ("directed", "name", "symmetric", "reason"),
    [
        (True, "leiden", False, r"leiden needs an undirected window, graph=\{'directed': False\}, or symmetric=True"),
        (True, "kcore", False, "directed_kcore is for directed ones"),
        (True, "directed_triangles", True, "directed_triangles needs a directed window"),
        (False, "directed_triangles", False, "directed_triangles needs a directed window"),
    ],
)
def test_algorithms_of_the_other_direction_are_refused_at_once(directed, name, symmetric, reason):
    job = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": "cpu", "directed": directed})
    with pytest.raises(RequirementError, match=reason):
        job.track(name, symmetric=symmetric)
    assert not job.graphs.trackers


@pytest.mark.compiled
def test_the_twin_catches_up_after_an_error(device, monkeypatch):
    job = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": device})
    core = job.track("kcore", symmetric=True)
    next(job)
    twin = type(job.graphs.twin)
    follow = twin.follow
    monkeypatch.setattr(twin, "follow", lambda *_: (_ for _ in ()).throw(su.errors.CapacityError("full")))
    with pytest.raises(su.errors.CapacityError):
        next(job)
    monkeypatch.setattr(twin, "follow", follow)
    w = next(job)
    assert job.graphs.twin.graph.num_edges == w.graph.num_edges == 2
    assert core.result.core[w.graph.names.find("y")] == 1


@pytest.mark.compiled
def test_columns_of_vertices_come_with_their_names(device):
    job = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": device})
    job.vertices("country", {"id": ["x", "a", "late"], "country": ["DE", "FR", "IT"]}, missing="?")
    job.vertices("age", {"who": ["y", "x"], "age": [3, 4]}, on="who")
    for w in job:
        for vertex in w.graph.live_vertices.tolist():
            name = w.graph.names[vertex]
            assert w.graph.columns["country"][vertex] == {"x": "DE", "a": "FR"}.get(name, "?")
            assert int(w.graph.columns["age"][vertex]) == {"x": 4, "y": 3}.get(name, 0)
        w.graph.check()
    ids = st.Window({"src": [0, 1, 2], "dst": [1, 2, 7]}, size=3, slide=1, graph={"device": device})
    ids.vertices("age", {"id": [7, 1], "age": [0.5, 1.5]})
    *_, last = ids
    assert np.array_equal(last.graph.device.to_numpy(last.graph.columns["age"]), [np.nan, 1.5, *[np.nan] * 5, 0.5],
                          equal_nan=True)  # fmt: skip


def test_bad_vertices_of_jobs():
    job = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": "cpu"})
    for frame, text in [({"id": ["a"]}, "no column 'age'"), ({"age": [1]}, "no column 'id'"),
                        ({"id": ["a", "a"], "age": [1, 2]}, "the name of two vertices")]:  # fmt: skip
        with pytest.raises(ParameterError, match=text):
            job.vertices("age", frame)
    job.track("pagerank", personalization=np.ones(9))
    with pytest.raises(ParameterError, match="personalization is an array by position"):
        next(job)
    numbered = st.Window(CHUNKS, size="4", slide="1", names=True, graph={"device": "cpu"})
    numbered.track("bfs", source=5)
    with pytest.raises(DTypeError):
        next(numbered)
    plain = st.Window({"src": [0], "dst": [1]}, size=1, slide=1, graph={"device": "cpu"})
    with pytest.raises(RequirementError, match="undirected"):
        plain.track("kcore")
