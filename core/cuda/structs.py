"""Structs that Python packs and kernels read: the C++ text and the packer come from one description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suricate.cuda.program import c_type
from suricate.types import StoreView


@dataclass(frozen=True)
class ViewStruct:
    """The struct ``View`` of a :class:`StoreView`: its C++ text, and the packed value to pass to a kernel."""

    declaration: str
    dtype: np.dtype = field(compare=False)

    def pack(self, data: Any) -> Any:
        """Return the struct's value (``np.void``) for a view's NamedTuple; pass it to a kernel as one argument."""
        return np.array(tuple(part.data.ptr if hasattr(part, "dtype") else part for part in data), self.dtype)[()]


def view_struct(data: Any) -> ViewStruct:
    """Return the struct made of a view's NamedTuple: pointers for arrays, ``long long`` for ints."""
    fields, members = [], []
    for name, part in zip(data._fields, data, strict=True):
        is_array = hasattr(part, "dtype")
        fields.append((name, np.uint64 if is_array else np.int64))
        members.append(f"    {c_type(part.dtype)}* {name};" if is_array else f"    long long {name};")
    return ViewStruct("struct View {\n" + "\n".join(members) + "\n};", np.dtype(fields, align=True))


def view_prelude(view: StoreView) -> str:
    """Return what a kernel template needs before it can walk ``view``: macros, ``weight_t``, ``View``, the cursor."""
    macros: Mapping[str, Any] = {"WEIGHTED": int(view.weight_dtype is not None), **view.constants}
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    lines.append(f"typedef {c_type(view.weight_dtype or np.int32)} weight_t;")
    lines.append(view_struct(view.data).declaration)
    lines.append(f'#include "{view.header.name}"')
    return "\n".join(lines)
