"""A plugin as a stranger wrote it for API 1, with an algorithm, a backend, a command, a source and a function.

It is frozen: ``test_api.py`` compares its files with a digest. What it uses is promised (docs/plugins.md).
"""

import click
import numpy as np

import suricate as su
import suricate.stream as st
from plugin_of_api_1.heaviest import Heaviest
from plugin_of_api_1.keys import KeyStore


@click.command("greet")
def greet():
    """Greet."""
    click.echo(f"hello, API {su.plugins.API}")


def ring(number):
    """Return a source of events around a ring, one a second; a position is how many were read."""

    def read(position):
        for at in range(position or 0, number):
            yield at + 1, {"time": np.array([at]), "src": np.array([at % 5]), "dst": np.array([(at + 1) % 5])}

    return st.source(read, time_unit="s")


def newest_time(log):
    """Return the time of the newest event of a log, 0 if there is none."""
    return int(log.newest or 0)


@su.hookimpl
def suricate_algorithms():
    """Offer the algorithm."""
    return [Heaviest]


@su.hookimpl
def suricate_backends():
    """Offer the backend."""
    return [KeyStore]


@su.hookimpl
def suricate_commands():
    """Offer the command."""
    return [greet]


@su.hookimpl
def suricate_sources():
    """Offer the source."""
    return [ring]


@su.hookimpl
def suricate_functions():
    """Offer the function."""
    return [newest_time]
