"""The head-to-head matrix: backends x workloads x algorithms, every row verified before it is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def suricate_commands() -> list[click.Command]:
    """Return the commands ``suricate demo``, ``suricate bench`` and ``suricate compare``."""
    from suricate.bench.commands import bench, demo
    from suricate.bench.compare import compare

    return [demo, bench, compare]
