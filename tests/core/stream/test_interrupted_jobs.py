"""Jobs with names that are interrupted, or lack memory, inside a slide: they go on right, or say that they cannot."""

from itertools import count
from unittest import mock

import numpy as np
import pytest
from injected import interrupted

import suricate as su
import suricate.stream as st
from suricate.errors import CapacityError

SLIDES = 3  #: before the one that is interrupted
pytestmark = pytest.mark.compiled


def events():
    rng = np.random.default_rng(8)
    src, dst = (np.array([f"v{k}" for k in part], object) for part in rng.integers(0, 60, (2, 160)))
    return {"src": src, "dst": dst, "time": np.sort(rng.integers(0, 12, 160)), "weight": rng.integers(1, 9, 160)}


def job_over(given, folder=None):
    options = {"size": "4", "slide": "1", "names": True, "combine": "sum", "graph": {"device": "cpu", "in_edges": True}}
    job = st.Window(given, checkpoint=folder, checkpoint_every=1, **options)
    job.reached = job.track("bfs", source="v7")
    job.ranked = job.track("pagerank", every=2)
    return job


def facts(job, w):
    """Return what a slide tells, with names in place of ids, and the ids of the names."""
    names, graph = w.graph.names, w.graph
    src, dst, weight = graph.edges()
    lists = [(part.src.tolist(), part.dst.tolist()) for part in (w.delta.inserted, w.delta.deleted, w.delta.replaced)]
    about = w.end, w.events, w.left, job.slides, graph.num_vertices, graph.num_live, names.version, len(job.history)
    edges = sorted(zip(names[src].tolist(), names[dst].tolist(), weight.tolist(), strict=True))
    reached = job.reached.result.level[graph.live_vertices].tolist()
    return about, edges, names.ids.tolist(), names[names.ids].tolist(), lists, reached, job.ranked.slides


def stopped(job):
    """Return whether the job cannot go on, and says so."""
    try:
        next(job)
    except KeyboardInterrupt:
        return True
    pytest.fail("a slide came from a job that had ended")


@pytest.fixture(scope="module")
def right():
    job = job_over(events())
    return [facts(job, w) for w in job]


@pytest.mark.parametrize("every", [97, pytest.param(7, marks=pytest.mark.slow)])
def test_a_job_that_is_interrupted_goes_on_or_says_that_it_cannot(right, tmp_path, every):
    went_on = ended = 0
    for line in count(1, every):
        job, found = job_over(events(), tmp_path / str(line)), []
        for _ in range(SLIDES):
            w = next(job)
            found.append(facts(job, w))
        slides = []
        hit = interrupted(lambda job=job, slides=slides: slides.append(next(job)), line)
        job.graph.check()
        job.names.check()
        assert job.names is job.graph.names
        if hit is None:
            break
        if not slides:
            try:
                slides.append(next(job))
            except KeyboardInterrupt:
                assert stopped(job)
                ended += 1
                again = job_over(events(), tmp_path / str(line))
                at = again.slides
                assert at in (SLIDES - 1, SLIDES)
                rest = [facts(again, w) for w in again]
                assert [each[1:4] for each in rest] == [each[1:4] for each in right[at:]]
                continue
        went_on += 1
        found += [facts(job, w) for w in slides] + [facts(job, w) for w in job]
        assert found == right, line
    assert went_on > 2
    assert ended


@pytest.mark.parametrize("step", ["apply", "_resize", "undo_growth"])
def test_a_slide_that_lacks_memory_changes_no_names(right, step):
    job, found = job_over(events()), []
    fails = iter([False, True, True] * 200)
    updater = su.graph.update.Updater
    real = getattr(updater, step)

    def failing(self, *args):
        if self is not job.graphs.graph._updater or not next(fails):
            return real(self, *args)
        raise MemoryError("no memory")

    with mock.patch.object(updater, step, failing):
        for _ in range(1000):
            graph = job.graphs.graph
            before = graph and (graph.num_vertices, graph.version, list(graph.names or ()), graph.num_edges)
            try:
                w = next(job)
            except StopIteration:
                break
            except CapacityError:
                graph.check()
                if before is not None:
                    assert before == (graph.num_vertices, graph.version, list(graph.names or ()), graph.num_edges)
                graph.names is None or graph.names.find("v1")  # undoes what was made ahead
                continue
            found.append(facts(job, w))
    assert found == right
