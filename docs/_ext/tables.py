"""Tables of the reference, made from what is installed: algorithms, error classes, commands, functions of NetworkX."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

import click
import networkx_table

from suricate import errors as public_errors
from suricate import plugins
from suricate.cli import cli
from suricate.networkx import backend
from suricate.networkx.info import offered


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        lines += [f"   {'* -' if number == 0 else '  -'} {cell}" for number, cell in enumerate(row)]
    return "\n".join(lines)


def first_line(value: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


def algorithms() -> str:
    """Return the table of the algorithms that come along."""
    rows = []
    for name, kind in sorted(plugins.algorithms().items()):
        if kind.__module__.startswith("suricate.algorithms."):
            parameters = ", ".join(f"``{parameter}``" for parameter in inspect.signature(kind).parameters)
            rows.append((f":doc:`{name} <algorithms/{name}>`", first_line(kind), parameters, str(kind.update_kind)))
    return table(("name", "computes", "parameters", "after a batch"), rows)


def errors() -> str:
    """Return the table of the exceptions: which is raised when, and what it is derived from."""
    rows = []
    for name in public_errors.__all__:
        value = getattr(public_errors, name)
        if isinstance(value, type):
            bases = ", ".join(f"``{base.__name__}``" for base in value.__bases__)
            rows.append((f":py:exc:`~suricate.errors.{name}`", first_line(value), bases))
    return table(("error", "raised when", "is a"), rows)


def options(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield each parameter of a command, as it is typed, and its help."""
    context = click.Context(command)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield f"``{record[0]}``", " ".join(record[1].split()).replace("*", r"\*").replace("|", r"\|")


def commands() -> str:
    """Return a section per command, its usage, text and options, as ``--help`` has them."""
    parts = []
    for name, command in sorted({**cli.commands, **plugins.commands()}.items()):
        context = click.Context(command, info_name=f"suricate {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"suricate {name}\n{'-' * (len(name) + 9)}")
        parts.append(f".. code-block:: text\n\n   suricate {name} {usage}")
        parts.append(inspect.cleandoc(command.help or "").replace("\b\n", ""))
        parts.append(table(("option", ""), options(command)))
    return "\n\n".join(parts)


def networkx_functions() -> str:
    """Return the table of the functions that suricate serves to NetworkX."""
    rows = []
    for name in sorted(offered()):
        function = getattr(backend, name)
        served = ", ".join(f":doc:`{algorithm} <algorithms/{algorithm}>`" for algorithm in function.algorithms)
        rows.append((f"``{name}``", served or "none", networkx_table.GRAPHS[function.directed], function.cost))
    return table(("function", "algorithm", "graphs", "cost"), rows)
