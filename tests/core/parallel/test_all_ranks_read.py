"""Jobs whose source all ranks read, against the same job on one process: answers, sinks and files of refused rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as hs

import suricate as su
import suricate.stream as st
from suricate.errors import (
    DTypeError,
    FileFormatError,
    LateEventError,
    ParameterError,
    RequirementError,
    UnknownNameError,
)
from suricate.io import files as io_files
from suricate.parallel import Comm, run
from suricate.stream.all_ranks import waiting_names

pytestmark = pytest.mark.plain


def written(folder: Path, seed: int, *, files: int, kinds: bool, named: bool, bad: bool, number: int = 240) -> Path:
    """Events in no order of time, in files of different lengths, one of them empty; some far ahead, some malformed."""
    rng = np.random.default_rng(seed)
    time = np.arange(number) // 5 - rng.integers(0, 9, number) * (rng.integers(0, 3, number) == 0) + 20
    if bad:
        time[rng.integers(0, number, 6)] += 4000
    ends = rng.integers(0, 6, (2, number)) + np.arange(number) // 12
    kind = rng.choice(["insert", "insert", "insert", "delete", "set"], number)
    cuts = np.sort(rng.integers(0, number, files - 1))
    folder.mkdir()
    for part, rows in enumerate(np.split(np.arange(number), cuts)):
        lines = ["time,src,dst,weight,fee,place" + ",kind" * kinds]
        for i in rows:
            src, dst = (f"n{v}" if named else str(v) for v in ends[:, i])
            lines.append(f"{time[i]},{src},{dst},{i % 7 + 1},{i % 5},x" + f",{kind[i]}" * kinds)
            if bad and i % 31 == 0:
                lines.append("7,oh" if i % 2 else f"{time[i]},{src},,1,2,x" + ",insert" * kinds)
        (folder / f"p{part}.csv").write_text("\n".join(lines) + "\n")
    return folder


def job(comm: Comm | None, files: Path, out: Path, readers: str = "first", **options: Any) -> st.Window:
    graph = {"device": "cpu", "threads": 1, "directed": options.pop("directed", True)}
    graph |= {} if comm is None else {"comm": comm}
    lengths = {"size": "12s", "slide": "4s", "lateness": "5s", "late": out / "late.csv"}
    source = st.scan(files, time_unit="s", on_error=out / "bad.csv")
    return st.Window(source, graph=graph, readers=readers, **{**lengths, **options})


def slides(window: st.Window, out: Path, most: int = 10**6) -> list[Any]:
    """All that a slide says, with lists of edges in order of their ends; components are written to a sink.

    So is what names are read for: changes of edges, alerts about groups, levels from a name, attributes.
    """
    groups, found = window.track("wcc"), []
    rows = window.sink(out / "groups.csv")
    is_named = window.names is not None
    if is_named:
        changes, alerts = window.sink(out / "changes.csv"), window.sink(out / "alerts.csv")
        window.alert(groups, merged=1, sink=alerts)
        levels = window.track("bfs", source="n3")
        window.vertices("age", {"id": [f"n{v}" for v in range(9)], "age": range(9)})
    with window:
        for w in window:
            rows.write(groups.to_pandas())
            if is_named:
                changes.write(w.delta.to_pandas().sort_values(["src", "dst", "kind"]))
                ages = [str(age) for age in w.graph.columns["age"].tolist()]
                found.append([[*levels.top(3)], levels.at(names=["n3"]).level.tolist(), ages])
                found.append([*w.graph.names.counts(w.graph.names.ids), *w.graph.names.find(["n4", "none"])])
            names = None if w.graph.names is None else [w.graph.names[v] for v in w.graph.live_vertices.tolist()]
            columns = w.graph.edge_columns
            fees = sorted(columns["fee"].tolist()) if "fee" in columns else None
            lists = [sorted(zip(*[p.tolist() for p in each[:3] if p is not None], strict=True))
                     for each in (w.graph.edges(), w.delta.inserted, w.delta.deleted)]  # fmt: skip
            counts = w.events, w.left, w.taken, w.unmatched, w.late, w.skipped, w.lag, w.partial, w.closed_by
            found.append([w.end, counts, names, lists, fees])
            if len(found) == most * (1 + 2 * is_named):
                break
    return [*found, window.late, window.skipped, window.read]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


DRAWN = {
    "seed": hs.integers(0, 2**20), "ranks": hs.integers(2, 4), "kinds": hs.booleans(), "named": hs.booleans(),
    "bad": hs.booleans(), "directed": hs.booleans(), "counted": hs.booleans(),
    "combine": hs.sampled_from(["last", "sum", "decay"]),
}  # fmt: skip


def demand_like_one(
    work: Callable[..., list[Any]], folder: Path, ranks: int, *, named: bool, bad: bool, directed: bool, counted: bool,
    combine: str,
) -> None:  # fmt: skip
    """Compare slides and files of a job, ``work(comm, out, readers, **options)``, on all ranks and on one process."""
    options: dict[str, Any] = {"names": named or None, "directed": directed, "combine": combine}
    if combine == "sum":
        options["attributes"] = {"fee": "sum"}
    if counted:
        options |= {"size": 60, "slide": 20, "lateness": 0, "combine": "last"}
    else:
        options |= {"ahead": "60s" if bad else None, "half_life": "3s" if combine == "decay" else None}
    one, all_ = folder / "one", folder / "all"
    one.mkdir()
    all_.mkdir()
    expected = work(None, one, "first", **options)
    found = run(lambda comm: work(comm, all_, "all", **options), ranks)
    assert found == [expected] * ranks
    assert len(expected) > 4
    assert files_of(all_) == files_of(one)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=hs.integers(1, 9), **DRAWN)
@example(seed=3, ranks=3, files=7, kinds=True, named=True, bad=True, directed=True, counted=False, combine="last")
@example(seed=4, ranks=4, files=5, kinds=False, named=True, bad=False, directed=False, counted=True, combine="sum")
def test_slides_and_files_are_those_of_one_process(
    seed: int, ranks: int, files: int, kinds: bool, named: bool, bad: bool,
    tmp_path_factory: pytest.TempPathFactory, **options: Any,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("job")
    events = written(folder / "in", seed, files=files, kinds=kinds, named=named, bad=bad)

    def work(comm: Comm | None, out: Path, readers: str, **given: Any) -> list[Any]:
        return slides(job(comm, events, out, readers, **given), out)

    demand_like_one(work, folder, ranks, named=named, bad=bad, **options)


@pytest.mark.parametrize("kinds", [False, True])
def test_ids_of_names_are_those_of_one_process_whatever_is_remembered(
    kinds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_names, "FEW", 6)  # so that lists of names end and begin again
    monkeypatch.setattr(waiting_names, "SLIDES", 2)
    events = written(tmp_path / "in", 8, files=9, kinds=kinds, named=True, bad=False, number=600)

    def work(comm: Comm | None, out: Path, readers: str, **given: Any) -> list[Any]:
        return slides(job(comm, events, out, readers, **given), out)

    demand_like_one(work, tmp_path, 3, named=True, bad=False, directed=True, counted=False, combine="last")


@pytest.mark.parametrize("named", [False, True])
def test_a_job_goes_on_with_any_number_of_ranks(named: bool, tmp_path: Path) -> None:
    """Events wait with other ranks then, in doubt too; files are cut to what they were; names are divided or not."""
    events = written(tmp_path / "in", 5, files=7, kinds=True, named=named, bad=True)
    options = {"names": named or None, "ahead": "60s", "checkpoint_every": 1}
    (tmp_path / "one").mkdir()
    (tmp_path / "all").mkdir()
    whole, found = slides(job(None, events, tmp_path / "one", **options), tmp_path / "one"), list[Any]()
    for ranks, most in ((3, 3), (2, 4), (2, 2), (1, 2), (4, 3), (3, 1), (1, 1), (2, 99)):
        given = {**options, "checkpoint": tmp_path / "state"}

        def work(comm: Comm, most: int = most, given: dict[str, Any] = given) -> list[Any]:
            own = {"names": su.Names()} if named and most in (1, 4) else {}
            return slides(job(comm, events, tmp_path / "all", "all", **{**given, **own}), tmp_path / "all", most)

        first, *others = run(work, ranks)
        assert others == [first] * (ranks - 1)
        found += first[: -3 if most == 99 else -4 - 2 * named]  # the last slide is not done: the loop was left in it
    assert found == whole[:-3]
    assert first[-3:] == whole[-3:]
    assert whole[-3] > 0
    assert files_of(tmp_path / "all") == files_of(tmp_path / "one")


def test_a_last_event_that_is_too_far_ahead_is_in_the_file(tmp_path: Path) -> None:
    """It is in doubt until the source ends."""
    for at, time in enumerate((1, 9, 9000)):
        (tmp_path / f"p{at}.csv").write_text(f"time,src,dst\n{time},0,1\n")

    def work(comm: Comm | None, out: Path, readers: str) -> list[Any]:
        window = job(comm, tmp_path, out, readers, ahead="60s")
        return [[(w.end, w.events) for w in window], window.skipped]

    for folder in ("one", "all"):
        (tmp_path / folder).mkdir()
    expected = work(None, tmp_path / "one", "first")
    assert run(lambda comm: work(comm, tmp_path / "all", "all"), 2) == [expected] * 2
    assert b"ahead of the watermark" in files_of(tmp_path / "one")["bad.csv"]
    assert files_of(tmp_path / "all") == files_of(tmp_path / "one")


def test_what_is_wrong_is_raised_on_all_ranks_behind_the_slides_before_it(tmp_path: Path) -> None:
    events = written(tmp_path / "in", 8, files=6, kinds=False, named=False, bad=False)
    (events / "p4.csv").write_text("time,src,dst\n40,1,2\nnone,1,2\n")

    def ends(comm: Comm | None, readers: str, **options: Any) -> list[Any]:
        given = {"size": "12s", "slide": "4s", "lateness": "9s", **options}
        graph = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
        window, found = st.Window(st.scan(events), graph=graph, readers=readers, **given), list[Any]()
        try:
            found += [w.end for w in window]
        except (FileFormatError, LateEventError) as error:
            found += [w.end for w in [window.current] if w is not None]
            found += [type(error), re.sub("^rank [0-2]: ", "", str(error))]
        return found

    expected = ends(None, "first")
    assert expected[-2] is FileFormatError
    assert run(lambda comm: ends(comm, "all"), 3) == [expected] * 3
    late = ends(None, "first", late="raise", lateness="1s")
    assert late[-2] is LateEventError
    assert run(lambda comm: ends(comm, "all", late="raise", lateness="1s"), 3) == [late] * 3


def test_names_of_another_kind_are_the_error_of_one_process(tmp_path: Path) -> None:
    for at, end in enumerate((2, 2**63 + 5, 3)):
        (tmp_path / f"p{at}.csv").write_text("time,src,dst\n" + "".join(f"{9 * at + i},1,{end}\n" for i in range(9)))

    def ends(comm: Comm | None, readers: str) -> list[Any]:
        graph = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
        window = st.Window(st.scan(tmp_path), size="8s", slide="4s", names=True, graph=graph, readers=readers)
        with pytest.raises(DTypeError, match="the names are int64 and cannot be 9223372036854775813"):
            list(window)
        return [window.slides, window.current and window.current.end]

    assert run(lambda comm: ends(comm, "all"), 2) == [ends(None, "first")] * 2


def test_a_source_that_not_all_can_read_is_refused_at_the_start(tmp_path: Path) -> None:
    events = written(tmp_path / "in", 8, files=2, kinds=False, named=False, bad=False)
    table = {"time": [1], "src": [0], "dst": [1]}

    def refused(comm: Comm | None) -> None:
        graph = {"device": "cpu"} if comm is None else {"device": "cpu", "comm": comm}
        given: dict[str, Any] = {"size": "2s", "slide": "1s", "graph": graph, "readers": "all"}
        for source in (table, st.chain(st.scan(events), st.scan(events)), st.scan(events, order="time"),
                       st.where(st.merge(st.scan(events), st.scan(events)), len),
                       st.scan(events, on_replaced="restart")):  # fmt: skip
            with pytest.raises(RequirementError, match=r"readers='all': all processes read files .* not sorted"):
                st.Window(source, **given)
        with pytest.raises(RequirementError, match="at_end='hold'"):
            st.Window(st.scan(events), **given, at_end="hold")
        with pytest.raises(RequirementError, match="slide='step'"):
            st.Window(st.merge(st.scan(events), st.scan(events)), **{**given, "size": 2, "slide": "step"})
        with pytest.raises(UnknownNameError, match="readers"):
            st.Window(st.scan(events), **{**given, "readers": "some"})
        if comm is not None:
            with pytest.raises(RequirementError, match="readers='all'"):  # on one of them
                st.Window(st.scan(events) if comm.rank else table, **given)
            with pytest.raises(ParameterError, match="readers is 'first' on rank 0 and 'all' on rank 1"):
                st.Window(st.scan(events), **{**given, "readers": "all" if comm.rank else "first"})
            with pytest.raises(ParameterError, match="its files and their sizes"):
                st.Window(st.scan(events / f"p{comm.rank}.csv"), **given)

    refused(None)
    run(refused, 2)


def test_attributes_that_are_texts_are_refused_on_all_ranks(tmp_path: Path) -> None:
    events = written(tmp_path / "in", 3, files=5, kinds=False, named=False, bad=False)

    def refused(comm: Comm) -> None:
        with pytest.raises(RequirementError, match="readers='all': the attribute 'place' has texts"):
            next(job(comm, events, tmp_path, "all", attributes={"place": "last"}))

    run(refused, 2)


def test_files_that_have_changed_are_an_error_on_all_ranks(tmp_path: Path) -> None:
    events = written(tmp_path / "in", 3, files=5, kinds=False, named=False, bad=False)
    (tmp_path / "out").mkdir()
    options = {"checkpoint": tmp_path / "state", "checkpoint_every": 1}
    assert len(slides(job(None, events, tmp_path / "out", "all", **options), tmp_path / "out")) > 9
    with pytest.raises(ParameterError, match="checkpoint: it is of another job"):
        job(None, events, tmp_path / "out", "first", **options)
    with open(events / "p1.csv", "a") as file:
        file.write("99,1,2,3\n")

    def refused(comm: Comm) -> None:
        with pytest.raises(ParameterError, match="files that were read have other names, sizes or times"):
            slides(job(comm, events, tmp_path / "out", "all", **options), tmp_path / "out")

    run(refused, 2)


def test_a_part_of_a_checkpoint_that_is_gone_is_named_on_all_ranks(tmp_path: Path) -> None:
    """Also of names that are divided, which all ranks exchange when they go on."""
    events = written(tmp_path / "in", 3, files=5, kinds=False, named=True, bad=False)
    options = {"names": True, "checkpoint": tmp_path / "state", "checkpoint_every": 1}
    run(lambda comm: slides(job(comm, events, tmp_path, "all", **options), tmp_path, 4), 2)
    newest = max((tmp_path / "state").glob("*.1.part.npz"))
    newest.unlink()

    def refused(comm: Comm) -> None:
        with pytest.raises(FileNotFoundError, match=newest.name):
            job(comm, events, tmp_path, "all", **options)

    run(refused, 2)


def test_each_rank_has_its_share_of_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io_files, "CHUNK", 1 << 12)  # one file in many stretches
    rng, number = np.random.default_rng(2), 1 << 14
    table = np.stack((np.arange(number) // 512, *rng.integers(0, 3000, (2, number))), axis=1)
    np.savetxt(tmp_path / "events.csv", table, "%d", ",", header="time,src,dst", comments="")

    def share(comm: Comm | None) -> Any:
        graph = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
        window = st.Window(st.scan(tmp_path / "events.csv"), size="8s", slide="4s", graph=graph, readers="all")
        return [(w.events, w.graph.num_edges, w.memory["window"]) for w in window]

    whole, parts = share(None), run(share, 4)
    assert [each[:2] for each in parts[0]] == [each[:2] for each in whole]
    assert max(part[-2][2] for part in parts) <= 0.45 * whole[-2][2]


def test_parts_of_ranks_have_the_rows_of_one_process_also_when_a_rank_is_gone(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    events = written(tmp_path / "in", 6, files=6, kinds=False, named=True, bad=False)

    def work(comm: Comm | None, out: Path, readers: str, most: int, **options: Any) -> None:
        window = job(comm, events, out, readers, names=True, checkpoint_every=1, **options)
        groups, rows = window.track("wcc"), window.sink(out / "parts", by_rank=True)
        changes, alerts = (window.sink(out / name, by_rank=True) for name in ("changes", "alerts"))
        window.alert(groups, merged=1, sink=alerts)
        for at, w in enumerate(window, 1):
            rows.write(groups.to_pandas())
            changes.write(w.delta.to_pandas().sort_values(["src", "dst", "kind"]))
            rows.write({"edges": [w.graph.num_edges]})
            if at == most:
                break

    def rows_in(out: Path, table: int, folder: str = "parts") -> list[Any]:
        paths = sorted((out / folder).glob(f"slide-*-0{table}-rank-*"))
        found = [parquet.read_table(path).to_pylist() for path in paths]
        return [tuple(row.items()) for part in found for row in part]

    one, many = tmp_path / "one", tmp_path / "many"
    one.mkdir()
    many.mkdir()
    work(None, one, "first", 99)
    for ranks, readers, most in ((3, "all", 3), (2, "all", 4), (4, "all", 2), (1, "all", 2), (2, "all", 99)):
        given = {"checkpoint": tmp_path / "state"}
        run(lambda comm, r=readers, m=most, given=given: work(comm, many, r, m, **given), ranks)
    assert len(rows_in(one, 0)) > 100
    assert all(rows_in(many, table) == rows_in(one, table) for table in (0, 1))
    for folder in ("changes", "alerts"):
        assert len(rows_in(one, 0, folder)) >= 2
        assert rows_in(many, 0, folder) == rows_in(one, 0, folder)
    assert any("rank-0002" in path.name for path in (many / "parts").iterdir())

    def refused(comm: Comm) -> None:
        window = job(comm, events, many, "all", names=True, checkpoint=tmp_path / "state")
        with pytest.raises(ParameterError, match="was written with by_rank=True"):
            window.sink(many / "parts")
        with pytest.raises(ParameterError, match="is a folder for Parquet parts"):
            window.sink(many / "rows.csv", by_rank=True)

    run(refused, 1)


@pytest.mark.gpu
@pytest.mark.parametrize("named", [False, True])
def test_slides_on_cuda_are_those_of_one_process(named: bool, tmp_path: Path) -> None:
    events = written(tmp_path / "in", 5, files=5, kinds=False, named=named, bad=False)

    def work(comm: Comm | None, device: str, readers: str) -> list[Any]:
        graph = {"device": device} | ({} if comm is None else {"comm": comm})
        window = st.Window(st.scan(events), size="12s", slide="4s", lateness="5s", names=named or None, graph=graph,
                           readers=readers)  # fmt: skip
        parts = window.track("wcc")
        return [(w.end, w.events, w.late, w.delta.num_inserted, w.delta.num_deleted, w.graph.num_edges,
                 parts.result.num_components) for w in window]  # fmt: skip

    expected = work(None, "cpu", "first")
    assert len(expected) > 9
    assert run(lambda comm: work(comm, "cuda", "all"), 2) == [expected] * 2


def test_merged_sources_have_the_watermark_of_one_process(tmp_path: Path) -> None:
    """Of two sources without a common order the smaller watermark counts, whatever process reads them."""
    first, second = (written(tmp_path / name, seed, files=2, kinds=False, named=False, bad=False)
                     for name, seed in (("a", 1), ("b", 2)))  # fmt: skip

    def ends(comm: Comm | None) -> list[Any]:
        graph = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
        source = st.merge(st.scan(first), st.scan(second))
        window = st.Window(source, size="12s", slide="4s", lateness="5s", graph=graph)
        return [(w.end, w.events, w.late, w.lag, w.graph.num_edges) for w in window]

    assert run(ends, 3) == [ends(None)] * 3
