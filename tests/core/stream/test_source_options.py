"""Options that say how a source is read belong to the source, for whatever a window takes as one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate.stream as st
from suricate.errors import ParameterError, RequirementError, VertexRangeError
from suricate.stream.window import OF_SOURCE

pytestmark = pytest.mark.plain
CPU = {"device": "cpu"}
TIMES, PAYER, PAYEE, EUR = [3, 1, 2], [0, 1, 2], [1, 2, 0], [5.0, 7.0, 9.0]
PAYMENTS = {"ts": TIMES, "payer": PAYER, "payee": PAYEE, "eur": EUR}
COLUMNS = {"src": "payer", "dst": "payee", "time": "ts", "fee": "eur"}


def slides(source: Any, **options: Any) -> list[tuple[Any, Any]]:
    job = st.Window(source, size="1s", slide="1s", attributes={"fee": "sum"}, graph=CPU, **options)
    return [(str(w.end)[17:19], w.graph.edge_columns["fee"].tolist()) for w in job]


def sources_of(folder: Path) -> dict[str, Any]:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    file = folder / "payments.csv"
    pandas.DataFrame(PAYMENTS).to_csv(file, index=False)
    return {
        "dict": PAYMENTS, "frame": pandas.DataFrame(PAYMENTS), "table": arrow.table(PAYMENTS),
        "list": [PAYMENTS], "iterator": iter([PAYMENTS]), "function": lambda position: [(1, PAYMENTS)],
        "path": file, "name": str(file), "names": [str(file)],
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["dict", "frame", "table", "list", "iterator", "function", "path", "name", "names"])
def test_a_source_takes_whatever_a_window_takes(kind: str, tmp_path: Path) -> None:
    x = sources_of(tmp_path)[kind]
    source = st.source(x, columns=COLUMNS, time_unit="s", order="time")
    assert slides(source) == [("02", [7.0]), ("03", [9.0]), ("04", [5.0])]


@pytest.mark.parametrize("kind", ["dict", "frame", "list", "function", "name"])
def test_a_window_reads_the_same_with_default_options(kind: str, tmp_path: Path) -> None:
    columns = {"time": np.array(TIMES, "M8[s]").astype(str), "src": PAYER, "dst": PAYEE, "fee": EUR}
    table = {**columns, "time": np.array(TIMES, "M8[s]")}
    file = tmp_path / "events.csv"
    rows = zip(*columns.values(), strict=True)
    file.write_text(",".join(columns) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    frame = pytest.importorskip("pandas").DataFrame(table)
    x = {"dict": table, "frame": frame, "list": [table], "function": lambda _: [(1, table)], "name": str(file)}[kind]
    assert slides(x, lateness="5s") == [("02", [7.0]), ("03", [9.0]), ("04", [5.0])]


@pytest.mark.parametrize("x", [3, np.array(1), int, np.array([1, 2]), "a series", "a lost file"])
def test_what_is_no_source_is_refused(x: Any) -> None:
    if isinstance(x, str) and x == "a series":
        x = pytest.importorskip("pandas").Series([1, 2])
    with pytest.raises(ParameterError, match=r"a source is a table|a chunk must be|there is no file"):
        list(st.source(x).read())


def test_a_window_has_nineteen_parameters_and_old_ones_name_the_source() -> None:
    assert len(inspect.signature(st.Window).parameters) == 19
    for name in OF_SOURCE:
        with pytest.raises(ParameterError, match=rf"Window\({name}=...\) is written st.source\(x, {name}=...\) now"):
            st.Window(PAYMENTS, size=1, slide=1, **{name: None})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"scan\(attributes=...\) is written columns="):
        st.scan("e.csv", attributes={"fee": 2})


@pytest.mark.parametrize("form", ["csv", "txt", "list", "merge", "chain"])
def test_on_error_of_a_source_holds_for_what_the_window_refuses(form: str, tmp_path: Path) -> None:
    """Of four rows, one has an id that is none; in files one more cannot be parsed."""
    file, bad = tmp_path / f"e.{form}", tmp_path / "bad.csv"
    separator = "," if form == "csv" else " "
    lines = [separator.join(row) for row in (["0", "1", "1"], ["-4", "1", "2"], ["x", "y"], ["2", "3", "3"])]
    file.write_text(("src,dst,time\n" if form == "csv" else "") + "\n".join([*lines, ""]))
    whole = {"src": [0, -4, 2], "dst": [1, 1, 3], "time": [1, 2, 3]}

    def source(on_error: Any) -> st.Source:
        if form in ("csv", "txt"):
            return st.scan(file, columns={"src": 0, "dst": 1, "time": 2}, on_error=on_error)
        one = st.source(whole, time_unit="s", on_error=on_error)
        other = st.source({name: part[:0] for name, part in whole.items()}, time_unit="s", on_error=on_error)
        return one if form == "list" else (st.merge if form == "merge" else st.chain)(one, other)

    def run(on_error: Any) -> tuple[Any, int]:
        job = st.Window(source(on_error), size=None, slide="1s", graph=CPU)
        return [(w.graph.num_edges, w.skipped) for w in job][-1], job.skipped

    refused = 2 if form in ("csv", "txt") else 1
    assert run("skip") == ((2, refused), refused)
    assert run(bad) == run(str(bad))
    rows = bad.read_text().splitlines()
    assert len(rows) == 1 + 2 * refused
    assert rows[1].startswith("1970-01-01T00:00:02.000000000,0,1,")
    with pytest.raises(ValueError, match=r":3: |:4: |src"):
        run("raise")


def test_a_source_counts_for_each_of_its_jobs() -> None:
    source = st.source({"src": [0, -1], "dst": [1, 2]}, on_error="skip")
    for _ in range(2):
        job = st.Window(source, size=1, slide=1, graph=CPU)
        assert (len(list(job)), job.skipped) == (1, 1)


def test_sources_that_differ_about_errors_need_a_word() -> None:
    skips, raises = st.source({"src": [0, -1], "dst": [1, 2]}, on_error="skip"), {"src": [2], "dst": [3]}
    with pytest.raises(ParameterError, match="on_error raise, skip: on_error= says which holds"):
        st.chain(skips, raises)
    job = st.Window(st.chain(skips, raises, on_error="skip"), size=None, slide=1, graph=CPU)
    assert ([w.graph.num_edges for w in job], job.skipped) == ([1, 2], 1)
    with pytest.raises(VertexRangeError):
        list(st.Window(st.chain(skips, raises, on_error="raise"), size=None, slide=1, graph=CPU))


def test_columns_that_nothing_reads_are_named() -> None:
    for x in (PAYMENTS, st.chain(st.source(PAYMENTS, columns=COLUMNS))):
        source = x if isinstance(x, st.Source) else st.source(x, columns=COLUMNS, order="time")
        with pytest.raises(ParameterError, match=r"columns: 'fee' is neither .* with a rule, as attributes="):
            st.Window(source, size=1, slide=1, graph=CPU)
    with pytest.raises(ParameterError, match="src is given twice"):
        st.scan(__file__, src=0, columns={"src": 1})


def test_counts_of_sorted_events_and_steps_that_cannot_be_sorted() -> None:
    events = {"time": TIMES, "src": PAYER, "dst": PAYEE}
    job = st.Window(st.source(events, order="time"), size=1, slide=1, graph=CPU)
    assert [w.graph.edges().src.tolist() for w in job] == [[1], [2], [0]]
    for chunks in ([events, st.MARK], [{"src": [0], "dst": [1]}]):
        with pytest.raises(RequirementError, match="order='time' needs events with times"):
            list(st.Window(st.source(chunks, order="time"), size=1, slide=1, graph=CPU))


@pytest.mark.parametrize("odd", ["src,dst\n1,2\n", "time,src,dst\n9,1,2\n"])
def test_a_file_that_lacks_a_column_is_named(tmp_path: Path, odd: str) -> None:
    (tmp_path / "1.csv").write_text("time,src,dst,weight\n1,0,1,3\n")
    (tmp_path / "2.csv").write_text(odd)
    for source in (st.files(tmp_path), st.scan([tmp_path / "1.csv", tmp_path / "2.csv"])):
        with pytest.raises(RequirementError, match=r"2\.csv: .*(column of|needs times)"):
            list(st.Window(source, size="10s", slide="5s", graph={"device": "cpu"}))


def test_an_empty_folder_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no file in the folder"):
        st.scan(tmp_path)
