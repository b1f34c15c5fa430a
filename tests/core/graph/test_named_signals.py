"""Real signals and a real lack of memory while names and edges are added: nothing crashes, nothing is half done.

Each try is a child of its own. ``SURICATE_TRIES`` is the number of tries of each kind, for a run by hand.
"""

import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

import forked
import numpy as np
import pytest
from patience import PATIENCE

import suricate as su
from suricate import plugins

WHOLE = ("not interrupted", "as before", "all done", "KeyboardInterrupt: ")
OLD = [f"p{k}" for k in range(2000)]
pytestmark = [
    pytest.mark.compiled, pytest.mark.skipif(sys.platform != "linux", reason="forks and limits as Linux has them"),
]  # fmt: skip
LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
LEAST = 1 << 14  #: bytes of an array that comes from the system, in the process that lacks memory
TRIES = [7, pytest.param(int(os.environ.get("SURICATE_TRIES", "60")), marks=pytest.mark.slow)]


def interrupted(call, delay):
    """Call ``call`` and send SIGINT after ``delay`` seconds; return whether it was interrupted."""
    goes, done = threading.Event(), threading.Event()

    def kill():
        goes.wait()
        end = time.perf_counter() + delay
        while time.perf_counter() < end and not done.is_set():
            time.sleep(0)
        if not done.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    killer, hit = threading.Thread(target=kill), False
    killer.start()
    try:
        try:
            goes.set()
            call()
        finally:
            done.set()
    except KeyboardInterrupt:
        hit = True
    killer.join()
    return hit


def of_names(names):
    state = {name: part.tolist() for name, part in names.state().items()}
    return len(names), names.num_ids, state, names.forgotten()[0].tolist()


def of_graph(graph):
    src, dst = graph.edges()[:2]
    order = np.lexsort((dst, src))
    about = graph.num_vertices, graph.version, graph.deleted_vertices.tolist(), graph.columns["age"].tolist()
    return about, src[order].tolist(), dst[order].tolist(), of_names(graph.names)


def names_made(kind):
    names = su.Names()
    names.add(kept_names(kind))
    names.forget(range(0, 1000, 3))
    names.next_slide()
    return names


def kept_names(kind):
    return OLD if kind == "text" else np.arange(2000) * 7


def more_names(kind):
    numbers = np.random.default_rng(2).integers(0, 20_000, 15_000)
    return [f"q{k}" for k in numbers] if kind == "text" else numbers - 30_000


def graph_made(backend):
    graph = su.Graph(names=OLD, device="cpu", backend=backend, in_edges=True, threads=1)
    graph.insert_edges(OLD[:-1], OLD[1:])
    graph.columns["age"] = np.arange(2000)
    graph.delete_vertices([5, 7])
    graph.insert_vertices(1, recycle=True)
    return graph


def attempts(subject, kind):
    """Return functions: what makes a subject, what changes it, and what tells all about it."""
    more = more_names(kind)
    if subject == "names":
        return lambda: names_made(kind), lambda names: names.add(more), of_names
    ends = [OLD[k] for k in np.random.default_rng(4).integers(0, 2000, 15_000)]
    batch = su.Batch(insert=(more, ends), delete=(OLD[:100], OLD[1:101]))
    return lambda: graph_made(subject), lambda graph: graph.apply(batch), of_graph


def interrupted_once(subject, kind, share):
    make, change, view = attempts(subject, kind)
    right = make()
    begin = time.perf_counter()
    change(right)
    took, after = time.perf_counter() - begin, view(right)
    made = make()
    before = view(made)
    hit = interrupted(lambda: change(made), share * took)
    made.check()
    now = view(made)
    if now not in (before, after) or (not hit and now != after):
        return "neither before nor after"
    if now == before:
        change(made)
        if view(made) != after:
            return "another end"
    return "not interrupted" if not hit else "as before" if now == before else "all done"


def short_of_memory(subject, kind, share):
    """Change a subject where ``share`` of the address space is left that the change needs."""
    make, change, view = attempts(subject, kind)
    change(make())
    made, result, why = make(), "all done", ""
    before = view(made)
    held = all_free_memory()
    needed = int(forked.in_child(lambda: str(growth(lambda: change(made)))))
    resource.setrlimit(resource.RLIMIT_AS, (size_of("VmSize") + int(share * needed), resource.RLIM_INFINITY))
    try:
        change(made)
    except MemoryError as error:
        result, why = "as before", "".join(traceback.format_exception(error))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    list(map(LIBC.free, held))
    made.check()
    if (view(made) == before) != (result == "as before"):
        return f"{subject} of {kind}: neither before nor after {why}"
    if result == "as before":
        right = make()
        change(right)
        change(made)
        if view(made) != view(right):
            return "another end"
    return result


def all_free_memory():
    """Allocate what the process has and does not use, so that arrays need more from the system; return the blocks."""
    resource.setrlimit(resource.RLIMIT_AS, (size_of("VmSize"), resource.RLIM_INFINITY))
    held = [block for size in (1 << 20, 1 << 17, LEAST) for block in iter(lambda: LIBC.malloc(size), None)]  # noqa: B023
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return held


def growth(call):
    """Return by how many bytes the address space of a child that has just begun grows at most during ``call()``."""
    begin = size_of("VmSize")
    call()
    return size_of("VmPeak") - begin


def size_of(field):
    """Return a size of the process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))


SUBJECTS = [("names", "text"), ("names", "int64"), *((backend, "text") for backend in sorted(plugins.backends()))]


@pytest.mark.parametrize("tries", TRIES)
def test_real_interrupts(tries):
    rng, seen = random.Random(7), Counter()
    for subject, kind in SUBJECTS:
        make, change, _ = attempts(subject, kind)
        change(make())  # compiled before the forks
    for number in range(tries):
        subject, kind = SUBJECTS[number % len(SUBJECTS)]
        share = rng.random()
        seen[forked.in_child(lambda: interrupted_once(subject, kind, share))] += 1  # noqa: B023 - called at once
    print(dict(seen))
    assert set(seen) <= set(WHOLE), seen
    assert seen["as before"] + seen["all done"]


@pytest.mark.slow
@pytest.mark.parametrize("tries", TRIES)
def test_a_real_lack_of_memory(tries):
    malloc = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(LEAST)}
    environment = os.environ | malloc | {"PYTHONPATH": str(Path(forked.__file__).parent)}
    command = [sys.executable, __file__, str(tries)]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


def lack_memory(tries):
    """With half of what a change needs it is refused, with twice as much it is not."""
    rng = random.Random(9)
    for number in range(tries):
        subject, kind = SUBJECTS[number % len(SUBJECTS)]
        make, change, _ = attempts(subject, kind)
        if number < len(SUBJECTS):
            change(make())  # compiled before the forks
        share = (0, 0.5, 2, rng.random() * 2)[(number + number // len(SUBJECTS)) % 4]
        ended = forked.in_child(lambda: short_of_memory(subject, kind, share))  # noqa: B023 - called at once
        expected = ("as before",) if share <= 0.5 else ("all done",) if share == 2 else ("as before", "all done")
        assert ended in expected, (subject, kind, share, ended)


if __name__ == "__main__":
    lack_memory(int(sys.argv[1]))
