"""The protocol by which the processes (ranks) of one graph communicate, and its form for a single process.

Every method but ``busy`` and ``abort`` is *collective*: all ranks call it, in the same order. Results are in rank order
and the same on every rank, so that everything computed from them is the same, too.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base import errors
from suricate.base.devices import module_of
from suricate.base.errors import CommunicationError, ParameterError
from suricate.base.parameters import shown
from suricate.intake.arrays import bits

if TYPE_CHECKING:
    from suricate.base.devices import Array

SMALL = 1 << 10  #: bytes of an array that is reduced by gathering it
PIECE = 1 << 30  #: bytes of an array that are reduced at a time, as that takes as many for what others send
FOLDS = {"sum": "add", "min": "minimum", "max": "maximum", "or": "bitwise_or", "merge": "bitwise_or"}
PACKAGE = str(Path(__file__).parents[1])
KITS = str(Path(__file__).parents[1] / "testing")  #: their lines are those of users


class Comm(ABC):
    """Communication among ``size`` ranks, of which this is number ``rank``.

    Pass it to ``Graph(..., comm=comm)``. A subclass must implement :meth:`gather` and :meth:`abort`; one with a
    ``name`` and a :meth:`join`, which the hook ``suricate_comms`` returns, is what ``connect(name)`` joins by.
    """

    name: str = ""
    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls) -> Comm:
        """Return the communication of this process with the others of its job; ``connect(name)`` calls it.

        Raises:
            CommunicationError: nothing has started this process as a rank; the text shows the call that does.
        """
        raise CommunicationError(f"{cls.__qualname__} has no join()")

    @abstractmethod
    def gather(self, name: str, value: Any) -> list[Any]:
        """Return what every rank passed, in rank order.

        Args:
            name: the name of the collective. Ranks that pass different names, or call from different lines, raise.
            value: a small value, or an array on the host or on a CUDA device. Other ranks get a copy.

        Raises:
            CommunicationError: ranks are at different collectives, one has ended, or one does not come in time.
        """

    @abstractmethod
    def abort(self, reason: str) -> None:
        """End the job: every rank that waits now or later raises ``CommunicationError`` with ``reason``."""

    def busy(self, most: float | None = None, *, reads: bool = False) -> AbstractContextManager[None]:
        """Return a context for work that one rank does by itself; the others wait for it without a time limit.

        Not collective. Collectives inside it have the usual limit.

        Args:
            most: seconds after which the job ends all the same; None: no limit.
            reads: the work is to read a source, for which the others wait at a collective: if one of them is elsewhere
                for longer than the time limit, the job ends, even if no rank but this one waits for it.
        """
        return nullcontext()

    def watch_queue(self, mark: Callable[[], Callable[[], bool]]) -> None:
        """Have the job end if a collective queued on a device waits for a rank that has ended.

        ``mark()`` marks the end of what is queued and returns a function that tells whether that has been reached; both
        are called by another thread. Here nothing is done.
        """
        return

    def allgather(self, value: Any) -> list[Any]:
        """Return the ``value``, a small Python object, of every rank, in rank order."""
        return self.gather("allgather", value)

    def allgatherv(self, array: Array) -> list[Array]:
        """Return the ``array`` of every rank, in rank order; lengths may differ, the dtype may not."""
        return self.gather(f"allgatherv of {array.dtype}", array)

    def joined(self, array: Array) -> Array:
        """Return the ``array`` of all ranks, concatenated in rank order; lengths may differ, the dtype may not."""
        parts = self.allgatherv(bits(array))  # kernels of CuPy take subnormal floats for zero
        return (module_of(array).concatenate(parts) if len(parts) > 1 else parts[0]).view(array.dtype)

    def joined_columns(self, columns: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
        """Concatenate several columns of all ranks, each as :meth:`joined` does.

        Args:
            columns: arrays of one length; those of other ranks have the same dtypes.
            sizes: the lengths on all ranks, in rank order; every rank knows them.
        """
        return [self.joined(column) for column in columns]

    def exchange(self, parts: list[Array]) -> list[Array]:
        """Send ``parts[r]`` to each rank ``r``; return the arrays received, in rank order. All parts have one dtype."""
        ends = self.gather("exchange", np.cumsum([0, *map(len, parts)]))
        sent = self.allgatherv(module_of(parts[0]).concatenate(parts))
        return [one[end[self.rank] : end[self.rank + 1]] for one, end in zip(sent, ends, strict=True)]

    def merged(self, array: Array, *, agreed: bool = False) -> Array:
        """Return the elementwise sum of integer arrays in which each element is 0 on all ranks but one.

        ``array`` is overwritten; ``agreed``: see :meth:`reduce`.
        """
        self.reduce(array, "merge", agreed=agreed)
        return array

    def smallest(self, array: Array) -> None:
        """Set each element of ``array`` (``uint64``) to its minimum over all ranks, in place."""
        self.reduce(array, "min")

    def add(self, array: Array, *, agreed: bool = False) -> None:
        """Set each element of ``array`` (``uint64``) to its sum over all ranks, in place; see :meth:`reduce`."""
        self.reduce(array, "sum", agreed=agreed)

    def reduce(self, array: Array, op: str, *, agreed: bool = False) -> None:
        """Replace each element of ``array`` by the reduction of those of all ranks, in rank order; in place.

        Each rank reduces a slice and gets those of the others: at most twice the bytes of the array, however many ranks
        there are. A small array is gathered.

        Args:
            array: of one shape and dtype on all ranks.
            op: ``"sum"``, ``"min"``, ``"max"``, ``"or"`` or ``"merge"``: the sum of integers, all but one 0.
            agreed: it is known from earlier exchanges that all ranks make this call with the same shape, so that NCCL
                can queue it without comparing the calls on the host first.
        """
        flat = module_of(array).ascontiguousarray(array).reshape(-1)
        if array.nbytes <= SMALL:
            flat[:] = _folded(self.gather(f"{op} of {array.dtype}", flat), op)
        else:
            most = PIECE // array.itemsize
            for low in range(0, len(flat), most):
                self._reduce_piece(flat[low : low + most], op)
        if not array.flags.c_contiguous:
            array[...] = flat.reshape(array.shape)

    def _reduce_piece(self, piece: Array, op: str) -> None:
        ends = np.arange(self.size + 1) * len(piece) // self.size
        parts = self.exchange([piece[begin:end] for begin, end in pairwise(ends.tolist())])
        piece[ends[self.rank] : ends[self.rank + 1]] = _folded(parts, op)
        self.share(piece, ends)

    def share(self, array: Array, bounds: Array, *, agreed: bool = False) -> None:
        """Copy each rank's range of ``array``, ``bounds[rank]`` to ``bounds[rank + 1]``, to all ranks; in place.

        The bounds are the same on all ranks; ``agreed``: see :meth:`reduce`.
        """
        low, high = (min(int(bounds[self.rank + k]), len(array)) for k in (0, 1))
        for begin, part in zip(bounds, self.allgatherv(array[low:high]), strict=False):
            array[begin : begin + len(part)] = part

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Wait until ``is_done()``, which polls a device for the end of the collectives queued on it, returns True.

        If collectives are only queued (NCCL), a wait longer than the time limit for other ranks ends the job.
        """
        while not is_done():
            pass

    def place(self, device: Any) -> Any:
        """Return the device on which this rank keeps a graph made with ``device``, such as its own GPU for "cuda"."""
        return device

    def agree(self, value: Any) -> Any:
        """Return the ``value`` of rank 0, on all ranks; collective."""
        return self.gather("agree", value if self.rank == 0 else None)[0]

    def barrier(self) -> None:
        """Wait until all ranks have made this call."""
        self.gather("barrier", None)

    # -- what is wrong on one rank is an error on all ------------------------------------------------------------------

    def together(self, problem: Exception | None, value: Any = None) -> list[Any]:
        """Return the ``value`` of every rank, in rank order.

        If ranks pass an exception as ``problem``, not None, all ranks raise that of the first of them.
        """
        said = None if problem is None else (_kind_of(problem), str(problem))
        found = self.gather("together", (said, value))
        values = []
        for rank, (said, one) in enumerate(found):
            if said is not None and rank == self.rank and problem is not None:
                raise problem  # not from itself: what follows causes to their end, as Dask does, would not return
            if said is not None:
                raise _error_of(rank, *said) from problem
            values.append(one)
        return values

    def alike(self) -> Alike:
        """Return a context for every rank to enter: at its end all ranks raise what the first rank raised inside it."""
        return Alike(self)

    def same(self, values: Mapping[str, Any]) -> None:
        """Raise ``ParameterError`` on all ranks unless all pass the same ``values``, given by name."""
        demand_same(self.gather("same", {name: (digest_of(value), shown(value)) for name, value in values.items()}))

    def same_soon(self, values: Mapping[str, Any]) -> None:
        """Raise unless all ranks pass the same ``values``, as :meth:`same` does, or let the next :meth:`gather` raise.

        Make no ``agreed`` calls before that :meth:`gather`: they compare nothing. See :meth:`asking`.
        """
        self.same(values)

    def compare_asked(self, name: str = "same") -> None:
        """Compare the values passed to :meth:`same_soon` now, if no collective has compared them yet.

        Here :meth:`same_soon` has compared them, so there is nothing to do. A subclass that leaves this to the next
        collective makes one for it, called ``name`` in error messages, which raises as :meth:`gather` does, or
        ``ParameterError`` if the values differ.
        """
        return

    def forget_asked(self) -> None:
        """Drop the values of :meth:`same_soon` without comparing them."""
        return

    def asking(self, values: Mapping[str, Any]) -> Asking:
        """Return a context that raises ``ParameterError`` unless all ranks pass the same ``values``, given by name.

        It raises at the first :meth:`gather` inside the context, or at its end.
        """
        return Asking(self, values)


def _folded(parts: list[Array], op: str) -> Array:
    """Reduce ``parts`` into the first, in rank order, and return it."""
    fold = getattr(module_of(parts[0]), FOLDS[op])
    for part in parts[1:]:
        fold(parts[0], part, out=parts[0])
    return parts[0]


class Alike(AbstractContextManager[None]):
    """The context of :meth:`Comm.alike`; a class, since :func:`call_site` would report the frame of a generator."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None or isinstance(error, Exception):
            self._comm.together(error)


class Asking(AbstractContextManager[None]):
    """The context of :meth:`Comm.asking`."""

    def __init__(self, comm: Comm, values: Mapping[str, Any]) -> None:
        self._comm, self._values = comm, values

    def __enter__(self) -> None:
        self._comm.same_soon(self._values)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None:
            self._comm.compare_asked()
        elif isinstance(error, Exception):  # others may be at a meeting, or have the same error
            with suppress(CommunicationError):
                self._comm.compare_asked(f"the end by {type(error).__name__}")
        else:
            self._comm.forget_asked()


class SelfComm(Comm):
    """Communication of a job of one rank."""

    name = "self"

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return a list with a copy of ``value``: there is only one rank."""
        return [value.copy() if is_array(value) else value]

    def abort(self, reason: str) -> None:
        """Do nothing: there is no other rank."""


def is_array(value: Any) -> bool:
    """Return whether a value is an array, on the host or on a CUDA device."""
    return isinstance(value, np.ndarray) or is_on_device(value)


def is_on_device(value: Any) -> bool:
    """Return whether a value is an array on a CUDA device."""
    return hasattr(value, "__cuda_array_interface__")


def _kind_of(problem: Exception) -> str:
    """Return the name of the class of ``problem``, or of its nearest base class that is built in or suricate's."""
    bases = type(problem).__mro__[: -len(Exception.__mro__)]
    return next((each.__name__ for each in bases if _known(each.__name__) is each), type(problem).__name__)


def _known(name: str) -> Any:
    return getattr(errors, name, getattr(builtins, name, None))


def _error_of(rank: int, kind: str, text: str) -> Exception:
    """Return an error like the one that ``rank`` raised: of the class named ``kind``, if known, with its ``text``."""
    found: Callable[[str], Exception] = _known(kind) or CommunicationError
    if kind == "FileFormatError":
        where, _, reason = text.partition(": ")
        return errors.FileFormatError(where, None, f"rank {rank}: {reason}")
    try:
        return found(f"rank {rank}: {text}")
    except TypeError:  # of errors that are not made of a text
        return CommunicationError(f"rank {rank}: {kind}: {text}")


def demand_same(everybody: Sequence[Mapping[str, tuple[Any, str]]]) -> None:
    """Raise ``ParameterError`` unless the dicts of all ranks are the same: by name a digest and a text of a value."""
    for rank, one in enumerate(everybody):
        for name in {**one, **everybody[0]} if one != everybody[0] else ():
            first, other = (each.get(name, (None, "not given")) for each in (everybody[0], one))
            if first[0] != other[0]:
                texts = f"{first[1]} on rank 0 and {other[1]} on rank {rank}"
                raise ParameterError(f"{name} is {texts}: pass the same on all ranks")


def digest_of(value: Any) -> Any:
    """Return a digest of ``value`` that is the same for equal values in all processes."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return (), value
    if is_on_device(value):
        value = module_of(value).asnumpy(value)
    if isinstance(value, dict):
        return sorted((str(key), digest_of(one)) for key, one in value.items())
    if isinstance(value, (int, float, np.generic, np.ndarray, list, tuple)):
        is_ragged = isinstance(value, (list, tuple)) and any(np.ndim(one) for one in value)
        return _digest_of_array(np.asarray(value, object if is_ragged else None))
    return getattr(value, "__qualname__", type(value).__qualname__)


def _digest_of_array(array: np.ndarray) -> Any:
    if array.dtype.kind not in "biuf":
        return repr(array.tolist())
    if array.dtype.kind in "bi" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        array = array.astype(np.int64)
    if array.dtype == np.int64 and not array.ndim:
        return (), int(array)
    return array.shape, hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()


def call_site(skip: str | Sequence[str] = ()) -> str:
    """Return where the package was called from by the innermost caller outside of it: ``file:line``.

    ``skip``: beginnings of further names of files whose lines do not count, such as the folder of a comm of one's own.
    """
    inside, frame = _inside((skip,) if isinstance(skip, str) else tuple(skip)), sys._getframe(1)
    while inside(frame.f_code.co_filename) and (outer := frame.f_back) is not None:
        frame = outer
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@cache
def _inside(skip: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a function that says of a file, whose name it looks at once, whether its lines are no call sites."""
    return cache(lambda file: file.startswith((PACKAGE, *skip)) and not file.startswith(KITS))
