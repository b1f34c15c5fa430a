"""Plugins are loaded whatever interrupts it: Ctrl-C, or warnings that a filter turns into errors."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from plugin_sites import python, with_plugins

import suricate as su
from suricate import plugins
from suricate.errors import PluginError


class Nothing(su.Algorithm):
    """An algorithm without a result."""

    name = "nothing"

    def compute(self, graph: su.Graph) -> None:
        pass

    @property
    def result(self) -> None:
        return None


INTERRUPTED = """
import importlib.metadata as metadata, itertools, sys, warnings
from suricate import plugins
from suricate.plugins import manager
steps, stop, load = itertools.count(), int(sys.argv[1]), metadata.EntryPoint.load
def step():
    if next(steps) == stop:
        raise KeyboardInterrupt
def around(owner, name):
    inner = getattr(owner, name)
    def call(*args, **options):
        step()
        result = inner(*args, **options)
        step()
        return result
    setattr(owner, name, call)
around(metadata, "entry_points")
around(metadata.EntryPoint, "load")
around(manager, "_call")
around(manager, "_fail")
warnings.simplefilter(sys.argv[2])
for attempt in range(30):
    try:
        plugins.installed()
        break
    except (KeyboardInterrupt, UserWarning) as error:
        print(type(error).__name__, file=sys.stderr)
for plugin in plugins.installed():
    print(plugin.name, "+".join(plugin.hooks), plugin.error or "ok", sep="|")
print(sorted(plugins.backends()), sorted(plugins.algorithms()), sorted(plugins.commands()))
"""


def interrupted(step: int, filters: str, *path: Path) -> tuple[str, list[str]]:
    """Return what a process prints that is interrupted at a step of loading, and the names of what was raised."""
    code = f"import sys; sys.argv = ['', '{step}', '{filters}']\n{INTERRUPTED}"
    result = python(code, *path)
    assert result.returncode == 0, result.stderr
    return result.stdout, [line for line in result.stderr.split() if line in ("KeyboardInterrupt", "UserWarning")]


@pytest.mark.slow
def test_loading_goes_on_after_an_interrupt(tmp_path: Path) -> None:
    site = with_plugins(tmp_path)
    whole, raised = interrupted(-1, "ignore", site)
    assert raised == []
    assert "good|suricate_backends|ok" in whole
    for step in (0, 3, 40, 91):
        found, raised = interrupted(step, "ignore", site)
        assert found == whole, step
        assert raised == ["KeyboardInterrupt"], step
    found, raised = interrupted(-1, "error", site)  # warnings that are errors stop nothing either
    assert found == whole
    failed = [line for line in whole.splitlines() if line.count("|") == 2 and not line.endswith("|ok")]
    assert raised == ["UserWarning"] * len(failed)  # each once
    assert len(failed) == 11  # of the twelve of the site, all but the good one


@pytest.mark.filterwarnings("error")
def test_register_raises_the_error_of_the_plugin() -> None:
    with pytest.raises(PluginError, match="implements nothing"):
        plugins.register(SimpleNamespace(x=1), name="unusable")


def test_register_interrupted() -> None:
    asked = []

    def algorithms() -> list[type]:
        asked.append(1)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return [Nothing]

    module = ModuleType("slow")
    module.suricate_algorithms = su.hookimpl(algorithms, specname="suricate_algorithms")  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        plugins.register(module)
    assert "slow" not in {plugin.name for plugin in plugins.installed()}
    plugins.register(module)
    assert plugins.algorithms()["nothing"] is Nothing
    plugins.unregister("slow")
