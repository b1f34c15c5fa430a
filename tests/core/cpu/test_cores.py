"""How many threads loops on the CPU use, and how they are run."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from forked import in_child
from patience import PATIENCE

import suricate as su
from suricate.cpu import threads
from suricate.errors import ParameterError


@pytest.fixture
def fresh_default(monkeypatch):
    threads.default.cache_clear()
    yield
    monkeypatch.undo()
    threads.default.cache_clear()


@pytest.fixture
def two():
    with threads.Limited(2):
        yield


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1025", "²", "9" * 5000, " "])
def test_bad_variable(monkeypatch, fresh_default, text):
    monkeypatch.setenv("SURICATE_THREADS", text)
    with pytest.raises(ParameterError, match="SURICATE_THREADS") as caught:
        su.Graph(3, device="cpu")
    assert ("at least 1" in str(caught.value)) == (text in ("0", "-1"))


@pytest.mark.parametrize("text", ["1", "2", "1024"])
def test_variable(monkeypatch, fresh_default, text):
    monkeypatch.setenv("SURICATE_THREADS", text)
    su.Graph(3, device="cpu")
    assert threads.limit() == int(text)


def test_default_is_the_cores(monkeypatch, fresh_default):
    monkeypatch.delenv("SURICATE_THREADS", raising=False)
    assert threads.default() == threads.cores() >= 1


@pytest.mark.parametrize("count", [0, -1, 1.0, "2", True, 1025, 1 << 70])
def test_bad_threads(count):
    with pytest.raises(ParameterError, match="threads"):
        su.Graph(3, device="cpu", threads=count)


def test_threads_stay_with_copies(tmp_path):
    graph = su.Graph(3, device="cpu", threads=3)
    for made in (copy.copy(graph), pickle.loads(pickle.dumps(graph)), graph.to("cpu")):
        assert made.options.threads == 3
    graph.save(tmp_path / "graph")
    assert su.Graph.load(tmp_path / "graph", device="cpu", threads=2).options.threads == 2


def test_limit_holds_inside_the_lock_only():
    one, three = (su.Graph(3, device="cpu", threads=count) for count in (1, 3))
    before = threads.limit()
    with three.exclusive():
        assert threads.limit() == 3
        with one.exclusive(), one.exclusive():
            assert threads.limit() == 1
        assert threads.limit() == 3
    assert threads.limit() == before


def test_parts(two):
    assert threads.parts(2 * threads.GRAIN - 1) == 1
    assert threads.parts(2 * threads.GRAIN) == 2
    assert threads.parts(100 * threads.GRAIN) == 2 * threads.EACH
    with threads.Limited(1):
        assert threads.parts(100 * threads.GRAIN) == 1


def test_ranges():
    assert threads.ranges(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert threads.ranges(0, 2) == [(0, 0), (0, 0)]


def test_results_are_in_order(two, monkeypatch):
    monkeypatch.setattr(threads, "_pool", threads._Pool())  # a thread of the other may be on its way back
    both = threading.Barrier(2, timeout=PATIENCE)

    def meet(i):
        if i < 2:
            both.wait()
        return i, threading.get_ident()

    results = threads.run(meet, [(i,) for i in range(20)])
    assert [i for i, _ in results] == list(range(20))
    assert len({thread for _, thread in results}) == 2


def test_one_call_stays_here(two):
    before = threads.shared
    assert threads.run(threading.get_ident, [()]) == [threading.get_ident()]
    with threads.Limited(1):
        assert set(threads.run(threading.get_ident, [(), ()])) == {threading.get_ident()}
    assert threads.shared == before


def test_nothing_is_kept_of_a_call(two):
    for _ in range(20):
        array = np.zeros(1000)
        held = weakref.ref(array)
        threads.run(lambda array, i: time.sleep(1e-3), [(array, i) for i in range(4)])
        del array
        assert held() is None


def test_error_of_a_part(two):
    def fail(i):
        time.sleep(0.001)
        if i == 5:
            raise KeyError(i)

    for _ in range(3):
        with pytest.raises(KeyError, match="5"):
            threads.run(fail, [(i,) for i in range(10)])
    assert threads.run(abs, [(-1,), (-2,)]) == [1, 2]


def test_parts_in_parts(two):
    def outer(i):
        return sum(threads.run(inner, [(i, k) for k in range(5)]))

    def inner(i, k):
        time.sleep(0.0005)
        return 10 * i + k

    assert threads.run(outer, [(i,) for i in range(5)]) == [50 * i + 10 for i in range(5)]


def test_many_callers():
    errors = []

    def work(seed):
        try:
            for round_ in range(200):
                with threads.Limited(3):
                    found = threads.run(pow, [(seed + i, 2) for i in range(4)])
                assert found == [(seed + i) ** 2 for i in range(4)], round_
        except BaseException as error:
            errors.append(error)

    crew = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(PATIENCE)
    assert not errors
    assert not any(thread.is_alive() for thread in crew)


INTERRUPT = """
import _thread, signal, time
from suricate.cpu import threads
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
done = []
def part(i):
    if i == 7:
        _thread.interrupt_main()
    time.sleep(0.05)
    done.append(i)
with threads.Limited(3):
    threads.run(time.sleep, [(0.01,)] * 3)
    try:
        threads.run(part, [(i,) for i in range(300)])
    except KeyboardInterrupt:
        begun = len(done)
        time.sleep(0.2)
        assert len(done) == begun < 300, (begun, len(done))
        assert threads.run(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]
        print("interrupted")
"""


def test_interrupt():
    found = subprocess.run(
        [sys.executable, "-c", INTERRUPT], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert found.stdout == "interrupted\n", found.stderr


def test_a_helper_that_an_interrupt_loses_is_replaced(two, monkeypatch):
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    both = threading.Barrier(2, timeout=PATIENCE)
    threads.run(lambda i: both.wait(), [(0,), (1,)])
    lost, before = threads._pool, threading.active_count()

    def interrupted(self, ticket):
        raise KeyboardInterrupt  # behind helpers.pop(), before the thread is woken

    with monkeypatch.context() as patch:
        patch.setattr(threads._Helper, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            threads.run(abs, [(-1,), (-2,)])
    assert threads._pool is not lost
    assert threads.run(lambda i: both.wait() >= 0, [(0,), (1,)]) == [True, True]
    assert threading.active_count() <= before + 1


def test_helpers_of_a_retired_pool_end(two, monkeypatch):
    pool = threads._Pool()
    monkeypatch.setattr(threads, "_pool", pool)
    ended, serve = threading.Semaphore(0), threads._Helper._serve
    monkeypatch.setattr(threads._Helper, "_serve", lambda self: (serve(self), ended.release()))
    threads.run(lambda i: pool.retire(), [(0,), (1,)])  # the helper is busy, or on its way back
    assert ended.acquire(timeout=PATIENCE)
    assert threads.run(abs, [(-1,), (-2,)]) == [1, 2]


def test_interrupt_when_a_part_has_just_ended():
    """The signal comes between two instructions, after the lock has been acquired: it is not acquired again."""

    class Done:
        calls = 0

        def acquire(self):
            self.calls += 1
            if self.calls == 1:
                ticket.ended = True
                raise KeyboardInterrupt

    ticket = threads._Ticket(threads._Job(abs, []))
    assert ticket.takes("helper")
    assert not ticket.takes("caller")
    ticket.done = Done()
    with pytest.raises(KeyboardInterrupt):
        threads._wait([ticket])
    assert ticket.done.calls == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(two):
    assert threads.run(abs, [(-1,), (-2,)]) == [1, 2]
    assert in_child(lambda: str(threads.run(abs, [(-i,) for i in range(9)]))) == str(list(range(9)))
    assert np.all(np.array(threads.run(abs, [(-1,), (-2,)])) == [1, 2])


def share(u, v, w, x):
    return x[v] + w


def results(seed: int) -> list[np.ndarray]:
    """Return the answers of a graph of its own after a few batches."""
    rng = np.random.default_rng(seed)
    backend = ("slabhash", "hornet_like", "csr_baseline")[seed % 3]
    graph = su.Graph(900, backend=backend, device="cpu", directed=False)
    src, dst = rng.integers(0, 900, (2, 6000))
    graph.insert_edges(src, dst)
    graph.delete_edges(src[::3], dst[::3])
    levels = graph.compute("bfs", source=int(src[1]))
    pulled = su.neighbor_reduce(graph, None, share, args=(np.arange(900),), reduce="sum")
    return [pulled, *levels, *graph.compute("wcc"), graph.has_edges(src, dst)]


def test_graphs_in_several_threads(monkeypatch):
    """Several threads work on graphs of their own, each with all threads of the pool: nothing is mixed up."""
    monkeypatch.setattr(threads, "GRAIN", 50)
    with threads.Limited(1):
        expected = [results(seed) for seed in range(6)]
    errors = []

    def work(seed):
        try:
            with threads.Limited(3):
                for _ in range(4):
                    for a, b in zip(results(seed), expected[seed], strict=True):
                        np.testing.assert_array_equal(a, b)
        except BaseException as error:
            errors.append(error)

    crew = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(PATIENCE)
    assert not errors
    assert not any(thread.is_alive() for thread in crew)


def test_one_graph_in_several_threads(monkeypatch):
    monkeypatch.setattr(threads, "GRAIN", 50)
    graph = su.Graph(900, device="cpu", threads=3)
    graph.insert_edges(*np.random.default_rng(0).integers(0, 900, (2, 6000)))
    expected = su.neighbor_reduce(graph, None, share, args=(np.arange(900),), reduce="sum")
    errors = []

    def work():
        try:
            for _ in range(30):
                np.testing.assert_array_equal(
                    su.neighbor_reduce(graph, None, share, args=(np.arange(900),), reduce="sum"), expected
                )
        except BaseException as error:
            errors.append(error)

    crew = [threading.Thread(target=work) for _ in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(PATIENCE)
    assert not errors
