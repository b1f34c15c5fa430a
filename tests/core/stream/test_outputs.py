"""Each file that a job writes has one owner; parts of a source come in natural order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from cli_calls import call

import suricate as su
import suricate.stream as st
from suricate.errors import ParameterError

EVENTS = {"time": [0, 3, 6, 9, 1], "src": [0, 1, 2, 3, 4], "dst": [1, 2, 3, 4, 5]}
OPTIONS: dict[str, Any] = {"size": "4", "slide": "2", "graph": {"device": "cpu"}}

pytestmark = pytest.mark.plain


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "parts"])
def test_two_sinks_do_not_share_a_file(tmp_path: Path, name: str) -> None:
    job = st.Window(EVENTS, **OPTIONS)
    out = job.sink(tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path)
    for path in tmp_path / name, tmp_path / "link" / name, os.path.relpath(tmp_path / name):
        with pytest.raises(ParameterError, match="belongs to another sink"):
            job.sink(path)
    for w in job:
        out.write({"events": w.events})
    out.close()
    written = sorted(tmp_path.rglob(f"{name}/*")) or [tmp_path / name]
    assert sum(path.stat().st_size for path in written) > 0


def test_sinks_are_not_files_of_refused_events(tmp_path: Path) -> None:
    late, bad = tmp_path / "late.csv", tmp_path / "bad.csv"
    job = st.Window(st.source(EVENTS, on_error=bad), late=late, **OPTIONS)
    for path in late, bad:
        with pytest.raises(ParameterError, match=r"belongs to late= or on_error="):
            job.sink(path)
    assert not bad.exists()
    both = st.Window(st.source(EVENTS, on_error=late), late=late, **OPTIONS)  # rows of one format are appended
    assert len(list(both)) > 2
    assert late.read_text().count("late") == 1
    (tmp_path / "in.csv").write_text("time,src,dst\n1,0,1\n")
    scan = st.scan(tmp_path / "in.csv", on_error=bad)
    with pytest.raises(ParameterError, match=r"belongs to late= or on_error="):
        st.Window(scan, **OPTIONS | {"size": "4s", "slide": "2s"}).sink(bad)


@pytest.mark.parametrize("name", ["late", "on_error"])
def test_a_file_of_refused_events_that_cannot_be_written_shows_at_once(tmp_path: Path, name: str) -> None:
    for path in (tmp_path, tmp_path / "none" / "bad.csv"):
        source = st.source({"src": [1], "dst": [2]}, **({"on_error": path} if name == "on_error" else {}))
        with pytest.raises(OSError, match=str(path)):
            st.Window(source, size=1, slide=1, graph={"device": "cpu"}, **({"late": path} if name == "late" else {}))


def test_sinks_are_not_what_the_source_reads(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv").write_text("time,src,dst\n1,0,1\n")
    before = (folder / "1.csv").read_bytes()
    options = OPTIONS | {"size": "4s", "slide": "2s"}
    sources = {
        "file": (st.scan(folder / "1.csv"), ["1.csv"], ["2.csv", "parts"]),
        "list": (st.scan([folder / "1.csv"]), ["1.csv"], ["2.csv"]),
        "folder": (st.scan(folder), ["1.csv", "9.csv", ".", "day=1/9.csv"], ["_out.csv", "sub", "sub/9.csv"]),
        "pattern": (st.scan(str(folder / "*.csv")), ["1.csv", "9.csv"], ["9.jsonl", "sub", "sub/9.csv"]),
        "chain": (st.chain(st.scan(folder / "1.csv"), st.scan(folder / "1.csv")), ["1.csv"], ["2.csv"]),
    }
    (folder / "sub").mkdir()
    for what, (source, taken, free) in sources.items():
        for name in taken:
            with pytest.raises(ParameterError, match="the source, which reads it"):
                st.Window(source, **options).sink(folder / name)
            if name != ".":
                with pytest.raises(ParameterError, match="the source, which reads it"):
                    st.Window(source, late=folder / name, **options)
        for name in free:
            st.Window(source, **options).sink(folder / name)
            for made in [*folder.glob("[!1]*.*"), *folder.glob("sub/*")]:
                made.unlink()
        assert (folder / "1.csv").read_bytes() == before, what


def test_sinks_are_not_the_checkpoint(tmp_path: Path) -> None:
    state = tmp_path / "state"
    job = st.Window(EVENTS, checkpoint=state, **OPTIONS)
    with pytest.raises(ParameterError, match="belongs to checkpoint="):
        job.sink(state)
    with pytest.raises(ParameterError, match="belongs to checkpoint="):
        st.Window(EVENTS, checkpoint=state, late=state / "00000001.npz", **OPTIONS)
    list(job)
    assert sorted(path.suffix for path in state.iterdir()) == ["", ".npz", ".npz"]  # whose they are, and two
    job.sink(state / "out.csv")  # beside them


def test_pipes_take_several_sinks(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    job = st.Window(EVENTS, late=pipe, **OPTIONS)
    sinks = [job.sink(pipe) for _ in range(2)]
    for w in job:
        for sink in sinks:
            sink.write({"events": w.events})
    assert os.read(reader, 1 << 16).count(b"end,events") == 2
    os.close(reader)


def test_commands_refuse_one_file_for_two(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("time,src,dst\n" + "".join(f"{at},{at},{at + 1}\n" for at in range(9)))
    base = ["stream", str(file), "--slide", "2s", "--device", "cpu", "--track", "wcc"]
    for further in (["--late", "x.csv"], ["--on-error", "x.csv"]):
        named = [further[0], str(tmp_path / further[1])]
        found = call(*base, *named, "--output", tmp_path / "x.csv")
        assert found.exit_code == 2
        assert "x.csv belongs to late= or on_error=" in found.output
    assert call(*base, "--output", file).exit_code == 2
    assert len(file.read_text().splitlines()) == 10


@pytest.mark.parametrize("how", ["folder", "pattern"])
def test_parts_come_in_natural_order(tmp_path: Path, how: str) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    names = ["p9", "p10", "p11", "p100", "q1", "day=9/p2", "day=10/p1"]
    for number, name in enumerate(names):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"src": [number], "dst": [number], "time": [number]}), path)
    (tmp_path / "_SUCCESS").write_text("")
    given = tmp_path if how == "folder" else str(tmp_path / "**" / "*.parquet")
    read = su.read(given).src.tolist()
    assert [chunk["src"].tolist() for _, chunk in st.scan(given).read()] == [[each] for each in read]
    assert [names[at] for at in read] == ["day=9/p2", "day=10/p1", "p9", "p10", "p11", "p100", "q1"]
    listed = [tmp_path / "p11.parquet", tmp_path / "p9.parquet"]
    assert [chunk["src"][0] for _, chunk in st.scan(listed).read()] == [2, 0]
