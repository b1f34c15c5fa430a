"""The head-to-head matrix: backends x workloads x algorithms, every row verified before it is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def suricate_commands() -> list[click.Command]:
    """Return the commands ``suricate demo`` and ``suricate bench``."""
    from suricate.bench.commands import bench, demo

    return [demo, bench]
