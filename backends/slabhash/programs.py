"""The CUDA programs of ``slabhash``: the structs that its kernels take, and the constants that Python and C++ share.

All of it is written once, here and in ``layout.py``, and put in front of each source. Needs no CuPy and no GPU, so that
everything can be compiled anywhere.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from suricate.backends.slabhash import layout
from suricate.backends.slabhash.layout import Geometry, macros
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants, enum, named, view_struct
from suricate.intake.ingest import BatchKind, sample_variants

FOLDER = Path(__file__).parent / "device"
BLOCK, LANES = 256, 32  # threads of a block, lanes of a warp
INSERT_BLOCKS = 4  # per multiprocessor, all resident: limits the registers of an insertion
SECTION_BUCKETS = 8  # buckets of a vertex that a tile frees
NO_LIMIT = 0xFFFFFFFF

COUNTERS = (
    "BUMP", "LISTED", "TAKEN", "FREED", "DENIED", "TOUCHED", "QUEUED", "DEFERRALS", "MOVES", "EXISTING", "SPENT",
    "HEADS", "ARRIVED", "REJECTED", "ENDED", "EPILOGUE",
)  # fmt: skip
LAYOUT = (
    "BARRIER_FLAG", "SEVERAL", "LISTED_BIT", "MANTISSA_BITS", "EXPONENT_BITS", "QUEUED_FLAG", "HASH_FACTOR",
    "HASH_SHIFT", "MIX_FACTOR", "MIX_SHIFT", "REHASH_CHAIN", "LONG_CHAIN", "REHASH_AT", "REHASH_GROWTH",
    "SHRINK_AT",
)  # fmt: skip
CURSOR_COUNTERS = ("BUMP", "TOUCHED")
CURSOR_LAYOUT = (
    "SEVERAL", "MANTISSA_BITS", "EXPONENT_BITS", "HASH_FACTOR", "HASH_SHIFT", "MIX_FACTOR", "MIX_SHIFT",
)  # fmt: skip
LAUNCH = ("BLOCK", "INSERT_BLOCKS", "SECTION_BUCKETS", "NO_LIMIT")

#: All arrays of a store: pointers to them, the same for all stores.
VIEW = view_struct(layout.NO_SLABS)

#: A bucket to move, of the vertex at place ``item`` of the queue.
MOVE = Struct("Move", {"item": "uint32_t", "bucket": "uint32_t"})

#: What the insertions of a store have in common: scratch arrays for up to n edges, options, and where to send counters.
SCRATCH = Struct(
    "Scratch",
    {
        "existing": "uint32_t*",  # weighted stores: [n]: indices of the edges that were there already; see reweigh.cuh
        "table": "uint32_t*",  # weighted stores: [table_size], a power of two, at least 2 n
        "place": "uint32_t*",  # weighted stores: [n]
        "queue": "uint32_t*",  # [vertices]: those to rehash; null: buckets are fixed
        "target": "uint32_t*",  # like queue: first of the new heads, EMPTY if the vertex stays where it is
        "code": "uint32_t*",  # like queue: encoded new bucket count
        "moves": "Move*",  # [most_moves]
        "deferred": "uint32_t*",  # [n]: indices of the deferred edges
        "pinned": "uint64_t*",  # [3] in host memory; see send_counts()
        "per_bucket": "double",
        "table_size": "uint32_t",
        "limit": "uint32_t",  # slabs of a chain beyond which an edge is deferred
        "most_moves": "uint32_t",
    },
)
#: An insertion: its edges [n], weights and outcome. A warp takes ``share`` edges at a time, and ``ahead`` new slabs: if
#: not 0, lanes take a slab for a vertex without storage before they know whether another lane is first.
INSERTION = Struct(
    "Insertion",
    {
        "src": "uint32_t*",
        "dst": "uint32_t*",
        "weight": "bits_t*",
        "guard": "const uint32_t*",  # validated batches: null, or not zero: nothing is to be changed
        "status": "uint8_t*",
        "before": "bits_t*",
        "n": "long long",
        "quota": "uint32_t",  # slabs that rehashing may use
        "ahead": "uint32_t",
        "ticket": "uint32_t",  # sent with the counters, so that the host knows which batches they include
        "share": "uint32_t",
    },
    base=SCRATCH,
)
#: A deletion: its edges [n] and outcome.
DELETION = Struct(
    "Deletion",
    {
        "src": "uint32_t*",
        "dst": "uint32_t*",
        "guard": "const uint32_t*",  # as in an insertion
        "status": "uint8_t*",
        "before": "bits_t*",
        "n": "long long",
        "share": "long long",
    },
)
#: A query: edges [n], whether they were found, and the weights of those that were.
QUERY = Struct(
    "Query",
    {
        "src": "const uint32_t*",
        "dst": "const uint32_t*",
        "found": "uint8_t*",
        "result": "bits_t*",
        "n": "long long",
        "share": "long long",
    },
)
BATCHES = {"insert": ("insert.cu", INSERTION), "erase": ("delete.cu", DELETION), "find": ("find.cu", QUERY)}

#: source of every kernel that is no batch operation; a first batch compiles those of plan.cu only
KERNELS = {
    name: source
    for source, names in {
        "plan.cu": (
            "sum_degrees", "count_sources", "plan_buckets", "write_tables", "place_heads",
            "count_batch", "count_moves", "sum_slabs",
        ),
        "maintain.cu": (
            "move_edges", "forget_touched", "count_sections", "free_sections", "forget_vertices", "list_free",
        ),
        "trim.cu": ("trim_vertices", "trim_listed", "trim_chains"),
        "gather.cu": ("gather", "gather_all", "gather_touched"),
    }.items()
    for name in names
}  # fmt: skip


@cache
def cursor_declarations() -> str:
    """Return the C++ constants and enums of ``layout.py`` that ``cursor.cuh`` uses."""
    return "\n".join([enum("", named(layout, *CURSOR_COUNTERS)), constants(named(layout, *CURSOR_LAYOUT))])


@cache
def prelude(shape: Geometry) -> str:
    """Return the text put in front of the CUDA sources: counters, constants, structs, and ``bits_t``, a weight as bits.

    Without weights ``bits_t`` is never read or written.
    """
    bits = {0: "uint8_t", 1: "uint32_t", 2: "uint64_t"}[shape.weight_words]
    launch = {name: globals()[name] for name in LAUNCH}
    structs = (struct.declaration for struct in (MOVE, SCRATCH, INSERTION, DELETION, QUERY))
    numbers = constants({**named(layout, *LAYOUT), **launch})
    return "\n".join(
        [enum("", named(layout, *COUNTERS)), numbers, f"typedef {bits} bits_t;", VIEW.declaration, *structs]
    )


@cache
def backend_programs(shape: Geometry, in_flight: int = 2, variant: BatchKind | None = None) -> dict[str, Program]:
    """Return the backend's programs by source file; with ``variant``, those for unvalidated batches of that kind.

    ``in_flight``: edges of a query per tile at a time. Stores of equal geometry share the programs.
    """
    defines: dict[str, int | str] = {**macros(shape), "UNVALIDATED": int(variant is not None)}
    if variant is not None:
        defines.update(variant.defines())
    others = () if variant else tuple(dict.fromkeys(KERNELS.values()))
    sources = (*(source for source, _ in BATCHES.values()), *others)
    return {
        name: Program(
            FOLDER / name,
            prelude(shape),
            tuple({**defines, **({"IN_FLIGHT": in_flight} if name == "find.cu" else {})}.items()),
            cooperative=name == "insert.cu" or (name == "delete.cu" and variant is not None),
        )
        for name in sources
    }


def programs(store: Any) -> list[Program]:
    """Return programs to compile as a test, for the geometry and weights of ``store``, on either device.

    Of the many programs for unvalidated batches only some are returned. Needs no CuPy.
    """
    held = store.weight_dtype
    plain, weighted = sample_variants(None), [] if held is None else sample_variants(held.name)

    def of(variant: BatchKind, *sources: str) -> list[Program]:
        found = backend_programs(store.geometry, variant=variant)
        return [found[source] for source in sources]

    return [
        *backend_programs(store.geometry).values(),
        *of((weighted or plain)[0], "insert.cu"),
        *of(plain[0], "delete.cu", "find.cu"),
        *of(plain[1], "find.cu"),
    ]
