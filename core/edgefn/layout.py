"""How several numbers share one word of 64 or 128 bits, so that they are compared, read and replaced together.

The fields lie in the order given, the first in the most significant bits. Each is encoded so that the order of the bits
is the order of the numbers. So the comparison of two words as unsigned integers compares their fields one after the
other. A word of 64 bits is a ``uint64``, one of 128 bits is two, the less significant half first. Zeros of both signs
are equal, and a NaN is above infinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.program import c_type

FIELD_DTYPES = ("uint32", "int32", "float32", "uint64", "int64", "float64")
HALF = 64  #: bits of a half of a word of 128 bits, and of a word that has no halves
_LOW = 2**HALF - 1


class Field(NamedTuple):
    """A field of a word: its name, its dtype, and ``shift``, the number of bits of the word below it."""

    name: str
    dtype: np.dtype
    shift: int

    @property
    def bits(self) -> int:
        """Width of the field in bits."""
        return 8 * self.dtype.itemsize

    @property
    def mask(self) -> int:
        """An integer in which the bits of the word that belong to the field are 1."""
        return (2**self.bits - 1) << self.shift

    @property
    def identity(self) -> int:
        """The encoding of the largest value, infinity or an integer, at the field's bits; other bits are 0."""
        if self.dtype.kind != "f":
            return self.mask
        plain = int(np.array(np.inf, self.dtype).view(f"u{self.dtype.itemsize}"))
        return (plain | 1 << (self.bits - 1)) << self.shift

    def parts(self) -> Iterator[tuple[int, int]]:
        """Yield (half, shift) for each half of the word, 0 or 1, that holds bits of the field.

        ``shift``: how far left the field lies in this half, in bits; it is negative if the field begins in the half
        below.
        """
        for half in (0, 1):
            if self.shift < (half + 1) * HALF and self.shift + self.bits > half * HALF:
                yield half, self.shift - half * HALF


@dataclass(frozen=True, eq=False)
class Layout:
    """The fields of a word, keys first; equal layouts are one object (see :func:`layout_of`).

    Attributes:
        fields: the fields, the most significant first.
        num_keys: how many of them are keys; the others are the payload.
    """

    fields: tuple[Field, ...]
    num_keys: int

    @cached_property
    def bits(self) -> int:
        """Number of bits of a word: 64 or 128."""
        return 64 if self.fields[0].shift + self.fields[0].bits <= HALF else 128

    @cached_property
    def type(self) -> str:
        """The type of a word in edge functions, ``"word64"`` or ``"word128"``."""
        return f"word{self.bits}"

    @cached_property
    def payload_bits(self) -> int:
        """Number of bits that the payload takes, below the keys."""
        return self.fields[self.num_keys - 1].shift

    @cached_property
    def identity(self) -> int:
        """The largest word, as an integer: all fields have their largest value, and every other word replaces it."""
        return sum(field.identity for field in self.fields)

    def field(self, name: str) -> Field | None:
        """Return the field of this name, or None."""
        return next((field for field in self.fields if field.name == name), None)

    @cached_property
    def cuda_source(self) -> str:
        """C++ text: ``word_t``, ``PAYLOAD_BITS``, ``identity_word()``, ``word_FIELD(word)``; after ``words.cuh``."""
        fields = [
            f"__device__ __forceinline__ {c_type(field.dtype)} word_{field.name}(word_t word) "
            f"{{ return {cuda_decoded(field, 'word')}; }}"
            for field in self.fields
        ]
        low, high = self.identity & _LOW, self.identity >> HALF
        word = f"{low:#x}ull" if self.bits == HALF else f"word_t{{{low:#x}ull, {high:#x}ull}}"
        return "\n".join(
            [
                '#include "words.cuh"',
                f"typedef words::Word{self.bits} word_t;",
                f"constexpr int PAYLOAD_BITS = {self.payload_bits};",
                f"__device__ __forceinline__ word_t identity_word() {{ return {word}; }}",
                *fields,
            ]
        )

    @cached_property
    def numba_source(self) -> str:
        """Python text for a generated module: functions for words of this layout, and the largest, ``identity_word``.

        The functions are ``load_word(array, i)``, ``store_word(array, i, word)``, ``less_word(a, b)``, ``same_keys(a,
        b)`` and ``same_word(a, b)``. A word of 128 bits is a tuple of two ``uint64``, the less significant first. The
        module must have ``np`` and ``inner``.
        """
        low, high, payload = self.identity & _LOW, self.identity >> HALF, self.payload_bits
        if self.bits == HALF:
            texts = (f"np.uint64({low})", "array[i]", "array[i] = word", "a < b", "a == b")
            keys = f"(a >> np.uint64({payload})) == (b >> np.uint64({payload}))"
        else:
            texts = (
                f"(np.uint64({low}), np.uint64({high}))",
                "(array[i, 0], array[i, 1])",
                "array[i, 0], array[i, 1] = word",
                "a[1] < b[1] or (a[1] == b[1] and a[0] < b[0])",
                "a[0] == b[0] and a[1] == b[1]",
            )
            half, shift = divmod(payload, HALF)
            keys = f"(a[{half}] >> np.uint64({shift})) == (b[{half}] >> np.uint64({shift}))"
            keys = keys if half else f"{keys} and a[1] == b[1]"
        functions = [
            ("load_word(array, i)", f"return {texts[1]}"),
            ("store_word(array, i, word)", texts[2]),
            ("less_word(a, b)", f"return {texts[3]}"),
            ("same_word(a, b)", f"return {texts[4]}"),
            ("same_keys(a, b)", f"return {keys}"),
        ]
        return "\n\n".join(
            [f"identity_word = {texts[0]}", *(f"@inner\ndef {head}:\n    {body}" for head, body in functions)]
        )

    def __reduce__(self) -> tuple[Any, ...]:
        fields = tuple((field.name, field.dtype.name) for field in self.fields)
        return layout_of, (fields[: self.num_keys], fields[self.num_keys :])

    def __str__(self) -> str:
        return " ".join(f"{field.name}:{field.dtype}" for field in self.fields) + f" {self.num_keys}"


@cache
def layout_of(keys: tuple[tuple[str, str], ...], payload: tuple[tuple[str, str], ...] = ()) -> Layout:
    """Return the layout of these fields, each given as (name, dtype name): one key or more, at most 128 bits in all."""
    fields: list[Field] = []
    shift = 0
    for name, dtype in reversed((*keys, *payload)):
        fields.insert(0, Field(name, np.dtype(dtype), shift))
        shift += fields[0].bits
    return Layout(tuple(fields), len(keys))


# -- the texts of translated functions ---------------------------------------------------------------------------------


def cuda_decoded(field: Field, word: str) -> str:
    """Return C++ text: the number in ``field`` of ``word``, which is C++ text itself."""
    return f"words::decode<{c_type(field.dtype)}>(words::get<{field.shift}, {field.bits}>({word}))"


def cuda_put(field: Field, word: str, value: str) -> str:
    """Return C++ text: a copy of ``word`` whose ``field`` is the number ``value``; both are C++ text."""
    return f"words::put<{field.shift}, {field.bits}>({word}, words::encode(({c_type(field.dtype)})({value})))"


def cuda_encoded(layout: Layout, values: list[str]) -> str:
    """Return C++ text: a word of ``layout`` with these ``values``, C++ text of one number per field."""
    word = f"words::Word{layout.bits}{{}}"
    for field, value in zip(layout.fields, values, strict=True):
        word = cuda_put(field, word, value)
    return word


def numba_decoded(layout_bits: int, field: Field, word: str) -> str:
    """Return Python text: the number in ``field`` of ``word``, the name of a word of ``layout_bits`` bits."""
    parts = []
    for half, shift in field.parts():
        part = f"{word}[{half}]" if layout_bits > HALF else word
        if shift:
            part = f"({part} {'<<' if shift < 0 else '>>'} np.uint64({abs(shift)}))"
        parts.append(part)
    raw = " | ".join(parts)
    raw = f"(({raw}) & np.uint64({2**field.bits - 1}))" if field.bits < HALF else f"({raw})"
    return f"decode_{field.dtype}({raw})"


def numba_encoded(layout: Layout, values: list[str]) -> str:
    """Return Python text: a word of ``layout`` with these ``values``, Python text of one number per field."""
    raws = [f"encode_{field.dtype}({value})" for field, value in zip(layout.fields, values, strict=True)]
    halves: list[list[str]] = [[] for _ in range(layout.bits // HALF)]
    for field, raw in zip(layout.fields, raws, strict=True):
        for half, shifted in _shifted(field, raw):
            halves[half].append(shifted)
    texts = [f"({' | '.join(parts) or 'np.uint64(0)'})" for parts in halves]
    return texts[0] if len(texts) == 1 else f"({texts[0]}, {texts[1]})"


def numba_put(layout_bits: int, field: Field, word: str, value: str) -> str:
    """Return Python text: a copy of ``word``, of ``layout_bits`` bits, whose ``field`` is the number ``value``."""
    halves = [word] if layout_bits == HALF else [f"{word}[0]", f"{word}[1]"]
    for half, shifted in _shifted(field, f"encode_{field.dtype}({value})"):
        kept = ~(field.mask >> half * HALF) & _LOW
        halves[half] = f"(({halves[half]} & np.uint64({kept})) | {shifted})"
    return halves[0] if len(halves) == 1 else f"({halves[0]}, {halves[1]})"


def _shifted(field: Field, raw: str) -> Iterator[tuple[int, str]]:
    """Yield (half, text) for each half of the word, 0 or 1, that holds bits of ``field``."""
    for half, shift in field.parts():
        yield half, f"({raw} {'>>' if shift < 0 else '<<'} np.uint64({abs(shift)}))" if shift else raw


def words_less(one: Array, other: Array) -> Array:
    """Return a mask, ``bool[n]``: where the word in ``one`` is smaller than that in ``other``."""
    if one.ndim == 1:
        return one < other
    return (one[:, 1] < other[:, 1]) | ((one[:, 1] == other[:, 1]) & (one[:, 0] < other[:, 0]))


def keys_differ(one: Array, other: Array, layout: Layout) -> Array:
    """Return a mask, ``bool[n]``: where a key differs between ``one`` and ``other``, each ``n`` words of ``layout``."""
    shift = layout.fields[layout.num_keys - 1].shift
    if one.ndim == 1:
        return (one >> np.uint64(shift)) != (other >> np.uint64(shift))
    if shift >= HALF:
        return (one[:, 1] >> np.uint64(shift - HALF)) != (other[:, 1] >> np.uint64(shift - HALF))
    return (one[:, 1] != other[:, 1]) | ((one[:, 0] >> np.uint64(shift)) != (other[:, 0] >> np.uint64(shift)))
