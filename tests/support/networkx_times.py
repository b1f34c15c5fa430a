"""Measure functions of NetworkX beside the same ones here, on random graphs of growing size, in processor time.

Prints a table: the time that NetworkX takes on the largest graph, here on a converted graph, and here with the
conversion; and the smallest graphs on which a call wins, with and without the conversion. Everything is compiled
before; results are decoded to the end.

    .venv/bin/python tests/support/networkx_times.py [function ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import networkx as nx

from suricate.networkx import backend
from suricate.networkx.info import offered

SIZES = (1_000, 10_000, 100_000)  #: edges, ten per node
LONGEST = 0.1  #: seconds after which no larger graph is tried
REPEATS = 3


@cache
def graph_of(edges: int, kind: str) -> Any:
    """A random graph."""
    directed = kind in ("both", "directed")
    graph = nx.gnm_random_graph(max(edges // 10, 12), edges, seed=1, directed=directed)
    graph = nx.relabel_nodes(graph, {node: f"n{node}" for node in graph})
    graph.add_node("isolated")
    if kind == "connected":
        graph.remove_node("isolated")
        nx.add_cycle(graph, list(graph))
    for count, (_, _, data) in enumerate(graph.edges(data=True)):
        data["cost"] = 1 + count % 4
    return graph


def consumed(answer: Any) -> Any:
    """Read an answer to its end."""
    if isinstance(answer, Iterator):
        return [consumed(part) for part in answer]
    if isinstance(answer, tuple):
        return tuple(map(consumed, answer))
    return dict(answer) if isinstance(answer, Mapping) else answer


def seconds(call: Any) -> float:
    """The processor time of a call, the least of some."""
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        consumed(call())
        best = min(best, time.process_time() - begin)
        if best > LONGEST / REPEATS:
            break
    return best


def times(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], graph: Any) -> tuple[float, float, float]:
    """Of NetworkX, of a converted graph, and with the conversion."""
    function, preserved = getattr(nx, name, None) or getattr(nx.community, name), name.startswith("k_")
    attributes = {} if preserved else {"cost": 1, "weight": 1}

    def converted() -> Any:
        return backend.convert_from_nx(graph, attributes, preserve_edge_attrs=preserved, preserve_node_attrs=preserved)

    graphs = [converted() for _ in range(REPEATS + 1)]
    consumed(function(graphs.pop(), *args, **kwargs))
    here = seconds(lambda: function(graphs.pop(), *args, **kwargs))
    kept, graph.__networkx_cache__ = graph.__networkx_cache__, None
    first = seconds(lambda: function(graph, *args, **kwargs, backend="suricate"))
    graph.__networkx_cache__ = kept
    return seconds(lambda: function(graph, *args, **kwargs)), here, first


def row(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: str) -> str:
    """The row of a function."""
    wins: list[int | None] = [None, None]
    for edges in SIZES:
        there, *ours = measured = times(name, args, kwargs, graph_of(edges, kind))
        wins = [
            None if mine > there else edges if least is None else least for least, mine in zip(wins, ours, strict=True)
        ]
        if max(measured) > LONGEST:
            break
    shown = [f"{1000 * found:,.3g}" for found in measured]
    return (
        f"| `{name}` | {edges:,} | {' | '.join(shown)} | {' | '.join('-' if w is None else f'{w:,}' for w in wins)} |"
    )


def main() -> None:
    """Print the rows of the functions named, or of all."""
    from networkx_calls import CALLS, DRAWN

    wanted = sys.argv[1:] or [name for name in offered() if "copies" not in offered()[name].value]
    calls = {name: ((), {}, "undirected") for name in DRAWN}
    for call in reversed(CALLS):
        calls[call.name] = call.args, call.kwargs, call.kind
    print("| function | edges | NetworkX, ms | here, ms | with conversion, ms | wins from | with conversion from |")
    print("|---|---|---|---|---|---|---|")
    for name in wanted:
        print(row(name, *calls[name]), flush=True)


if __name__ == "__main__":
    main()
