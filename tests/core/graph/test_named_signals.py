"""Real signals and a real lack of memory while names and edges are added: nothing crashes, nothing is half done.

Each try is a child of its own. ``SURICATE_TRIES`` is the number of tries of each kind, for a run by hand.
"""

import ctypes
import os
import random
import resource
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import suricate as su
from suricate import plugins

WHOLE = ("not interrupted", "as before", "all done", "interrupted elsewhere")
OLD = [f"p{k}" for k in range(2000)]
pytestmark = [
    pytest.mark.compiled, pytest.mark.skipif(sys.platform != "linux", reason="forks and limits as Linux has them"),
]  # fmt: skip
TRIES = [6, pytest.param(int(os.environ.get("SURICATE_TRIES", "60")), marks=pytest.mark.slow)]


def in_child(attempt):
    """Return the text that ``attempt()`` returns in a forked child, or how that ended."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        try:
            text = attempt()
        except KeyboardInterrupt:
            text = "interrupted elsewhere"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writes, text.encode()[:4000])
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else text


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


def change_names(names, kind):
    names.release(names.add(more_names(kind)))
    names.next_slide()


def graph_made(backend):
    graph = su.Graph(names=OLD, device="cpu", backend=backend, in_edges=True, threads=1)
    graph.insert_edges(OLD[:-1], OLD[1:])
    graph.columns["age"] = np.arange(2000)
    graph.delete_vertices([5, 7])
    graph.insert_vertices(1, recycle=True)
    return graph


def change_graph(graph, kind):
    ends = [OLD[k] for k in np.random.default_rng(4).integers(0, 2000, 15_000)]
    graph.apply(su.Batch(insert=(more_names(kind), ends), delete=(OLD[:100], OLD[1:101])))


def attempts(subject, kind):
    """Return functions: what makes a subject, what changes it, and what tells all about it."""
    if subject == "names":
        return lambda: names_made(kind), lambda names: names.add(more_names(kind)), of_names
    return lambda: graph_made(subject), lambda graph: change_graph(graph, "text"), of_graph


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


def short_of_memory(subject, kind, room):
    make, change, view = attempts(subject, kind)
    libc = ctypes.CDLL(None)
    libc.mallopt(-3, 1 << 14)  # arrays of that size come from the system, not from memory that was freed
    change(make())
    made, result, why = make(), "not interrupted", ""
    before = view(made)
    libc.malloc_trim(0)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        change(made)
    except MemoryError as error:
        result, why = "as before", "".join(traceback.format_exception(error))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
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
        seen[in_child(lambda: interrupted_once(subject, kind, share))] += 1  # noqa: B023 - called at once
    print(dict(seen))
    assert set(seen) <= set(WHOLE), seen
    assert seen["as before"] + seen["all done"]


@pytest.mark.parametrize("tries", TRIES)
def test_a_real_lack_of_memory(tries):
    rng, seen = random.Random(9), Counter()
    for subject, kind in SUBJECTS:
        make, change, _ = attempts(subject, kind)
        change(make())
    for number in range(tries):
        subject, kind = SUBJECTS[number % len(SUBJECTS)]
        room = rng.randrange(0, 3 << 20)
        seen[in_child(lambda: short_of_memory(subject, kind, room))] += 1  # noqa: B023 - called at once
    print(dict(seen))
    assert set(seen) <= set(WHOLE), seen
    assert tries < 100 or seen["as before"]  # a few may all fit
