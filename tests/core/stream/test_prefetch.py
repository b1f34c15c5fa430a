"""Reading ahead: slides are the same with and without, the loop and the reader overlap, and little waits."""

import gc
import threading
import time

import numpy as np
import pytest
from patience import PATIENCE

import suricate.stream as st
from suricate.errors import FileFormatError, ParameterError, RequirementError

CPU = {"device": "cpu"}


def write(folder, rows=4000, bad=()):
    random = np.random.default_rng(1)
    times = np.sort(random.integers(0, 300, rows)) + random.integers(0, 4, rows)
    lines = [
        f"{u},{v},{t}" for (u, v), t in zip(random.integers(0, 50, (rows, 2)).tolist(), times.tolist(), strict=True)
    ]
    for at in bad:
        lines[at] = "1,x,3"
    for part in range(4):
        text = "\n".join(["src,dst,time", *lines[part * rows // 4 : (part + 1) * rows // 4], ""])
        (folder / f"part{part}.csv").write_text(text)
    return folder


def slides(job):
    with job:
        return [(w.end, w.events, w.left, w.late, w.skipped, w.delta.num_inserted, w.graph.num_edges) for w in job]


@pytest.mark.compiled
@pytest.mark.parametrize("bad", [(), (7, 900, 1500, 3999)])
def test_slides_are_the_same(tmp_path, bad):
    files = str(write(tmp_path, bad=bad) / "*.csv")
    found = []
    for prefetch in (0, 1, 2, 50, None):
        refused = tmp_path / f"refused{prefetch}.txt"
        source = st.scan(files, on_error=str(refused), prefetch=prefetch)
        options = {"size": "20s", "slide": "5s", "lateness": "2s", "names": True, "graph": CPU}
        found.append(slides(st.Window(source, **options)))
        assert refused.exists() == bool(bad)
        if bad:
            assert refused.read_text() == (tmp_path / "refused0.txt").read_text()
    assert found[1:] == found[:1] * 4
    assert len(found[0]) > 50
    assert found[0][-1][4] == len(bad)


@pytest.mark.compiled
def test_jobs_that_read_ahead_go_on(tmp_path):
    files = str(write(tmp_path, bad=(7, 900, 1500, 3999)) / "*.csv")
    options = {"size": "20s", "slide": "5s", "lateness": "2s", "graph": CPU}
    whole = slides(st.Window(st.scan(files, on_error="skip", prefetch=0), **options))
    seen = {}
    for stop in (3, 10, 30, 1000):
        job = st.Window(st.scan(files, on_error="skip"), checkpoint=tmp_path / "state", checkpoint_every=1, **options)
        for w in job:
            seen[w.end] = (w.end, w.events, w.left, w.late, w.skipped, w.delta.num_inserted, w.graph.num_edges)
            if job.slides >= stop:
                break
    assert list(seen.values()) == whole


def test_the_reader_works_while_the_loop_does():
    asked = [threading.Event() for _ in range(6)]

    def read(position):
        for at in range(position or 0, 5):
            asked[at].set()
            yield at + 1, {"src": [at], "dst": [at + 1]}
        asked[5].set()

    job = st.Window(st.source(read, prefetch=1), size=1, slide=1, graph=CPU)
    for w in job:
        assert asked[w.end].wait(PATIENCE)  # the next chunk is being read before the loop asks for it
    alone = [threading.Event() for _ in range(6)]
    asked[:] = alone
    for w in st.Window(st.source(read), size=1, slide=1, graph=CPU):
        time.sleep(0.01)
        assert not alone[w.end].is_set()  # nothing is read of the user's code unless that is wanted


def test_little_waits():
    read = []

    def chunks(position):
        for at in range(40):
            read.append(at)
            yield at + 1, {"src": np.arange(10), "dst": np.arange(10) + 1}

    job = st.Window(st.source(chunks, prefetch=2), size=20, slide=20, graph=CPU)
    for w in job:
        time.sleep(0.01)
        assert len(read) <= w.end // 10 + 4 + 2
    assert len(read) == 40


def test_a_job_that_is_left_reads_no_further_and_says_so():
    ended = threading.Event()

    def read(position):
        try:
            for at in range(1000):
                yield at + 1, {"src": [at], "dst": [at + 1]}
        finally:
            ended.set()

    job = st.Window(st.source(read, prefetch=50), size=1, slide=1, graph=CPU)
    with job:
        next(job)
    assert ended.wait(PATIENCE)
    with pytest.raises(RequirementError, match="its with block was left"):
        next(job)
    assert job.slides == 1
    ended.clear()
    job = st.Window(st.source(read), size=1, slide=1, graph=CPU)  # without a thread
    next(job)
    job.stop()
    assert list(job) == []
    assert ended.is_set()
    assert list(job) == []


def test_errors_come_at_their_place_and_threads_end(tmp_path):
    def readers():
        return {thread for thread in threading.enumerate() if thread.name == "suricate reader"}

    others = readers()  # of other tests, over sources that say nothing
    files = str(write(tmp_path, bad=(3999,)) / "*.csv")
    seen = []
    with pytest.raises(FileFormatError, match=r"part3.csv:1001"):
        seen.extend(w.end for w in st.Window(st.scan(files), size="20s", slide="5s", graph=CPU))
    assert len(seen) > 20
    job = st.Window(st.scan(files), size="20s", slide="5s", graph=CPU)
    next(job)
    del job
    for _ in range(1200):
        gc.collect()
        if readers() <= others:
            break
        time.sleep(0.05)
    assert readers() <= others
    with pytest.raises(ParameterError, match="prefetch"):
        st.Window(st.scan(files, prefetch=-1), size="20s", slide="5s", graph=CPU)
