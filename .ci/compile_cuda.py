"""Compile every CUDA source for sm_70 to sm_90, without a GPU: backends, operators and a set of edge functions.

Usage: ``python .ci/compile_cuda.py [--share-of COMMIT] [BACKEND ...]`` (default: all installed backends). A backend's
options are those it declares in ``Store.knobs``: each is varied alone, unweighted and with float32 weights. With
default options and these weights, each backend's own programs, and all over the cursor of the default backend, are
compiled to machine code for the oldest and the newest architecture, and to PTX for the one in between; what other
cursors, options and weights change is compiled to PTX for the oldest one, which takes a tenth of the time. Texts that
come out equal are compiled once. With ``--share-of`` the former are compiled to PTX for the oldest architecture, a
quarter of them to machine code for the newest as well, and of all the rest one of twelve parts; a hash of the commit
picks.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import suricate as su
from suricate.algorithms.time import arrivals_cuda, fastest_cuda, walks
from suricate.cuda import clock
from suricate.cuda.program import Program, own_programs
from suricate.events import index_cuda, taking_cuda
from suricate.events.sampling import cuda as samples
from suricate.graph import liveness
from suricate.graph.edge_columns.weighing import by_row
from suricate.intake import id_checks, ingest
from suricate.operators.contraction import on_device
from suricate.placement import split
from suricate.state import union_find, words
from suricate.state.edges import edge_set_cuda
from suricate.store import fallbacks
from suricate.testing.nvrtc import compile_program, cursor_program
from suricate.windows.ring import arrivals, device_ring

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from cuda_samples import forests, intersections, operators  # noqa: E402

ARCHES = ("sm_70", "compute_80", "sm_90")
VARIED = ("compute_70",)
COMMON = ("compute_70",)  #: instead of ``ARCHES`` with every commit
SHARES = 12  #: parts of the rest
NEWEST_EVERY = 4  #: of the programs with default options, one in so many has machine code for the newest architecture
WEIGHTS = (None, "float32", "float64")
VARIED_WEIGHTS = WEIGHTS[:2]  #: with which options are varied, and machine code is made


def sample_options(backend: str) -> list[dict[str, Any]]:
    """Return the defaults, and each declared option with each of its values."""
    knobs = su.plugins.backend(backend).knobs
    return [{}, *({option: value} for option, values in knobs.items() for value in values)]


def all_programs(backends: list[str]) -> Iterator[tuple[str, Program, tuple[str, ...]]]:
    """Yield (label, program, architectures): the core's, each backend's own, and all over each backend's cursor."""
    for program in (
        union_find.PROGRAM,
        words.PROGRAM,
        *edge_set_cuda.programs(),
        *ingest.programs(),
        *id_checks.programs(),
        clock.STAMP,
        liveness.PROGRAM,
        *split.programs(),
        device_ring.PROGRAM,
        *arrivals.programs(),
        *taking_cuda.programs(),
        *index_cuda.programs(),
        *samples.programs(),
        *on_device.programs(),
        walks.PROGRAM,
        fastest_cuda.PROGRAM,
        arrivals_cuda.PROGRAM,
    ):
        yield "core", program, ARCHES
    for values in (None, *map(np.dtype, ("float32", "uint64"))):
        yield f"edge set of {values}", cursor_program(edge_set(values).view()), ARCHES
    default = max(su.plugins.backends().values(), key=lambda backend: backend.priority).name
    for name, weight in product(backends, WEIGHTS):
        for options in sample_options(name) if weight in VARIED_WEIGHTS else [{}]:
            store = su.Graph(4, backend=name, device="cpu", weight_dtype=weight, **options).store("out")
            view = store.view()
            generic = cursor_program(view), fallbacks.program(view), *operators.programs(view), *forests.programs(view)
            structures = (program for kind in su.plugins.algorithms().values() for program in kind.programs(view))
            pairs = intersections.programs(view, edge_set(None))
            own = VARIED if options or weight not in VARIED_WEIGHTS else ARCHES
            over_cursor = own if name == default else VARIED
            label = f"{name} {options or ''} weight={weight}"
            yield from ((label, program, own) for program in own_programs(store))
            yield from ((label, program, over_cursor) for program in (*generic, *structures, *pairs))
    for name in backends:
        rows = su.Graph(4, backend=name, device="cpu", weight_dtype="uint32").store("out").view()
        view = by_row(rows, np.empty(1, np.float64))
        further = (*operators.programs(view), *forests.programs(view)) if name == default else ()
        for program in (cursor_program(view), fallbacks.program(view), *further):
            yield f"{name} by row", program, ARCHES if name == default else VARIED


def edge_set(values: np.dtype | None) -> su.EdgeSet:
    """Return an edge set with values of this dtype."""
    graph = su.Graph(2, device="cpu")
    return graph.edge_set([0], [1], None if values is None else np.ones(1, values))


def all_sources() -> set[Path]:
    """Return every ``.cu`` file of the package."""
    return {source for layer in ("core", "backends", "algorithms") for source in (ROOT / layer).rglob("*.cu")}


Entry = tuple[str, Program, tuple[str, ...]]


def share(entries: list[Entry], commit: str) -> list[Entry]:
    """Return what to compile with a commit: all programs with default options, and its part of the rest."""
    turn = stable_hash(commit) % SHARES
    chosen = []
    for label, program, arches in entries:
        number = (stable_hash(f"{label} {program.source.name}") - turn) % SHARES
        if arches == ARCHES:
            newest = ("sm_90",) if number % NEWEST_EVERY == 0 else ()
            chosen.append((label, program, (*COMMON, *newest, *(() if number else ("sm_70", "compute_80")))))
        elif number == 0:
            chosen.append((label, program, arches))
    return chosen


def stable_hash(text: str) -> int:
    """Return the same number for a text in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def attempt(job: tuple[str, Program, str]) -> str | None:
    """Compile one program for one architecture; return the error, if there was one."""
    label, program, arch = job
    try:
        compile_program(program, arch)
    except RuntimeError as error:
        return f"FAIL {label}: {error}"
    return None


def main() -> int:
    """Compile everything; return 1 if anything failed."""
    begun = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backends", nargs="*")
    parser.add_argument("--share-of", metavar="COMMIT")
    options = parser.parse_args()
    backends = options.backends or [name for name, cls in su.plugins.backends().items() if "cuda" in cls.devices]
    distinct: dict[str, Entry] = {}
    for entry in sorted(all_programs(backends), key=lambda entry: -len(entry[2])):
        distinct.setdefault(entry[1].text, entry)
    entries = list(distinct.values())
    chosen = entries if options.share_of is None else share(entries, options.share_of)
    jobs = [(label, program, arch) for label, program, arches in chosen for arch in arches]
    with ProcessPoolExecutor() as pool:
        errors = [error for error in pool.map(attempt, jobs, chunksize=8) if error]
    if not options.backends:
        left = all_sources() - {program.source.resolve() for _, program, _ in distinct.values()}
        errors += [f"FAIL {source}: no programs() lists it" for source in sorted(left)]
    print(*errors, sep="\n")
    print(f"{len(jobs) - len(errors)} compiled, {len(errors)} failed, {time.perf_counter() - begun:.0f} s")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
