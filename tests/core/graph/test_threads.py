"""A graph in several threads: calls run one after the other, and nothing crashes."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from patience import PATIENCE

import suricate as su
from suricate.base.devices import CPU
from suricate.errors import SuricateError
from suricate.state.locks import CudaLock, graph_lock

N, ROUNDS = 400, 5


def distance(u, v, w, value):
    return value[u] + 1


@pytest.fixture(autouse=True)
def _switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


class Crew:
    """Threads that repeat their task until each has done so a few times; the first exception is raised at the end."""

    def __init__(self):
        self.errors, self.threads, self.rounds = [], [], []

    def add(self, task):
        """Repeat ``task(rng)`` in a thread of its own."""

        number = len(self.threads)
        rng = np.random.default_rng(number)
        self.rounds.append(0)

        def work():
            try:
                while min(self.rounds) < ROUNDS and not self.errors:
                    task(rng)
                    self.rounds[number] += 1
            except BaseException as error:
                self.errors.append(error)

        self.threads.append(threading.Thread(target=work))

    def run(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


def batch(graph, rng, size=200):
    ids = rng.integers(0, N, (2, size))
    return [graph.device.xp.asarray(part) for part in ids]


@pytest.mark.compiled
@pytest.mark.parametrize("options", [{}, {"in_edges": True, "weight_dtype": "float32"}, {"directed": False}])
def test_writers_readers_operators_and_trackers(backend, device, options):
    graph = su.Graph(N, backend=backend, device=device, **options)
    weight = None if graph.weight_dtype is None else 1
    graph.insert_edges(*batch(graph, np.random.default_rng(9)), weight)
    bfs = graph.track("bfs", source=0)
    deltas = []
    crew = Crew()

    def write(rng):
        deltas.append(graph.insert_edges(*batch(graph, rng), weight))
        graph.delete_edges(*batch(graph, rng))
        if rng.random() < 0.1:
            graph.compact()
            graph.mark()

    def read(rng):
        src, dst, _ = graph.edges()
        assert len(src) == len(dst)
        assert int(device.to_numpy(graph.degrees()).sum()) <= 2 * N * N
        graph.has_edges(*batch(graph, rng, 50))
        graph.adjacency(rng.integers(0, N, 5))
        assert graph.num_edges >= 0
        graph.updated()
        repr(graph)
        if deltas:
            assert deltas[int(rng.integers(len(deltas)))].num_inserted >= 0

    def operate(rng):
        value = device.xp.zeros(graph.num_vertices, np.int64)
        try:
            frontier = su.advance(graph, rng.integers(0, N, 10), distance, out=value, args=(value,), reduce="max")
            assert len(frontier) <= graph.num_vertices
            su.neighbor_reduce(graph, None, distance, args=(value,), reduce="sum")
        except SuricateError:
            assert len(value) != graph.num_vertices  # vertices were added meanwhile: value is too short now

    def track(rng):
        assert device.to_numpy(bfs.result.distance if hasattr(bfs.result, "distance") else bfs.result[0]).size
        if rng.random() < 0.2:
            bfs.refresh()
            graph.insert_vertices(1)

    for task in (write, write, read, operate, track):
        crew.add(task)
    crew.run()
    graph.synchronize()
    graph.check()
    before = device.to_numpy(np.asarray(bfs.result[0]) if not device.is_cuda else bfs.result[0]).copy()
    bfs.refresh()
    after = device.to_numpy(np.asarray(bfs.result[0]) if not device.is_cuda else bfs.result[0])
    assert np.array_equal(before, after)


def test_one_delta_read_by_many(backend, device):
    graph = su.Graph(N, backend=backend, device=device)
    delta = graph.insert_edges(*batch(graph, np.random.default_rng(1), 5000))
    found = []
    threads = [threading.Thread(target=lambda: found.append(delta.num_inserted)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [graph.num_edges] * 8


def test_another_thread_waits(device):
    graph = su.Graph(N, device=device)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (graph.insert_edges([0], [1]), done.set()))
    with graph.exclusive():
        with graph.exclusive():  # the same thread may enter again
            thread.start()
        assert not done.wait(0.1)
        assert graph.num_edges == 0
    thread.join()
    assert done.is_set()
    assert graph.num_edges == 1


def test_an_error_leaves_the_graph_free(device):
    graph = su.Graph(N, device=device)
    with pytest.raises(SuricateError):
        graph.insert_edges([N], [0])
    with pytest.raises(SuricateError):
        graph.degrees("in")
    thread = threading.Thread(target=lambda: graph.insert_edges([0], [1]))
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_free_lock_runs_no_python():
    """So that it costs well below a microsecond."""
    lock, calls = graph_lock(CPU), []
    sys.setprofile(lambda frame, event, argument: calls.append(event))
    with lock:
        pass
    sys.setprofile(None)
    assert "c_call" in calls
    assert "call" not in calls


class FakeStream:
    """A stream of a fake CuPy; counts the waits."""

    def __init__(self, ptr, events):
        self.ptr, self.events = ptr, events

    def synchronize(self):
        self.events.append(f"stream {self.ptr}")


@pytest.fixture
def cuda_lock(monkeypatch):
    """Return a ``CudaLock``, the list of its waits, and a function that enters it in a new thread with a stream."""
    events, mine = [], threading.local()
    monkeypatch.setattr("suricate.state.locks.wait_for", lambda device: events.append("device"))
    monkeypatch.setattr("suricate.state.locks.cuda_device_count", lambda: 1)
    current = SimpleNamespace(get_current_stream=lambda: FakeStream(getattr(mine, "ptr", 0), events))
    lock = CudaLock(SimpleNamespace(xp=SimpleNamespace(cuda=current)))

    def enter(ptr=0):
        def work():
            mine.ptr = ptr
            with lock, lock:
                pass

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    return lock, events, enter


def test_one_thread_never_waits(cuda_lock):
    lock, events, _ = cuda_lock
    for _ in range(3):
        with lock, lock:
            pass
    assert not events


def test_threads_on_the_default_stream_wait_once(cuda_lock):
    lock, events, enter = cuda_lock
    with lock:
        pass
    enter()  # what the first thread has queued, and where, is not known
    assert events == ["device"]
    enter()
    with lock:
        pass
    assert events == ["device"]


def test_threads_with_streams_wait_for_each_other(cuda_lock):
    lock, events, enter = cuda_lock
    enter(5)
    enter(6)
    assert events == ["device", "stream 6"]
    with lock:
        pass
    assert events == ["device", "stream 6", "device"]


def test_a_failed_wait_leaves_the_lock_free(cuda_lock, monkeypatch):
    lock, _, enter = cuda_lock
    enter()

    def broken(device):
        raise RuntimeError("the device is lost")

    monkeypatch.setattr("suricate.state.locks.wait_for", broken)
    with pytest.raises(RuntimeError, match="lost"), lock:
        pass
    assert lock._depth == 0
    monkeypatch.undo()
    assert lock._acquire(blocking=False)


@pytest.mark.gpu
def test_threads_with_streams_of_their_own():
    import cupy

    graph = su.Graph(N, device="cuda", checks="deferred")
    expected = set()
    lock = threading.Lock()

    def work(seed):
        rng = np.random.default_rng(seed)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for _ in range(50):
                src, dst = rng.integers(0, N, (2, 500))
                on_device = cupy.asarray(src), cupy.asarray(dst)
                stream.synchronize()
                graph.insert_edges(*on_device)
                with lock:
                    expected.update(zip(src.tolist(), dst.tolist(), strict=True))
                assert bool(graph.has_edges(*on_device).all())
            graph.synchronize()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    graph.check()
    assert graph.num_edges == len(expected)
