"""The CUDA programs of ``gpma``, and the arguments of those that take one struct; needs no CuPy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from suricate.backends.gpma.layout import CHANGES, CONSTANTS, GRAPH, TAKING, UPDATE, WORK
from suricate.cuda.program import Program
from suricate.cuda.structs import joined
from suricate.intake.ingest import COPIES, UNVALIDATED, BatchKind, sample_variants
from suricate.primitives.cuda import BLOCK, store_program, weight_bits
from suricate.store import Store, sorter

HERE = Path(__file__).parent / "device"
UPDATE_ARGUMENTS = joined(GRAPH.packer, UPDATE.packer)
TAKING_ARGUMENTS = joined(COPIES.packer, GRAPH.packer, TAKING.packer, UNVALIDATED)


@cache
def program(source: str, bits: int, variant: BatchKind | None = None, *, cooperative: bool = False) -> Program:
    """Return the kernels of a source for weights of this many bits, for unvalidated batches of a variant, if any."""
    numbers, structs = {**CONSTANTS, "THREADS": BLOCK}, (WORK, GRAPH, UPDATE, CHANGES, TAKING)
    defines = variant.defines() if variant else ()
    return store_program(HERE / source, bits, numbers, structs, cooperative=cooperative, defines=defines)


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    dtype = store.weight_dtype
    bits, plain = weight_bits(dtype), sample_variants(None)
    own = [program("gpma.cu", bits), program("rebuild.cu", bits), program("update.cu", bits, cooperative=True)]
    mirrored = sample_variants("float32")[1]
    taking = [
        program("unvalidated.cu", bits, variant, cooperative=together)
        for variant in (plain[0], mirrored)
        for together in (False, True)
    ]
    return [*own, *taking, *sorter.programs(dtype)]
