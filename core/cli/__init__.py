"""The command line: ``suricate advise | convert | info | new | plugins | run | stream | warmup``, and those of plugins.

Exit codes: 0 done; 1 the run failed (a plugin is broken, memory ran out, a result is wrong); 2 bad usage or bad input
(unknown name, malformed or missing file, a graph that lacks what the algorithm needs). Results go to stdout; progress,
notices and errors, one line each, to stderr.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

import click

from suricate import __version__
from suricate.cli.advise import advise
from suricate.cli.convert import convert
from suricate.cli.group import Commands
from suricate.cli.info import info, show_plugins
from suricate.cli.new import new
from suricate.cli.run import run
from suricate.cli.stream import stream
from suricate.cli.terminal import console
from suricate.cli.warmup import warmup

__all__ = ["cli", "console", "main"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="suricate")
def cli() -> None:
    """Dynamic graphs on GPUs and CPUs.

    Exit codes: 0 done, 1 the run failed, 2 bad usage or bad input.
    """


for _command in (advise, convert, info, new, run, show_plugins, stream, warmup):
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line with ``args`` (default: those of the process); ends in ``SystemExit``."""
    _replace_closed_streams()
    warnings.formatwarning = lambda message, *_, **__: f"suricate: warning: {message}\n"
    cli.main(None if args is None else list(args), prog_name="suricate")


def _replace_closed_streams() -> None:
    """Open the null device in place of standard streams that the caller has closed (``>&-``)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (until the process ends)
