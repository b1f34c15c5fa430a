"""What is known of the parameters of an edge function: those an operator passes, and the arguments of a call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.arrays import is_flat
from suricate.cuda.program import C_TYPES, c_type
from suricate.edgefn.source import Source
from suricate.edgefn.tree import ArrayRef, Node, constant
from suricate.edgefn.types import INT, type_of
from suricate.errors import DTypeError, ShapeError

EDGE = ("u", "v", "w")  #: leading parameters of an edge function; a vertex predicate has ("v",)


class Argument(NamedTuple):
    """What is known of an argument: ``kind`` is ``"array"`` or ``"scalar"``.

    ``dtype`` is that of the array; for a scalar the one it is passed as: bool, int64, uint64, float32 or float64.
    """

    kind: str
    dtype: np.dtype


_ARRAYS = {np.dtype(name): Argument("array", np.dtype(name)) for name in C_TYPES}
_SCALARS = {
    bool: Argument("scalar", np.dtype(np.bool_)),
    int: Argument("scalar", np.dtype(np.int64)),
    float: Argument("scalar", np.dtype(np.float64)),
    np.float32: Argument("scalar", np.dtype(np.float32)),
    np.uint64: Argument("scalar", np.dtype(np.uint64)),
}


def argument_of(value: Any) -> Argument:
    """Return the :class:`Argument` that describes ``value``; pass scalars to kernels as ``argument.dtype.type(value)``.

    Raises:
        DTypeError, ShapeError: ``value`` cannot be an argument of an edge function.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None or isinstance(value, np.generic):
        return _scalar_of(value)
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(
            "an edge function cannot take a masked array, which hides some of its entries: fill them first"
        )
    argument = _ARRAYS.get(dtype)
    if argument is None:
        raise DTypeError(f"an array of dtype {dtype} cannot be used in an edge function, only {', '.join(C_TYPES)}")
    if not is_flat(value):
        raise ShapeError(f"an edge function takes contiguous one-dimensional arrays, not one of shape {value.shape}")
    return argument


def _scalar_of(value: Any) -> Argument:
    argument = _SCALARS.get(type(value))
    if argument is not None and (type(value) is not int or -(2**63) <= value < 2**63):
        return argument
    number = constant(value)
    if number is None:
        reason = "does not fit 64 bits" if isinstance(value, int) else f"is a {type(value).__name__}"
        raise DTypeError(f"an edge function takes arrays and numbers, but {value!r} {reason}")
    return Argument("scalar", np.dtype({"int": "int64", "float": "float64"}.get(number.type, number.type)))


class Parameter(NamedTuple):
    """A parameter: ``kind`` is vertex, weight, array or scalar; the weight of an unweighted graph has no dtype."""

    kind: str
    dtype: np.dtype | None

    def declaration(self, *, const: bool) -> str:
        """Return its C++ type."""
        if self.kind == "array":
            return f"{'const ' if const else ''}{c_type(self.dtype)}*"
        return c_type(self.dtype or np.int32)

    def binding(self, label: str) -> Node | ArrayRef:
        """Return what it stands for inside the function; ``label`` is its name in the generated code."""
        if self.dtype is None:
            return Node("const", INT, value=1)
        if self.kind == "array":
            return ArrayRef(int(label[1:]), self.dtype)
        return Node("parameter", type_of(self.dtype, scalar=self.kind == "scalar"), value=label)


def parameters_of(
    arguments: tuple[Argument, ...], weight_dtype: np.dtype | None, leading: tuple[str, ...]
) -> list[Parameter]:
    """Return all parameters: the leading ones (``"w"`` is the weight, any other name a vertex), then the arguments."""
    vertex, weight = Parameter("vertex", np.dtype(np.uint32)), Parameter("weight", weight_dtype)
    return [*(weight if name == "w" else vertex for name in leading), *(Parameter(*argument) for argument in arguments)]


def check_count(
    source: Source, least: int, most: int, arguments: tuple[Argument, ...], leading: tuple[str, ...]
) -> None:
    """Raise unless a function of ``least`` to ``most`` parameters takes the leading ones and ``arguments``."""
    if least <= len(leading) + len(arguments) <= most:
        return
    described = [f"{dtype} array" if kind == "array" else f"{dtype} number" for kind, dtype in arguments]
    source.fail(
        source.node,
        f"the function takes {most} parameters ({', '.join(source.parameters())}), but is called with "
        f"{len(leading) + len(arguments)}: ({', '.join((*leading, *described))})",
    )
