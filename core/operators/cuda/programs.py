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

#: places of the tables of heavy vertices, see ``vote_tables.cuh``, in units of :data:`TABLE_UNIT`
VOTE_TABLES = Struct("VoteTables", {"key": "uint32_t*", "sum": "unsigned long long*", "units": "uint32_t"})
TABLE_UNIT = 128

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
        enum("", {"BLOCK": BLOCK, "PAIR_TILE": PAIR_TILE, "HEAVY_BYTES": HEAVY_BYTES, "TABLE_UNIT": TABLE_UNIT}),
        enum("", {"LOOP_WORDS": LOOP_WORDS}),
        *(struct.declaration for struct in (VERTICES, ARCS, LOOP_MEMORY, OUTCOME, VOTE_TABLES)),
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
        "IS_VOTE": int(call.vote is not None),
        "HAS_TURN": int(call.turn is not None),
        "HAS_THEN": int(call.then is not None),
        "HAS_COMMIT": int(call.commit is not None),
        **call.function.macros,
    } | _ballot(call)
    defines = [f"#define {name} {value}" for name, value in macros.items()]
    texts = [function.cuda_source(name) for name, function in _functions(call).items()]
    if call.columns and call.function.role == "vertex":
        texts = _in_all_columns(call.function)
    return "\n".join([*defines, *texts])


def _in_all_columns(function: TypedFunction) -> list[str]:
    """Return the C++ texts of ``function``, of one column of a vertex, and of ``edge_fn``, which calls it for all."""
    given, columns = function.leading[:-1], len(function.arguments) - 1
    kinds = ", ".join(f"{'long long' if one == 'i' else 'uint32_t'} {one}" for one in given)
    return [
        function.cuda_source("column_fn"),
        f"__device__ __forceinline__ long long edge_fn({kinds} FORMALS) {{\n    long long says = 0;\n"
        f"    for (long long j = 0; j < a{columns}; ++j) says |= (long long)column_fn({', '.join(given)}, j ARGS);\n"
        "    return says;\n}",
    ]


def _ballot(call: Call) -> dict[str, Any]:
    """Return the macros of a vote, see ``vote.cuh``; none for other reductions."""
    if call.vote is None:
        return {}
    numbered = enumerate(call.function.arguments)
    scalars = [i for i, argument in numbered if argument.kind == "accumulator"]
    given = ", ".join(f"{'spare' if i in scalars else 'a'}{i}" for i in range(len(call.function.arguments)))
    return {
        "SPARE": " ".join(f"auto spare{i} = a{i};" for i in scalars),
        "SPARE_BACK": " ".join(f"a{i} = spare{i};" for i in scalars),
        "SPARE_ARGS": f", {given}" if given else "",
        "MAY_TRY": int(not scalars),
        "EXACT": int(call.result.kind == "i"),
        "LABELS": f"a{call.vote.place}",
        **_before(call.vote.before),
        "KEPT(x)": "-1ll" if call.vote.keep is None else f"((long long)a{call.vote.keep}[x])",
        "SCORE(x, label, total)": f"double({'total' if call.vote.score is None else 'score_fn(x, label, total ARGS)'})",
    }


def _before(place: int | None) -> dict[str, Any]:
    """Return the macros by which launches give one label of a vertex after the other; ``place``: ``Vote.before``."""
    if place is None:
        return {"IS_BEST": 0, "AFTER(x, label, score)": "true", "NOTE(x, its, points)": ""}
    label, score, new_label, new_score, number = (f"a{place + i}" for i in range(5))
    return {
        "IS_BEST": 1,
        "AFTER(x, label, score)": f"({number} == 0 || is_behind({label}[x], {score}[x], label, score, KEPT(x)))",
        "NOTE(x, its, points)": f"{{ {new_label}[x] = its; {new_score}[x] = points; }}",
    }


def _functions(call: Call) -> dict[str, TypedFunction]:
    """Return the functions that ``call`` has, by their names in C++: ``edge_fn``, ``then_fn`` and so on."""
    return {"edge_fn": call.function} | {f"{name}_fn": function for name, function in call.functions.items()}


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
    known = template, call.function, *call.functions.items(), call.vote and call.vote[1:4], *others
    program = _known.get(known)
    if program is None:
        keys = tuple((name, function.key) for name, function in _functions(call).items())
        key = template, keys, call.vote and call.vote[1:4], *others
        program = _programs.make(key, lambda: _program(template, walk, call, dtype, macros))
        _known[known] = program
    return program


def _program(
    template: str | Path, walk: Walk | None, call: Call, dtype: np.dtype | None, macros: dict[str, Any]
) -> Program:
    lines = [COMMON, *(f"#define {name} {value}" for name, value in macros.items())]
    if call.vote is not None:
        lines += ["typedef unsigned int out_t;", f"typedef {c_type(call.dtype)} store_t;"]
        lines.append(f"typedef {c_type(call.result)} total_t;")
    elif "WORD_VALUES" not in macros:
        lines += [f"typedef {c_type(np.dtype(np.int32) if dtype is None else dtype)} out_t;", "typedef out_t store_t;"]
    if walk is not None:
        lines.append(walk.prelude)
    if call.layout is not None:
        lines += ["#define HAS_WORDS 1", call.layout.cuda_source]  # words.cuh
    if "WORD_VALUES" in macros:
        lines += ["typedef word_t out_t;", "typedef out_t store_t;"]
    lines.append(call_text(call))
    include = FOLDERS if walk is None else (*FOLDERS, walk.header.parent)
    source = template if isinstance(template, Path) else SOURCES[template]
    cooperative = source is template or template in COOPERATIVE
    return Program(source, "\n".join(lines), include=include, cooperative=cooperative)
