"""Values of any kind for every parameter of every algorithm: an error that names the parameter, or an answer."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate import plugins
from suricate.errors import SuricateError

VALUES: list[Any] = [
    None, True, np.bool_(False), -1, 0, 1, 3, 2**63, -(2**63), 10**400, 0.5, -0.5, 1.5, 5e-324, 1e-30, 1e30, 1e300,
    math.nan, math.inf, -math.inf, np.int8(2), np.uint64(2**63), np.float32(0.25), np.float16(math.nan), 1 + 2j,
    "", "x", "auto", "float32", b"x", (), [], {}, [1], [1.0] * 8, {1: 1}, {1: "x"}, {"x": 1}, {-1: 1}, {99: 1},
    [math.nan] * 8, np.zeros(8), np.zeros((2, 4)), np.array(["x"]), np.datetime64("2020-01-01"), object(), print,
]  # fmt: skip


def graph_for(kind: type[su.Algorithm]) -> su.Graph:
    directed = not kind.requires.undirected
    graph = su.Graph(8, device="cpu", directed=directed, in_edges=directed, weight_dtype="float32")
    graph.insert_edges([0, 1, 2, 3, 3, 5], [1, 2, 0, 4, 0, 6], [1, 2, 3, 1, 1, 2])
    return graph


@pytest.mark.plain
@pytest.mark.parametrize("name", sorted(plugins.algorithms()))
def test_an_error_names_the_parameter(name: str) -> None:
    kind = plugins.algorithm(name)
    parameters = inspect.signature(kind).parameters
    needed: dict[str, Any] = {"x": np.ones(8)} if name == "spmv" else {}
    if "max_iter" in parameters:
        needed["max_iter"] = 5  # whether the values converge is no matter
    wrong = []
    graph = graph_for(kind)
    version = graph.version
    for parameter in parameters:
        for value in VALUES:
            shown = f"{parameter}={value!r:.40}"
            if graph.version != version:  # no value was refused: it has a tracker, and was changed
                graph = graph_for(kind)
            try:
                tracker = graph.track(name, **{**needed, parameter: value})
                graph.insert_edges([1], [3], [2])
                _ = tracker.result
                graph.delete_edges([3], [0])
                _ = tracker.result
            except su.errors.ConvergenceError:
                pass
            except SuricateError as error:
                text = str(error)
                if parameter not in text or "\n" in text:
                    wrong.append(f"{shown}: {text}")
            except Exception as error:
                wrong.append(f"{shown}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)
