"""``suricate convert``: from one graph file to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from suricate.base.files import check_writable
from suricate.cli.sources import (
    GRAPH_FILE,
    SNAPSHOT,
    TARGET,
    ReadingCommand,
    is_snapshot,
    load_snapshot,
    read_file,
    reading_options,
)


@click.command(cls=ReadingCommand)
@click.argument("source", type=GRAPH_FILE, metavar="IN")
@click.argument("target", type=TARGET, metavar="OUT")
@reading_options
@click.option("--to", "target_format", metavar="NAME", help="Format of OUT; default: by its name.")
@click.option("--labels", is_flag=True, help="With --relabel: write the original ids after all (not to mtx and gr).")
def convert(source: Path, target: Path, target_format: str | None, labels: bool, **reading: Any) -> None:
    """Convert the graph file IN to OUT.

    IN may be - for standard input, a folder or a pattern of Parquet or Arrow files; OUT may be - for standard output.
    OUT is replaced when all of it is written; a device or pipe is written through. A name that ends in .npz is
    a snapshot, which loads fastest; it keeps no times and no duplicates. CSV, Parquet, Arrow and snapshots keep the
    columns of edges.
    """
    from suricate.io import write
    from suricate.io.writing import format_of

    check_writable(target)
    if labels and not reading["relabel"] and not is_snapshot(source):
        raise click.UsageError("--labels goes with --relabel, or with a snapshot that has names")
    to_snapshot = target.suffix == SNAPSHOT and target_format is None
    if not to_snapshot:
        target_format = format_of(target, target_format)  # an unknown one shows before anything is read
    snapshot = is_snapshot(source)
    data: Any = load_snapshot(source, reading, device="cpu") if snapshot else read_file(source, **reading)
    if to_snapshot:
        (data if snapshot else data.to_graph(device="cpu")).save(target)
    else:
        try:
            write(data, target, target_format, labels=labels)
        except ValueError as error:  # the format cannot hold it
            raise click.UsageError(str(error)) from error
    loses_ids = reading["relabel"] and not labels and not to_snapshot
    click.echo(f"{target} is written{' without the original ids' if loses_ids else ''}", err=True)
