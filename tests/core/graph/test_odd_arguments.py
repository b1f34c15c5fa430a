"""Arguments of the wrong kind, of functions of the package and methods of a graph: an error of ``suricate.errors``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.base.parameters import shown
from suricate.errors import DeviceError, DTypeError, ParameterError, ShapeError, UnknownNameError
from suricate.io.parts import parts_of


class Unprintable:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def one(u: int, v: int, w: float) -> int:
    """Return 1."""
    return 1


def graph() -> su.Graph:
    """Return a path of three vertices."""
    path = su.Graph(3, device="cpu")
    path.insert_edges([0, 1], [1, 2])
    return path


@pytest.mark.parametrize("path", [None, 3, 1.5, ["a"], b"a\0", "a\0b", np.arange(2)], ids=str)
@pytest.mark.parametrize(
    "call",
    [su.read, su.Graph.load, lambda path: graph().save(path), lambda path: su.write(([0], [1]), path)],
    ids=["read", "load", "save", "write"],
)
def test_a_path_is_text_or_a_path(call: Any, path: Any) -> None:
    with pytest.raises(ParameterError, match="path must be the name of a file"):
        call(path)


def test_a_path_may_be_bytes(tmp_path: Path) -> None:
    name = str(tmp_path / "g.txt").encode()
    su.write(([0], [1]), name)
    assert su.read(name).src.tolist() == [0]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (UnknownNameError, lambda: graph().view(np.arange(2))),
        (UnknownNameError, lambda: graph().store(np.arange(2))),
        (UnknownNameError, lambda: graph().degrees(np.arange(2))),
        (DeviceError, lambda: su.Graph(3, device=np.arange(2))),
        (DeviceError, lambda: su.Graph(3, device=Unprintable())),
        (UnknownNameError, lambda: su.Graph(3, device="cpu", checks=Unprintable())),
        (DTypeError, lambda: su.Graph(3, device="cpu", weight_dtype="a")),  # NumPy warns
        (DeviceError, lambda: su.neighbor_reduce(graph(), None, one, reduce="sum", out=3)),
        (DTypeError, lambda: su.neighbor_reduce(graph(), None, one, reduce="sum", dtype="a")),
        (DTypeError, lambda: su.Scalar._of("sum", "a", device="cpu")),
        (UnknownNameError, lambda: su.neighbor_reduce(graph(), None, one, reduce=np.arange(2))),
        (UnknownNameError, lambda: su.neighbor_reduce(graph(), None, one, reduce="sum", over=np.arange(2))),
        (ParameterError, lambda: su.Scalar._of("sum", "int64", device="cpu").set([[1], [1, 2]])),
        (ParameterError, lambda: graph().compute("pagerank", dtype="a")),
        (ShapeError, lambda: graph().compute("katz", nstart=[[1], [1, 2]])),
        (ShapeError, lambda: su.Batch(insert=(np.array(0), [1]))),
        (ShapeError, lambda: su.generate.existing_edges(3, 1)),
        (ShapeError, lambda: su.generate.mixed(None, 3, 1)),
        (ParameterError, lambda: graph().to_pandas_edgelist(["a"])),
        (ParameterError, lambda: graph().to_pandas_edgelist("a", "a")),
    ],
)
def test_errors_are_those_of_the_package(error: type[Exception], call: Any) -> None:
    with pytest.raises(error):
        call()


def test_edges_may_be_lists() -> None:
    src, dst, _ = su.generate.existing_edges(([0, 1], [1, 2]), 2)
    assert sorted(zip(src.tolist(), dst.tolist(), strict=True)) == [(0, 1), (1, 2)]


def test_what_cannot_be_shown_is_named_by_its_type() -> None:
    assert shown(Unprintable()) == "an object of type Unprintable"
    assert shown(10**5000) == "a number of thousands of digits"


def test_parts_of_folders_that_a_pattern_matches(tmp_path: Path) -> None:
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "part.parquet").touch()
    names = [path.parent.name for path in parts_of(tmp_path / "year=*") or []]
    assert names == ["year=2020", "year=2021"]
    assert parts_of(tmp_path / "**") == parts_of(tmp_path / "year=*")  # each file once


def test_digits_that_are_no_numbers_are_part_of_a_name(tmp_path: Path) -> None:
    names = ["a2.parquet", "a10.parquet", "a1²3.parquet"]
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in parts_of(tmp_path) or []] == ["a1²3.parquet", "a2.parquet", "a10.parquet"]
