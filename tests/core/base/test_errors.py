"""The exceptions: one base class, the built-in exception that fits beside it, messages that read as sentences."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import pytest

from suricate import errors

BUILT_IN = {
    "VertexRangeError": ValueError,
    "ForkError": RuntimeError,
    "ShapeError": ValueError,
    "DTypeError": TypeError,
    "WeightError": ValueError,
    "SelfLoopError": ValueError,
    "DeviceError": ValueError,
    "CapacityError": MemoryError,
    "RequirementError": ValueError,
    "EdgeFunctionError": TypeError,
    "UnknownNameError": KeyError,
    "ParameterError": ValueError,
    "ConvergenceError": ArithmeticError,
    "MissingLibraryError": ImportError,
    "LateEventError": ValueError,
    "CommunicationError": RuntimeError,
    "BrokerError": ConnectionError,
    "PluginError": RuntimeError,
    "BackendError": RuntimeError,
    "FileFormatError": ValueError,
    "CheckFailed": AssertionError,
}
CLASSES = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.SuricateError)]


def test_every_error_is_listed_here() -> None:
    assert {cls.__name__ for cls in CLASSES} == {*BUILT_IN, "SuricateError"}


@pytest.mark.parametrize("name", BUILT_IN)
def test_fits_a_built_in_exception(name: str) -> None:
    cls = getattr(errors, name)
    assert issubclass(cls, errors.SuricateError)
    assert issubclass(cls, BUILT_IN[name])
    assert cls.__doc__


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"FileFormatError"}))
def test_message_is_shown_as_it_is(name: str) -> None:
    assert str(getattr(errors, name)("it's not 'there'")) == "it's not 'there'"


def test_unknown_name_without_a_message() -> None:
    assert str(errors.UnknownNameError()) == ""


def test_file_format_error_says_where() -> None:
    error = errors.FileFormatError("edges.txt", 3, "expected a number")
    assert str(error) == "edges.txt:3: expected a number"
    assert (error.path, error.line, error.reason) == (Path("edges.txt"), 3, "expected a number")
    assert str(errors.FileFormatError("edges.txt", None, "it is truncated")) == "edges.txt: it is truncated"


@pytest.mark.parametrize("error", [errors.UnknownNameError("x"), errors.FileFormatError("a", 1, "b")], ids=str)
def test_errors_travel_between_processes(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
