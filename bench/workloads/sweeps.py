"""Settings of a backend's knobs (the options worth measuring, ``Store.knobs``), and graphs that are built with them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Skipped
from suricate.errors import UnknownNameError
from suricate.store import Store

WIDTH = "_bytes"  #: a knob whose name ends like this is the width of the storage units


class KnobFixture(Fixture):
    """A fixture with one setting of a backend's knobs; its tasks are skipped if the backend refuses the setting."""

    def empty_graph(self, **kind: Any) -> Any:
        """Return a new graph without edges; raise ``Skipped`` if the backend refuses the options.

        ``kind``: the arguments of ``Fixture.empty_graph``, such as ``weighted`` and ``directed``.
        """
        try:
            return super().empty_graph(**kind)
        except ValueError as error:
            raise Skipped(f"the backend refuses it: {error}") from error


def settings(backend: type[Store], given: Mapping[str, Any], only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the settings of a sweep, dicts of options besides ``given``: {}, then the values of each knob in turn.

    The first two knobs are varied together, in all combinations of their values. A setting that has the same effect as
    an earlier one is left out.

    Args:
        backend: declares the knobs and their defaults.
        given: options common to all settings.
        only: names of the knobs to vary; empty: all. The first two are varied if one of them is named.

    Raises:
        UnknownNameError: the backend has no knob that is named in ``only``.
    """
    _check_known(backend, only)
    base = {**defaults(backend), **given}
    distinct: dict[tuple, dict[str, Any]] = {}
    for change in ({}, *_changes(backend.knobs, only)):
        distinct.setdefault(tuple({**base, **change}.items()), change)
    return list(distinct.values())


def switches(backend: type[Store], given: Mapping[str, Any], only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return settings, dicts of options: {}, then for each knob that is True or False one that reverses it alone.

    Args:
        backend: declares the knobs and their defaults.
        given: options common to all settings; a knob among them is reversed from its value there.
        only: names of the knobs to reverse; empty: all.

    Raises:
        UnknownNameError: the backend has no knob that is named in ``only``.
    """
    _check_known(backend, only)
    base = {**defaults(backend), **given}
    switching = [name for name, values in backend.knobs.items() if set(values) == {True, False}]
    return [{}, *({name: not base[name]} for name in switching if not only or name in only)]


def widths(backend: type[Store], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of the knob for the size of a storage unit in bytes: {} (the default), then each value.

    The knob is the first whose name ends with ``_bytes``. ``given``: the options that all rows have; if the knob is
    among them, its value there is left out, since {} stands for that.
    """
    chosen = tuple(name for name in backend.knobs if name.endswith(WIDTH))[:1]
    distinct = [{}, *({name: value} for name in chosen for value in backend.knobs[name])]
    return [change for change in distinct if not change or change.items() - given.items()]


def label(change: Mapping[str, Any]) -> str:
    """Return the options ``change`` as text, "name=value, ..."; "defaults" if there are none."""
    return ", ".join(f"{name}={value}" for name, value in change.items()) or "defaults"


def defaults(backend: type[Store]) -> dict[str, Any]:
    """Return the default values of a backend's knobs, by name, from the signature of its constructor."""
    parameters = inspect.signature(backend).parameters
    return {name: parameters[name].default for name in backend.knobs if name in parameters}


def _check_known(backend: type[Store], names: tuple[str, ...]) -> None:
    unknown = set(names) - set(backend.knobs)
    if unknown:
        known = ", ".join(backend.knobs) or "none"
        raise UnknownNameError(f"backend {backend.name!r} has no knob {', '.join(sorted(unknown))}; its knobs: {known}")


def _changes(knobs: Mapping[str, tuple], only: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    pair, others = list(knobs)[:2], list(knobs)[2:]
    if not only or set(only) & set(pair):
        for values in itertools.product(*(knobs[name] for name in pair)):
            yield dict(zip(pair, values, strict=True))
    for name in others:
        if not only or name in only:
            for value in knobs[name]:
                yield {name: value}
