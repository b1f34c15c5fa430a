"""Jobs with columns that are interrupted, or lack memory, in a slide: the results are the same."""

from itertools import count

import numpy as np
import pytest
from injected import failures, interrupted

import suricate.stream as st

SLIDES = 3  #: before the one that is interrupted
pytestmark = pytest.mark.plain


def events(named):
    rng = np.random.default_rng(8)
    src, dst = rng.integers(0, 14, (2, 60))
    if named:
        src, dst = (np.array([f"v{k}" for k in part], object) for part in (src, dst))
    about = {"fee": rng.integers(1, 9, 60) / 2, "currency": rng.choice(["EUR", "CHF"], 60).astype(object)}
    return {"src": src, "dst": dst, "time": np.sort(rng.integers(0, 9, 60)), **about}


def job_over(named, folder=None):
    job = st.Window(
        events(named), size="3", slide="1", names=named, attributes={"fee": "sum", "currency": "last"},
        checkpoint=folder, checkpoint_every=1, graph={"device": "cpu", "in_edges": True},
    )  # fmt: skip
    frame = {"id": [f"v{k}" for k in range(12)] if named else np.arange(12), "city": [f"c{k}" for k in range(12)]}
    job.vertices("city", frame, missing="?")
    job.vertices("age", {"id": frame["id"], "age": np.arange(12.0)})
    job.far = job.track("sssp", source="v7" if named else 7, weight="fee")
    job.core = job.track("kcore", symmetric=True)
    return job


def facts(job, w):
    """What a slide tells, by names."""
    graph = w.graph
    src, dst, *_ = graph.edges()
    live = graph.live_vertices.astype(np.int64)
    known = graph.names[live].tolist() if graph.names is not None else live.tolist()
    by_edge = [graph.edge_columns.at(name, src, dst).tolist() for name in ("fee", "currency")]
    name_of = dict(zip(live.tolist(), known, strict=True))
    edges = sorted(zip(map(name_of.get, src.tolist()), map(name_of.get, dst.tolist()), *by_edge, strict=True))
    columns = {name: graph.columns[name][live].tolist() for name in ("city", "age")}
    results = job.far.result.distance[live].tolist(), job.core.result.core[live].tolist()
    changes = [len(part.src) for part in (w.delta.inserted, w.delta.deleted, w.delta.replaced)]
    rows = sorted(zip(known, *columns.values(), *results, strict=True), key=repr)
    return w.end, w.events, graph.num_live, edges, changes, repr(rows)


@pytest.fixture(scope="module", params=[True, False], ids=["names", "ids"])
def named(request):
    return request.param


@pytest.fixture(scope="module")
def right(named):
    job = job_over(named)
    return [facts(job, w) for w in job]


def begun(named, folder=None):
    job = job_over(named, folder)
    job.found = [facts(job, next(job)) for _ in range(SLIDES)]
    return job


@pytest.mark.parametrize("every", [101, pytest.param(5, marks=pytest.mark.slow)])
def test_an_interrupted_job_goes_on_or_its_checkpoint_does(named, right, tmp_path, every):
    went_on = 0
    for line in count(1, every):
        job, slides = begun(named, tmp_path / str(line)), []
        hit = interrupted(lambda job=job, slides=slides: slides.append(next(job)), line)
        job.graph.check()
        if hit is None:
            break
        try:
            job.found += [facts(job, w) for w in slides] + [facts(job, w) for w in job]
        except KeyboardInterrupt:  # it says that it cannot go on
            again = job_over(named, tmp_path / str(line))
            at = again.slides
            assert at in (SLIDES - 1, SLIDES)
            rest = [facts(again, w) for w in again]
            assert [each[:4] for each in rest] == [each[:4] for each in right[at:]]
        else:
            assert job.found == right, line
            went_on += 1
    assert went_on > 2


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_job_that_lacks_memory_goes_on(named, right, every):
    went_on = 0
    for job, failed in failures(lambda: begun(named), lambda job: job.found.append(facts(job, next(job))), np, every):
        job.graph.check()
        if len(job.found) > SLIDES:
            continue
        try:
            rest = [facts(job, w) for w in job]
        except MemoryError:  # it says that it cannot go on
            continue
        assert failed
        if len(job.found) + len(rest) == len(right):  # else the slide had come, and facts() of this test lacked memory
            assert job.found + rest == right
            went_on += 1
        else:
            assert rest == right[SLIDES + 1 :]
    assert went_on > 1
