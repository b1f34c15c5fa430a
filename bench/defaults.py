"""What is measured and compared unless the command line says otherwise, read from ``data/defaults.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple


class Suite(NamedTuple):
    """The settings of a suite, from ``data/defaults.toml``.

    Attributes:
        in_all: whether ``--suite all`` includes it.
        graphs: specifications of the graphs that it is measured on; None: all real ones.
        edges_per_vertex: of the uniform stream that it draws in pieces, see ``suricate.bench.drawn``; 0: it draws none.
        on_cuda: specifications of further graphs, for runs on a GPU.
        quick: specifications of the graphs of a short run.
        algorithms: those that it measures, with parameters by name; empty: those that join it.
        weighted: those of them whose graphs have weights.
        temporal: whether it is also measured on the temporal graphs present here; in a short run on the bundled one.
    """

    in_all: bool
    graphs: tuple[str, ...] | None
    edges_per_vertex: int = 0
    on_cuda: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    temporal: bool = False
    algorithms: Mapping[str, dict[str, Any]] = MappingProxyType({})
    weighted: tuple[str, ...] = ()


_data = tomllib.loads((Path(__file__).parent / "data" / "defaults.toml").read_text())

BASELINE: str = _data["report"]["baseline"]  #: the backend that tables of ratios compare with
COLOURS: dict[str, str] = _data["report"]["colours"]  #: of backends, ``"#rrggbb"``
SUITES = {
    name: Suite(
        suite["all"],
        None if suite["graphs"] == "real" else tuple(suite["graphs"]),
        suite.get("edges_per_vertex", 0),
        tuple(suite.get("on_cuda", ())),
        tuple(suite.get("quick", ())),
        suite.get("temporal", False),
        suite.get("algorithms", {}),
        tuple(suite.get("weighted", ())),
    )
    for name, suite in _data["suites"].items()
}
KERNELS = tuple(name for name, suite in SUITES.items() if suite.algorithms)  #: suites of algorithms from scratch
ALL = tuple(name for name, suite in SUITES.items() if suite.in_all)
