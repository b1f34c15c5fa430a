"""Structs, enums and constants that Python and C++ share: one Python description gives the C++ text and the packer.

No header repeats them: a program's prelude holds the text (see ``suricate.cuda.program``), and a launch packs its
argument by the same object, so the two cannot differ. Needs no CuPy and no GPU.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from suricate.base.types import StoreView
from suricate.cuda.program import c_type

_CODES = {  # C++ type -> code of the ``struct`` module
    "bool": "?", "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int": "i", "uint32_t": "I",
    "long long": "q", "uint64_t": "Q", "unsigned long long": "Q", "float": "f", "double": "d",
}  # fmt: skip
_POINTER = "Q"


class Struct:
    """A C++ struct of scalars and pointers, and the packer of its values.

    Args:
        name: its name in C++.
        fields: C++ type by field name, in order; a type that ends in ``*`` is a pointer, packed as an address.
        base: the struct it extends, if any: its fields come first.

    Fields are laid out with C++'s own alignment, which the declaration asserts.

    >>> edges = Struct("Edges", {"src": "const uint32_t*", "n": "long long", "share": "uint32_t"})
    >>> edges.size
    24
    """

    def __init__(self, name: str, fields: Mapping[str, str], *, base: Struct | None = None) -> None:
        self.name, self.base = name, base
        self.own = dict(fields)
        self.fields: dict[str, str] = {**(base.fields if base else {}), **fields}

    @cached_property
    def declaration(self) -> str:
        """The C++ definition of the struct, without that of its base."""
        head = f"struct {self.name}{f' : {self.base.name}' if self.base else ''} {{"
        members = [f"    {kind} {name};" for name, kind in self.own.items()]
        check = f'static_assert(sizeof({self.name}) == {self.size}, "packed by Python");'
        return "\n".join([head, *members, "};", check])

    @cached_property
    def _layout(self) -> tuple[tuple[tuple[int, str], ...], int, int]:
        """(fields, size, alignment) in bytes, fields with format characters; as in C++, those of a base come first."""
        (placed, offset, widest) = self.base._layout if self.base else ((), 0, 1)
        fields = list(placed)
        for code in map(_code, self.own.values()):
            size = struct.calcsize(f"={code}")
            offset += -offset % size
            fields.append((offset, code))
            offset, widest = offset + size, max(widest, size)
        return tuple(fields), offset + -offset % widest, widest

    @cached_property
    def packer(self) -> struct.Struct:
        """The packer of the whole struct: it takes one value per field, in order; pointers are integers."""
        fields, size, _ = self._layout
        return _packer(fields, size)

    def packed(self, *values: int) -> np.void:
        """Return a struct with these values, one per field, in the form in which kernels take it by value."""
        return np.frombuffer(self.packer.pack(*values), self.dtype)[0]

    @cached_property
    def values(self) -> Callable[..., tuple]:
        """A function that takes the struct's own fields by keyword and returns a tuple of them in the packer's order.

        It is generated, since every small batch calls it and a plain call is fastest.
        """
        names = ", ".join(self.own)
        return eval(f"lambda *, {names}: ({names},)")

    @cached_property
    def own_packer(self) -> struct.Struct:
        """The packer of the struct's own fields; those of its base lie before them and are not packed."""
        start = self.base.size if self.base else 0
        fields, size, _ = self._layout
        return _packer([(offset - start, code) for offset, code in fields if offset >= start], size - start)

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.packer.size

    @cached_property
    def dtype(self) -> np.dtype:
        """The struct as a NumPy dtype, to read a struct that a kernel wrote; pointers are ``uint64``."""
        fields, size, _ = self._layout
        offsets, codes = zip(*fields, strict=True)
        return np.dtype({"names": [*self.fields], "formats": codes, "offsets": offsets, "itemsize": size})


def _packer(fields: Iterable[tuple[int, str]], size: int) -> struct.Struct:
    """Return the packer of a struct of ``size`` bytes; ``fields`` has the offset and format character of each field."""
    parts, end = ["="], 0
    for offset, code in fields:
        parts.append(f"{offset - end}x{code}")
        end = offset + struct.calcsize(f"={code}")
    return struct.Struct("".join([*parts, f"{size - end}x"]))


def joined(*packers: struct.Struct) -> struct.Struct:
    """Return one packer for several structs that are adjacent in memory, from the packers of each, in this order."""
    assert not any(packer.size % 8 for packer in packers)
    return struct.Struct("=" + "".join(packer.format.removeprefix("=") for packer in packers))


def _code(kind: str) -> str:
    return _POINTER if kind.endswith("*") else _CODES[kind]


def enum(name: str, members: Mapping[str, int]) -> str:
    """Return the C++ text of an enum ``name``, which may be empty, with these members and values."""
    body = ", ".join(f"{member} = {value}" for member, value in members.items())
    return f"enum{f' {name}' if name else ''} {{ {body} }};"


def constants(values: Mapping[str, int | float]) -> str:
    """Return C++ text that defines constants; ``values`` has their numbers by name.

    A Python float becomes a ``float``; an integer a ``uint32_t``, an ``int`` if negative, a ``uint64_t`` beyond 32
    bits.
    """
    return "\n".join(f"[[maybe_unused]] constexpr {_literal(name, value)};" for name, value in values.items())


def named(source: Any, *names: str) -> dict[str, Any]:
    """Return {name: value} of attributes of the module ``source``, for :func:`enum` and :func:`constants`."""
    return {name: getattr(source, name) for name in names}


def _literal(name: str, value: float) -> str:
    if isinstance(value, float):
        return f"float {name} = {value!r}f"
    if value < 0:
        return f"int {name} = {value}"
    return f"uint32_t {name} = {value}u" if value < 1 << 32 else f"uint64_t {name} = {value}ull"


#: the weight of a slot where the store has the number of a row
BY_ROW = """__device__ __forceinline__ weight_t weight(const View& g, long long slot) {
    return g.by_row[row_of(g, slot)];
}"""


@dataclass(frozen=True)
class ViewStruct:
    """The C++ struct ``View`` of a :class:`StoreView`: its C++ text, its NumPy dtype and its packer."""

    declaration: str
    dtype: np.dtype = field(compare=False)
    packer: struct.Struct = field(compare=False)

    def pack(self, data: Any) -> Any:
        """Return ``data``, the NamedTuple of a view, as a struct (``np.void``) to pass to a kernel as one argument."""
        values = [part.data.ptr if hasattr(part, "dtype") else part for part in data]
        return np.frombuffer(self.packer.pack(*values), self.dtype)[0]


_structs: dict[tuple[Any, ...], ViewStruct] = {}


def view_struct(data: Any) -> ViewStruct:
    """Return the struct for ``data``, a view's NamedTuple: pointers for arrays, ``long long`` for ints; made once."""
    key = (type(data), *[getattr(part, "dtype", None) for part in data])
    found = _structs.get(key)
    if found is None:
        found = _structs[key] = _view_struct(data)
    return found


def _view_struct(data: Any) -> ViewStruct:
    fields, members = [], []
    for name, part in zip(data._fields, data, strict=True):
        is_array = hasattr(part, "dtype")
        fields.append((name, np.uint64 if is_array else np.int64))
        members.append(f"    {c_type(part.dtype)}* {name};" if is_array else f"    long long {name};")
    packer = struct.Struct("=" + "".join("Q" if kind is np.uint64 else "q" for _, kind in fields))
    return ViewStruct("struct View {\n" + "\n".join(members) + "\n};", np.dtype(fields, align=True), packer)


def view_prelude(view: StoreView) -> str:
    """Return the C++ text before a kernel that walks ``view``: macros, ``weight_t``, ``View``, and the cursor."""
    macros: Mapping[str, Any] = {
        "WEIGHTED": int(view.weight_dtype is not None),
        "HAS_UPDATED": int(view.has_updated),
        "OWNER_PER_SLOT": int(view.owner_per == "slot"),
        **view.constants,
    }
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    weight_type = f"typedef {c_type(view.weight_dtype or np.int32)} weight_t;"
    lines += ["#define weight row_of", "#define weight_t uint32_t"] if view.by_row else [weight_type]
    lines.append(view.declarations)
    lines.append(view_struct(view.data).declaration)
    lines.append(f'#include "{view.header.name}"')
    lines += ["#undef weight", "#undef weight_t", weight_type, BY_ROW] if view.by_row else []
    agreed = {"(SCAN_LANES > 0)": view.can_scan, "HAS_UPDATED": view.has_updated}
    for macro, promised in agreed.items():
        lines.append(f'static_assert({macro} == {int(promised)}, "{view.header.name} contradicts the StoreView");')
    return "\n".join(lines)
