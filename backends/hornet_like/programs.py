"""The CUDA programs of ``hornet_like``. Needs no CuPy and no GPU."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from suricate.backends.hornet_like.layout import CONSTANTS, GRAPH, MIGRATIONS, SORTED_CONSTANTS, UPDATE
from suricate.cuda.program import Program
from suricate.primitives.changing import CHANGING
from suricate.primitives.cuda import store_program, weight_bits
from suricate.store import Store, sorter

FOLDER = Path(__file__).parent / "device"


@cache
def program(bits: int) -> Program:
    """Return the kernels of ``hornet.cu`` for weights of this many bits."""
    return store_program(FOLDER / "hornet.cu", bits, CONSTANTS, (GRAPH, MIGRATIONS))


@cache
def sorted_program(bits: int) -> Program:
    """Return the kernel of ``sorted.cu`` for weights of this many bits."""
    numbers, structs = {**CONSTANTS, **SORTED_CONSTANTS}, (GRAPH, CHANGING, UPDATE)
    return store_program(FOLDER / "sorted.cu", bits, numbers, structs, cooperative=True)


def programs(store: Store) -> list[Program]:
    """Return all programs that stores of these weights launch, whether their adjacencies are ascending or not."""
    dtype = store.weight_dtype
    own = [program(weight_bits(dtype)), sorted_program(weight_bits(dtype))]
    return [*own, *sorter.programs(dtype)]
