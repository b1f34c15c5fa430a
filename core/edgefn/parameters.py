"""The types of an edge function's parameters: leading ones, which an operator passes, then the arguments of a call."""

from __future__ import annotations

import importlib
import weakref
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import DTypeError, ParameterError, ShapeError
from suricate.base.types import WEIGHT_DTYPES, StoreView
from suricate.cuda.program import C_TYPES, c_type
from suricate.cuda.structs import view_struct
from suricate.edgefn import bounds
from suricate.edgefn.layout import Layout
from suricate.edgefn.source import Source
from suricate.edgefn.tree import ArrayRef, Binding, Node, ObjectRef, WordsRef, constant
from suricate.edgefn.types import INT, cuda_type, type_of
from suricate.intake.arrays import is_flat
from suricate.kernels.walking import without_weights

EDGE = ("u", "v", "w")  #: leading parameters of an edge function; a vertex predicate has ("v",)
EVENT = "event"  #: in place of ``"w"``: loops pass the low 32 bits of an event's number, the function takes the number
ROW, WEIGHT_AND_ROW = "row", "w, row"  #: in place of ``"w"``: loops pass the row of the edge, the function takes these
WEIGHTS_OF_TWO, ROWS_OF_TWO = ("a", "b"), ("row_a", "row_b")  #: of the edges from u and v to a common neighbour
COLUMN = "j"  #: leading parameter of a function of one column
_COUNTS = ("i", "step", COLUMN)  # leading parameters that are int64


class Argument(NamedTuple):
    """The type of one parameter of an edge function: a leading parameter, or an argument of a call.

    Attributes:
        kind: of an argument ``"array"``, ``"scalar"`` (a number), ``"words"``, ``"accumulator"`` (``su.Scalar``),
            ``"sets"`` (``su.UnionFind``), ``"edges"`` (``su.EdgeSet``), ``"graph"`` or ``"answers"``
            (``suricate.state.edges.answers``); of a leading parameter ``"vertex"``, ``"weight"``, ``"row"``,
            ``"count"`` or ``"value"``.
        dtype: dtype of the array, or of the number as it is passed (bool, int64, uint64, float32 or float64); None for
            the weight of an unweighted graph, and for kinds without a single type.
        layout: the fields of words, or of a leading parameter ``value`` that is a word; else None.
        op: reduction of an accumulator: ``"sum"``, ``"min"``, ``"max"`` or ``"or"``; ``WEIGHTS`` of an array that the
            function itself does not take: the weights by row, from which it gets ``w``; ``KEPT`` of labels by vertex
            that votes prefer, which no function takes; ``COLUMNS`` of an array of shape (n, k), which generated code
            takes flat; ``WIDTH`` of the number k; else None.
    """

    kind: str
    dtype: np.dtype | None
    layout: Layout | None = None
    op: str | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether the Python function has no parameter for it: weights by row, labels to keep, a number of columns."""
        return self.op in (WEIGHTS, KEPT, WIDTH, FIRST, MASK)

    @property
    def kernel_type(self) -> str:
        """C++ type of the parameter of a kernel that takes this argument."""
        if self.kind == "accumulator":
            return f"Slots<{c_type(self.dtype)}>"
        return _OBJECTS[self.kind] if self.kind in _OBJECTS else self.device_type(written=True)

    def device_type(self, *, written: bool) -> str:
        """Return the C++ type of the parameter of a device function; ``written``: whether the function writes to it."""
        if self.kind == "accumulator":
            assert self.op is not None
            return f"Accumulator<FOLD_{self.op.upper()}, {c_type(self.dtype)}>&"
        if self.kind in _OBJECTS:
            return _OBJECTS[self.kind] if self.kind == "sets" else f"const {_OBJECTS[self.kind]}&"
        kind = cuda_type(self.layout.type) if self.layout else c_type(self.dtype or np.int32)
        if self.kind in CHECKED_KINDS and bounds.CHECKED:
            return f"bounds::Checked<{kind}>"
        return f"{'' if written else 'const '}{kind}*" if self.kind in ("array", "words") else kind

    @property
    def headers(self) -> tuple[str, ...]:
        """Names of the headers that define the C++ types of this argument."""
        if self.kind in OWNERS:
            return (OWNERS[self.kind].header,)
        return ("words.cuh",) if self.layout else ("accumulator.cuh",) if self.kind == "accumulator" else ()

    @property
    def declarations(self) -> str:
        """C++ text that must come before the headers; empty for most arguments."""
        return edge_table().DECLARATIONS if self.kind in ("edges", "answers") else ""

    def packed(self, value: Any) -> Any:
        """Return the kernel argument for ``value``, an argument of this type: array, number, struct or addresses."""
        if bounds.CHECKED and self.kind in CHECKED_KINDS:
            return bounds.packed(value.data if self.kind == "words" else value)
        match self.kind:
            case "scalar":
                assert self.dtype is not None
                return self.dtype.type(value)
            case "words":
                return value.data
            case "sets":
                return value.parent
            case "accumulator":
                return value.slots()
            case "edges" | "answers":
                return edge_table().packed(value.table())
            case "graph":
                return _packed_view(value.view("out"))
        return value

    def numba_value(self, value: Any) -> Any:
        """Return the argument of a compiled CPU loop for ``value``: an array, a number or a NamedTuple of arrays."""
        match self.kind:
            case "accumulator":
                return value.arrays()
            case "edges" | "answers":
                return value.table()
            case "graph":
                return without_weights(value.view("out"))
        if self.op == COLUMNS:
            return value.reshape(-1)
        return value.data if self.kind == "words" else value if self.kind == "array" else self.packed(value)

    def bindings(self, label: str) -> list[Binding]:
        """Return what the translator puts in place of the parameter where the Python function uses it.

        This is a list of one item: a node for a number or a vertex, a reference for an array, words or an object with
        methods. For a leading parameter ``value`` that is a word it has a node per field, as the function takes the
        fields as separate parameters. ``label`` is the parameter's name in generated code.
        """
        if self.layout is not None:
            if self.kind == "words":
                return [WordsRef(int(label[1:]), self.layout)]
            word = Node("parameter", self.layout.type, value=label)
            return [Node("field", type_of(field.dtype), (word,), field) for field in self.layout.fields]
        if self.kind in _METHODS:
            return [ObjectRef(int(label[1:]), self.kind, self.dtype, self.op)]
        if self.dtype is None:
            return [Node("const", INT, value=1)]
        if self.kind == "array":
            return [ArrayRef(int(label[1:]), self.dtype)]
        return [Node("parameter", type_of(self.dtype, scalar=self.kind == "scalar"), value=label)]

    def __str__(self) -> str:
        if self.layout is not None:
            return f"{self.kind} of {self.layout}"
        if self.kind in _METHODS or self.op == COLUMNS:
            return " ".join(filter(None, (self.op, str(self.dtype or ""), self.kind)))
        return f"{self.dtype} {'number' if self.kind == 'scalar' else self.kind}"


WEIGHTS, KEPT = "weights", "kept"  #: ``op`` of the array with the weights by row, and of labels that votes prefer
RING, FIRST, MASK = "ring", "first", "mask"  #: of a column of events; the first number; what numbers are masked by
COLUMNS, WIDTH = "columns", "width"  #: of an array of shape (n, k), and of the number k
CHECKED_KINDS = ("array", "words")  #: whose indices SURICATE_CHECKS=1 checks
_OBJECTS = {"sets": "unsigned int*", "edges": "EdgeTable", "answers": "EdgeTable", "graph": "View"}  # C++ types
_METHODS = ("accumulator", *_OBJECTS)


class Owner(NamedTuple):
    """Where the functions are defined that edge functions call on arguments of one kind.

    Attributes:
        module: name of the CPU module with the Numba functions; it is imported when first needed, as that loads Numba.
        functions: names of those of its functions that generated Numba source calls.
        header: the CUDA header with the same functions.
        structs: name of the module with the C++ text before the header, ``DECLARATIONS``, and with ``packed()``, which
            packs an argument for a kernel; "": neither is needed.
    """

    module: str
    functions: tuple[str, ...]
    header: str
    structs: str = ""


#: by kind of arguments, ``"sets"``, ``"edges"``, ``"answers"``: whoever owns the state adds itself when it is imported
OWNERS: dict[str, Owner] = {}


def edge_table() -> ModuleType:
    """Return the module ``suricate.state.edges.edge_hash``, of the hash tables in which functions look up edges."""
    return importlib.import_module(OWNERS["edges"].structs)


_last_view: tuple[Any, Any] = (lambda: None), None  # the view that was packed last, and the struct


def _packed_view(view: StoreView) -> Any:
    global _last_view
    held, struct = _last_view
    if held() is not view:
        struct = view_struct(view.data).pack(view.data)
        _last_view = weakref.ref(view), struct
    return struct


_ARRAYS = {np.dtype(name): Argument("array", np.dtype(name)) for name in C_TYPES}
_OF_COLUMNS = {dtype: one._replace(op=COLUMNS) for dtype, one in _ARRAYS.items()}
_SCALARS = {
    bool: Argument("scalar", np.dtype(np.bool_)),
    int: Argument("scalar", np.dtype(np.int64)),
    float: Argument("scalar", np.dtype(np.float64)),
    np.float32: Argument("scalar", np.dtype(np.float32)),
    np.uint64: Argument("scalar", np.dtype(np.uint64)),
}


OF_WIDTH = Argument("scalar", np.dtype(np.int64), op=WIDTH)  #: the number of columns, the last argument


@cache
def weights_by_row(dtype: np.dtype) -> Argument:
    """Return the :class:`Argument` of the array of weights by row, from which a function with a row gets ``w``."""
    return Argument("array", dtype, op=WEIGHTS)


HIDDEN_NUMBER = Argument("scalar", np.dtype(np.int64), op=KEPT)  #: of labels, which no function takes
SCORES = Argument("array", np.dtype(np.float64), op=KEPT)  #: by vertex, which no function takes


FIRST_EVENT = Argument("scalar", np.dtype(np.int64), op=FIRST)
EVENT_MASK = Argument("scalar", np.dtype(np.int64), op=MASK)


@cache
def by_event(dtype: np.dtype) -> Argument:
    """Return the :class:`Argument` of a column of events of ``dtype``, which functions read by number."""
    return Argument("array", dtype, op=RING)


@cache
def labels_to_keep(dtype: np.dtype) -> Argument:
    """Return the :class:`Argument` of an array of labels by vertex that a vote prefers, which no function takes."""
    return Argument("array", dtype, op=KEPT)


def argument_of(value: Any) -> Argument:
    """Return the :class:`Argument` that describes ``value``.

    Raises:
        DTypeError, ShapeError: ``value`` cannot be an argument of an edge function.
    """
    kind = type(value)
    if kind in _SCALARS:
        return _scalar_of(value)
    described = None if kind.__name__ == "ndarray" else getattr(value, "edge_argument", None)  # of our own structures
    if described is not None:
        return described
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
    try:
        flat = is_flat(value)
    except AttributeError:  # a pandas Series, say
        raise DTypeError(f"an edge function takes arrays of NumPy and CuPy, not {type(value).__name__}") from None
    if not flat and value.ndim == 2 and value.flags.c_contiguous:
        return _OF_COLUMNS[dtype]
    if not flat:
        raise ShapeError(f"an edge function takes contiguous arrays of one or two dimensions, not shape {value.shape}")
    return argument


def _scalar_of(value: Any) -> Argument:
    if hasattr(value, "view") and hasattr(value, "num_vertices"):
        return Argument("graph", None)
    argument = _SCALARS.get(type(value))
    if argument is not None and (type(value) is not int or -(2**63) <= value < 2**63):
        return argument
    number = constant(value)
    if number is None:
        reason = "does not fit 64 bits" if isinstance(value, int) else f"is a {type(value).__name__}"
        raise DTypeError(f"an edge function takes arrays and numbers, but {value!r} {reason}")
    return Argument("scalar", np.dtype({"int": "int64", "float": "float64"}.get(number.type, number.type)))


class Signature(NamedTuple):
    """The types that a function is translated for, and its role.

    ``checked``: whether generated code checks indices. The other attributes are the parameters of these names of
    :func:`suricate.edgefn.compile.compile_function`, which explains them.
    """

    arguments: tuple[Argument, ...]
    weight_dtype: np.dtype | None
    leading: tuple[str, ...] = EDGE
    role: str = "edge"
    value_dtype: np.dtype | Layout | None = None
    result_layout: Layout | None = None
    checked: bool = False

    @property
    def parameters(self) -> list[Argument]:
        """Types of all parameters: the leading ones, then the arguments."""
        leading = (_leading(name, self.weight_dtype, self.value_dtype) for name in self.leading)
        return [*leading, *self.arguments]

    @property
    def names(self) -> list[str]:
        """Names of the leading parameters of the Python function; in place of a ``value`` that is a word its fields."""
        words = isinstance(self.value_dtype, Layout)
        fields = [field.name for field in self.value_dtype.fields] if isinstance(self.value_dtype, Layout) else []
        return [name for one in self.leading for name in (fields if words and one == "value" else one.split(", "))]

    @property
    def given(self) -> list[Argument]:
        """Types of the arguments for which the Python function has parameters."""
        return [argument for argument in self.arguments if not argument.is_hidden]

    @property
    def weights(self) -> int | None:
        """The position of the argument with the weights by row, or None."""
        return next((at for at, argument in enumerate(self.arguments) if argument.op == WEIGHTS), None)

    def bindings(self) -> list[Binding]:
        """Return what the translator puts in place of each parameter of the Python function, in order."""
        found: list[Binding] = []
        for at, (parameter, label) in enumerate(zip(self.parameters, self.labels, strict=True)):
            if at < len(self.leading) and self.leading[at] == WEIGHT_AND_ROW:
                found.append(self._weight_by_row(label))
            if at < len(self.leading) and self.leading[at] == EVENT:
                found.append(self._number_of_event(label))
            elif parameter.op == RING:
                assert parameter.dtype is not None
                found.append(ArrayRef(int(label[1:]), parameter.dtype, mask=self._place(MASK)))
            elif parameter.op == COLUMNS and parameter.dtype is not None:
                found.append(ArrayRef(int(label[1:]), parameter.dtype, len(self.arguments) - 1))  # the width is last
            else:
                found += [] if parameter.is_hidden else parameter.bindings(label)
        return found

    def _place(self, op: str) -> int:
        return next(at for at, argument in enumerate(self.arguments) if argument.op == op)

    def _number_of_event(self, label: str) -> Node:
        """Return the node of the number of an event whose low bits are the parameter ``label``: from the first one on.

        A number less the first one is below 2^32.
        """
        low, first = Node("parameter", "int64", value=label), Node("parameter", "int64", value=f"a{self._place(FIRST)}")
        age = Node("and", "int64", (Node("sub", "int64", (low, first)), Node("const", "int64", value=(1 << 32) - 1)))
        return Node("add", "int64", (age, first))

    def _weight_by_row(self, label: str) -> Node:
        """Return the node of the weight of an edge whose row is the parameter ``label``; 1 without weights."""
        if self.weights is None:
            return Node("const", INT, value=1)
        dtype = self.arguments[self.weights].dtype
        assert dtype is not None
        found = Node("load", type_of(dtype), (Node("parameter", "int64", value=label),), ArrayRef(self.weights, dtype))
        return found if dtype in WEIGHT_DTYPES else Node("cast", "float64", (found,))

    @property
    def headers(self) -> tuple[str, ...]:
        """Names of all headers that the generated C++ includes."""
        needed = [*(("words.cuh",) if self.result_layout else ())]
        for parameter in self.parameters:
            needed += parameter.headers
        if self.role == "effect":
            needed.append("effects.cuh")
        if self.checked:
            needed.append("bounds.cuh")
        return tuple(dict.fromkeys(needed))

    @property
    def labels(self) -> list[str]:
        """Names of all parameters in generated code: the leading ones, then ``a0``, ``a1``, ... for the arguments."""
        return [*(_LABELS.get(name, name) for name in self.leading), *(f"a{i}" for i in range(len(self.arguments)))]

    def declarations(self, labels: list[str], writes: frozenset[int]) -> list[str]:
        """Return the C++ declarations of the parameters, which are called ``labels``."""
        first = len(self.leading)
        return [
            f"{parameter.device_type(written=i - first in writes)} {label}"
            for i, (parameter, label) in enumerate(zip(self.parameters, labels, strict=True))
        ]


#: of leading parameters whose labels in generated code differ from their names
_LABELS = {ROW: "w", EVENT: "w", WEIGHT_AND_ROW: "w", "a": "w_a", "b": "w_b", "row_a": "w_a", "row_b": "w_b"}


def _leading(name: str, weight_dtype: np.dtype | None, value_dtype: np.dtype | Layout | None) -> Argument:
    if name in ("w", "a", "b"):
        return Argument("weight", value_dtype if name == "b" else weight_dtype)  # type: ignore[arg-type]
    if name in (ROW, EVENT, WEIGHT_AND_ROW, *ROWS_OF_TWO):
        return Argument("row", np.dtype(np.uint32))
    if name in _COUNTS:
        return Argument("count", np.dtype(np.int64))
    if name not in ("value", "total"):
        return Argument("vertex", np.dtype(np.uint32))
    if value_dtype is None:
        raise ParameterError(f"a function with the leading parameter {name!r} needs value_dtype")
    return Argument("value", None, value_dtype) if isinstance(value_dtype, Layout) else Argument("value", value_dtype)


def refuse_row(source: Source, names: list[str], signature: Signature) -> None:
    """Raise ``EdgeFunctionError`` if a function with parameters ``names`` takes a row where there is only a weight."""
    if "w" in signature.leading and names[signature.leading.index("w") :][:1] == [ROW]:
        source.fail(
            source.node,
            "row is the row of an edge in the columns of edges, and there are none, see Graph(edge_columns=...): call "
            "the weight w",
        )


def check_events(source: Source, names: list[str], signature: Signature, writes: frozenset[int]) -> None:
    """Raise ``EdgeFunctionError`` unless a function of events names them, and writes to none of their columns."""
    if EVENT in signature.leading and names[(at := signature.leading.index(EVENT)) :][:1] != [EVENT]:
        source.fail(source.node, f"events have no weight: call parameter {at + 1} {EVENT}, the number of the event")
    for position in sorted(writes):
        if signature.arguments[position].op == RING:
            source.fail(source.node, f"args[{position}] is a column of events, which a function only reads")


def check_columns(source: Source, signature: Signature, stored: frozenset[int]) -> None:
    """Raise ``EdgeFunctionError`` if a function of one column writes an array without columns, at ``stored``."""
    for position in sorted(stored) if COLUMN in signature.leading else ():
        if signature.arguments[position].op != COLUMNS:
            source.fail(
                source.node,
                f"args[{position}] is written once for every column j: it must have columns, too, or take su.atomic",
            )


def check_count(source: Source, least: int, most: int, signature: Signature) -> None:
    """Raise ``EdgeFunctionError`` unless a function can be called with all parameters of ``signature``.

    ``least``: how many parameters of the function have no default. ``most``: how many it names; with ``*others`` it
    takes any further ones. ``source`` is the function.
    """
    given = [*signature.names, *map(str, signature.given)]
    if least <= len(given) and (source.rest or len(given) <= most):
        return
    names, number = source.parameters(rest=True), f"{most} parameters"
    if source.rest:
        names, number = [*names, f"*{source.rest}"], f"at least {least} parameters"
    source.fail(
        source.node,
        f"the function takes {number} ({', '.join(names)}), but is called with {len(given)}: ({', '.join(given)}); "
        "what it gets behind the first ones is args=(...)",
    )
