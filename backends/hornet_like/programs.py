"""The CUDA programs of ``hornet_like``. Needs no CuPy and no GPU."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from suricate.backends.hornet_like.layout import CONSTANTS, GRAPH, MIGRATIONS, SORTED_CONSTANTS, UPDATE
from suricate.cuda.program import Program
from suricate.cuda.structs import constants
from suricate.primitives import cuda as shared
from suricate.primitives.changing import CHANGING
from suricate.primitives.cuda import weight_bits
from suricate.primitives.located import PRELUDE
from suricate.store import Store, sorter

FOLDER = Path(__file__).parent / "device"
BITS = '#include "bits.cuh"'


@cache
def program(bits: int) -> Program:
    """Return the kernels of ``hornet.cu`` for weights of this many bits."""
    prelude = "\n".join([constants(CONSTANTS), PRELUDE, BITS, GRAPH.declaration, MIGRATIONS.declaration])
    return Program(FOLDER / "hornet.cu", prelude, defines=(("WEIGHT_BITS", bits),), include=(shared.HERE,))


@cache
def sorted_program(bits: int) -> Program:
    """Return the kernel of ``sorted.cu`` for weights of this many bits."""
    numbers = constants(CONSTANTS), constants(SORTED_CONSTANTS)
    structs = (struct.declaration for struct in (GRAPH, CHANGING, UPDATE))
    prelude = "\n".join([*numbers, PRELUDE, BITS, *structs])
    defines = (("WEIGHT_BITS", bits),)
    return Program(FOLDER / "sorted.cu", prelude, defines, include=(shared.HERE,), cooperative=True)


def programs(store: Store) -> list[Program]:
    """Return all programs that stores of these weights launch, whether their adjacencies are ascending or not."""
    dtype = store.weight_dtype
    own = [program(weight_bits(dtype)), sorted_program(weight_bits(dtype))]
    return [*own, *sorter.programs(dtype), *shared.programs(dtype)]
