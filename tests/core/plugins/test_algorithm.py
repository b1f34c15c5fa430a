"""The base class of algorithms: parameters, references, comparison."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import suricate as su
from suricate.errors import ParameterError
from suricate.plugins.algorithm import pull_bytes


class Pair(NamedTuple):
    count: np.ndarray
    share: np.ndarray


class Degree(su.Algorithm):
    """A number for every vertex; it needs ``scale``."""

    name = "degree"

    def __init__(self, scale: float, offset: int = 0) -> None:
        if scale is None:
            raise TypeError("scale is None")
        self.scale = scale

    def compute(self, graph: su.Graph) -> None:
        self._values = graph.degrees() * self.scale

    @property
    def result(self) -> Any:
        return self._values.copy()


class Verified(Degree):
    @classmethod
    def reference(cls, src: Any, dst: Any, weight: Any, num_vertices: int, directed: bool, **params: Any) -> Any:
        return np.bincount(src, minlength=num_vertices) * params["scale"]


def test_unknown_and_missing_parameters_are_named() -> None:
    assert Degree.create({"scale": 2}).scale == 2
    with pytest.raises(ParameterError, match=r"^degree: missing a required argument: 'scale' \(its parameters: scale"):
        Degree.create({})
    with pytest.raises(ParameterError, match=r"^degree: got an unexpected keyword argument 'x'"):
        Degree.create({"scale": 1, "x": 2})
    with pytest.raises(TypeError, match=r"^scale is None$"):  # what __init__ itself raises
        Degree.create({"scale": None})
    graph = su.Graph(3, device="cpu")
    with pytest.raises(ParameterError, match="scale"):
        graph.compute(Degree)
    with pytest.raises(ParameterError, match="scale"):
        graph.track(Degree)


def test_what_an_algorithm_brings() -> None:
    assert not Degree.has_reference()
    assert Verified.has_reference()
    assert Degree.suites == ("algorithms",)
    assert Degree.sample_params(9, 4) == {}
    nothing = np.zeros(0, np.uint32)
    with pytest.raises(NotImplementedError, match=r"degree brings no reference\(\)"):
        Degree.reference(nothing, nothing, None, 0, True)
    assert Degree(1).traffic(su.Graph(3, device="cpu")) is None


def test_comparison_with_a_reference() -> None:
    right = Pair(np.array([1, 2]), np.array([0.5, 1e6]))
    assert Degree.mismatch(right, right) is None
    assert Degree.mismatch(right._replace(share=right.share * (1 + 1e-6)), right) is None
    assert Degree.mismatch(right._replace(count=right.count + (np.arange(2) == 1)), right) == (
        "1 of 2 values of count differ from the reference"
    )
    assert "2 of 2 values of share" in str(Degree.mismatch(right._replace(share=right.share * 1.001), right))
    assert "1 of 2 values of share" in str(
        Degree.mismatch(right._replace(share=right.share * np.array([np.nan, 1])), right)
    )
    assert Degree.mismatch(np.arange(3), np.arange(3)) is None
    assert Degree.mismatch(np.arange(3), np.arange(4)) == "result has shape (3,) instead of (4,)"


def test_bytes_of_a_pull() -> None:
    assert pull_bytes(10, 100, 8) == 100 * 4 + 11 * 8 + 2 * 10 * 8
    assert pull_bytes(10, 100, 8, 4) == 100 * 8 + 11 * 8 + 2 * 10 * 8
