"""What both emitters know: operations that are an infix operator in Python and in C++ alike."""

from __future__ import annotations

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip


def is_float(kind: str) -> bool:
    """Return whether values of this type are floats."""
    return "float" in kind
