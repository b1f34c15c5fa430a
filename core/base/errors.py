"""Exceptions of suricate.

Every error that a user can cause is a :class:`SuricateError` and, besides, the built-in exception that fits, so that
``except ValueError`` works as well. An error is raised before anything has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class SuricateError(Exception):
    """Base class of all errors raised by suricate."""


class VertexRangeError(SuricateError, ValueError):
    """A vertex id is negative or not below ``num_vertices``."""


class ShapeError(SuricateError, ValueError):
    """An array has a wrong length, shape or layout, or the arrays of a batch differ in length."""


class DTypeError(SuricateError, TypeError):
    """An array has a dtype that cannot be used here (floats as vertex ids, for instance)."""


class WeightError(SuricateError, ValueError):
    """Weights are missing, superfluous, not finite, out of the weight dtype's range, or forbidden by an algorithm."""


class SelfLoopError(SuricateError, ValueError):
    """A self-loop was inserted into a graph built with ``self_loops="error"``."""


class DeviceError(SuricateError, ValueError):
    """A device is unknown or absent, or arrays or graphs live on different devices."""


class CapacityError(SuricateError, MemoryError):
    """Memory, the configured ``memory_limit``, or the space for layers of a propagation does not suffice.

    A batch that raises it has not changed the store.
    """


class RequirementError(SuricateError, ValueError):
    """A graph lacks what an algorithm or operator needs, or options of a call exclude each other.

    The message says how to build a graph that has it, or what to pass instead.
    """


class EdgeFunctionError(SuricateError, TypeError):
    """An edge function cannot be translated; the message names the file, line and construct."""


class UnknownNameError(SuricateError, KeyError):
    """No backend, algorithm, format, generator, vertex, column or option has this name.

    The message says which names there are.
    """

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0]) if self.args else ""


class ParameterError(SuricateError, ValueError, TypeError):
    """A parameter, of an algorithm or any other call, is unknown, missing, of the wrong type or out of range."""


class ConvergenceError(SuricateError, ArithmeticError):
    """An iteration ended before it converged; raised when its result is read.

    Attributes:
        result: the values reached so far, in the form of the algorithm's result; None if there are none.
        change: the size of the last step, in the norm that the algorithm compares with ``tol``; None if unknown.
    """

    def __init__(self, message: str = "", *, result: Any = None, change: float | None = None) -> None:
        super().__init__(message)
        self.result, self.change = result, change


class MissingLibraryError(SuricateError, ImportError):
    """A required library is not installed; the message names the extra, as in ``pip install suricate[extra]``."""


class LateEventError(SuricateError, ValueError):
    """An event of a stream arrived after the slide to which it belongs had been closed."""


class PluginError(SuricateError, RuntimeError):
    """A plugin failed to load, or a hook of it failed; the message names the plugin."""


class ForkError(SuricateError, RuntimeError):
    """The graph cannot be used in this child process: another thread was changing it when the process was forked."""


class BackendError(SuricateError, RuntimeError):
    """A backend violates the store protocol; the message names the backend."""


class CommunicationError(SuricateError, RuntimeError):
    """Ranks of one job called different collectives, or a rank has ended or does not respond.

    A collective is a call that all ranks must make, with the same parameters.
    """


class BrokerError(SuricateError, ConnectionError):
    """A message broker cannot be reached, or reports an error; the message names it."""


class FileFormatError(SuricateError, ValueError):
    """A file is malformed or truncated."""

    def __init__(self, path: str | Path, line: int | None, reason: str) -> None:
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {reason}")
        self.path, self.line, self.reason = Path(path), line, reason

    def __reduce__(self) -> tuple[type[FileFormatError], tuple[Path, int | None, str]]:
        return type(self), (self.path, self.line, self.reason)


class CheckFailed(SuricateError, AssertionError):  # noqa: N818 - reads as what it is
    """A structural invariant of a store does not hold (raised by ``check()``)."""


def require(holds: bool, invariant: str) -> None:
    """Raise ``CheckFailed`` naming ``invariant`` unless ``holds``."""
    if not holds:
        raise CheckFailed(f"invariant does not hold: {invariant}")
