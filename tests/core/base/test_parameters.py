"""Checks of single parameters."""

import math
from typing import Any

import numpy as np
import pytest

from suricate.base import parameters
from suricate.errors import ParameterError


def test_integers() -> None:
    for value in (3, np.uint8(3), np.int64(3), np.array(3)):
        found = parameters.integer("x", value, low=3)
        assert type(found) is int
        assert found == 3
    for wrong in (True, np.False_, 3.0, np.float32(3), "3", None, math.nan, [3], np.array([3, 4])):
        with pytest.raises(ParameterError, match=r"^x must be an integer, got "):
            parameters.integer("x", wrong)
    with pytest.raises(ParameterError, match=r"^x must be at least 3, got 2$"):
        parameters.integer("x", 2, low=3)
    with pytest.raises(ParameterError, match=r"^x must be at most 3, got a number of thousands of digits$"):
        parameters.integer("x", 10**5000, high=3)
    with pytest.raises(ParameterError, match=r"^x must be an integer, got \[0, 0, .*\.\.\.$"):
        parameters.integer("x", [0] * 1000)


def test_numbers() -> None:
    for value in (0, 0.5, np.float32(0.5), np.int8(0)):
        assert type(parameters.real("x", value, low=0, high=1)) is float
    for wrong in (-1, 1, math.nan, math.inf, 10**400):
        with pytest.raises(ParameterError, match=r"^x must be in \[0, 1\), got "):
            parameters.real("x", wrong, low=0, high=1)
    with pytest.raises(ParameterError, match=r"^x must be in \(0, inf\), got 0$"):
        parameters.real("x", 0, low=0, include_low=False)
    for wrong in (True, "1", None, 1j):
        with pytest.raises(ParameterError, match=r"^x must be a number, got "):
            parameters.real("x", wrong, low=0)


def test_flags() -> None:
    assert parameters.flag("x", np.True_) is True
    for wrong in (1, "no", None):
        with pytest.raises(ParameterError, match=r"^x must be True or False, got "):
            parameters.flag("x", wrong)


def test_choices() -> None:
    for value, plain in ((4, 4), (np.uint8(4), 4), (np.str_("auto"), "auto"), (None, None)):
        found = parameters.choice("x", value, (1, 4, "auto", None))
        assert found == plain
        assert type(found) is type(plain)
    wrong: Any
    for wrong in (2, 4.0, True, "Auto", b"auto", [4], np.array([1, 4])):
        with pytest.raises(ParameterError, match=r"^x must be 1, 4 or 'auto', got "):
            parameters.choice("x", wrong, (1, 4, "auto"))


def test_dtypes() -> None:
    allowed = ("float64", "float32")
    for value in ("float32", np.float32, np.dtype("f4")):
        assert parameters.dtype("x", value, allowed) == np.float32
    wrong: Any
    for wrong in ("foo", "int32", None, 3, object()):
        with pytest.raises(ParameterError, match=r"^x must be float64 or float32, got "):
            parameters.dtype("x", wrong, allowed)


def test_a_wrong_parameter_is_a_value_error_and_a_type_error() -> None:
    assert issubclass(ParameterError, (ValueError, TypeError))
    assert issubclass(ParameterError, ValueError)
