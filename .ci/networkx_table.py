"""Print the table of docs/networkx.md: the functions that installed packages offer to NetworkX."""

from __future__ import annotations

import warnings

from suricate.networkx import backend
from suricate.networkx.arguments import absent, named
from suricate.networkx.functions import Served
from suricate.networkx.info import offered

GRAPHS = {True: "directed", False: "undirected", None: "both"}
WORDS = {named: "a function", absent: "other than None"}


def row(function: Served) -> str:
    """The row of a function."""
    limits = [f"`{name}`: {WORDS.get(limit, 'some values')}" for name, limit in function.limits.items()]
    algorithms = ", ".join(f"`{name}`" for name in function.algorithms) or "none"
    cost = function.cost
    if function.part:
        cost += f"; local with {' and '.join(f'`{name}`' for name in function.part)}"
    cells = (f"`{function.__name__}`", algorithms, GRAPHS[function.directed], cost, "; ".join(limits))
    return f"| {' | '.join((*cells, function.note))} |"


def main() -> None:
    """Print a table by algorithms."""
    warnings.simplefilter("error")
    found = [getattr(backend, name) for name in offered()]
    print("| function | algorithm | graphs | cost | not served | differences |")
    print("|---|---|---|---|---|---|")
    for function in sorted(found, key=lambda function: (function.algorithms[:1], function.__name__)):
        print(row(function))


if __name__ == "__main__":
    main()
