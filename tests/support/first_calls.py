"""What users call first: README's blocks, examples, commands, NetworkX functions, replays, batches of all sizes.

``python first_calls.py PART...`` makes the calls of these parts, in this process and others, on the CPU; compilations
go to the file ``$COMPILED_LOG``. The calls have other sizes, seeds and orders than those by which suricate compiles
ahead.
"""

from __future__ import annotations

import copy
import itertools
import re
import subprocess
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import compiled
import numpy as np

import suricate as su
from suricate import plugins
from suricate.stream.graphs import BY_IN_EDGES

CHECKOUT = Path(__file__).resolve().parents[2]
DENSE = "complement", "google_matrix", "to_numpy_array"  #: these return a number or an edge per pair of nodes
WEIGHTS = None, "float32", "float64", "int32"
SIZES = 1, 7, 300, 5_000, 60_000  #: of batches
HOUR = 3_600


def algorithms(directed: bool, weights: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and parameters of each algorithm that can run on graphs of this kind."""
    for name, kind in plugins.algorithms().items():
        requires, given = kind.requires, kind.sample_params(500, 0)
        fits = requires.undirected is None or requires.undirected != directed
        if fits and (requires.weighted is None or requires.weighted == (weights is not None)):
            yield name, {each: given[each] for each in ("source", "sources") if each in given}


def graphs(directed: bool, weights: str | None, only: tuple[str, ...] = ()) -> None:
    """Keep all algorithms (``only`` these) current over batches of all sizes, and call what a graph offers."""
    rng = np.random.default_rng(5)
    for name, params in algorithms(directed, weights):
        if only and name not in only:
            continue
        g = su.Graph(700, device="cpu", directed=directed, weight_dtype=weights, in_edges=directed)
        tracker = g.track(name, **params)
        for size in SIZES:
            for _ in range(2):
                src, dst = rng.integers(0, g.num_vertices, (2, size))
                weight = () if weights is None else (rng.integers(1, 9, size).astype(weights),)
                g.insert_edges(src, dst, *weight)
                read(tracker)
                g.delete_edges(src[: size // 2 + 1], dst[: size // 2 + 1])
                read(tracker)
                g.apply(su.Batch(delete=(src[size // 2 :], dst[size // 2 :]), insert=(dst, src, *weight)))
                read(tracker)
            if weights is not None:  # other weights
                src, dst, old = g.edges()
                g.insert_edges(src[:size], dst[:size], old[:size] * 2)
                read(tracker)
        g.delete_vertices([3, 4])
        g.insert_vertices(3)
        read(tracker)


def queries(directed: bool, weights: str | None) -> None:
    """Call what a graph offers beside algorithms."""
    rng = np.random.default_rng(7)
    for size, dtype in itertools.product(SIZES, (np.int64, np.uint32, np.int32, list)):
        g = su.Graph(700, device="cpu", directed=directed, weight_dtype=weights, in_edges=directed)
        src, dst = rng.integers(0, 700, (2, size))
        src, dst = (part.tolist() if dtype is list else part.astype(dtype) for part in (src, dst))
        weight = () if weights is None else (np.ones(size, weights),)
        delta = g.insert_edges(src, dst, *weight)
        assert delta.num_inserted > 0
        assert len(delta.inserted.src) == delta.num_inserted
        assert g.has_edges(src, dst).all()
        assert len(g.edges()[0]) >= delta.num_inserted
        assert g.degrees().sum() > 0
        assert g.neighbors(int(src[0])) is not None
        if weights is not None:
            g.edge_weights(src, dst)
        with tempfile.TemporaryDirectory() as folder:
            g.save(Path(folder) / "graph.npz")
            again = su.Graph.load(Path(folder) / "graph.npz", device="cpu")
        assert again.num_edges == g.num_edges
        copy.copy(g).delete_edges(src, dst)
        g.compact()


def read(tracker: Any) -> None:
    for read in (lambda: tracker.result, lambda: tracker.top(3), lambda: tracker.at([1, 2])):
        with suppress(su.errors.SuricateError):  # a centrality that does not converge, walks without a value per vertex
            assert read() is not None


def readme(*numbers: int) -> None:
    """Run README's blocks of Python, all or those with these numbers, but for an edge function, which compiles."""
    blocks = re.findall(r"```python\n(.*?)```", (CHECKOUT / "README.md").read_text(), re.DOTALL)
    blocks = [block for block in blocks if "su.propagate(" not in block]
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers or range(len(blocks)):
            path = Path(folder) / f"block{number}.py"
            path.write_text(blocks[number])
            run(str(path))


def run(*command: str) -> None:
    listened = "import compiled; compiled.listen()\n"
    given = [listened + command[1], *command[2:]] if command[0] == "-c" else [listened + PROGRAM, *command]
    subprocess.run([sys.executable, "-P", "-c", *given], check=True, stdout=subprocess.DEVNULL)


PROGRAM = "import runpy, sys\nsys.argv[:] = sys.argv[1:]\nsys.path[0:0] = [sys.argv[0].rpartition('/')[0]]\nrunpy."
PROGRAM += "run_path(sys.argv[0], run_name='__main__') if '/' in sys.argv[0] else runpy.run_module(sys.argv[0])"


def payments(*, days: int = 20) -> None:
    """Run the payments example."""
    with tempfile.TemporaryDirectory() as folder:
        given = "--device", "cpu", "--kill-after", "0", "--days", str(days)
        run(str(CHECKOUT / "examples" / "payments" / "payments.py"), folder, *given)


#: Of jobs: events of a slide, slides, and slides that a window holds (None: all); all events are of so many vertices
JOBS = (
    (8, 60, 50), (170, 60, 50), (50, 12, 4), (1_000, 12, 4), (200, 9, 3), (4_000, 9, 3), (1_400, 3, None),
    (28_000, 3, None),
)  # fmt: skip
ENDS = 250


def streams(*tracked: str, jobs: tuple[tuple[int, int, int | None], ...] = JOBS) -> None:
    """Run ``suricate stream`` with all algorithms (``tracked``) over windows and slides of many sizes."""
    rng = np.random.default_rng(9)
    with tempfile.TemporaryDirectory() as folder:
        for kind, (size, slides, window) in itertools.product(("ids", "names", "weighted", "counted"), jobs):
            path, count = Path(folder) / "events.csv", size * slides
            time, (src, dst) = np.sort(rng.integers(0, slides * HOUR, count)), rng.integers(0, ENDS, (2, count))
            name, weight = "" if kind == "ids" else "account ", ",5" if kind == "weighted" else ""
            lines = [f"{name}{a},{name}{b},{t}{weight}" for a, b, t in zip(src, dst, time, strict=True)]
            path.write_text("\n".join(["src,dst,time" + (",weight" if weight else ""), *lines]) + "\n")
            given = [] if window is None else ["--window", f"{window}h"]
            combine = {"weighted": ["--combine", "sum"], "counted": ["--combine", "count"]}.get(kind, [])
            given += ["--names"] * bool(name) + combine
            for together in taking_alike(tracked or tuple(plugins.algorithms()), weighted=bool(combine)):
                stream(path, together, f"{name}{src[0]}", given)


def taking_alike(names: tuple[str, ...], *, weighted: bool) -> list[list[str]]:
    """Return the algorithms that windows with weights, or without, can track, those together that get the same graph.

    The command gives the graph of a window the direction, and in-edges, that what is tracked asks for.
    """
    found: dict[Any, list[str]] = {}
    for name in names:
        kind = plugins.algorithm(name)
        if kind.requires.weighted in (None, weighted) and name != "random_walks":  # which has no value per vertex
            undirected = bool(kind.requires.undirected)
            helps = not undirected and (kind.requires.in_edges or kind.update_kind in BY_IN_EDGES)
            alone = name if kind.update_kind == "warm" else ""  # iterations that need not converge end the command
            found.setdefault((undirected, helps, alone), []).append(name)
    return [*found.values()]


def stream(path: Path, algorithms: list[str], source: str, given: list[str]) -> None:
    from click.testing import CliRunner

    from suricate.cli import cli

    samples = {each for name in algorithms for each in plugins.algorithm(name).sample_params(ENDS, 0)}
    params = [f"--param=source={source}"] if "source" in samples else []
    params += [f"--param=sources={source}"] if algorithms == ["personalized_pagerank"] else []
    tracks = [f"--track={name}" for name in algorithms]
    command = "stream", str(path), "--slide", "1h", "--device", "cpu", *tracks, *params, *given
    found = CliRunner().invoke(cli, command)
    assert found.exit_code == 0 or "no convergence" in found.output, (command, found.output[-300:])


STEPS = "bfs", "sssp", "wcc", "kcore", "triangles", "degree", "pagerank"  #: algorithms with a loop over events


def replays(weights: str | None = None) -> None:
    """Replay events over graphs with a tracker of each algorithm that has a loop over events, and without one."""
    rng = np.random.default_rng(11)
    for name, directed in itertools.product((None, *STEPS), (True, False)):
        if directed and name in ("kcore", "triangles"):
            continue
        g = su.Graph(500, device="cpu", directed=directed, weight_dtype=weights, in_edges=directed)
        params = {"source": 0} if name in ("bfs", "sssp") else {}
        tracker = None if name is None else g.track(name, **params)
        for count, at in itertools.product((5, 3_000), (None, [1, 2])):
            events = [*rng.integers(0, 500, (2, count)), rng.random(count) < 0.6]
            if weights is not None:
                events.append(rng.integers(1, 9, count).astype(weights))
            assert su.replay(g, tuple(events), tracker, at=at).done == count


def networkx(*names: str) -> None:
    """Call the functions of NetworkX that are served, on graphs of several sizes, directed or not, with weights."""
    import networkx as nx

    from suricate.networkx.info import offered

    warnings.filterwarnings("ignore", "Note: conversions")  # are kept
    for name, point in offered().items():
        if names and name not in names:
            continue
        function = getattr(nx, name, None) or getattr(nx.community, name, None)
        served = point.load()
        if function is None:
            continue
        is_small = served.cost == "heavy" or name in DENSE
        sizes = ((40, 150),) if is_small else ((40, 150), (3_000, 20_000), (9_000, 90_000))
        for size, directed, weight in itertools.product(sizes, (False, True), (None, 2, 0.5)):
            call(nx, function, served, drawn(nx, *size, directed, weight))


@lru_cache
def drawn(nx: Any, num_vertices: int, num_edges: int, directed: bool, weight: float | None) -> Any:
    """Return a graph with the attribute ``weight`` alone: NetworkX keeps what it is converted to for the next call."""
    graph = nx.gnm_random_graph(num_vertices, num_edges, seed=3, directed=directed)
    if weight is not None:
        nx.set_edge_attributes(graph, weight, "weight")
    return graph


def call(nx: Any, function: Callable[..., Any], served: Any, graph: Any) -> None:
    known = {"source": 1, "target": 2, "n": 1, "sources": [1, 2], "distance": 1, "k": 1, "u": 1, "v": 2, "G": graph}
    parameters = list(served.signature.parameters.values())[1:]
    needed = [each.name for each in parameters if each.default is each.empty or each.name == "source"]
    if not known.keys() >= set(needed):
        return
    with suppress(nx.NetworkXException, NotImplementedError):
        answer = function(graph, **{name: known[name] for name in needed}, backend="suricate")
        deque(answer if isinstance(answer, Iterator) else (), maxlen=0)


PARTS: dict[str, Callable[[], None]] = {
    "readme": readme,
    "payments": payments,
    "streams": streams,
    "networkx": networkx,
    **{f"replays {weights}": lambda weights=weights: replays(weights) for weights in WEIGHTS},  # type: ignore[misc]
    **{
        f"{what.__name__} {directed} {weights}": lambda a=directed, b=weights, what=what: what(a, b)  # type: ignore[misc]
        for what in (graphs, queries)
        for directed in (True, False)
        for weights in WEIGHTS
    },
}


def main(parts: list[str]) -> None:
    """Make the calls of ``parts``."""
    compiled.listen()
    for part in parts:
        PARTS[part]()


if __name__ == "__main__":
    main(sys.argv[1:] or [*PARTS])
