"""Loops and kernels of one's own over the storage of any backend: templates, programs, arc lists; see docs/kernels.md.

A template of loops takes from here, in one line, decorators and functions of the cursor, which are replaced by those of
the backend's: ``from suricate.kernels import find, inner, kernel, neighbors``. Those load Numba when they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.base.public import listing, on_use
from suricate.cuda.structs import Struct, constants, enum
from suricate.kernels.arcs import ARCS, NO_ARCS, ArcLaunch, arc_values, packed_arcs, plain_arcs
from suricate.kernels.walking import (
    DECORATORS,
    FUNCTIONS,
    ROUND_WORDS,
    assembled,
    loops_over,
    packed,
    program_over,
    resident_blocks,
    without_weights,
)

if TYPE_CHECKING:
    from suricate.cpu.jit import allocating_kernel, inner, kernel
    from suricate.cursors.bindings import (
        ahead,
        begin,
        buckets,
        common,
        copied,
        copied_weights,
        copies,
        degree,
        end,
        find,
        first,
        following,
        is_fresh,
        joins,
        key,
        later,
        neighbors,
        owner,
        updated_count,
        updated_segment,
        weight,
    )

__all__ = [
    "ARCS", "NO_ARCS", "ROUND_WORDS", "ArcLaunch", "Struct", "ahead", "allocating_kernel", "arc_values",
    "assembled", "begin", "buckets", "common", "constants", "copied", "copied_weights", "copies", "degree", "end",
    "enum", "find", "first", "following", "inner", "is_fresh", "joins", "kernel", "key", "later", "loops_over",
    "neighbors", "owner", "packed", "packed_arcs", "plain_arcs", "program_over", "resident_blocks", "updated_count",
    "updated_segment", "weight", "without_weights",
]  # fmt: skip
__dir__ = listing(__all__)
if not TYPE_CHECKING:
    __getattr__ = on_use(
        __name__,
        dict.fromkeys(DECORATORS, "suricate.cpu.jit") | dict.fromkeys(FUNCTIONS, "suricate.cursors.bindings"),
    )
