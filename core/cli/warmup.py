"""``suricate warmup``: compile ahead what the first calls would otherwise wait for."""

from __future__ import annotations

import os
from pathlib import Path

import click

from suricate.base.devices import resolve_device
from suricate.base.progress import working
from suricate.cli.sources import FILE, TARGET


@click.command()
@click.option("--backend", metavar="BACKEND", help="Storage backend; default: the one of highest priority.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--for", "parts", multiple=True, type=click.Choice(["graphs", "stream", "replay", "networkx"]),
    help="Compile what these need, no more; repeatable. Default: all; NetworkX if it is installed.",
)  # fmt: skip
@click.option("--save", metavar="FILE", type=TARGET, help="Write what was compiled to FILE, for machines of this kind.")
@click.option("--load", metavar="FILE", type=FILE, help="Compile nothing: load what --save wrote elsewhere.")
def warmup(backend: str | None, device: str, parts: tuple[str, ...], save: Path | None, load: Path | None) -> None:
    """Compile ahead what graphs, streams and NetworkX need.

    Then nothing compiles in updates, queries, algorithms, readers, windows, replays and functions of NetworkX, at any
    size of batches, windows and slides, on graphs of the backend without weights or with float32, float64 or int32,
    directed or not. Functions of your own, columns of edges and other methods of an algorithm than its default still
    compile. It is cached on disk: once per machine and version of suricate.
    """
    from suricate.cli import carry

    if load is not None:
        if kernel_cache("cpu") is None:
            raise click.ClickException("the folder of compiled kernels cannot be written: SURICATE_CACHE_DIR names one")
        count, reason = carry.load(load)
        click.echo(f"{count} entries of {load} are in {kernel_cache('cpu')}")
        if reason:
            click.echo(f"left out: {reason}")
        return
    from suricate.cli.precompile import warm_up

    def report(what: str, seconds: float) -> None:
        click.echo(f"{seconds:6.1f} s  {what}")

    with working("compiling"):
        os.environ.setdefault("SURICATE_QUIET", "1")  # this command says itself what it compiles
        seconds = warm_up(backend=backend, device=device, parts=parts, report=report)
    folder = kernel_cache(resolve_device(device).kind)
    click.echo(f"{seconds:6.1f} s  in all; kept in {folder}" if folder else f"{seconds:6.1f} s  in all; not kept")
    if save is not None:
        click.echo(f"{carry.save(save)} entries are in {save}")


def kernel_cache(kind: str) -> Path | None:
    """Return the folder that caches compiled kernels of a device ``kind``, "cpu" or "cuda"; None if none are cached."""
    from suricate.base import cache
    from suricate.cli import carry

    if kind == "cuda":
        return carry.cupy_folder()
    return cache.cache_folder() if cache.is_kept() else None
