"""The sources of generated loops of the CPU: what several templates define lies in one module."""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest

from suricate.operators.call import AT_ONCE
from suricate.operators.cpu.instances import TEMPLATES, expanded

PULLS = ("pulling", "pulling_columns", *(f"pulling_{reduce}" for reduce in sorted(AT_ONCE)))


def defined(text: str) -> dict[str, set[str]]:
    """Return by name how it is defined at the top of a module."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in ast.parse(text).body:
        if isinstance(each, ast.FunctionDef):
            found[each.name].add(ast.unparse(each))
        for target in each.targets if isinstance(each, ast.Assign) else ():
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    found[name.id].add(ast.unparse(each))
    return found


@pytest.mark.parametrize("pull", PULLS)
@pytest.mark.parametrize("template", ["neighbor_reduce", "passes"])
def test_templates_that_lie_in_one_module_define_no_name_in_two_ways(template: str, pull: str) -> None:
    names = defined(expanded(TEMPLATES[template], set(), {"pulling": pull}))
    assert names
    assert [name for name, ways in names.items() if len(ways) > 1] == []
