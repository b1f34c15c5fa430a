"""A slide is one change of the graph: vertices come and go with its edges, and trackers are updated once."""

import numpy as np
import pytest

import suricate as su
import suricate.stream as st

ALGORITHMS = {
    "closeness": {},
    "wcc": {},
    "scc": {},
    "triangles": {},
    "kcore": {},
    "pagerank": {"tol": 1e-9},
    "coloring": {},
    "spmv": {},
    "degree": {"over": "in"},
    "independent_set": {},
}


def events(seed, count, names=26):
    random = np.random.default_rng(seed)
    alphabet = np.array([chr(97 + i % 26) + str(i // 26 or "") for i in range(names)], object)
    src, dst = alphabet[random.integers(0, names, (2, count))]
    return {"src": src, "dst": dst, "time": np.sort(random.integers(0, 40, count))}


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", ALGORITHMS)
def test_trackers_follow_vertices_that_come_and_go_with_edges(name, device):
    directed = name not in ("triangles", "kcore", "coloring", "independent_set")
    options = {"device": device, "directed": directed, "in_edges": directed}
    job = st.Window(events(4, 200), size="6", slide="1", names=True, graph=options)
    deleted = grown = 0
    with job:
        for w in job:
            if job.slides == 1:
                tracker = w.graph.track(name, **ALGORITHMS[name])
                before = w.graph.version
                continue
            deleted, grown = deleted + len(w.delta.deleted_vertices), grown + len(w.delta.revived_vertices)
            assert w.graph.version == before + 1
            assert len(w.delta.deleted_vertices) == 0 or len(w.delta.deleted.src)
            before = w.graph.version
            w.graph.check()
            result, right = tracker.result, w.graph.compute(name, **ALGORITHMS[name])
            for field in getattr(right, "_fields", ["value"]):
                got, expected = (getattr(each, field, each) for each in (result, right))
                if name in ("coloring",) or field == "parent":
                    continue  # several are right
                on_host = w.graph.device.to_numpy if hasattr(got, "shape") else float
                assert np.allclose(on_host(got), on_host(expected))
    assert deleted > 20
    assert grown > 20
    assert tracker.updates.failed == 0


def test_a_slide_that_fails_leaves_vertices_as_they_were(device, monkeypatch):
    job = st.Window(events(5, 120), size="4", slide="1", names=True, graph={"device": device})
    slides = []
    fails = iter([False, False, False, True] * 50)

    def apply(updater, *args, real=su.graph.update.Updater.apply):
        if next(fails):
            raise MemoryError("no memory")
        return real(updater, *args)

    monkeypatch.setattr(su.graph.update.Updater, "apply", apply)
    while True:
        live = None if job.graphs.graph is None else (job.graph.num_live, job.graph.num_vertices)
        try:
            w = next(job)
        except StopIteration:
            break
        except su.errors.CapacityError:
            assert live is None or live == (job.graph.num_live, job.graph.num_vertices)
            continue
        w.graph.check()
        slides.append((w.end, w.graph.num_live, w.graph.num_edges))
    monkeypatch.undo()
    plain = st.Window(events(5, 120), size="4", slide="1", names=True, graph={"device": device})
    assert slides == [(w.end, w.graph.num_live, w.graph.num_edges) for w in plain]
