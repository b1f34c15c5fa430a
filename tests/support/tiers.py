"""Which tests run: tiers, turns of backends, plain Python, and shares of the rest (CONTRIBUTING.md explains their use).

A test of several backends runs in the quick tier on the default backend and on one other, which a stable hash of its
file's name picks, so that all of them are seen over the suite, and tests of a file share what is compiled. Tests marked
``slow`` are left out of the quick tier, those marked ``soak`` of all but their own.

Under ``NUMBA_DISABLE_JIT=1`` nothing is compiled: the tests of small graphs run as plain Python, those in
``PLAIN_FOLDERS`` and those marked ``plain``, without those marked ``compiled`` or ``data``. ``--compiled-part`` is the
other part of the quick tier: all other tests, and each of these once, on the default backend.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import pytest
from numba import config as numba_config

PLAIN = bool(numba_config.DISABLE_JIT)  #: loops run as plain Python
PLAIN_FOLDERS = ("tests/algorithms/", "tests/core/operators/")
COMPILED_FILES = tuple(  #: of these folders: of large graphs, of several threads, about compilation
    f"tests/{name}.py"
    for name in (
        "algorithms/test_update_costs", "core/operators/test_intersect_everything", "core/operators/test_modes_of_hubs",
        "core/operators/test_operator_cores", "core/operators/test_operator_memory",
        "core/operators/test_operator_programs", "core/operators/test_operator_threads",
        "core/operators/test_reading_ahead",
    )
)  # fmt: skip
DEFAULT = "slabhash"
TURNS = ("blocked", "csr_baseline", "gpma", "hornet_like")
SHARES = 12  #: parts of what the quick tier leaves out; a commit picks one


def add_options(parser: pytest.Parser) -> None:
    """Add the options to pytest."""
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=("quick", "all", "soak"), default="quick", help="which tests (default: quick)")
    group.addoption("--share-of", metavar="COMMIT", help=f"one of {SHARES} parts of what the quick tier leaves out")
    group.addoption("--compiled-part", action="store_true", help="leave out what NUMBA_DISABLE_JIT=1 runs")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the items that are not to run."""
    kept = set(map(id, _selected(config, items)))
    left_out = [item for item in items if id(item) not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if id(item) in kept]


def may_be_empty(config: pytest.Config) -> bool:
    """Return whether it is no error that no test was left: they run in another part."""
    return PLAIN or config.option.compiled_part or config.option.share_of is not None or config.option.tier == "soak"


def _selected(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    tier, commit = config.option.tier, config.option.share_of
    if tier == "soak":
        return [item for item in items if item.get_closest_marker("soak")]
    named = any("::" in argument for argument in config.args)
    items = [item for item in items if named or not item.get_closest_marker("soak")]
    if commit is not None:
        quick = set(map(id, quick_items(items)))
        turn = stable_hash(commit) % SHARES
        return [item for item in items if id(item) not in quick and stable_hash(_unit(item)) % SHARES == turn]
    if tier == "all" or named:
        return items
    items = quick_items(items)
    if PLAIN:
        return [item for item in items if _is_plain(item)]
    if config.option.compiled_part:
        return [item for item in items if not _is_plain(item)] + _once(filter(_is_plain, items))
    return items


# -- what a test is ----------------------------------------------------------------------------------------------------


def stable_hash(text: str) -> int:
    """Return the same number for a text in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def backend_of(item: pytest.Item) -> str | None:
    """Return the name of the built-in backend that a test is for, if it is for one."""
    value = _params(item).get("backend")
    name = value if isinstance(value, str) else getattr(value, "name", None)
    return name if name in (DEFAULT, *TURNS) else None


def _params(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _unit(item: pytest.Item) -> str:
    """Return what a test shares compiled code with: those of its file on its backend."""
    return f"{_file(item)} {backend_of(item)}"


def _is_slow(item: pytest.Item) -> bool:
    """Return whether a test is left out of the quick tier; of the kits, what ``make compile-cuda`` does as well."""
    is_compilation = "::test_cuda_sources_compile[" in item.nodeid and item.nodeid.startswith("tests/backends/test_")
    return is_compilation or item.get_closest_marker("slow") is not None


def _is_plain(item: pytest.Item) -> bool:
    apart = any(item.get_closest_marker(name) for name in ("compiled", "data", "gpu"))
    in_folder = item.nodeid.startswith(PLAIN_FOLDERS) and not item.nodeid.startswith(COMPILED_FILES)
    small = in_folder or item.get_closest_marker("plain")
    return bool(small) and not apart


def _by_function(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the items in groups that differ in their parameters only, those on CUDA apart."""
    groups: dict[tuple[str, bool], list[pytest.Item]] = {}
    for item in items:
        key = item.nodeid.partition("[")[0], item.get_closest_marker("gpu") is not None
        groups.setdefault(key, []).append(item)
    return list(groups.values())


# -- the quick tier ----------------------------------------------------------------------------------------------------


def quick_items(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests of the quick tier."""
    quick = (item for item in items if not _is_slow(item))
    return [item for group in _by_function(quick) for item in _few_on_gpu(_in_turn(group))]


def _in_turn(group: list[pytest.Item]) -> list[pytest.Item]:
    """Return what of a test is for no backend, for the default one, and for the one whose turn it is in this file."""
    present = {backend_of(item) for item in group}
    others = [name for name in TURNS if name in present]
    if not others or group[0].get_closest_marker("every_backend"):
        return group
    turn = others[stable_hash(_file(group[0])) % len(others)]
    return [item for item in group if backend_of(item) in (None, DEFAULT, turn)]


def _few_on_gpu(group: list[pytest.Item]) -> list[pytest.Item]:
    """Return what runs of a test of a kit of algorithms on CUDA, where nothing is plain Python; other tests whole.

    That is every kind of graph on the default backend with the first set of parameters, and one kind, in turn, with
    each other set and on each other backend.
    """
    if not (group[0].get_closest_marker("gpu") and {"variant", "params"} <= _params(group[0]).keys()):
        return group
    first = str(_params(group[0])["params"])
    few: list[pytest.Item] = []
    rest: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in group:
        backend, params = backend_of(item), str(_params(item)["params"])
        if (backend, params) == (DEFAULT, first):
            few.append(item)
        elif backend == DEFAULT or params == first:
            rest.setdefault((str(_params(item).get("backend")), params), []).append(item)
    return few + [kinds[stable_hash(kinds[0].nodeid) % len(kinds)] for kinds in rest.values()]


def _once(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return one instance of each test, on the default backend; tests of a class have the same parameters."""
    once = []
    for group in _by_function(items):
        able = [item for item in group if backend_of(item) in (None, DEFAULT)] or group
        once.append(able[stable_hash(group[0].nodeid.partition("[")[0].rpartition("::")[0]) % len(able)])
    return once
