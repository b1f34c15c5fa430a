"""The table of weights: whatever is combined, stored and kept beside them, they are those of pandas and SciPy.

Each cell is a window over the same events. Edges, deltas, ``sssp`` and ``pagerank`` of each slide are compared with
tables of pandas and matrices of SciPy. ``REFUSED`` names the error of the cells that are refused. In the quick tier
every two choices occur together in some cell, in the others all cells are run.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from cli_calls import call

import suricate as su
import suricate.stream as st
from suricate.base.devices import Device
from suricate.errors import RequirementError
from suricate.parallel import run

SIZE, SLIDE, COUNT, VERTICES = 12, 4, 70, 9
RULES = {"none": None, "number": {"fee": "sum"}, "text": {"currency": "last"}}


class Cell(NamedTuple):
    """One choice of each kind: how a window is made, and over which events."""

    dtype: str  #: of the graph's weights; "none": events have none
    combine: str
    attributes: str
    in_edges: bool
    backend: str
    way: str  #: "loop"; "resumed" from a checkpoint; "divided" among two processes; "both"; or the command line


CHOICES: dict[str, tuple[Any, ...]] = {
    "dtype": ("none", "float32", "float64", "int32", "uint32"),
    "combine": ("last", "first", "sum", "count", "min", "max"),
    "attributes": tuple(RULES),
    "in_edges": (False, True),
    "backend": ("slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"),
    "way": ("loop", "resumed", "divided", "both", "command"),
}
ALL = [
    cell
    for cell in itertools.starmap(Cell, itertools.product(*CHOICES.values()))
    if cell.way != "command" or (cell.dtype in ("none", "float64") and not cell.in_edges)  # it has no other options
]


def refused(cell: Cell) -> tuple[type[Exception], str] | None:
    """The error of a cell: the only ones are sums and extremes of weights that are not there."""
    if cell.dtype == "none" and cell.combine in ("sum", "min", "max"):
        return RequirementError, f"combine='{cell.combine}' needs a column of weights"
    return None


def pairwise(cells: list[Cell]) -> list[Cell]:
    """Few of ``cells``, in which every two choices that occur together in ``cells`` do so, too."""
    left = {cell: set(itertools.combinations(enumerate(cell), 2)) for cell in cells}
    wanted, found = set().union(*left.values()), list[Cell]()
    random = np.random.default_rng(1)
    while wanted:
        some = [cells[at] for at in random.integers(0, len(cells), 60)]
        best = max(some, key=lambda cell: len(left[cell] & wanted))
        if gained := left[best] & wanted:
            found.append(best)
            wanted -= gained
    return found


# -- what is right -----------------------------------------------------------------------------------------------------


def events(cell: Cell) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    src, dst = random.integers(0, VERTICES, (2, COUNT))
    made = {"time": np.sort(random.integers(0, 40, COUNT)), "src": src % 5, "dst": dst}
    if cell.dtype != "none":
        made["weight"] = random.integers(1, 9, COUNT)
    made["fee"] = random.integers(0, 5, COUNT) * 0.5
    made["currency"] = random.choice(np.array(["EUR", "USD", "JPY"], object), COUNT)
    return made


class Right(NamedTuple):
    """What a slide is to have: weight (None: there are none) and attribute by edge, and its number of vertices."""

    edges: dict[tuple[int, int], tuple[float | None, Any]]
    num_vertices: int

    def matrix(self) -> Any:
        ends = np.array([*self.edges], np.int64).reshape(-1, 2)
        weights = [1.0 if weight is None else weight for weight, _ in self.edges.values()]
        return scipy.sparse.csr_matrix((weights, tuple(ends.T)), shape=(self.num_vertices,) * 2)

    def distances(self) -> np.ndarray:
        return scipy.sparse.csgraph.dijkstra(self.matrix(), indices=0)

    def ranks(self) -> np.ndarray:
        matrix, n = self.matrix(), self.num_vertices
        total = np.asarray(matrix.sum(axis=1)).ravel()
        steps = scipy.sparse.diags(np.divide(1, total, out=np.zeros(n), where=total > 0)) @ matrix
        rank = np.full(n, 1 / n)
        for _ in range(300):
            rank = 0.85 * (steps.T @ rank + rank[total == 0].sum() / n) + 0.15 / n
        return rank


def right_slides(cell: Cell) -> dict[int, Right]:
    """By end of a slide, what pandas finds in its window."""
    table, found = pd.DataFrame(events(cell)), {}
    for end in range(SLIDE, 40 + SLIDE, SLIDE):
        seen = table[table.time < end]
        live = seen[seen.time >= end - SIZE]
        groups = live.groupby(["src", "dst"])
        columns: dict[str, Any] = {}
        if cell.combine == "count":
            columns["weight"] = groups.size()
        elif cell.dtype != "none":
            columns["weight"] = groups.weight.agg(cell.combine)
        for name, rule in (RULES[cell.attributes] or {}).items():
            columns[name] = groups[name].agg(rule)
        rows = groups.size().index.tolist()
        values = {name: column.tolist() for name, column in columns.items()}
        weights = values.pop("weight", [None] * len(rows))
        others = next(iter(values.values()), [None] * len(rows))
        size = 1 + int(max(seen.src.max(), seen.dst.max()))
        found[end] = Right(dict(zip(rows, zip(weights, others, strict=True), strict=True)), size)
    return found


# -- what a job has ----------------------------------------------------------------------------------------------------


def by_edge(edges: su.EdgeList, values: Any) -> dict[tuple[int, int], Any]:
    ends = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    return dict(zip(ends, [None] * len(edges.src) if values is None else values.tolist(), strict=True))


def compare(cell: Cell, w: Any, trackers: tuple[Any, Any], before: Right, right: Right) -> None:
    graph, host = w.graph, w.graph.device.to_numpy
    name = next(iter(RULES[cell.attributes] or {}), None)
    edges, delta = graph.edges(), w.delta
    expected = {edge: weight for edge, (weight, _) in right.edges.items()}
    assert by_edge(edges, edges.weight) == expected
    assert (edges.row is None) == (name is None)
    if edges.weight is not None:
        assert edges.weight.dtype == graph.weight_dtype == wanted_dtype(cell)
    if name is not None:
        assert by_edge(edges, graph.edge_columns.at_rows(name, edges.row)) == {
            edge: other for edge, (_, other) in right.edges.items()
        }
    was, now = before.edges, right.edges
    came, left = now.keys() - was.keys(), was.keys() - now.keys()
    changed = {edge for edge in now.keys() & was.keys() if now[edge] != was[edge]}
    assert by_edge(delta.inserted, delta.inserted.weight) == {edge: now[edge][0] for edge in came}
    assert by_edge(delta.deleted, delta.deleted.weight) == {edge: was[edge][0] for edge in left}
    assert by_edge(delta.replaced, delta.replaced.weight) == {edge: now[edge][0] for edge in changed}
    assert by_edge(delta.replaced, delta.replaced_old) == {edge: was[edge][0] for edge in changed}
    search, ranks = trackers
    np.testing.assert_allclose(unreached_far(host(search.result.distance)), right.distances())
    np.testing.assert_allclose(host(ranks.result), right.ranks(), atol=1e-6)


def unreached_far(distances: np.ndarray) -> np.ndarray:
    """Distances with infinity where a vertex is not reached, which are -1 among integers."""
    return np.where(distances == -1, np.inf, distances)


def wanted_dtype(cell: Cell) -> np.dtype:
    return np.dtype("uint32" if cell.dtype == "none" else cell.dtype)


def loop(cell: Cell, device: str, comm: Any = None, folder: Path | None = None, stop: int | None = None) -> list[int]:
    """Compare the slides of a job, up to ``stop`` of them; return their ends."""
    options: dict[str, Any] = {"backend": cell.backend, "in_edges": cell.in_edges}
    options |= {"device": device} if comm is None else {"comm": comm, "threads": 1, "device": device}
    if cell.dtype != "none":
        options["weight_dtype"] = cell.dtype
    made = events(cell)
    chunks = [{name: part[at : at + 20] for name, part in made.items()} for at in range(0, COUNT, 20)]
    job = st.Window(
        chunks, size=str(SIZE), slide=str(SLIDE), combine=cell.combine, attributes=RULES[cell.attributes],
        graph=options, checkpoint=folder, checkpoint_every=1,
    )  # fmt: skip
    trackers = job.track("sssp", source=0), job.track("pagerank", tol=1e-12)
    right, ends = right_slides(cell), list[int]()
    for w in job:
        compare(cell, w, trackers, right.get(w.end - SLIDE, Right({}, 0)), right[w.end])
        w.graph.check()
        ends.append(int(w.end))
        if len(ends) == stop:
            break
    return ends


def in_loop(cell: Cell, device: str, folder: Path, comm: Any = None) -> None:
    resumes = cell.way in ("resumed", "both")
    ends = loop(cell, device, comm, folder if resumes else None, 4 if resumes else None)
    if resumes:
        ends = sorted({*ends, *loop(cell, device, comm, folder)})
    assert ends == [*range(SLIDE, 40 + SLIDE, SLIDE)]


def by_command(cell: Cell, device: str, folder: Path) -> None:
    """Compare what the command writes."""
    path = folder / "events.csv"
    pd.DataFrame(events(cell)).to_csv(path, index=False)
    rules = [f"--attribute={name}={rule}" for name, rule in (RULES[cell.attributes] or {}).items()]
    result = call(
        "stream", path, "--window", f"{SIZE}s", "--slide", f"{SLIDE}s", "--combine", cell.combine, *rules,
        "--top", VERTICES, "--track", "sssp", "--param", "source=0", "--track", "pagerank", "--param", "tol=1e-12",
        "--output", folder / "out.csv", "--backend", cell.backend, "--device", device,
    )  # fmt: skip
    if result.exit_code and refused(cell):
        raise RequirementError(result.output)
    assert not result.exit_code, result.output
    tables = [pd.read_csv(folder / f"out-{name}.csv", parse_dates=["end"]) for name in ("sssp", "pagerank")]
    for end, right in right_slides(cell).items():
        slides = [table[table.end == pd.Timestamp(end, unit="s")].sort_values("vertex") for table in tables]
        assert [part.vertex.tolist() for part in slides] == [[*range(right.num_vertices)]] * 2
        np.testing.assert_allclose(unreached_far(slides[0].distance.fillna(-1).to_numpy()), right.distances())
        np.testing.assert_allclose(slides[1].value, right.ranks(), atol=1e-6)


def check(cell: Cell, device: Device, folder: Path) -> None:
    """Compare a cell, or see that it is refused as the table says."""
    folder.mkdir()
    place, error = device.kind, refused(cell)

    def work() -> None:
        if cell.way == "command":
            by_command(cell, place, folder)
        elif cell.way in ("divided", "both"):
            run(lambda comm: in_loop(cell, place, folder, comm), 2)
        else:
            in_loop(cell, place, folder)

    if error is None:
        work()
    else:
        with pytest.raises(error[0], match=error[1]):
            work()


def check_all(cells: list[Cell], backend: str, device: Device, folder: Path) -> None:
    for number, cell in enumerate(each for each in cells if each.backend == backend):
        try:
            check(cell, device, folder / str(number))
        except BaseException as error:
            error.add_note(f"in {cell}")
            raise


@pytest.mark.plain
def test_every_two_choices_are_those_of_pandas(every_backend: str, device: Device, tmp_path: Path) -> None:
    check_all(pairwise(ALL), every_backend, device, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("way", CHOICES["way"])
def test_all_cells_are_those_of_pandas(every_backend: str, way: str, device: Device, tmp_path: Path) -> None:
    check_all([cell for cell in ALL if cell.way == way], every_backend, device, tmp_path)
