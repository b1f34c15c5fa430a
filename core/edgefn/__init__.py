"""Edge functions: a plain Python function per edge, translated to Numba and to CUDA C++ by one set of rules.

``lambda u, v, w, dist: dist[u] + w`` is parsed once into a typed tree, which is written in both languages, so that an
operator gives the same values on both devices. The rules:

Types
    A value is bool, int64, uint64, float32 or float64. Vertex ids and the elements of integer arrays widen to int64
    (so that a ``uint32`` distance plus a weight does not wrap), uint64 stays; floats and bools keep their type.
    Python numbers are weak, as in NumPy 2: ``2 * x`` is float32 for a float32 ``x``. So are scalars passed as
    arguments if they are Python numbers, or NumPy's integers (but uint64), float64 and bools; ``np.float32`` and
    ``np.uint64`` keep their type. On a graph without weights ``w`` is the weak integer 1. If edges have columns, a
    third parameter called ``row`` is the row of the edge in these; a function of ``(u, v, w, row, *args)`` gets both.
    int64 and float32 make float64, as in NumPy; float32 and float64 make float64; int64 and uint64 have no common
    type and are an error (convert one). In arithmetic a bool counts as a weak 0 or 1.
    A local variable has the common type of all that is assigned to it; ``a if c else b`` and ``min(a, b)`` have the
    common type of ``a`` and ``b``; the result has that of all values returned.

Arithmetic
    Integers wrap around at 64 bits. ``/`` of integers is float64. ``//`` and ``%`` floor as in Python, for negative
    and floating operands too. Dividing by zero never raises: floats give inf or NaN, integer ``//`` and ``%`` give 0.
    Shifts by 64 or more move every bit out. ``&``, ``|``, ``^`` of two bools and ``~`` of one are logical. An integer
    power needs a constant exponent.
    ``min`` and ``max`` are Python's: the first unless the other is really smaller (larger), which tells what becomes
    of NaN; ``np.minimum`` and ``np.maximum`` give NaN if either is.
    ``int(x)`` and ``float(x)`` make int64 and float64; ``np.int32(x)`` and its like wrap to that width and widen
    again. ``math.f`` and ``np.f`` are the same and keep float32; ``math.floor``, ``ceil`` and ``trunc`` give integers.
    An integer made of NaN or of a float beyond its range is unspecified.
    What is computed from Python constants alone is computed by Python; a branch that they decide is left out.
    Rounding: on CUDA ``exp``, ``log`` and the like differ in the last bits, and subnormal float32 values are taken for
    zero; everything else is equal bit for bit.

Arrays
    One-dimensional and contiguous. An index is an integer in ``[0, len)``: it is not checked, and does not count from
    the end (with ``SURICATE_CHECKS=1`` in the environment it is checked: ``suricate.edgefn.bounds``). An edge function
    only reads: it runs for many edges at once. A function of one column, with a parameter ``j``, also takes contiguous
    arrays of shape (n, k), at ``x[v, j]`` only.

Roles
    ``role="edge"``: a function of an edge or of a common neighbour, which reads and returns a value.
    ``role="vertex"``: a function that runs once per vertex ``v`` and may write at that vertex, ``array[v] = x`` or
    ``array[v] += x`` (or at its position ``array[i]``, if its first parameter is ``i``). An array that it writes can
    only be read there. A written value wraps to the width of the array; a float does not fit an array of integers. The
    result is a bool, or an integer whose bits the operator gives a meaning; a function that returns nothing returns
    False.

Words
    Of ``s = graph.words(...)`` a function reads fields, ``s.distance[u]``; those of one element come from one load, so
    that they belong together. A function for ``reduce="argmin"`` returns the tuple of all fields in their order. At its
    own vertex a function may write a field, ``s.distance[v] = x``, which keeps the others.

Scalars, effects, edges
    ``scalar.add(x)`` reduces ``x`` into a ``su.Scalar``, in every role; ``scalar.value`` is the total of the last
    operator that had it as an argument.
    ``role="effect"``: a function that returns nothing (or a number, where the operator takes one) and calls
    ``su.atomic.add``, ``min``, ``max``, ``or_`` and ``su.unite``: one kind of effect per array, which it does not read.
    So may a function of ``role="vertex"``, on arrays that it does not write at its own vertex. The smaller word stays
    in ``su.atomic.min(words, i, (a, b, ...))``.
    ``(u, x) in graph``, ``graph.degree(u)``, ``(u, x) in batch`` and ``batch.get(u, x, default)`` ask the graph or an
    edge set that is an argument; ids are below the number of vertices. ``x.view(np.uint32)`` gives the bits of a number
    of equal width: that of an element of an array, of ``np.uint32(x)``, else 64 bits, or 32 of a float32.

What is there
    Conditional expressions, ``if`` / ``elif`` / ``else``, local variables, early ``return``, chained comparisons,
    ``and``, ``or``, ``not``; ``su.mixed(seed, a, b)``, a hash; numbers from closures, globals and modules, which are
    inlined (and looked up again at each call of an operator); calls of other Python functions that are a single
    ``return``; ``*others`` as the last parameter, for arguments that this function does not use but another of the same
    call does. All else is an ``EdgeFunctionError`` with file and line. An expert can give CUDA C++ with a Numba twin:
    :class:`EdgeFunction`.
"""

from __future__ import annotations

from suricate.edgefn.by_hand import EdgeFunction
from suricate.edgefn.compile import compile_function
from suricate.edgefn.parameters import EDGE, Argument, argument_of
from suricate.edgefn.typed import TypedFunction

__all__ = ["EDGE", "Argument", "EdgeFunction", "TypedFunction", "argument_of", "compile_function"]
