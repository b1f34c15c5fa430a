"""Recording what operators launch on CUDA, so that ``iterate`` can repeat it without running the user's Python code.

While the body of ``iterate`` runs, every operator records its call and its launches. The body is then repeated by
the same launches (:class:`Replay`) or, if that is not possible, by calling the operators again, with swapped
arrays and with the results of calls of the present round in place of those of the first one. Kernels get a further
parameter, the address of a flag on the device: if it is set they return at once. So rounds can be launched before the
host knows whether the loop has ended.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, wraps
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, allow_reading, reading_refused
from suricate.base.errors import RequirementError
from suricate.cuda.program import Launch, Program, c_type, noting
from suricate.edgefn import TypedFunction, bounds
from suricate.operators.call import Call
from suricate.operators.cuda.programs import BLOCK, SOURCES
from suricate.state.frontier import DeviceCount, Frontier
from suricate.state.scalar import SLOTS

_local = threading.local()


def current() -> Recording | None:
    """Return the recording to which operators of this thread are added; None if they are not recorded."""
    return getattr(_local, "recording", None)


def is_recording() -> bool:
    """Return whether the operators that this thread calls are recorded."""
    return current() is not None


def by_host() -> None:
    """Stop a recording in this thread, if there is one, so that its loop calls the Python body in every round."""
    recording = current()
    if recording is not None:
        recording.leave()


def outer_flag() -> Array | None:
    """Return the device flag that stops the enclosing ``iterate`` of this thread, or None outside of one."""
    return getattr(_local, "flag", None)


def _within_operator() -> bool:
    """Return whether the array that is being allocated is for the library itself or for the view of a graph."""
    frame = sys._getframe(2)  # of what called the allocator
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("cupy", "contextlib"):
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "")
    if name.startswith("suricate.") and not name.startswith("suricate.algorithms"):
        return True
    return _within_view(frame)


def _within_view(frame: FrameType | None) -> bool:
    """Return whether ``frame``, or a frame from which it was called, belongs to a graph's call of ``Store.view``."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "suricate.graph" and frame.f_code.co_name == "_new_view":
            return True
        frame = frame.f_back
    return False


def recorded(operator: Callable[..., Any], program: Callable[..., Program] | None = None) -> Callable[..., Any]:
    """Return ``operator`` wrapped so that its calls are recorded while the body of ``iterate`` runs.

    ``program`` returns the program that a call of the operator launches, of the same arguments: see
    :func:`compile_ahead`.
    """

    @wraps(operator)
    def call(*args: Any) -> Any:
        ahead = getattr(_local, "ahead", "")
        if ahead and program is not None:
            return program(*(_guarded_if(ahead == "repeated", arg) for arg in args)).prepare()
        recording = current()
        return operator(*args) if recording is None else recording.call(operator, args)

    return call


def compile_ahead(calls: Iterable[Callable[[], Any]], *, repeated: bool) -> None:
    """Start to compile, in other threads, what ``calls`` launch; they call ``propagate`` or ``converge``, no others.

    Nothing is launched. ``repeated``: they will be made in the body of ``iterate``.
    """
    _local.ahead = "repeated" if repeated else "once"
    try:
        for call in calls:
            call()
    finally:
        _local.ahead = ""


def _guarded_if(repeated: bool, given: Any) -> Any:
    return given._replace(function=guarded(given.function)) if repeated and isinstance(given, Call) else given


class Flag(NamedTuple):
    """The type of a guarded function's last argument, the flag that ends a loop; stands in for an ``Argument``."""

    kind: str = "flag"

    def packed(self, value: Array) -> Array:
        """Return what a launch passes for the flag ``value``: the array itself, which becomes its address."""
        return value


class Guarded:
    """A compiled function whose kernels have a flag as their last parameter, and return at once if it is set."""

    def __init__(self, function: TypedFunction) -> None:
        self._function = function
        self.arguments = (*function.arguments, Flag())
        self.key = f"{function.key} guarded"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    @cached_property
    def macros(self) -> dict[str, str]:
        """The C++ macros of the function, extended so that kernels get the flag, and return at once if it is set."""
        macros = self._function.macros
        return macros | {
            "PARAMS": f"{macros['PARAMS']}, const unsigned int* stop_flag",
            "LOCALS": f"if (*stop_flag) return; {macros['LOCALS']}",
        }


class Recording:
    """The calls of operators in the body of ``iterate``, and the launches that they made.

    Args:
        flag: ``uint32[1]`` on the device: kernels return at once if it is not 0.
        swap: pairs of arrays that take each other's place in every second round.
        cleared: counters that the loop clears after every round.
    """

    def __init__(self, flag: Array, swap: tuple[tuple[Array, Array], ...], cleared: Cleared) -> None:
        self.flag = flag
        self.cleared = cleared
        self.left = False  #: whether the body waits for other processes, which cannot be repeated by launches
        self._launches: list[Launch] = []
        self._steady = not bounds.CHECKED  # whose arguments hold the addresses of arrays
        self._calls: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = []
        self._other = {place(a): b for pair in swap for a, b in (pair, pair[::-1])}
        self.scalars: dict[int, tuple[Any, int]] = {}  #: that operators have as arguments, and their turn before

    @contextmanager
    def body(self) -> Iterator[None]:
        """Record the operators of the ``with`` block; reading values or making arrays raises inside it."""
        from cupy.cuda import get_allocator, using_allocator

        outer, _local.recording = current(), self
        allocate = get_allocator()

        def allocator(size: int) -> Any:
            if not (self.left or _within_operator()):
                raise RequirementError(
                    "the body of iterate makes an array: it runs only once, so make arrays before it, and compute in "
                    "functions of operators"
                )
            return allocate(size)

        try:
            with using_allocator(allocator), reading_refused("the body of iterate, which runs only once"):
                yield
        finally:
            _local.recording = outer

    def leave(self) -> None:
        """Stop recording, and have the loop call the Python body in every round."""
        self.left, _local.recording = True, None
        allow_reading()

    def call(self, operator: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Run ``operator(*args)``, whose kernels check the flag of this loop; record it and its launches."""
        for call in args:
            if isinstance(call, Call):
                kinds = zip(call.function.arguments, call.values, strict=True)
                found = (value for kind, value in kinds if kind.kind == "accumulator")
                self.scalars = {id(value): (value, value.turn) for value in found} | self.scalars
        args = tuple(self._guarded(arg) if isinstance(arg, Call) else arg for arg in args)
        around, _local.recording = current(), None
        notes: list[Launch] = []
        try:
            with self._inside(), noting(notes), self.cleared.given():
                result = operator(*args)
        finally:
            _local.recording = around
        self._steady &= bool(notes) and all(launch.name in STEADY for launch in notes)
        self._launches += notes
        self._calls.append((operator, args, result))
        return result

    def replay(self, turned: list[tuple[Any, int, int]]) -> Replay | None:
        """Return the recorded launches for repetition; None if the operators must be called again instead.

        ``turned`` has for each scalar the scalar, its slot (``turn``) before the round, and by how many slots a round
        moves it.
        """
        if not self._steady or self.cleared.used > WORDS:
            return None
        return Replay(self._launches, turned, self._other)

    def repeat(self, *, exchanged: bool) -> None:
        """Call all recorded operators again, in order; with ``exchanged``, with the pairs in ``swap`` exchanged."""
        results: dict[int, Any] = {}
        with self._inside():
            for operator, args, first in self._calls:
                found = operator(*(self._replaced(arg, results, exchanged) for arg in args))
                if isinstance(first, Frontier):
                    results[id(first)] = found

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Make :func:`outer_flag` return the flag of this loop, inside the ``with`` block."""
        outer, _local.flag = outer_flag(), self.flag
        try:
            yield
        finally:
            _local.flag = outer

    def _guarded(self, call: Call) -> Call:
        return call._replace(function=guarded(call.function), values=(*call.values, self.flag))

    def _replaced(self, given: Any, results: dict[int, Any], exchanged: bool) -> Any:
        """Return what takes the place of ``given``, an argument of a call in the first round, in a later round."""
        if type(given) is tuple:
            return tuple(self._replaced(part, results, exchanged) for part in given)
        if isinstance(given, tuple):
            return type(given)(*(self._replaced(part, results, exchanged) for part in given))
        if isinstance(given, Frontier):
            return results.get(id(given), given)
        if exchanged and hasattr(given, "__cuda_array_interface__"):
            return self._other.get(place(given), given)
        return given


_guarded: dict[int, tuple[TypedFunction, Guarded]] = {}


def guarded(function: TypedFunction) -> Any:
    """Return ``function`` as a :class:`Guarded`, which is made once."""
    held = _guarded.get(id(function))
    if held is None:
        held = _guarded.setdefault(id(function), (function, Guarded(function)))
    return held[1]


def fill(array: Array, value: Any, call: Call) -> None:
    """Fill ``array`` with ``value``; if ``call`` is recorded, by a kernel that does nothing once the loop has ended."""
    if not isinstance(call.function, Guarded):
        array.fill(value)
        return
    kernel = rounds_program(array.dtype).kernel("fill_values")
    grid = min(-(-len(array) // BLOCK), 4096)
    kernel((grid,), (BLOCK,), (array, np.int64(len(array)), array.dtype.type(value), call.values[-1]))


@cache
def rounds_program(dtype: np.dtype) -> Program:
    """Return the program of ``rounds.cu`` for a total, or an array to fill, of ``dtype``."""
    return Program(SOURCES["rounds.cu"], defines=(("TOTAL_T", c_type(dtype)),))


PERIOD = 2 * SLOTS  #: rounds after which arguments recur
WORDS = 64  #: of counters per loop
#: kernels that depend on nothing but their arguments
STEADY = {
    "complete_vertices", "fill_values", "map_arcs", "map_edges", "map_heavy_edges", "map_segments",
    "map_vertices", "reduce_heavy_vertices", "reduce_segments", "reduce_vertices",
}  # fmt: skip


class Cleared:
    """The counters of one loop, ``uint64[WORDS]`` on the device, which are zero at the beginning of each round."""

    def __init__(self, words: Array) -> None:
        self.words, self.used = words, 0
        self._halves, self._start = words.view(np.uint32), words.data.ptr

    @contextmanager
    def given(self) -> Iterator[None]:
        """Let the operators that this thread calls take their counters from here, inside the ``with`` block."""
        before, _local.cleared = getattr(_local, "cleared", None), self
        try:
            yield
        finally:
            _local.cleared = before

    def count(self) -> DeviceCount | None:
        """Return a ``uint32`` counter that nothing else uses in a round; None if all counters are taken."""
        address = self.total()
        return None if address is None else DeviceCount(self._halves, 2 * (self.used - 1), address)

    def total(self) -> np.uint64 | None:
        """Return the address of a ``uint64`` counter that nothing else uses in a round; None if all are taken."""
        self.used += 1
        return None if self.used > WORDS else np.uint64(self._start + 8 * (self.used - 1))


def cleared_counters() -> Cleared | None:
    """Return the counters of the loop whose first round runs in this thread; None if there is no such loop."""
    return getattr(_local, "cleared", None)


class Replay:
    """The launches of a round, and how their arguments change from round to round.

    Args:
        launches: the launches of the first round.
        scalars: the scalars among their arguments, each with its slot (``turn``) before the round, and by how many
            slots a round moves it.
        other: maps :func:`place` of an array to the array that replaces it in every second round.
    """

    def __init__(
        self, launches: list[Launch], scalars: list[tuple[Any, int, int]], other: dict[tuple[int, int], Array]
    ) -> None:
        self._launches, self._other = launches, other
        self._slots = {
            id(packed): (scalar._packed, turn, turns)
            for scalar, _, turns in scalars
            for turn, packed in enumerate(scalar._packed)
        }
        self._ready: list[list[tuple[Any, tuple[Any, ...]]] | None] = [None] * PERIOD

    def launch(self, number: int) -> None:
        """Launch round ``number``, with the arguments that it needs; round 0 is the first one, which the body made."""
        at = number % PERIOD
        ready = self._ready[at]
        if ready is None:
            ready = self._ready[at] = [self._turned(launch, at) for launch in self._launches]
        for kernel, given in ready:
            kernel(*given)

    def _turned(self, launch: Launch, number: int) -> tuple[Any, tuple[Any, ...]]:
        grid, block, arguments = launch.given
        return launch.kernel, (grid, block, tuple(self._in_round(number, argument) for argument in arguments))

    def _in_round(self, number: int, argument: Any) -> Any:
        """Return what round ``number`` passes in place of ``argument``, an argument of the first round."""
        slots = self._slots.get(id(argument))
        if slots is not None:
            packed, turn, turns = slots
            return packed[(turn + number * turns) % SLOTS]
        if number % 2 == 1 and hasattr(argument, "__cuda_array_interface__"):
            return self._other.get(place(argument), argument)
        return argument


def place(array: Array) -> tuple[int, int]:
    """Return device address and length in bytes of ``array``, by which equal arguments of launches are recognised."""
    return array.data.ptr, array.nbytes
