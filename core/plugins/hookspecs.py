"""The hooks of suricate: what a plugin may return.

A plugin is a module or object that implements any of these functions with ``@suricate.hookimpl`` and is named in the
entry-point group ``suricate`` of its package. Hooks return classes, functions and commands; nothing heavy is imported
to do so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from suricate.comm.protocol import Comm
    from suricate.plugins.algorithm import Algorithm
    from suricate.store import Store

PROJECT = "suricate"  #: the pluggy project and the entry-point group

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def suricate_backends() -> list[type[Store]]:  # type: ignore[empty-body]
    """Return the storage backends that the plugin brings."""


@hookspec
def suricate_algorithms() -> list[type[Algorithm]]:  # type: ignore[empty-body]
    """Return the algorithms that the plugin brings."""


@hookspec
def suricate_commands() -> list[click.Command]:  # type: ignore[empty-body]
    """Return the commands that the plugin adds to the ``suricate`` command line."""


@hookspec
def suricate_sources() -> list[Callable]:  # type: ignore[empty-body]
    """Return the functions that make sources of events; ``st.NAME`` is the one called NAME."""


@hookspec
def suricate_functions() -> list[Callable]:  # type: ignore[empty-body]
    """Return functions over logs of events; ``su.NAME`` is the one called NAME."""


@hookspec
def suricate_comms() -> list[type[Comm]]:  # type: ignore[empty-body]
    """Return the communications that the plugin brings; ``connect(name)`` joins a job by the one called ``name``."""
