"""The first row tells what columns hold, also where the first chunk of a file ends behind the header."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from suricate import io

HEADER = b"src,dst,time\n"


def write_in_parts(path: Path, *parts: bytes) -> None:
    with open(path, "wb", buffering=0) as pipe:
        for part in parts:
            pipe.write(part)


@pytest.mark.parametrize(
    ("row", "options"),
    [(b"1,2,2024-05-17", {}), (b"ann,bob,5", {"relabel": True}), (b"-1,-2,5", {"relabel": True})],
)
def test_the_first_row_may_come_after_the_header(tmp_path: Path, row: bytes, options: dict[str, Any]) -> None:
    whole, late, pipe = tmp_path / "whole.csv", tmp_path / "late.csv", tmp_path / "pipe"
    whole.write_bytes(HEADER + row + b"\n")
    late.write_bytes(HEADER + row)
    os.mkfifo(pipe)
    threading.Thread(target=write_in_parts, args=(pipe, HEADER, row + b"\n"), daemon=True).start()
    right = io.read(whole, **options)
    for path in (late, pipe):
        file = io.read(path, **options)
        assert (file.src.tolist(), file.dst.tolist()) == (right.src.tolist(), right.dst.tolist())
        assert (file.time.tolist(), file.time_unit) == (right.time.tolist(), right.time_unit)
        if options:
            assert file.labels.tolist() == right.labels.tolist()
