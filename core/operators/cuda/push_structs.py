"""The structs that launches of pushes pass to kernels, besides arcs: vertices, the memory of loops, their outcome."""

from __future__ import annotations

from suricate.cuda.structs import Struct, enum
from suricate.kernels.arcs import ARCS

#: threads of a block of a loop, as its macro; one block per multiprocessor: a barrier gets dearer with every block
PROPAGATE_BLOCK = 512
DENSE_BLOCK = 1024  #: the same for searches from scratch on dense graphs, which have few levels, of many vertices
DENSE = 8  #: arcs per vertex from which a graph is dense
LOOP_WORDS = 64  #: of 32 bits: the memory of a ``LoopState`` (``loop.cuh``)

VERTICES = Struct("Vertices", {"ids": "const uint32_t*", "count": "const uint32_t*", "size": "uint32_t"})
LOOP_MEMORY = Struct(
    "LoopMemory",
    {
        "stamp": "uint32_t*",
        "state": "uint32_t*",
        "abort": "const uint32_t*",
        "heavy_vertex": "uint32_t*",
        "heavy_base": "long long*",
        "near": "uint32_t*",
        "buffer": "uint32_t*",
        "far": "uint32_t*",
    },
)
OUTCOME = Struct(
    "Outcome",
    dict.fromkeys(("steps", "pushed", "deferred", "left", "invalid", "crowded"), "uint64_t"),
)

#: C++ that programs with pushes begin with
DECLARATIONS = "\n".join(
    [
        enum("", {"LOOP_WORDS": LOOP_WORDS}),
        *(struct.declaration for struct in (VERTICES, ARCS, LOOP_MEMORY, OUTCOME)),
    ]
)
