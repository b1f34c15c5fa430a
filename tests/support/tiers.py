"""Which tests run: tiers, turns of backends, plain Python, and shares of the rest (CONTRIBUTING.md explains their use).

A test of several backends runs in the quick tier on the default backend and on one other, which a stable hash of its
file's name picks, so that all of them are seen over the suite, and tests of a file share what is compiled. Kits of
algorithms and tests on CUDA run with fewer sets of parameters. Tests marked ``slow`` are left out of the quick tier,
those marked ``soak`` of all but their own.

Under ``NUMBA_DISABLE_JIT=1`` nothing is compiled: the tests of small graphs run as plain Python, those in
``PLAIN_FOLDERS`` and those marked ``plain``, without those marked ``compiled`` or of real graphs. ``--compiled-part``
is the other part of the quick tier: all tests that are not marked ``plain``, those in ``PLAIN_FOLDERS`` once, on the
default backend. Of the algorithms that is their kit, without other types of weights.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest
from numba import config as numba_config

PLAIN = bool(numba_config.DISABLE_JIT)  #: loops run as plain Python
PLAIN_FOLDERS = ("tests/algorithms/", "tests/core/operators/")
DEFAULT = "slabhash"
TURNS = ("blocked", "csr_baseline", "gpma", "hornet_like")
TELLING = ("test_every_change", "test_update")  #: of the kit of algorithms, what shows most faults
LONG = (
    "test_one_edge_at_a_time",
    "test_failing_allocations",
    "test_hub",
    "test_extrapolated_steps_are_few_where_changes_fade_slowly",
)  #: on CUDA, for their hundreds of small calls
HEAVY = (
    "test_batch_sizes",
    "test_ids_beyond_16_bits",
    "test_large_batches",
    "test_memory_is_what_is_held",
    "test_memory_limit",
    "test_one_edge_at_a_time",
    "test_operations_at_the_limit",
    "test_peak_is_below_the_limit",
    "test_repeated_batches_after_mark",
)  #: of the kit of backends on the CPU: half of its time, most of which goes to the model
SLOW = ("test_same_answer_everywhere",)  #: of the kits: it compiles an algorithm for every backend
FIRST = (  #: what takes longest, and is not to begin when other workers have nothing left to do
    "test_all_cells_are_those_of_pandas", "test_by_operators",
    "test_components_with_deleted_vertices_and_of_processes_that_own_nothing",
    "test_cuda_does_the_same", "test_extrapolated_steps_are_given_up_where_they_do_not_pay",
    "test_local_methods_compute_what_a_change_affects", "test_nothing_compiles_after_warming_up",
    "test_numbers_of_paths_beyond_the_range_of_floats",
    "test_one_edge_at_a_time", "test_processes_of_mpi_have_the_answers_of_one",
    "test_results_on_cuda_are_those_of_one_process", "test_searches_on_cuda_are_those_of_one_graph",
    "test_threads_with_streams_of_their_own",
)  # fmt: skip
APART = ("test_all_cells_are_those_of_pandas",)  #: of which each set of parameters takes minutes
PRUNED = pytest.StashKey[dict[str, set[str]]]()  #: names of the tests of functions whose parameters prune() has seen
SHARES = 48  #: parts of what the quick tier leaves out, or does not compile; a commit picks one


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


def checks_indices(item: pytest.Item) -> bool:
    """Return whether the kit of algorithms checks indices: where it is compiled once more, it does without.

    Every function would be compiled twice, and in plain Python indices are checked.
    """
    return not (_is_of_kit(item) and _is_plain(item) and item.config.option.compiled_part)


def long_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the items in the order in which each worker's part, an equal range, begins with its share of long ones."""
    long = [item for item in items if _function(item) in FIRST]
    rest = iter([item for item in items if _function(item) not in FIRST])
    found: list[pytest.Item] = []
    for worker in range(workers):
        found += long[worker::workers]
        found += islice(rest, max(0, len(items) * (worker + 1) // workers - len(found)))
    return found


def is_left_out(config: pytest.Config, path: Path) -> bool:
    """Return whether no test of a file is to run, as its text shows: all are on CUDA, or none of it is plain Python."""
    if path.suffix != ".py":
        return False
    if config.option.markexpr == "not gpu" and re.search(r"(?m)^pytestmark = .*mark\.gpu\b", path.read_text()):
        return True
    if not PLAIN or config.option.tier != "quick" or config.option.share_of is not None:
        return False
    if path.relative_to(config.rootpath).as_posix().startswith(PLAIN_FOLDERS):
        return re.search(r"(?m)^pytestmark = .*mark\.compiled\b", path.read_text()) is not None
    return "mark.plain" not in path.read_text()


def prune(metafunc: pytest.Metafunc) -> None:
    """Drop the sets of parameters that are not to run, before pytest makes tests of them: of the quick tier, most.

    ``-m`` leaves out half of all, which are on CUDA or not, and the tier most of the rest. One is kept if none would be
    left, since a test without parameters would take its place; ``select`` leaves it out.
    """
    config, definition, calls = metafunc.config, metafunc.definition, metafunc._calls
    wanted = {"gpu": True, "not gpu": False}.get(config.option.markexpr)
    if wanted is not None and not definition.get_closest_marker("gpu"):
        calls[:] = [call for call in calls if any(mark.name == "gpu" for mark in call.marks) is wanted] or calls[:1]
    if calls and _is_quick(config):
        marks = {mark.name: mark for mark in reversed([*definition.iter_markers()])}
        tests = [_Call(f"{definition.nodeid}[{call.id}]", call, marks) for call in calls]
        few = set(map(id, _of_quick_tier(config, cast("list[pytest.Item]", tests))))
        kept = [test for test in tests if id(test) in few]
        config.stash.setdefault(PRUNED, {})[definition.nodeid] = {test.nodeid for test in kept}
        calls[:] = [test.callspec for test in kept] or calls[:1]


def may_be_empty(config: pytest.Config) -> bool:
    """Return whether it is no error that no test was left: they run in another part."""
    return PLAIN or config.option.compiled_part or config.option.share_of is not None or config.option.tier == "soak"


def _selected(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    tier, commit = config.option.tier, config.option.share_of
    if tier == "soak":
        return [item for item in items if item.get_closest_marker("soak")]
    named = _are_named(config)
    items = [item for item in items if named or not item.get_closest_marker("soak")]
    if commit is not None:
        quick = {id(item) for item in quick_items(items) if not item.get_closest_marker("plain")}
        turn = stable_hash(commit) % SHARES
        return [item for item in items if id(item) not in quick and stable_hash(_unit(item)) % SHARES == turn]
    if tier == "all" or named:
        return items
    pruned = config.stash.get(PRUNED, {})
    rest = set(map(id, _of_quick_tier(config, [item for item in items if _base(item) not in pruned])))
    kept = [item for item in items if id(item) in rest or item.nodeid in pruned.get(_base(item), ())]
    return _with_few_long(kept)


def _is_quick(config: pytest.Config) -> bool:
    """Return whether the tests to run are those of the quick tier."""
    return config.option.tier == "quick" and config.option.share_of is None and not _are_named(config)


def _are_named(config: pytest.Config) -> bool:
    return any("::" in argument for argument in config.args)


def _of_quick_tier(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    items = [item for item in items if not item.get_closest_marker("soak")]
    plain, compiled = quick_parts(items)
    return plain if PLAIN else compiled if config.option.compiled_part else quick_items(items)


class _Call:
    """A test with parameters that pytest has not made yet, as far as the rules look at it."""

    def __init__(self, nodeid: str, callspec: Any, marks: dict[str, pytest.Mark]) -> None:
        self.nodeid, self.callspec = nodeid, callspec
        self._marks = marks | {mark.name: mark for mark in callspec.marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marks.get(name)


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


def _value(item: pytest.Item, name: str) -> str:
    return str(_params(item).get(name))


def _is_of_kit(item: pytest.Item) -> bool:
    """Return whether a test is of the kit of algorithms."""
    return "params" in _params(item) and not {"variant", "weighted"}.isdisjoint(_params(item))


def _weight_of(item: pytest.Item) -> str | None:
    """Return the weights of the graph, of a test of the kit of algorithms."""
    kind = _params(item).get("variant") or _params(item).get("weighted")
    return getattr(kind, "weight_dtype", None)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _base(item: pytest.Item) -> str:
    """Return the name of a test without its parameters."""
    return item.nodeid.partition("[")[0]


def _class(item: pytest.Item) -> str:
    return _base(item).rpartition("::")[0]


def _function(item: pytest.Item) -> str:
    return _base(item).rpartition("::")[2]


def _on_default(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if backend_of(item) in (None, DEFAULT)]


def _on_others(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if backend_of(item) not in (None, DEFAULT)]


def _is_on_default(item: pytest.Item) -> bool:
    """Return whether a test is on the default backend, and not on another one, built in or not."""
    return "backend" not in _params(item) or backend_of(item) == DEFAULT


def _unit(item: pytest.Item) -> str:
    """Return what runs together: the sets of parameters of a test on a backend, which share most compiled code."""
    return item.nodeid if _function(item) in APART else f"{_base(item)} {backend_of(item)}"


def _is_slow(item: pytest.Item) -> bool:
    """Return whether a test is left out of the quick tier; of the kits, what ``make compile-cuda`` does as well."""
    is_compilation = "::test_cuda_sources_compile[" in item.nodeid and item.nodeid.startswith("tests/backends/")
    return is_compilation or _function(item) in SLOW or item.get_closest_marker("slow") is not None


def _is_plain(item: pytest.Item) -> bool:
    apart = any(item.get_closest_marker(name) for name in ("compiled", "gpu")) or _is_of_real_graphs(item)
    return not apart and (item.nodeid.startswith(PLAIN_FOLDERS) or item.get_closest_marker("plain") is not None)


def _is_of_real_graphs(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("usefixtures")
    return mark is not None and "data_dir" in mark.args


def _by_function(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the items in groups that differ in their parameters only, those on CUDA or in plain Python apart."""
    groups: dict[tuple[str, bool, bool], list[pytest.Item]] = {}
    for item in items:
        key = _base(item), item.get_closest_marker("gpu") is not None, _is_plain(item)
        groups.setdefault(key, []).append(item)
    return list(groups.values())


# -- the quick tier ----------------------------------------------------------------------------------------------------


def quick_items(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests of the quick tier."""
    plain, compiled = quick_parts(items)
    return list({id(item): item for item in (*plain, *compiled)}.values())


def quick_parts(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests of the quick tier that run as plain Python, and those that run compiled."""
    plain, compiled = [], []
    for group in _by_function(_with_few_long([item for item in items if not _is_slow(item)])):
        kinds = _in_turn(group)
        few = _few(kinds)
        if _is_plain(group[0]):
            plain += few if _is_of_kit(group[0]) else _alternating(few)
            compiled += _compiled_once(kinds if _is_of_kit(group[0]) else few) if _is_compiled_too(group[0]) else []
        else:
            compiled += few
    return plain, compiled


def _is_compiled_too(item: pytest.Item) -> bool:
    """Return whether a test that runs as plain Python is compiled as well; of algorithms, that is the kit in one kind.

    Algorithms by operators are left to plain Python: what an operator makes of functions has tests of its own.
    """
    if item.get_closest_marker("plain"):
        return False
    if _is_of_kit(item):
        return "weighted" not in _params(item) and _function(item) != "test_by_operators"
    return not item.nodeid.startswith("tests/algorithms/")


def _compiled_once(group: list[pytest.Item]) -> list[pytest.Item]:
    """Return what is compiled of a test that runs as plain Python; of a kit without weights, if there are such graphs.

    So the tests of all algorithms share what stores compile.
    """
    items = _on_default(group) or group
    if _is_of_kit(group[0]):
        items = [item for item in items if _value(item, "params") == _value(items[0], "params")]
        items = [item for item in items if _weight_of(item) is None] or items
    return _one_of_each(items, _file)


def _with_few_long(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items; of long ones on CUDA, where workers wait for one device, one per file of a built-in store."""
    long = [item for item in items if item.get_closest_marker("gpu") and _function(item) in LONG]
    built_in = [item for item in long if not item.nodeid.startswith("tests/core/testing/")]
    kept = set(map(id, _one_of_each(built_in, lambda item: (_file(item), _function(item)))))
    left_out = set(map(id, long)) - kept
    return [item for item in items if id(item) not in left_out]


def _in_turn(group: list[pytest.Item]) -> list[pytest.Item]:
    """Return what of a test is for no backend, for the default one, and for the one whose turn it is in this file.

    Where the mark ``compiled`` keeps a test from plain Python, the default backend is enough on the CPU.
    """
    first, present = group[0], {backend_of(item) for item in group}
    others = [name for name in TURNS if name in present]
    if not others:
        return group
    turn = others[stable_hash(_file(first)) % len(others)]
    is_enough = first.get_closest_marker("compiled") and not first.get_closest_marker("gpu") and DEFAULT in present
    chosen = (None, DEFAULT) if is_enough else (None, DEFAULT, turn)
    return [item for item in group if backend_of(item) in chosen]


def _few(group: list[pytest.Item]) -> list[pytest.Item]:
    """Return what runs of a test of a kit of algorithms, and of a test on CUDA, where every backend compiles again.

    Of a kit, that is every kind of graph on the default backend with the first set of parameters. The tests of the kit
    that show most run with each other set and on the other backend, too, with one kind by turns. On the CPU the others
    have one directed and one undirected kind; on CUDA weights are of one type, by turns. Of tests that are of no kit,
    one is there on CUDA.
    """
    first, on_cuda = group[0], group[0].get_closest_marker("gpu") is not None
    if not _is_of_kit(first):
        group = _with_one_weight(group) if on_cuda or _function(first) in HEAVY else group
        others = _on_others(group)
        return _on_default(group) + (_one_of_each(others, backend_of) if on_cuda else others)
    main, rest = [], []
    for item in group:
        is_main = _is_on_default(item) and _value(item, "params") == _value(first, "params")
        (main if is_main else rest).append(item)
    rest = [item for item in rest if _function(item) in TELLING]
    if on_cuda:
        main = _one_of_each(main, lambda item: _weight_of(item) is not None or _value(item, "variant"))
        if _function(first) == "test_by_operators":  # twice the work of others, and most of these read no weights
            main = [item for item in main if _weight_of(item) is None] or main
    elif _function(first) not in TELLING:
        main = _one_of_each(main, lambda item: getattr(_params(item).get("variant"), "directed", item.nodeid))
    return main + _one_of_each(rest, lambda item: _is_on_default(item) and _value(item, "params"), others=True)


def _with_one_weight(group: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items without weights, and of those that differ in the type of their weights only, one by turns."""

    def key(item: pytest.Item) -> object:
        others = [(name, _value(item, name)) for name in sorted(_params(item)) if name != "weight_dtype"]
        is_one_of_six = _function(item) == "test_operations_at_the_limit"  # which take turns among themselves
        return _params(item).get("weight_dtype") is None and not is_one_of_six, others

    return _one_of_each(group, lambda item: repr(key(item)))


def _alternating(group: list[pytest.Item]) -> list[pytest.Item]:
    """Return, of each set of parameters, the item on one of the two backends, by turns."""
    default, others = _on_default(group), _on_others(group)
    if len(default) != len(others):
        return group
    turn = stable_hash(_base(default[0])) if default else 0
    return [pair[(turn + number) % 2] for number, pair in enumerate(zip(default, others, strict=True))]


def _one_of_each(
    items: Iterable[pytest.Item], key: Callable[[pytest.Item], object], *, others: bool = False
) -> list[pytest.Item]:
    """Return one of the items with each key, by turns.

    Tests of a class share what is compiled: they have the same parameters, of a kit the same kind of graph, where
    several have been chosen from; ``others``: each key has its own.
    """
    groups: dict[object, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    numbers = range(len(groups)) if others else [0] * len(groups)
    return [min(each, key=partial(_turn, number)) for number, each in zip(numbers, groups.values(), strict=True)]


def _turn(number: int, item: pytest.Item) -> int:
    kind = _params(item).get("variant") if _is_of_kit(item) else item.nodeid.partition("[")[2]
    return stable_hash(f"{_class(item)} {kind} {number}")
