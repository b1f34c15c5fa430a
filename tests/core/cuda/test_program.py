"""The text of a program: headers are part of it, each as often as it is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from suricate.cuda.program import Program


def program(folder: Path, **files: str) -> Program:
    """A program of these files; ``main`` is the source, the others are headers."""
    for name, text in files.items():
        (folder / (f"{name}.cuh" if name != "main" else "main.cu")).write_text(text)
    return Program(folder / "main.cu")


def test_headers_are_part_of_the_text(tmp_path: Path) -> None:
    text = program(
        tmp_path, main='#include "a.cuh"\nint last;', a='#pragma once\n#include "b.cuh"\nint a;', b="int b;"
    ).text
    assert text.index("int b;") < text.index("int a;") < text.index("int last;")
    assert '#include "' not in text
    assert "#pragma once" not in text
    assert "uint64_t;" in text  # suricate.cuh


def test_a_header_is_there_once(tmp_path: Path) -> None:
    text = program(tmp_path, main='#include "a.cuh"\n#include "b.cuh"', a='#include "b.cuh"\nint a;', b="int b;").text
    assert text.count("int b;") == 1


def test_a_header_under_a_condition_may_be_needed_again(tmp_path: Path) -> None:
    text = program(tmp_path, main='#if 0\n#include "a.cuh"\n#endif\n#include "a.cuh"', a="int a;").text
    assert text.count("int a;") == 2
    assert text.count("#ifndef INCLUDED_a_cuh") == 2


def test_a_changed_header_changes_the_text(tmp_path: Path) -> None:
    before = program(tmp_path, main='#include "a.cuh"', a="int a;").text
    assert program(tmp_path, main='#include "a.cuh"', a="int b;").text != before


def test_lines_are_those_of_the_files(tmp_path: Path) -> None:
    text = program(tmp_path, main='int first;\n#include "a.cuh"\nint wanted;', a="#pragma once\nint a;").text
    number, place = 0, ""
    for line in text.splitlines():
        if line.startswith("#line"):
            number, place = int(line.split()[1]) - 1, line.split()[2]
            continue
        number += 1
        if line == "int a;":
            assert (number, place) == (2, '"a.cuh"')
        if line == "int wanted;":
            assert (number, place) == (3, '"main.cu"')
    assert "int a;" in text


def test_options_are_the_same_for_all(tmp_path: Path) -> None:
    assert program(tmp_path, main="").options == ("-std=c++17", "-fmad=false")


def test_a_missing_header_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.cuh"):
        _ = program(tmp_path, main='#include "nowhere.cuh"').text
