"""The habits of the repository: what runs before a commit and on the forge is what `make lint` and `.ci/run` do."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from suricate import plugins

CHECKOUT = Path(__file__).resolve().parent.parent


def pins(text: str) -> dict[str, str]:
    """The packages that a text asks for in one version, with that version."""
    return dict(re.findall(r'"([\w-]+)==([\w.]+)"', text))


def test_pre_commit_uses_the_versions_of_the_development_extra() -> None:
    hooks = pins((CHECKOUT / ".pre-commit-config.yaml").read_text())
    extra = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    wanted = pins(str(extra).replace("'", '"'))
    assert {"ruff", "codespell", "clang-format"} <= wanted.keys()
    assert {name: hooks.get(name) for name in wanted} == wanted


def test_the_forge_runs_what_ci_runs() -> None:
    workflow = (CHECKOUT / ".github" / "workflows" / "ci.yml").read_text()
    assert "run: .ci/run\n" in workflow
    lowest = re.search(r'requires-python = ">=([\d.]+)"', (CHECKOUT / "pyproject.toml").read_text())
    assert lowest
    assert f'"{lowest[1]}"' in workflow


def test_the_bug_form_offers_every_backend_that_comes_along() -> None:
    form = (CHECKOUT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text()
    offered = re.findall(r"options: \[(.+)\]", form)[-1].split(", ")
    for plugin in plugins.installed():
        if plugin.source == "suricate" and "suricate_backends" in plugin.hooks:
            assert plugin.name in offered
