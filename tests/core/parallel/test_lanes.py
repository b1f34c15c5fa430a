"""Jobs over merged sources and partitions of brokers that all ranks read, against the same job on one process."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as hs
from test_all_ranks_read import DRAWN, demand_like_one, files_of, slides, written

import suricate as su
import suricate.stream as st
from suricate.errors import FileFormatError, LateEventError, ParameterError, RequirementError
from suricate.parallel import Comm, run

pytestmark = pytest.mark.plain


def chunks_of(seed: int, *, named: bool, kinds: bool, number: int = 90) -> list[dict[str, Any]]:
    """Tables of events in no order of time, some of which are not valid, cut anywhere."""
    rng = np.random.default_rng(seed)
    time = np.arange(number) // 3 - rng.integers(0, 9, number) * (rng.integers(0, 3, number) == 0) + 20
    ends = rng.integers(0, 6, (2, number)) + np.arange(number) // 12
    src, dst = ([f"n{v}" for v in each] if named else each.tolist() for each in ends)
    weight = np.where(rng.random(number) < 0.05, None, np.arange(number) % 7 + 1)
    found: dict[str, Any] = {"time": time, "src": src, "dst": dst, "weight": weight, "fee": np.arange(number) % 5}
    if kinds:
        found["kind"] = rng.choice(["insert", "insert", "insert", "delete", "set"], number)
    cuts = [0, *np.sort(rng.integers(0, number, 4)).tolist(), number]
    return [{name: part[a:b] for name, part in found.items()} for a, b in pairwise(cuts)]


def source_of(folder: Path, out: Path, seed: int, lanes: int, **options: Any) -> Any:
    """Folders of files and lists of tables, in turn, merged; rows refused of each lane go to a file of its own."""
    sources = []
    for at in range(lanes):
        bad = out / f"bad{at}.csv"
        if (seed + at) % 2:
            table = chunks_of(seed + at, named=options["named"], kinds=options["kinds"])
            sources.append(st.source(table, time_unit="s", on_error=bad))
        else:
            sources.append(st.scan(folder / f"in{at}", time_unit="s", on_error=bad))
    return st.merge(*sources, on_error=out / "bad.csv")


def job(comm: Comm | None, source: Any, out: Path, readers: str = "first", **options: Any) -> st.Window:
    graph = {"device": "cpu", "threads": 1, "directed": options.pop("directed", True)}
    graph |= {} if comm is None else {"comm": comm}
    lengths = {"size": "12s", "slide": "4s", "lateness": "5s", "late": out / "late.csv"}
    return st.Window(source, graph=graph, readers=readers, **{**lengths, **options})


def folders(folder: Path, seed: int, lanes: int, *, named: bool, kinds: bool, bad: bool) -> None:
    for at in range(lanes):
        if not (seed + at) % 2:
            written(folder / f"in{at}", seed + at, files=1 + at % 3, kinds=kinds, named=named, bad=bad, number=90)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lanes=hs.integers(2, 5), **DRAWN)
@example(seed=3, ranks=3, lanes=5, kinds=True, named=True, bad=True, directed=True, counted=False, combine="last")
@example(seed=4, ranks=4, lanes=2, kinds=False, named=True, bad=True, directed=False, counted=False, combine="sum")
@example(seed=7, ranks=2, lanes=3, kinds=False, named=False, bad=True, directed=True, counted=True, combine="last")
def test_slides_and_files_are_those_of_one_process(
    seed: int, ranks: int, lanes: int, kinds: bool, named: bool, bad: bool,
    tmp_path_factory: pytest.TempPathFactory, **options: Any,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("job")
    folders(folder, seed, lanes, named=named, kinds=kinds, bad=bad)

    def work(comm: Comm | None, out: Path, readers: str, **given: Any) -> list[Any]:
        source = source_of(folder, out, seed, lanes, named=named, kinds=kinds)
        return slides(job(comm, source, out, readers, **given), out)

    demand_like_one(work, folder, ranks, named=named, bad=bad, **options)


@pytest.mark.parametrize("named", [False, True])
def test_a_job_goes_on_with_any_number_of_ranks(named: bool, tmp_path: Path) -> None:
    """Lanes are with other ranks then, merged in part; so are events that wait or are in doubt."""
    folders(tmp_path, 6, 4, named=named, kinds=True, bad=True)
    (tmp_path / "one").mkdir()
    (tmp_path / "all").mkdir()

    def work(comm: Comm | None, out: Path, readers: str, most: int, **options: Any) -> list[Any]:
        given = {"names": named or None, "ahead": "60s", "checkpoint_every": 1, **options}
        source = source_of(tmp_path, out, 6, 4, named=named, kinds=True)
        return slides(job(comm, source, out, readers, **given), out, most)

    whole, found = work(None, tmp_path / "one", "first", 99), list[Any]()
    state = {"checkpoint": tmp_path / "state"}
    for ranks, most in ((3, 2), (2, 1), (2, 2), (1, 1), (4, 2), (1, 2), (3, 99)):
        first, *others = run(lambda comm, most=most: work(comm, tmp_path / "all", "all", most, **state), ranks)
        assert others == [first] * (ranks - 1)
        found += first[: -3 if most == 99 else -4 - 2 * named]  # the last slide is not done: the loop was left in it
    with pytest.raises(ParameterError, match="checkpoint: it is of another job: source was Merge"):
        work(None, tmp_path / "all", "first", 1, **state)
    assert found == whole[:-3]
    assert first[-3:] == whole[-3:]
    assert whole[-3] > 0
    assert files_of(tmp_path / "all") == files_of(tmp_path / "one")


def test_rows_that_have_changed_since_are_an_error_on_all_ranks(tmp_path: Path) -> None:
    """A lane is merged in part, so a checkpoint has checksums of rows that came before."""
    tables = [{"time": np.arange(at, 60, 3), "src": np.arange(at, 60, 3), "dst": np.arange(at, 60, 3) + 1}
              for at in range(3)]  # fmt: skip

    def work(comm: Comm, most: int, changed: bool = False) -> list[Any]:
        given = [{**each, "dst": each["dst"] + (changed and at == 1)} for at, each in enumerate(tables)]
        merged = st.merge(*(st.source([each], time_unit="s") for each in given))
        window = job(comm, merged, tmp_path, "all", lateness="1s", checkpoint=tmp_path / "state", checkpoint_every=1)
        found = []
        for w in window:
            found.append((str(w.end)[17:19], w.events, w.graph.num_edges))
            if len(found) == most:
                break
        return found

    first = run(lambda comm: work(comm, 4), 2)
    with pytest.raises(ParameterError, match="has other rows than those merged so far"):
        run(lambda comm: work(comm, 99, changed=True), 3)
    shutil.rmtree(tmp_path / "state")
    assert run(lambda comm: work(comm, 4), 2) == first
    assert run(lambda comm: work(comm, 3), 3) == [[("16", 4, 12), ("20", 4, 12), ("24", 4, 12)]] * 3
    assert first == [[("04", 4, 4), ("08", 4, 8), ("12", 4, 12), ("16", 4, 12)]] * 2


def test_lanes_that_are_empty_or_end_early_hold_nothing_up(tmp_path: Path) -> None:
    def table(low: int, high: int) -> Any:
        return [{"time": np.arange(low, high), "src": np.arange(low, high), "dst": np.arange(low, high) + 1}]

    def ends(comm: Comm | None, readers: str, *tables: Any) -> list[Any]:
        merged = st.merge(*(st.source(each, time_unit="s") for each in tables))
        return [(w.end, w.events, w.late, w.graph.num_edges) for w in job(comm, merged, tmp_path, readers)]

    for tables in (
        [[], table(0, 40)],
        [table(0, 40), [], table(9, 12)],
        [table(0, 9), table(20, 60), [], []],
        [[], []],
    ):
        expected = ends(None, "first", *tables)
        assert bool(expected) == any(tables)
        for ranks in (1, 2, 4):
            assert run(lambda comm, tables=tables: ends(comm, "all", *tables), ranks) == [expected] * ranks


def test_one_order_at_equal_times(tmp_path: Path) -> None:
    """Of events of one time those of the first source come first, also behind an older event: the last weight tells."""
    lanes = [[5, 3, 5, 9], [5, 5, 9], [9, 5, 5], [5, 9, 9]]
    numbers = {(at, row): 10 * at + row for at, times in enumerate(lanes) for row in range(len(times))}
    heads, order = [0] * 4, []
    while any(head < len(times) for head, times in zip(heads, lanes, strict=True)):
        at = min((lanes[at][head], at) for at, head in enumerate(heads) if head < len(lanes[at]))[1]
        order.append(numbers[at, heads[at]])
        heads[at] += 1

    def work(comm: Comm) -> Any:
        weights = [[numbers[at, row] for row in range(len(times))] for at, times in enumerate(lanes)]
        tables = [{"time": times, "src": [0] * len(times), "dst": [1] * len(times), "weight": weight}
                  for times, weight in zip(lanes, weights, strict=True)]  # fmt: skip
        merged = st.merge(*(st.source([each], time_unit="s") for each in tables))
        found = []
        window = job(comm, merged, tmp_path, "all", size=1, slide=1, lateness=0)
        for w in window:
            found += w.graph.edges()[2].tolist()
        return found

    assert run(work, 3) == [order] * 3


class Grown:
    """Live sources whose events come while they are read, with a clock that goes on meanwhile; they end by errors."""

    def __init__(self, seed: int, most: int) -> None:
        self.seed, self.now, self.left, self.come = seed, 0.0, most, [0, 0, 0, 0]
        rng = np.random.default_rng(seed)
        times = [np.sort(rng.integers(0, 60, 25)) + rng.integers(-3, 3, 25) for _ in range(3)]
        self.events = [*times, np.empty(0, np.int64)]  # and one that never has any

    def source(self, at: int, *, whole: bool) -> Any:
        draw = random.Random(self.seed + at)

        def read(position: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
            begin, times = position or 0, self.events[at]
            while True:
                self.left -= 1
                if self.left < 0:
                    raise RequirementError("it is gone")
                if whole:
                    end = len(times) if self.left else begin
                else:
                    self.come[at] += draw.random() < 0.3 and self.come[at] < len(times)
                    end, self.now = self.come[at], self.now + draw.choice((0.0, 0.1, 0.7))
                rows = np.arange(begin, end)
                yield end, {"time": times[begin:end], "src": rows % 5, "dst": rows % 7 + at}
                begin = end

        return st.source(read, time_unit="s")


@pytest.mark.parametrize(("seed", "ranks", "others"), [(1, 2, 4), (2, 4, 1), (3, 1, 3), (4, 3, 2)])
def test_lanes_that_are_idle_are_not_waited_for_and_others_repeat_that(
    seed: int, ranks: int, others: int, tmp_path: Path
) -> None:
    """The run that ends has one checkpoint, from before its first event, and notes of what the clock did."""

    def slides_of(comm: Comm | None, given: Grown, most: int, *, whole: bool) -> list[Any]:
        merged = st.merge(*(given.source(at, whole=whole) for at in range(4)))
        window = job(comm, merged, tmp_path, "all", idle="2s", checkpoint=tmp_path / "state", checkpoint_every="1h")
        window.silence.clock = lambda: given.now
        out, found = window.sink(tmp_path / "out.csv"), list[Any]()
        with pytest.raises(RequirementError, match="it is gone") if not whole else window:
            for _, w in zip(range(most), window, strict=False):
                edges = sorted(zip(*(ends.tolist() for ends in w.graph.edges()[:2]), strict=True))
                found.append([w.end, w.events, w.late, w.closed_by, edges])
                out.write({"end": w.end, "events": w.events, "late": w.late, "by": w.closed_by, "edges": str(edges)})
        return found

    live = Grown(seed, 700)
    first, *rest = run(lambda comm: slides_of(comm, live, 10**6, whole=False), ranks)
    assert rest == [first] * (ranks - 1)
    text = (tmp_path / "out.csv").read_bytes()
    assert {row[3] for row in first} == {"events", "idle"}
    assert any(b'"merge 0"' in path.read_bytes() for path in (tmp_path / "state").glob("*.idle"))
    again = run(lambda comm: slides_of(comm, Grown(seed, 10**6), len(first), whole=True), others)
    assert again == [first] * others
    assert (tmp_path / "out.csv").read_bytes() == text


def test_what_is_wrong_is_raised_on_all_ranks_behind_the_slides_before_it(tmp_path: Path) -> None:
    for at in range(3):
        (tmp_path / f"in{at}").mkdir()
        rows = [f"{time},{time % 5},{at}" for time in range(at, 40 + 9 * at, 3)]
        (tmp_path / f"in{at}" / "p.csv").write_text("\n".join(["time,src,dst", *rows, "none,1,2"]) + "\n")

    def ends(comm: Comm | None, readers: str, **options: Any) -> list[Any]:
        merged = st.merge(*(st.scan(tmp_path / f"in{at}") for at in range(3)))
        window, found = job(comm, merged, tmp_path, readers, **options), list[Any]()
        try:
            found += [w.end for w in window]
        except (FileFormatError, LateEventError) as error:
            found += [w.end for w in [window.current] if w is not None]
            found += [type(error), str(error).rpartition("rank ")[2].lstrip("0123: ")]
        return [*found, window.read]

    expected = ends(None, "first")
    assert expected[-3] is FileFormatError
    for ranks in (2, 3):
        assert run(lambda comm: ends(comm, "all"), ranks) == [expected] * ranks
    for at in range(3):
        old = "\n8,2,3" if at == 1 else ""
        (tmp_path / f"in{at}" / "p.csv").write_text(f"time,src,dst\n9,1,2\n{30 + at},1,2{old}\n40,1,2\n")
    late = ends(None, "first", late="raise", lateness="1s")
    assert late[-3] is LateEventError
    assert run(lambda comm: ends(comm, "all", late="raise", lateness="1s"), 3) == [late] * 3


def test_sources_that_do_not_go_together_are_an_error_on_all_ranks(tmp_path: Path) -> None:
    table = {"time": [1, 2, 3], "src": [0, 1, 2], "dst": [1, 2, 3]}
    dates = {**table, "time": np.array([1, 2, 3], "M8[s]")}

    def refused(comm: Comm, message: str, *tables: Any, unit: str | None = "s", **options: Any) -> None:
        merged = st.merge(*(st.source([each], time_unit=unit) for each in tables))
        sizes = {} if unit else {"size": "4", "slide": "2", "lateness": 0}
        with pytest.raises(Exception, match=message):
            list(job(comm, merged, tmp_path, "all", **sizes, **options))

    for ranks in (2, 3):
        weights = {**table, "weight": [1, 2, 3]}
        run(lambda c, w=weights: refused(c, "only one of the sources has columns for weight", table, w), ranks)
        run(lambda c: refused(c, "times of one source have a unit, those of the", table, dates, unit=None), ranks)
        texts = {**table, "place": ["a", "b", "c"]}
        given = {"attributes": {"place": "last"}}
        run(lambda c, t=texts, g=given: refused(c, "attribute 'place' has texts", t, t, **g), ranks)
        run(lambda c, g=given: refused(c, "has no column 'place'", table, table, **g), ranks)
        timeless = {name: table[name] for name in ("src", "dst")}
        run(lambda c, t=timeless: refused(c, "has no column of times", table, t), ranks)


def test_weights_are_floats_if_those_of_one_source_are(tmp_path: Path) -> None:
    def sums(comm: Comm | None, readers: str) -> list[Any]:
        tables = [{"time": np.arange(at, 40, 2), "src": [0] * 20, "dst": [1] * 20, "weight": weights, "fee": fees}
                  for at, weights, fees in ((0, [1] * 20, [0.5] * 20), (1, [0.25] * 20, [2] * 20))]  # fmt: skip
        merged = st.merge(*(st.source([each], time_unit="s") for each in tables))
        window = job(comm, merged, tmp_path, readers, combine="sum", attributes={"fee": "sum"})
        return [(*w.graph.edges()[2].tolist(), *w.graph.edge_columns["fee"].tolist()) for w in window]

    expected = sums(None, "first")
    assert expected[2] == (6 * 1.25, 6 * 2.5)
    assert run(lambda comm: sums(comm, "all"), 2) == [expected] * 2


def test_a_job_that_holds_its_last_slide_goes_on_with_what_has_come(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for at in range(3):
            (tmp_path / f"in{at}").mkdir(exist_ok=True)
            rows = [f"{time},{time % 5},{at}" for time in range(at, number + 5 * at, 3)]
            (tmp_path / f"in{at}" / "p.csv").write_text("\n".join(["time,src,dst", *rows]) + "\n")

    def ends(comm: Comm | None, readers: str) -> list[Any]:
        merged = st.merge(*(st.scan(tmp_path / f"in{at}") for at in range(3)))
        window = job(comm, merged, tmp_path, readers, at_end="hold", checkpoint=tmp_path / readers)
        return [*((w.end, w.events, w.late, w.graph.num_edges) for w in window), window.read]

    write(30)
    expected = [ends(None, "first")]
    found = [run(lambda comm: ends(comm, "all"), 2)[0]]
    write(70)
    expected.append(ends(None, "first"))
    found += run(lambda comm: ends(comm, "all"), 3)[:1]
    assert found == expected
    assert [len(each) for each in found] == [9, 11]


@pytest.mark.gpu
@pytest.mark.parametrize("named", [False, True])
def test_slides_on_cuda_are_those_of_one_process(named: bool, tmp_path: Path) -> None:
    """Chunks may be on the device, too; where all ranks read, their events wait on the host."""
    xp = su.Device("cuda").xp
    folders(tmp_path, 4, 3, named=named, kinds=False, bad=False)

    def work(comm: Comm | None, device: str, readers: str) -> list[Any]:
        rows = np.arange(20, 50)
        ends = [part if device == "cpu" else xp.asarray(part) for part in (rows % 5, rows % 7)]
        last = {"time": rows, "src": [f"n{v}" for v in rows % 5] if named else ends[0],
                "dst": [f"n{v}" for v in rows % 7] if named else ends[1], "weight": rows}  # fmt: skip
        files = [st.scan(tmp_path / f"in{at}", time_unit="s") for at in (0, 2)]
        source = st.merge(*files, st.source([last], time_unit="s"))
        graph = {"device": device} | ({} if comm is None else {"comm": comm})
        window = st.Window(source, size="12s", slide="4s", lateness="5s", names=named or None, graph=graph,
                           readers=readers)  # fmt: skip
        parts = window.track("wcc")
        return [(w.end, w.events, w.late, w.delta.num_inserted, w.delta.num_deleted, w.graph.num_edges,
                 parts.result.num_components) for w in window]  # fmt: skip

    expected = work(None, "cpu", "first")
    assert len(expected) > 7
    assert run(lambda comm: work(comm, "cuda", "all"), 2) == [expected] * 2
