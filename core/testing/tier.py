"""``pytest -p suricate.testing.tier --tier=quick``: what shows most faults of a kit, within a minute a class.

For packages with plugins, whose ``pyproject.toml`` may name it once: ``addopts = "-p suricate.testing.tier"``. Without
``--tier`` all tests of a kit run. Quick, an algorithm is tested on one backend, that of highest priority in its kit, on
four kinds of graphs, or two where a test shows few faults, and with its first parameter set, others where it shows
many; a backend is tested without weights and, where a test is short, with one type of weights. Other tests always run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from suricate.testing.algorithms import OTHER_WEIGHTS, AlgorithmConformance
from suricate.testing.stores import StoreConformance

TELLING = ("test_every_change", "test_update")  #: of the kit of algorithms, what shows most faults
LONG = (
    "test_batch_sizes", "test_hub", "test_ids_beyond_16_bits", "test_large_batches", "test_memory_is_what_is_held",
    "test_memory_limit", "test_one_edge_at_a_time", "test_operations_at_the_limit", "test_peak_is_below_the_limit",
    "test_repeated_batches_after_mark",
)  #: of the kit of backends, half of its time  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--tier``."""
    group = parser.getgroup("suricate")
    group.addoption("--tier", choices=("quick", "all"), default="all", help="tests of conformance kits (default: all)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not quick, if the quick tests are wanted."""
    left_out = [item for item in items if config.option.tier == "quick" and not is_quick(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test is of no kit, or is one of the quick tests of its kit."""
    kind = getattr(item, "cls", None)
    given = item.callspec.params if hasattr(item, "callspec") else {}
    name = getattr(item, "originalname", item.name)
    if isinstance(kind, type) and issubclass(kind, AlgorithmConformance):
        return _is_quick_of_algorithm(kind(), name, given)
    if isinstance(kind, type) and issubclass(kind, StoreConformance) and "weight_dtype" in given:
        return given["weight_dtype"] in kind.weight_dtypes[: 1 if name in LONG else 2]
    return True


def _is_quick_of_algorithm(kit: AlgorithmConformance, name: str, given: dict[str, Any]) -> bool:
    backend = max(kit.backend_classes(), key=lambda cls: cls.priority)
    kinds = _first_of_each(kit.variants(), lambda kind: (kind.directed, kind.weight_dtype is None))
    if name not in TELLING:
        kinds = _first_of_each(kinds, lambda kind: kind.directed)
    others = [kind for kind in OTHER_WEIGHTS if kit.lacks(kind) is None]
    return (
        given.get("backend", backend) is backend
        and ("variant" not in given or given["variant"] in kinds)
        and ("weighted" not in given or given["weighted"] in others[:1])
        and ("params" not in given or name in TELLING or given["params"] == kit.params[0])
    )


def _first_of_each(values: Sequence[Any], key: Callable[[Any], object]) -> list[Any]:
    return list({key(value): value for value in reversed(values)}.values())[::-1]
