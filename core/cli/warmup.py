"""``suricate warmup``: compile ahead what the first calls would otherwise wait for."""

from __future__ import annotations

import os
from pathlib import Path

import click

from suricate.devices import resolve_device


@click.command()
@click.option("--backend", metavar="BACKEND", help="Storage backend; default: the one of highest priority.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
def warmup(backend: str | None, device: str) -> None:
    """Compile ahead what updates, queries, algorithms and readers need.

    Compiled kernels are kept on disk, so that this is done once on a machine and for a version of suricate.
    """
    os.environ.setdefault("SURICATE_QUIET", "1")  # this command says itself what it compiles
    from suricate.warmup import warm_up

    seconds = warm_up(
        backend=backend, device=device, report=lambda what, seconds: click.echo(f"{seconds:6.1f} s  {what}")
    )
    click.echo(f"{seconds:6.1f} s  in all; kept in {kernel_cache(resolve_device(device).kind)}")


def kernel_cache(kind: str) -> Path:
    """Return the folder that keeps compiled kernels of a kind of device."""
    if kind == "cuda":
        return Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    from suricate.generated import cache_folder

    return cache_folder()
