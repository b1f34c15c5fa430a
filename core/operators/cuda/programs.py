"""The CUDA programs of the operators: each is made from a kernel template, a backend's cursor and the user's functions.

Assembling a program needs no CuPy and no GPU: see ``samples``, which lists some of each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.once import Once
from suricate.cuda.program import Program, c_type
from suricate.cuda.structs import Struct, enum
from suricate.edgefn import TypedFunction, bounds
from suricate.kernels.arcs import ARCS
from suricate.kernels.walking import Walk
from suricate.operators.call import AT_ONCE, REDUCTIONS, Call
from suricate.state.words import Words

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

HERE = Path(__file__).parent
FOLDERS = (HERE, *(HERE / family for family in ("push", "pull", "maps", "intersect", "loops")))  #: of the sources
SOURCES = {file.name: file for folder in FOLDERS for file in folder.glob("*.cu")}

BLOCK = 256  #: threads per block, in all kernels but loops
WARPS = BLOCK // 32
PAIR_TILE = 8  #: threads per pair in intersect_pairs
#: templates of which all blocks must be resident
COOPERATIVE = ("converge.cu", "layers.cu", "passes.cu", "propagate.cu")

#: of each entry in a list of heavy vertices of a pull
HEAVY_BYTES = 40

#: what the kernels and the launches agree on, in C++
COMMON = "\n".join(
    [
        enum("", {name.upper(): number for number, name in enumerate(REDUCTIONS)}),
        enum("", {"BLOCK": BLOCK, "PAIR_TILE": PAIR_TILE, "HEAVY_BYTES": HEAVY_BYTES}),
        enum("", {"LOOP_WORDS": LOOP_WORDS}),
        *(struct.declaration for struct in (VERTICES, ARCS, LOOP_MEMORY, OUTCOME)),
        "#define OVER_OUT 0\n#define OVER_IN 1\n#define OVER_BOTH 2",
    ]
)

LIST = Struct(  # of vertices to merge
    "List",
    {
        "ids": "const uint32_t*",
        "others": "const uint32_t*",
        "count": "const uint32_t*",
        "status": "const uint8_t*",
        "size": "uint32_t",
        "wanted": "uint32_t",
    },
)
#: puts the vertices that an operator starts from into one list without repeats
MERGE = Program(HERE / "merge.cu", "\n".join((enum("", {"BLOCK": BLOCK}), LIST.declaration)))


def call_text(call: Call) -> str:
    """Return the C++ text of ``call``, which follows that of the cursor; ``operators.cuh`` explains its macros."""
    macros = {
        "REDUCE": call.reduce.upper(),
        "VALUES_AT_ONCE": int(call.reduce in AT_ONCE),
        "IS_MODE": int(call.reduce == "mode"),
        "HAS_THEN": int(call.then is not None),
        "HAS_COMMIT": int(call.commit is not None),
        **call.function.macros,
    }
    defines = [f"#define {name} {value}" for name, value in macros.items()]
    return "\n".join([*defines, *(function.cuda_source(name) for name, function in _functions(call).items())])


def _functions(call: Call) -> dict[str, TypedFunction]:
    """Return the functions that ``call`` has, by their names in C++: ``edge_fn``, ``then_fn`` and ``commit_fn``."""
    named = {"edge_fn": call.function, "then_fn": call.then, "commit_fn": call.commit}
    return {name: function for name, function in named.items() if function is not None}


def launch_values(call: Call) -> tuple[Any, ...]:
    """Return the arguments of functions as kernels take them; moves scalars on, so call it once per operator."""
    given = zip(call.function.arguments, call.values, strict=True)
    if bounds.CHECKED:
        return tuple([argument.packed(value) for argument, value in given])
    return tuple([value if argument.kind in _PACKED else argument.packed(value) for argument, value in given])


_PACKED = ("array", "scalar")  # numbers are since they were checked


def array_of(out: Any) -> Array:
    """Return the array behind ``out``, which is an array or a ``Words``."""
    return out.data if isinstance(out, Words) else out


def skip_scalars(call: Call) -> None:
    """Do what :func:`launch_values` does to the scalars of ``call``, for a call that launches nothing."""
    for argument, value in zip(call.function.arguments, call.values, strict=True):
        if argument.kind == "accumulator":
            value.skip()


_programs = Once[tuple, Program]()  # by the text of functions
_known: dict[tuple, Program] = {}  # by the functions themselves, which is quicker


def program_of(
    template: str | Path, walk: Walk | None, call: Call, dtype: np.dtype | None = None, **macros: Any
) -> Program:
    """Return the program made from ``template`` for ``call``; equal programs are made once.

    Args:
        template: name of a ``.cu`` file of the operators; or the path of another one, which is launched cooperatively.
        walk: the walk of a view, which gives the cursor; None: the kernels walk no edges.
        call: its functions and reduction are compiled in.
        dtype: the C++ type ``out_t`` of the reduced values; None: there are none.
        macros: further macros, name and value.
    """
    others = walk and walk.prelude, call.reduce, dtype, call.layout, *macros, *macros.values()
    known = template, call.function, call.then, call.commit, *others
    program = _known.get(known)
    if program is None:
        keys = tuple(function.key for function in _functions(call).values())
        key = template, keys, call.commit is None, *others
        program = _programs.make(key, lambda: _program(template, walk, call, dtype, macros))
        _known[known] = program
    return program


def _program(
    template: str | Path, walk: Walk | None, call: Call, dtype: np.dtype | None, macros: dict[str, Any]
) -> Program:
    lines = [COMMON, *(f"#define {name} {value}" for name, value in macros.items())]
    if "WORD_VALUES" not in macros:
        lines.append(f"typedef {c_type(np.dtype(np.int32) if dtype is None else dtype)} out_t;")
    if walk is not None:
        lines.append(walk.prelude)
    if call.layout is not None:
        lines += ["#define HAS_WORDS 1", call.layout.cuda_source]  # words.cuh
    if "WORD_VALUES" in macros:
        lines.append("typedef word_t out_t;")
    lines.append(call_text(call))
    include = FOLDERS if walk is None else (*FOLDERS, walk.header.parent)
    source = template if isinstance(template, Path) else SOURCES[template]
    cooperative = source is template or template in COOPERATIVE
    return Program(source, "\n".join(lines), include=include, cooperative=cooperative)
