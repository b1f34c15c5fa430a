"""Words: per vertex one word of 64 or 128 bits with several numbers, compared, read and replaced together.

A shortest path with its parent is one: the key (distance, hops) and the payload parent. Operators with
``reduce="argmin"`` keep the smallest (keys, payload) of each vertex, by one compare-and-swap on CUDA, so that a parent
always belongs to its distance. The encoding of the fields keeps the order of the numbers (``suricate.edgefn.layout``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import CPU, Array, Device, resolve_device
from suricate.base.errors import DeviceError, DTypeError, ParameterError, ShapeError, UnknownNameError, VertexRangeError
from suricate.base.parameters import integer, named_dtype, shown
from suricate.base.types import MAX_VERTICES
from suricate.cpu import threads
from suricate.cuda.program import Program
from suricate.edgefn.layout import FIELD_DTYPES, HALF, Field, Layout, layout_of
from suricate.edgefn.parameters import Argument
from suricate.intake.arrays import fill, placed_ids
from suricate.state.made import MadeByGraph

BLOCK = 256  #: threads of a block on CUDA
PROGRAM = Program(Path(__file__).with_name("words.cu"))


def make_words(
    n: int, keys: Mapping[str, Any], payload: Mapping[str, Any] | None = None, *, device: str | Device = CPU
) -> Words:
    """Return ``n`` words, as ``graph.words(keys, payload)`` does for the vertices of a graph.

    >>> s = make_words(3, keys={"distance": "float32"}, payload={"parent": "uint32"})
    >>> s.distance.tolist()
    [inf, inf, inf]
    >>> s.set([1], distance=[0.5], parent=[2])
    >>> s.parent.tolist()
    [4294967295, 2, 4294967295]

    Raises:
        ParameterError: fields that do not fit 128 bits, or bad names; a bad number of elements.
        DTypeError: a dtype that is not one of uint32, int32, float32, uint64, int64, float64.
    """
    layout = _layout(keys, payload or {})
    size = integer("the number of words", n, low=0, high=MAX_VERTICES)
    return Words._of(layout, device if isinstance(device, Device) else resolve_device(str(device)), size)


def _layout(keys: Mapping[str, Any], payload: Mapping[str, Any]) -> Layout:
    for argument, part in (("keys", keys), ("payload", payload)):
        if not isinstance(part, Mapping):
            raise ParameterError(f"{argument} must be a dictionary of names and dtypes, got {shown(part)}")
    try:
        return _layout_of(tuple(keys.items()), tuple(payload.items()))
    except TypeError:  # a dtype that has no hash
        return _layout_of.__wrapped__(tuple(keys.items()), tuple(payload.items()))


@lru_cache(maxsize=256)
def _layout_of(key_fields: tuple[tuple[str, Any], ...], payload_fields: tuple[tuple[str, Any], ...]) -> Layout:
    keys, payload = dict(key_fields), dict(payload_fields)
    if not keys:
        raise ParameterError("words need at least one key: keys={'distance': 'float32'}")
    both = [name for name in keys if name in payload]
    if both:
        raise ParameterError(f"field {both[0]} is a key and payload: give it once")
    for name in (*keys, *payload):
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or hasattr(Words, name):
            raise ParameterError(f"{shown(name)} cannot be the name of a field: use another")
    layout = layout_of(
        *(tuple((name, _dtype(name, dtype)) for name, dtype in part.items()) for part in (keys, payload))
    )
    used = layout.fields[0].shift + layout.fields[0].bits
    if used > 2 * HALF:
        raise ParameterError(f"the fields take {used} bits: a word has at most 128")
    return layout


def _dtype(name: str, dtype: Any) -> str:
    if type(dtype) is str and dtype in FIELD_DTYPES:
        return dtype
    found = named_dtype(dtype)
    if found is None or found.name not in FIELD_DTYPES:
        raise DTypeError(f"field {name} has dtype {shown(dtype)}: use one of {', '.join(FIELD_DTYPES)}")
    return found.name


class Words(metaclass=MadeByGraph):
    """Words on one device, made by ``graph.words(keys, payload)``.

    A field is read as an attribute: ``s.distance`` is a new array with the value of every element. In edge functions
    ``s.distance[u]`` is the field of one element, and all fields of an element come from one load.

    ``copy.copy``, ``copy.deepcopy`` and ``pickle`` give independent words on the same device. ``size``: the number of
    elements at first.

    Attributes:
        layout: the fields.
        device: where the words live.
        data: ``uint64[n]`` for fields of up to 64 bits, else ``uint64[n, 2]``, the less significant half first, aligned
            to 16 bytes. It holds encoded fields (``suricate.edgefn.layout``).

    Example:
        >>> g = su.Graph.from_coo([0, 1], [2, 2], [4.0, 1.5], device="cpu")
        >>> words = g.words(keys={"cost": "float32"}, payload={"by": "uint32"})
        >>> reached = su.advance(g, None, lambda u, v, w: (w, u), out=words, reduce="argmin")
        >>> isinstance(words, su.Words), words.cost[2].item(), words.by[2].item()
        (True, 1.5, 1)
    """

    def __init__(self, layout: Layout, device: Device, size: int = 0) -> None:
        self.layout = layout
        self.device = device
        with device.current():
            self.data: Array = self._new(size)

    @cached_property
    def edge_argument(self) -> Argument:
        """The type of these words as an argument of edge functions."""
        return Argument("words", None, self.layout)

    def __len__(self) -> int:
        return len(self.data)

    def __getattr__(self, name: str) -> Array:
        layout = self.__dict__.get("layout")
        form = _form(layout, name) if layout is not None else None
        if form is None:
            raise AttributeError(f"words have no field {name}")
        field, unsigned, *signs = form
        if self.device.is_cuda:
            return self._decoded_on_cuda(f"decode_{unsigned.itemsize}", field, unsigned, *signs).view(field.dtype)
        return self._decoded(_loops().decode, field, unsigned, *signs).view(field.dtype)

    def ids(self, name: str) -> Array:
        """Return the ``uint32`` field ``name``, which holds vertices, as a new array ``int64[n]``, -1 for ``EMPTY``.

        Example:
            >>> words = su.Graph(3, device="cpu").words(keys={"level": "uint32"}, payload={"parent": "uint32"})
            >>> words.set([1], level=[1], parent=[0])
            >>> words.ids("parent").tolist()
            [-1, 0, -1]
        """
        field = self.layout.field(name)
        assert field is not None
        if self.device.is_cuda:
            return self._decoded_on_cuda("decode_ids", field, np.dtype(np.int64))
        return self._decoded(_loops().decode_ids, field, np.dtype(np.int64))

    def picked(self, ids: Array) -> Words:
        """Return the words of some elements as new words; ``ids``: ``int64[]``, valid, on the device.

        Example:
            >>> words = su.Graph(3, device="cpu").words(keys={"level": "uint32"})
            >>> words.set([0, 1, 2], level=[4, 5, 6])
            >>> words.picked(np.array([2, 0])).level.tolist()
            [6, 4]
        """
        some = Words.__new__(Words)
        some.layout, some.device, some.data = self.layout, self.device, self.data[ids]
        return some

    def of_size(self, n: int) -> Words:
        """Return ``n`` new words with the same fields, all at their largest value.

        Example:
            >>> words = su.Graph(3, device="cpu").words(keys={"level": "uint32"})
            >>> len(words.of_size(5))
            5
        """
        return Words._of(self.layout, self.device, n)

    def fill(self, **values: Any) -> None:
        """Set fields of all elements to one value each; other fields are unchanged. Does not wait for the device.

        Raises:
            UnknownNameError: there is no such field.
            DTypeError: a value does not fit the field.

        Example:
            >>> words = su.Graph(2, device="cpu").words(keys={"level": "uint32"})
            >>> words.fill(level=7)
            >>> words.level.tolist()
            [7, 7]
        """
        with self.device.current():
            self._put(slice(None), self._encoded(values, None))

    def set(self, ids: Any, *, trusted: bool = False, **values: Any) -> None:
        """Set fields of some elements; their other fields are unchanged.

        Args:
            ids: integers, without repeats.
            trusted: the ids are a valid ``uint32`` array on this device; they are not checked, and nothing waits.
            **values: per field one number for all, or one per id.

        Raises:
            UnknownNameError: there is no such field.
            VertexRangeError, DTypeError, ShapeError: invalid ids or values; nothing was changed.

        Example:
            >>> words = su.Graph(3, device="cpu").words(keys={"level": "uint32"})
            >>> words.fill(level=0)
            >>> words.set([1], level=[5])
            >>> words.level.tolist()
            [0, 5, 0]
        """
        with self.device.current():
            chosen = ids if trusted else placed_ids(ids, self.device, len(self), "ids", "array of words")
            self._put(chosen, self._encoded(values, len(chosen)))

    def resize(self, n: int) -> None:
        """Grow to ``n`` elements; the fields of new ones have their largest value.

        Raises:
            ParameterError: ``n`` is not an integer from 0 to ``MAX_VERTICES``.
            VertexRangeError: there are more elements already.

        Example:
            >>> words = su.Graph(2, device="cpu").words(keys={"level": "uint32"})
            >>> words.fill(level=1)
            >>> words.resize(3)
            >>> words.level.tolist()
            [1, 1, 4294967295]
        """
        if type(n) is int and n == len(self.data):
            return
        n = integer("n", n, low=0, high=MAX_VERTICES)
        if n < len(self):
            raise VertexRangeError(f"words of {len(self)} elements cannot shrink to {n}")
        if n == len(self):
            return
        with self.device.current():
            grown = self._new(n)
            if len(self):
                grown[: len(self)] = self.data
            self.data = grown

    def _new(self, n: int) -> Array:
        """Return a new array of ``n`` words that have the largest value, which every other word replaces."""
        low, high = self.layout.identity & (2**HALF - 1), self.layout.identity >> HALF
        if self.layout.bits == HALF and self.device.is_cuda:
            data = self.device.xp.empty(n, np.uint64)
            if low != 2**HALF - 1:
                data.fill(np.uint64(low))
            elif n:  # ones alone, as of unsigned integers: no kernel
                data.data.memset_async(255, data.nbytes)
            return data
        if self.layout.bits == HALF:
            found = np.empty(n, np.uint64)
            fill(found, low)
            return found
        if self.device.is_cuda:
            data = self.device.xp.empty((n, 2), np.uint64)
        else:  # NumPy aligns to 16 bytes only where the allocator does
            memory = np.empty(2 * n + 1, np.uint64)
            start = memory.ctypes.data // 8 % 2
            data = memory[start : start + 2 * n].reshape(n, 2)
        data[:, 0], data[:, 1] = low, high
        return data

    def _half(self, half: int) -> Array:
        return self.data if self.layout.bits == HALF else self.data[:, half]

    def _decoded(self, kernel: Callable[..., Any], field: Field, dtype: np.dtype, *form: Any) -> Array:
        """Return a field of all words in a new array of ``dtype``, written by ``kernel``, a loop of ``words_cpu``."""
        size = len(self.data)
        found = np.empty(size, dtype)
        threads.over(size, kernel, self.data.reshape(size, self._halves), *_place(field), *form, found)
        return found

    def _decoded_on_cuda(self, kernel: str, field: Field, dtype: np.dtype, *form: Any) -> Array:
        """Return a field of all words in a new array of ``dtype``, written by ``kernel`` of ``words.cu``."""
        with self.device.current():
            found = self.device.xp.empty(len(self), dtype)
            half, right, left = _place(field)
            place = np.uint32(half), np.uint32(right), np.uint32(left)
            given = self.data, np.uint64(len(self)), np.uint32(self._halves), *place, *form, found
            PROGRAM.kernel(kernel)((-(-len(self) // BLOCK),), (BLOCK,), given)
            return found

    @property
    def _halves(self) -> int:
        return self.layout.bits // HALF

    def _encoded(self, values: dict[str, Any], count: int | None) -> list[tuple[Field, Any]]:
        """Return the named fields, each with its encoded values as ``uint64[count]``, or one value for all."""
        unknown = [name for name in values if self.layout.field(name) is None]
        if unknown:
            names = ", ".join(field.name for field in self.layout.fields)
            raise UnknownNameError(f"words have no field {unknown[0]}: they have {names}")
        return [
            (field, self._bits(field, values[field.name], count))
            for field in self.layout.fields
            if field.name in values
        ]

    def _bits(self, field: Field, value: Any, count: int | None) -> Array:
        xp = self.device.xp
        if hasattr(value, "__cuda_array_interface__") and not self.device.is_cuda:
            raise DeviceError(f"{field.name} is on a CUDA device, the words on the CPU: pass a NumPy array")
        array = value if isinstance(value, xp.ndarray) else np.asarray(value)
        if array.ndim > (count is not None) or (array.ndim and len(array) not in (count, 1)):
            expected = "one number" if count is None else f"one number, or {count} of them"
            raise ShapeError(f"{field.name} has shape {array.shape}: pass {expected}")
        if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and field.dtype.kind != "f"):
            raise DTypeError(f"{field.name} has dtype {field.dtype}, the values have {array.dtype}")
        if isinstance(array, np.ndarray) and field.dtype.kind != "f" and array.size:
            limits = np.iinfo(field.dtype)
            if int(array.min()) < limits.min or int(array.max()) > limits.max:
                raise DTypeError(f"{field.name} has dtype {field.dtype}, which a value does not fit")
        return _encoded_bits(xp, xp.asarray(array.astype(field.dtype, copy=False)))

    def _put(self, at: Any, encoded: list[tuple[Field, Any]]) -> None:
        for field, bits in encoded:
            for half, shift in field.parts():
                kept = np.uint64(~(field.mask >> half * HALF) & (2**HALF - 1))
                shifted = bits >> np.uint64(-shift) if shift < 0 else bits << np.uint64(shift)
                target = self._half(half)
                target[at] = (target[at] & kept) | shifted

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.layout, self.device, self.device.to_numpy(self.data).copy())

    def __repr__(self) -> str:
        return f"<Words: {len(self)} of {self.layout.bits} bits ({self.layout}), {self.device}>"


def _restored(layout: Layout, device: Device, data: np.ndarray) -> Words:
    """Return words of ``layout`` on ``device`` with the content ``data``; for copies and pickles."""
    found = Words._of(layout, resolve_device(str(device)))
    found.resize(len(data))
    with found.device.current():
        found.data[:] = found.device.xp.asarray(data)
    return found


def _encoded_bits(xp: Any, values: Array) -> Array:
    """Return ``values`` as ``uint64`` in their order, by integer operations: CuPy takes subnormal floats for 0."""
    dtype = values.dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    top = unsigned.type(1 << (8 * dtype.itemsize - 1))
    raw = values.view(unsigned)
    if dtype.kind == "f":
        infinity = np.array(np.inf, dtype).view(unsigned)[()]
        magnitude = raw & unsigned.type(~top)
        raw = xp.where(raw & top, ~raw, raw | top)
        raw = xp.where(magnitude == 0, top, raw)  # of both signs
        raw = xp.where(magnitude > infinity, unsigned.type(2 ** (8 * dtype.itemsize) - 1), raw)
    elif dtype.kind == "i":
        raw = raw ^ top
    return raw.astype(np.uint64)


@cache
def _loops() -> Any:
    from suricate.state import words_cpu  # imports Numba, which CUDA does without

    return words_cpu


@cache
def _form(layout: Layout, name: str) -> tuple[Field, np.dtype, np.uint64, np.uint64] | None:
    """Return the field ``name``, the unsigned dtype of its width, and two sign bits; None if there is no such field.

    The first is the sign bit of a field of signed integers, the second that of a field of floats; else they are 0.
    """
    field = layout.field(name)
    if field is None:
        return None
    unsigned, top = np.dtype(f"u{field.dtype.itemsize}"), 1 << (field.bits - 1)
    signs = [np.uint64(top if field.dtype.kind == kind else 0) for kind in "if"]
    return field, unsigned, signs[0], signs[1]


@cache
def _place(field: Field) -> tuple[int, np.uint64, np.uint64]:
    """Return where a field lies in a word, as :func:`suricate.state.words_cpu.field_of` takes it: (half, right, left).

    The field begins in half ``half`` (0 or 1) at bit ``right``. If it continues in half 1, the bits of half 1 are to be
    shifted left by ``left``; else ``left`` is 0.
    """
    (half, right), *rest = field.parts()
    return half, np.uint64(right), np.uint64(-rest[0][1] if rest else 0)
