"""The CUDA programs of ``slabhash``: what is put in front of each source, and the structs that its kernels take.

Needs no CuPy and no GPU, so that everything can be compiled anywhere.
"""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any

from suricate.backends.slabhash.layout import Geometry, macros
from suricate.cuda.ingest import Variant, sample_variants
from suricate.cuda.program import Program
from suricate.cuda.structs import view_struct

HERE = Path(__file__).parent
INSERT_BLOCKS = 4  # per multiprocessor, all resident: limits the registers of an insertion
PART = 8  # buckets of a vertex that a tile frees

# What is in the structs of insert.cu (settle.cuh), delete.cu and find.cu.
SCRATCH = struct.Struct("=9Qd3I4x")
INSERTION = struct.Struct("=6Qq4I")
DELETION = struct.Struct("=5Q2q")
QUERY = struct.Struct("=4Q2q")


@cache
def backend_programs(
    shape: Geometry, declaration: str, in_flight: int = 2, variant: Variant | None = None
) -> dict[str, Program]:
    """Return the programs of the backend by source file; with a ``variant``, those that take unvalidated batches of it.

    They are the same for all stores of this layout, so that kernels are looked up once.
    """
    defines: dict[str, int | str] = {**macros(shape), "RAW": int(variant is not None)}
    own = {
        "insert.cu": {
            "BLOCKS_PER_SM": INSERT_BLOCKS,
            "SCRATCH_BYTES": SCRATCH.size,
            "BATCH_BYTES": SCRATCH.size + INSERTION.size,
        },
        "delete.cu": {"BATCH_BYTES": DELETION.size},
        "find.cu": {"IN_FLIGHT": in_flight, "BATCH_BYTES": QUERY.size},
    }
    if variant is None:
        own["maintain.cu"] = {"PART_BUCKETS": PART}
    else:
        defines.update(variant.defines())
    return {
        name: Program(
            HERE / name,
            declaration,
            tuple({**defines, **more}.items()),
            cooperative=name == "insert.cu" or (name == "delete.cu" and variant is not None),
        )
        for name, more in own.items()
    }


def programs(store: Any) -> list[Program]:
    """Return a representative set of the programs for a store of this layout (of either device); needs no CuPy."""
    declaration, held = view_struct(store.slabs).declaration, store.weight_dtype
    plain, weighted = sample_variants(None), [] if held is None else sample_variants(held.name)

    def of(variant: Variant, *sources: str) -> list[Program]:
        found = backend_programs(store.geometry, declaration, variant=variant)
        return [found[source] for source in sources]

    return [
        *backend_programs(store.geometry, declaration).values(),
        *of((weighted or plain)[0], "insert.cu"),
        *of(plain[0], "delete.cu", "find.cu"),
        *of(plain[1], "find.cu"),
    ]
