"""The suite on scaling: one graph divided among the ranks of a job, with the time of communication apart.

All ranks run the same steps. ``metering`` counts and times what they exchange, ``workloads`` are what is measured,
``session`` measures, writes rows and prints them, with the time that a model expects beside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from suricate.bench import drawn

if TYPE_CHECKING:
    from suricate.bench.drawn import DrawnInput
    from suricate.bench.scaling.session import Plan
    from suricate.parallel import Comm


def run(specs: Sequence[str], device: str, plan: Plan, output: Path, ranks: int | None) -> bool:
    """Run the suite; return whether a row failed.

    Args:
        specs: the graphs: strong scaling uses each as it is, weak scaling a similar one with as many edges per rank.
        device: name of the device; the ranks of one host use its GPUs in turn.
        plan: what is measured.
        output: file for the rows, written by the first rank.
        ranks: run this many ranks as threads; None: this process is a rank of a job that a launcher has started.
    """
    from suricate import parallel

    if ranks is not None:
        return any(parallel.run(lambda comm: _on_rank(comm, specs, device, plan, output), ranks))
    comm = parallel.connect("mpi" if device == "cpu" else "auto")
    return _on_rank(comm, specs, device, plan, output)


def _on_rank(comm: Comm, specs: Sequence[str], device: str, plan: Plan, output: Path) -> bool:
    from suricate.base.devices import resolve_device
    from suricate.bench.reports.results import ResultsFile
    from suricate.bench.scaling.session import Session

    where = resolve_device(comm.place(device))
    if where.is_cuda:
        where.xp.cuda.Device(where.index).use()
    results = ResultsFile(output) if comm.rank == 0 else None

    def say(line: str) -> None:
        if comm.rank == 0:
            print(line, flush=True)

    inputs = [("strong", drawn.load(spec, seed=plan.seed)) for spec in specs]
    if comm.size > 1 and not plan.is_alone:
        inputs += [("weak", times(data, comm.size)) for _, data in inputs]
    return Session(comm, where, plan, results, say).run(inputs)


def times(data: DrawnInput, ranks: int) -> DrawnInput:
    """Return a graph like ``data``, but with ``ranks`` times the edges, and at least ``ranks`` times the vertices."""
    scale = data.stream.scale + math.ceil(math.log2(ranks))
    stream = type(data.stream)(scale, data.stream.seed)
    return type(data)(f"{data.name} x {ranks}", data.num_edges * ranks, stream)
