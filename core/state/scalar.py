"""Scalars: numbers on the device that functions of operators add to and read, without a copy to the host.

>>> import suricate as su
>>> changed = su.Graph(2, device="cpu").scalar("sum", "int64")
>>> float(changed)
0.0

In functions ``changed.add(x)`` reduces ``x`` into the total of the operator that is running, and ``changed.value`` is
the total of the last operator that had this scalar as an argument.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from suricate.base.devices import CPU, Array, Device, resolve_device
from suricate.base.errors import DTypeError, ParameterError
from suricate.base.parameters import named_dtype, one_of, shown
from suricate.edgefn.parameters import Argument
from suricate.state.made import MadeByGraph

OPS = ("sum", "min", "max", "or")
DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
SLOTS = 3  #: the last operator's total, that of the one that runs, and one that is cleared for the next


class Scalar(metaclass=MadeByGraph):
    """A number that the edges or vertices of an operator add to.

    It has three slots in device memory, whose roles rotate: an operator reads the total of the operator before it from
    one slot, reduces into the next, and clears the third. ``copy.copy``, ``copy.deepcopy`` and ``pickle`` give an
    independent scalar on the same device.

    Args:
        op: how values are reduced: ``"sum"``, ``"min"``, ``"max"``, or ``"or"`` (integers only).
        dtype: (u)int32, (u)int64, float32 or float64.
        value: the total before the first operator; default: the neutral value of ``op`` (0, or the largest or smallest
            value of the type).

    Raises:
        UnknownNameError: there is no such reduction.
        DTypeError: the dtype is none of these, or does not go with ``op``.
        ParameterError: ``value`` does not fit the dtype.

    Example:
        >>> g = su.Graph(4, device="cpu")
        >>> total = g.scalar("max", "int64")
        >>> def look(v, total):
        ...     total.add(v * v)
        ...     return True
        >>> kept = su.vertex_map(g, None, look, args=(total,))
        >>> isinstance(total, su.Scalar), int(total)
        (True, 9)
    """

    def __init__(
        self, op: str = "sum", dtype: Any = "float64", device: str | Device = CPU, value: float | None = None
    ) -> None:
        self.op = one_of("op", op, OPS)
        self.dtype = _dtype(dtype, op)
        self.device = device if isinstance(device, Device) else resolve_device(str(device))
        self.neutral = _neutral(self.op, self.dtype)  #: changes no total: 0 for sums, the largest number for minima
        self.turn = 0  #: the slot that holds the total of the last operator
        with self.device.current():
            self._slots: Array = self.device.xp.full(SLOTS, self.neutral, self.dtype)
        if value is not None:
            self.set(value)

    @cached_property
    def edge_argument(self) -> Argument:
        """The type of this scalar as an argument of edge functions."""
        return Argument("accumulator", self.dtype, op=self.op)

    def read(self) -> Any:
        """Return the total of the last operator as a Python number; waits for the device.

        Example:
            >>> g = su.Graph(4, device="cpu")
            >>> g.scalar("sum", "float64", value=2.5).read()
            2.5
        """
        with self.device.current():
            return self.device.to_numpy(self.total)[0].item()

    @property
    def total(self) -> Array:
        """The total of the last operator, as an array of one entry on the device; valid until the next operator."""
        return self._slots[self.turn : self.turn + 1]

    def set(self, value: float) -> None:
        """Make ``value`` the total of the last operator; does not wait.

        Raises:
            ParameterError: ``value`` is not a number, or does not fit the dtype.

        Example:
            >>> total = su.Graph(4, device="cpu").scalar("sum", "int64")
            >>> total.set(3)
            >>> total.read()
            3
        """
        with self.device.current():
            self.total.fill(_checked(value, self.dtype))

    def slots(self) -> Any:
        """Return the addresses (read, write, clear) of the slots for the kernels of one operator, as a struct.

        From this call on :attr:`total` is the slot that these kernels write to, which an earlier operator has cleared.
        An operator that launches nothing calls :meth:`skip` instead.
        """
        found = self._packed[self.turn]
        self.turn = (self.turn + 1) % SLOTS
        return found

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the slots (read, write) for the Numba loops of one operator, as arrays of one entry.

        From this call on :attr:`total` is the slot that these loops write to; the call sets it to the neutral value.

        Example:
            >>> total = su.Graph(4, device="cpu").scalar("sum", "int64", value=3)
            >>> read, write = total.arrays()
            >>> read.tolist(), write.tolist()
            ([3], [0])
        """
        read, slots = self.turn, self._slots
        self.turn = write = (read + 1) % SLOTS
        slots[(write + 1) % SLOTS] = slots[write] = self.neutral
        return slots[read : read + 1], slots[write : write + 1]

    def skip(self) -> None:
        """Count an operator that had nothing to do: :attr:`total` becomes the neutral value. Does not wait.

        Example:
            >>> total = su.Graph(4, device="cpu").scalar("sum", "int64", value=3)
            >>> total.skip()
            >>> total.read()
            0
        """
        self.turn = (self.turn + 1) % SLOTS
        clear = (self.turn + 1) % SLOTS
        with self.device.current():
            self._slots[clear : clear + 1].fill(self.neutral)

    @cached_property
    def _packed(self) -> list[Any]:
        address, size = self._slots.data.ptr, self.dtype.itemsize
        turns = [[address + (turn + k) % SLOTS * size for k in range(SLOTS)] for turn in range(SLOTS)]
        layout = np.dtype([("read", np.uint64), ("write", np.uint64), ("clear", np.uint64)])
        return [np.array(tuple(turn), layout)[()] for turn in turns]

    def __float__(self) -> float:
        return float(self.read())

    def __int__(self) -> int:
        return int(self.read())

    def __repr__(self) -> str:
        return f"<Scalar: {self.op} of {self.dtype}, {self.device}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.op, self.dtype.name, str(self.device), self.read())


def _restored(op: str, dtype: str, device: str, value: float) -> Scalar:
    return Scalar._of(op, dtype, device, value)


def _dtype(dtype: Any, op: str) -> np.dtype:
    found = named_dtype(dtype)
    if found is None or found.name not in DTYPES:
        raise DTypeError(f"a scalar has no dtype {shown(dtype)}: use one of {', '.join(DTYPES)}")
    if op == "or" and found.kind == "f":
        raise DTypeError(f"op='or' needs integers, not {found}")
    return found


def _neutral(op: str, dtype: np.dtype) -> Any:
    """Return the neutral value of the reduction ``op`` for ``dtype``: 0, or the largest or smallest value."""
    if op in ("sum", "or"):
        return dtype.type(0)
    if dtype.kind == "f":
        return dtype.type(np.inf if op == "min" else -np.inf)
    return dtype.type(np.iinfo(dtype).max if op == "min" else np.iinfo(dtype).min)


def _checked(value: Any, dtype: np.dtype) -> Any:
    """Return ``value`` as a NumPy scalar of ``dtype``; raise ``ParameterError`` if it does not fit."""
    array = np.asarray(value, object) if isinstance(value, (list, tuple)) else np.asarray(value)  # lists may be ragged
    fits = array.ndim == 0 and array.dtype.kind in ("iuf" if dtype.kind == "f" else "iu")
    if fits and dtype.kind != "f":
        fits = np.iinfo(dtype).min <= int(array) <= np.iinfo(dtype).max
    if not fits:
        raise ParameterError(f"value must be a number of {dtype}, got {shown(value)}")
    return dtype.type(array[()])
