"""Advice from the crossover map: figures, interpolation, distance from what was measured, errors."""

import json
import math

import pytest
from click.testing import CliRunner

import suricate as su
from suricate import errors
from suricate.cli import cli
from suricate.plugins import advice

BACKENDS = ["one", "two", "rebuild"]
CELLS = [
    ["rmat", "update only", 64, 1024, 16, [1.0, 2.0, 8.0], [1.0, 1.0, 1.0]],
    ["rmat", "update only", 64, 1024, 256, [4.0, 2.0, 8.0], [1.0, 1.0, 1.0]],
    ["rmat", "update only", 256, 4096, 16, [4.0, 2.0, 1.0], [1.0, 1.0, 1.0]],
    ["rmat", "update only", 256, 4096, 256, [16.0, "over", None], [1.0, None, None]],
    ["uniform", "update only", 64, 1024, 16, [4.0, 2.0, 8.0], [1.0, 1.0, 1.0]],
    ["rmat", "bfs", 64, 1024, 16, [10.0, 5.0, 8.0], [0.1, 0.4, None]],
    ["rmat", "bits", 64, 1024, 16, ["over", "over", "over"], [None, None, None]],
]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "map.json"
    facts = {"format": 1, "device": "cpu", "machine": "an abacus, 2 cores", "date": "2026-11-23", "limit_ms": 100.0}
    file.write_text(json.dumps({**facts, "backends": BACKENDS, "cells": CELLS}))
    return file


def test_a_measured_cell(path):
    found = su.advise(64, 1024, 16, "bfs", device="cpu", map=path)
    assert isinstance(found, su.Advice)
    assert (found.backend, found.ms, found.lead, found.update_share) == ("two", pytest.approx(5), pytest.approx(2), 0.4)
    assert [choice.backend for choice in found.choices] == ["two", "one"]
    assert found.rebuild.ms == pytest.approx(8)
    assert (found.nearest, found.inside, found.distance) == ((1024, 16, 16.0), True, "there is a cell")
    text = str(found)
    for part in ("two: 5 ms per batch; one takes 2 times that", "an abacus, 2 cores, 2026-11-23, graphs rmat", "40%"):
        assert part in text


def test_between_cells_times_are_interpolated_by_their_logarithms(path):
    found = su.advise(64, 1024, 64, device="cpu", map=path, family="rmat")
    assert {choice.backend: choice.ms for choice in found.choices} == pytest.approx({"one": 2, "two": 2})
    assert "between batches of 16 and 256 edges" in found.distance
    found = su.advise(128, 2048, 64, device="cpu", map=path, family="rmat")
    assert found.choices[0].ms == pytest.approx(4)  # of one: 1, 4, 4 and 16
    assert "between graphs of 1,024 and 4,096 edges" in found.distance
    assert found.inside


def test_families_are_averaged_and_building_anew_may_win(path):
    assert su.advise(64, 1024, 16, device="cpu", map=path).ms == pytest.approx(2)
    found = su.advise(256, 4096, 16, device="cpu", map=path, family="rmat")
    assert "rebuilding is faster still, 1 ms" in str(found)
    assert [line.split()[0] for line in str(found).splitlines()[4:7]] == ["rebuild", "two", "one"]


def test_families_that_were_measured_farther_away_do_not_count(path):
    found = su.advise(256, 4096, 16, device="cpu", map=path)
    assert (found.families, found.ms) == (("rmat",), pytest.approx(2))
    assert su.advise(128, 2048, 16, device="cpu", map=path).families == ("rmat",)
    assert su.advise(64, 1000, 16, device="cpu", map=path).families == ("rmat", "uniform")


def test_backends_over_the_limit(path):
    found = su.advise(256, 4096, 256, device="cpu", map=path, family="rmat")
    assert [choice.backend for choice in found.choices] == ["one", "two"]
    assert (found.choices[1].ms, found.lead) == (math.inf, math.inf)
    assert found.rebuild.ms == pytest.approx(1)  # of the nearest cell that has a time
    near = su.advise(256, 4096, 32, device="cpu", map=path, family="rmat")
    assert near.choices[0].backend == "one" or near.choices[0].ms < 100
    assert ["two", "over", "limit"] in [line.split() for line in str(found).splitlines()]
    told = str(su.advise(64, 1024, 16, "bits", device="cpu", map=path))
    assert "no backend stays below the limit" in told
    assert "over limit: more than 100 ms, or more memory than there was" in told


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ((64, 1024, 8192), "32 times larger than all measured batches: the times are those of 256 edges"),
        ((64, 1024, 1), "16 times smaller than all measured batches: the times are those of 16 edges"),
        ((2560, 40_960, 16), "10 times larger than all measured graphs"),
        ((1024, 1024, 16), "1 edges per vertex, while 16 were measured"),
    ],
)
def test_what_lies_beyond_is_said(path, asked, part):
    found = su.advise(*asked, device="cpu", map=path, family="rmat")
    assert part in found.distance
    assert not found.inside
    assert str(found).splitlines()[0].endswith("(a guess: no such graph or batch was measured)")
    assert str(found).endswith(found.distance.replace("; ", ";\n"))


def test_the_beginning_of_a_use_suffices(path):
    assert su.advise(64, 1024, 16, "up", device="cpu", map=path).use == "update only"


@pytest.mark.parametrize(
    ("asked", "error", "part"),
    [
        ({"num_vertices": 0}, errors.ParameterError, "num_vertices must be at least 1"),
        ({"num_edges": -5}, errors.ParameterError, "num_edges must be at least 1"),
        ({"num_edges": 4097}, errors.ParameterError, "num_edges is 4,097, but 64 vertices have fewer pairs"),
        ({"batch": 1.5}, errors.ParameterError, "batch must be an integer"),
        ({"use": "b"}, errors.UnknownNameError, "no use 'b' (there are: update only, bfs, bits)"),
        ({"use": 3}, errors.UnknownNameError, "no use 3"),
        ({"family": "roads"}, errors.UnknownNameError, "no family 'roads'"),
        ({"device": "abacus"}, errors.DeviceError, "unknown device 'abacus'"),
        ({"device": "cuda"}, errors.RequirementError, "no map has been measured for cuda (there is one for: cpu)"),
    ],
)
def test_errors(path, asked, error, part):
    with pytest.raises(error) as caught:
        su.advise(**{"num_vertices": 64, "num_edges": 1024, "batch": 16, "device": "cpu", "map": path, **asked})
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "cells": [[1]], "backends": []}'])
def test_other_files_are_refused(tmp_path, text):
    file = tmp_path / "map.json"
    file.write_text(text)
    with pytest.raises(errors.FileFormatError, match="not a crossover map"):
        su.advise(1, 1, 1, device="cpu", map=file)


def test_the_command(path):
    asked = ["advise", "--vertices", "64", "--edges", "1024", "--batch", "16", "--device", "cpu", "--map", str(path)]
    asked += ["--family", "rmat"]
    done = CliRunner().invoke(cli, asked)
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "one: 1 ms per batch; two takes 2 times that")
    done = CliRunner().invoke(cli, [*asked, "--use", "knitting"])
    assert done.exit_code == 2


def test_the_maps_that_come_along_answer():
    for file in advice.FOLDER.glob("*.json"):
        found = json.loads(file.read_text())
        assert file.stat().st_size < 1_000_000
        for use in {cell[1] for cell in found["cells"]}:
            assert su.advise(65_536, 1 << 20, 256, use, device=found["device"], map=file).choices
