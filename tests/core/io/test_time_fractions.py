"""Unix times with fractions: text, CSV, Parquet, arrays and frames mean the same nanoseconds."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate as su
import suricate.stream as st
from suricate.errors import FileFormatError
from suricate.io.sources.times import ticks_of

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3}
TIMES = ["1700000000.25", "1700000000", "-1.5", "0.123456789", "0.1234567894", "0.1234567895", "-0.0000000005", "7.0"]


def exact(text: str, unit: str) -> int:
    return int((decimal.Decimal(text) * NANOSECONDS[unit]).to_integral_value(decimal.ROUND_HALF_UP))


def times_in(file: Path, **options: Any) -> list[int]:
    chunks = [chunk["time"] for _, chunk in st.scan(file, **options).read()]
    assert {ticks_of(chunk, options.get("time_unit", "s"))[1] for chunk in chunks} == {True}
    return np.concatenate([ticks_of(chunk, options.get("time_unit", "s"))[0] for chunk in chunks]).tolist()


@pytest.mark.parametrize("unit", NANOSECONDS)
@pytest.mark.parametrize("rows", [1, pytest.param(40_000, marks=pytest.mark.compiled)])  # interpreted, compiled
def test_text_is_exact_to_the_nanosecond(unit: str, rows: int, tmp_path: Path) -> None:
    texts = TIMES * rows
    (tmp_path / "e.csv").write_text("src,dst,time\n" + "".join(f'1,2,"{text}"\n' for text in texts))
    (tmp_path / "e.txt").write_text("".join(f"1 2 {text}\n" for text in texts))
    right = [exact(text, unit) for text in TIMES] * rows
    assert times_in(tmp_path / "e.csv", time_unit=unit) == right
    assert times_in(tmp_path / "e.txt", src=0, dst=1, time=2, time_unit=unit) == right


def test_one_row_without_a_newline(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,time\n1,2,0.27")
    assert times_in(tmp_path / "e.csv") == [270_000_000]


def test_all_sources_agree(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"time": [1700000000.25, 1700000000.5, 1700000001.75], "src": [0, 1, 2], "dst": [1, 2, 0]})
    frame.to_parquet(tmp_path / "e.parquet")
    frame.to_csv(tmp_path / "e.csv", index=False)
    options: dict[str, Any] = {"size": "1s", "slide": "250ms", "graph": {"device": "cpu"}}
    sources = [st.scan(tmp_path / "e.csv"), st.scan(tmp_path / "e.parquet"), frame, dict(frame)]
    found = [
        [(w.end, w.events, w.graph.num_edges) for w in st.Window(st.source(source, time_unit=unit), **options)]
        for source, unit in zip(sources, [None, None, "s", "s"], strict=True)
    ]
    assert [str(end)[17:23] for end, _, _ in found[0]][:2] == ["20.500", "20.750"]
    assert found[1:] == found[:1] * 3
    arrays = ticks_of(frame["time"].to_numpy(), "s")[0]
    assert times_in(tmp_path / "e.csv") == times_in(tmp_path / "e.parquet") == arrays.tolist()
    assert arrays[0] == 1_700_000_000_250_000_000


def test_what_is_no_time(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    for wrong in ("1.", ".5", "1..2", "1.2.3", "1.5e3", "x", "9999999999999.5", "4611686018.5"):
        file.write_text(f"src,dst,time\n1,2,1.5\n1,2,{wrong}\n1,2,3\n")
        with pytest.raises(FileFormatError, match=r":3: time '.*' is no number, or out of range: time_unit="):
            times_in(file)
    for wrong in ("01.03.2026", "3/1/2026 10:00 PM"):
        file.write_text(f"src,dst,time\n1,2,{wrong}\n")
        with pytest.raises(FileFormatError, match="dates are read in the form 2026-03-01T22:00:00"):
            times_in(file)
    file.write_text("src,dst,time\n1,2,1\n1,2,1.5\n")
    with pytest.raises(FileFormatError, match="not a whole number"):
        su.read(file)
    file.write_text("src,dst,time\n1,2,1.5\n")
    with pytest.raises(FileFormatError, match=r"not a whole number.*fractions of s, ms and us\)"):
        times_in(file, time_unit="ns")
