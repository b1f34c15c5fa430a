"""Every public parameter takes, or refuses by an error of ``suricate.errors``, every kind of value: nothing else."""

from __future__ import annotations

import datetime
import decimal
import inspect
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from window_of import window_of

import suricate as su
import suricate.stream as st
from suricate.errors import SuricateError

CPU = {"device": "cpu"}
EVENTS = {"time": np.array(["2020-01-01", "2020-01-03"], "M8[s]"), "src": [0, 1], "dst": [1, 2], "weight": [1.0, 2.0]}


def values() -> dict[str, Any]:
    """Values of every kind by a label."""
    scalars = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex128 longdouble"
    found = {name: np.dtype(name).type(1) for name in scalars.split()}
    found |= {f"timedelta64[{unit}]": np.timedelta64(2, unit) for unit in ("W", "D", "h", "ms", "ns", "ps", "M")}
    for value in (
        1, 0, -3, 10**30, 1.5, 2.0, math.nan, math.inf, True, False, "ann", "", "7", "2d", None, b"x", 1j, "\udc80",
        "a\0b", np.str_("x"), np.bytes_(b"x"), np.void(b"ab"), np.datetime64("2020-01-01"), np.datetime64("NaT"),
        np.timedelta64(2), np.timedelta64("NaT"), np.timedelta64(220_000, "D"), datetime.timedelta(days=1),
        datetime.timedelta.max, datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1), decimal.Decimal("1.5"),
        decimal.Decimal("NaN"), np.array(1), np.array(1.5), np.array(2, "m8[D]"), np.array("x"), np.array(None),
        np.array([1, 2]), np.array([]), np.array([1.5]), np.array(["a", "b"]), np.array([1, 2], "m8[D]"),
        np.array([True, False]), np.ones((2, 2), int), np.array([1, None], object), np.ma.masked, [1, 2], ["a", "b"],
        [None], [1, "a"], [10**30], [math.nan], (1, 2), {1}, {}, {0: 1}, {"a": 1}, object(), int, len, range(3), ...,
        slice(1), np.dtype("int32"),
    ):  # fmt: skip
        found[f"{type(value).__name__} {value!r}"] = value
    pandas = pytest.importorskip("pandas")
    kinds = pandas.Timedelta(days=1), pandas.Timestamp("2020-01-01"), pandas.NaT, pandas.NA, pandas.Series([1, None])
    return found | {f"pandas {value!r}": value for value in (*kinds, pandas.DataFrame({"a": [1]}))}


def slides_of(source: Any, **options: Any) -> None:
    for _, _ in zip(range(20), window_of(source, graph=options.pop("graph", CPU), **options), strict=False):
        pass


def in_time(**given: Any) -> None:
    slides_of(EVENTS, **({"size": "3d", "slide": "1d"} | given))


def in_counts(**given: Any) -> None:
    slides_of(EVENTS, **({"size": 2, "slide": 1} | given))


def in_chunks(**given: Any) -> None:
    slides_of({**EVENTS, **given}, size="3d", slide="1d")


def in_chunks_of_names(**given: Any) -> None:
    slides_of({**EVENTS, "time": [1, 2], **given}, size="3s", slide="1s", names=True, on_error="skip", time_unit="s",
              attributes={"weight": "sum"})  # fmt: skip


def scanned(**given: Any) -> None:
    for _ in st.scan(**({"path": "e.csv"} | given)).read():
        pass


def read(**given: Any) -> None:
    su.read(**({"path": "e.txt"} | given))


def sourced(**given: Any) -> None:
    list(st.source(**({"x": lambda _: iter([(1, EVENTS)])} | given)).read())


def tracked(**given: Any) -> None:
    job = st.Window(EVENTS, size="3d", slide="1d", graph=CPU)
    tracker = job.track(
        **({"algorithm": "pagerank"} | {name: each for name, each in given.items() if name not in "kby"})
    )
    next(job)
    tracker.top(**{name: each for name, each in given.items() if name in "kby"})


def searched(**given: Any) -> None:
    job = st.Window(EVENTS, size="3d", slide="1d", names=True, graph=CPU)
    job.track("bfs", **given)
    next(job)


def sunk(**given: Any) -> None:
    st.Window(EVENTS, size="3d", slide="1d", graph=CPU).sink(**given)


def described(**given: Any) -> None:
    job = st.Window(EVENTS, size="3d", slide="1d", graph=CPU)
    job.vertices(**({"name": "a", "frame": {"id": [0, 1], "a": [1, 2]}} | given))
    next(job)


def built(**given: Any) -> None:
    su.Graph(**({"num_vertices": 4, **CPU} | given))


def method(name: str) -> Callable[..., None]:
    usual = {"src": [0], "dst": [1], "algorithm": "bfs", "count": 1, "vertices": [0], "batch": su.Batch(), "vertex": 0}

    def call(**given: Any) -> None:
        graph = su.Graph(4, weight_dtype="float64", **CPU)
        graph.insert_edges([0, 1], [1, 2], [1.0, 2.0])
        needed = {name: value for name, value in usual.items() if name in parameters}
        getattr(graph, name)(**(needed | given))

    parameters = names_of(getattr(su.Graph, name))
    call.parameters = parameters  # type: ignore[attr-defined]
    return call


def generator(name: str) -> Callable[..., None]:
    function, edges = getattr(su.generate, name), su.generate.uniform(8, 8, seed=1)
    usual = {"scale": 3, "num_vertices": 8, "num_edges": 8, "width": 3, "height": 3, "size": 4, "edges": edges,
             "src": [0, 1, 2], "dst": [1, 2, 3], "window": 2, "slide": 1, "seed": 1}  # fmt: skip

    def call(**given: Any) -> None:
        needed = {name: value for name, value in usual.items() if name in parameters}
        if name == "random_geometric" and "degree" not in given:
            needed["radius"] = 0.2
        made = function(**(needed | given))
        if hasattr(made, "__next__"):
            next(made)

    parameters = names_of(function)
    call.parameters = parameters  # type: ignore[attr-defined]
    return call


def names_of(function: Any) -> list[str]:
    """Return the names of the parameters of ``function``, or if it passes its own on, of what it has been made for."""
    kinds = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    found = inspect.signature(function).parameters.values()
    return [each.name for each in found if each.kind not in kinds and each.name not in ("self", "graph", "progress")]


METHODS = [
    "insert_edges", "delete_edges", "has_edges", "edge_weights", "neighbors", "degrees", "insert_vertices",
    "delete_vertices", "compute", "track", "apply", "adjacency", "to", "reserve",
]  # fmt: skip
GENERATORS = [
    "rmat", "uniform", "grid", "random_geometric", "uniform_pairs", "existing_edges", "mixed", "sliding_window",
    "temporal_batches",
]  # fmt: skip
CALLS: dict[str, tuple[Callable[..., None], list[str]]] = {
    "st.Window, time": (in_time, [name for name in names_of(st.Window) if name != "source"]),
    "st.Window, counts": (in_counts, ["size", "slide", "lateness", "ahead", "origin", "checkpoint_every"]),
    "chunks": (in_chunks, [*EVENTS, "kind"]),
    "chunks of names": (in_chunks_of_names, [*EVENTS, "kind"]),
    "st.scan": (scanned, names_of(st.scan)),
    "su.read": (read, names_of(su.read)),
    "st.source": (sourced, [name for name in names_of(st.source) if name != "x"]),
    "job.track": (tracked, ["algorithm", "every", "symmetric", "damping", "tol", "personalization", "k", "by"]),
    "job.track, names": (searched, ["source"]),
    "job.sink": (sunk, ["target"]),
    "job.vertices": (described, ["name", "frame", "on", "missing"]),
    "su.Graph": (built, names_of(su.Graph)),
    **{f"Graph.{name}": (method(name), method(name).parameters) for name in METHODS if hasattr(su.Graph, name)},  # type: ignore[attr-defined]
    **{f"generate.{name}": (generator(name), generator(name).parameters) for name in GENERATORS},  # type: ignore[attr-defined]
}
FILES = {
    "x",
    "path",
    "target",
    "checkpoint",
    "late",
    "on_error",
}  #: parameters whose value the system may refuse


@pytest.mark.slow
@pytest.mark.parametrize("label", CALLS)
def test_no_plain_exception(label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("src,dst,time,weight\n0,1,5,1\n1,2,6,2\n")
    Path("e.txt").write_text("0 1 1\n1 2 2\n")
    call, parameters = CALLS[label]
    assert parameters
    plain = []
    for name in parameters:
        for kind, value in values().items():
            try:
                with warnings.catch_warnings(action="ignore"):
                    call(**{name: value})
            except SuricateError:
                pass
            except OSError as error:
                if name not in FILES:
                    plain.append(f"{name} = {kind}: {error!r}")
            except Exception as error:
                plain.append(f"{name} = {kind}: {error!r}")
    assert not plain


@pytest.mark.parametrize("kind", ["size", "slide", "lateness", "checkpoint_every"])
def test_durations_of_every_kind_mean_the_same(kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    week = {
        "W": 1,
        "D": 7,
        "h": 168,
        "m": 10_080,
        "s": 604_800,
        "ms": 604_800_000,
        "us": 604_800 * 10**6,
        "ns": 604_800 * 10**9,
    }
    spelled: list[Any] = [np.timedelta64(count, unit) for unit, count in week.items()]
    spelled += ["7d", "168h", datetime.timedelta(7), pandas.Timedelta(days=7), np.str_("1w"), np.array(7, "m8[D]")]
    times = np.array(["2020-01-02", "2020-01-20", "2020-01-14", "2020-02-20"], "M8[D]")
    found = set()
    for value in spelled:
        options = {"size": "28d", "slide": "7d", "lateness": "1d"} | {kind: value}
        job = st.Window({"time": times, "src": [0, 1, 2, 3], "dst": [1, 2, 3, 4]}, graph=CPU, **options)
        found.add(tuple((str(w.end), w.graph.num_edges, job.late) for w in job))
    assert len(found) == 1


def test_durations_are_exact_or_refused() -> None:
    events = {**EVENTS, "time": EVENTS["time"].astype("M8[ns]")}
    job = st.Window(events, size="3d", slide="1d", lateness=np.timedelta64(1000, "ps"), graph=CPU)
    assert job.contents.rule is not None
    for wrong in (
        np.timedelta64(1500, "ps"),
        np.timedelta64(220_000, "D"),
        datetime.timedelta(days=213_503_983),  # in NumPy 16 hours
        np.timedelta64(1, "M"),
        np.timedelta64("NaT"),
    ):
        with pytest.raises(su.errors.ParameterError, match="lateness"):
            st.Window(events, size="3d", slide="1d", lateness=wrong, graph=CPU)
    with pytest.raises(su.errors.ParameterError, match="write '5s', say"):
        [*st.Window(events, size="3d", slide="1d", lateness=np.timedelta64(5), graph=CPU)]
