"""``suricate advise``: which backend suits, by the crossover map."""

from __future__ import annotations

import math
from typing import Any

import click

from suricate.cli.grids import Grid
from suricate.cli.sources import FILE
from suricate.cli.terminal import show, table_format


@click.command()
@click.option("--vertices", "num_vertices", type=int, required=True, help="Vertices of the graph.")
@click.option("--edges", "num_edges", type=int, required=True, help="Edges of the graph.")
@click.option("--batch", type=int, required=True, help="Edges per batch (80 % insertions, 20 % deletions).")
@click.option(
    "--use", default="update only", show_default=True,
    help="What follows a batch: update only, query, matrix-vector product, or the name of an algorithm kept current.",
)  # fmt: skip
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda; it need not be there.")
@click.option("--family", help="Graphs of which kind: rmat or uniform; default: their mean.")
@click.option("--map", type=FILE, help="A file of `suricate bench --report FILES --save-map`.")
@table_format
def advise(table_format: str, **asked: Any) -> None:
    """Say which backend suits a graph, and the memory of its edges.

    Times and memory are estimates. The answer names the machine that the times were measured on. Memory is
    that of a directed graph without weights and in-edges. For other graphs call su.estimate_memory(), which is within
    10 % if it is given the degrees.
    """
    from suricate import plugins
    from suricate.graph.estimates import SHAPES, estimate_memory
    from suricate.plugins.advice import advise as answer

    found = answer(**asked)
    shape = found.families[0] if len(found.families) == 1 and found.families[0] in SHAPES else None
    known = [choice.backend for choice in found.choices if choice.backend in plugins.backends()]
    memory = {
        backend: estimate_memory(found.num_vertices, found.num_edges, shape=shape, backend=backend)
        for backend in known[:1]
    }
    if table_format == "table":
        click.echo("\n".join([str(found), *(f"memory of {backend}: {each}" for backend, each in memory.items())]))
        return
    names = "use", "num_vertices", "num_edges", "batch", "device", "machine", "date", "inside", "distance"
    rows = [
        (row.backend, *((row.ms, row.ms / found.ms) if math.isfinite(row.ms) else (None, None)), row.update_share,
         *(memory[row.backend][2:] if row.backend in memory else (None,) * 3))
        for row in (*found.choices, *([found.rebuild] if found.rebuild else ()))
    ]  # fmt: skip
    columns = ("backend", "ms_per_batch", "times_the_fastest", "update_share", "peak_bytes", "low_bytes", "high_bytes")
    show(table_format, [Grid("backends", columns, rows)], {name: getattr(found, name) for name in names})
