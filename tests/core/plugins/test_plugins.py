"""The plugin manager: the hooks, selection, tracing, failures that are named and contained."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import click
import pytest
import queued_ranks
from patience import PATIENCE
from plugin_sites import python, with_plugins
from queued_ranks import Queued
from suricate_tutorial import TutorialStore

import suricate as su
import suricate.stream as st
from suricate import plugins
from suricate.base.devices import CPU, Device
from suricate.errors import CommunicationError, DeviceError, ParameterError, PluginError, UnknownNameError
from suricate.parallel import Comm, SelfComm, connect, using

EXAMPLE = Path(__file__).parents[3] / "examples" / "suricate-concentration"
PROJECT = EXAMPLE.parents[1] / "pyproject.toml"
BUILT_IN = set(tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["suricate"])


class Nothing(su.Algorithm):
    """An algorithm without a result."""

    name = "nothing"

    def compute(self, graph: su.Graph) -> None:
        pass

    @property
    def result(self) -> None:
        return None


@pytest.fixture
def registered() -> Iterator[list[str]]:
    """Names to unregister afterwards."""
    names: list[str] = []
    yield names
    for name in names:
        plugins.unregister(name)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with installed plugins, most of which fail."""
    return with_plugins(tmp_path)


STATE = """
from suricate import plugins
for plugin in plugins.installed():
    print(plugin.name, plugin.version, plugin.source, "+".join(plugin.hooks), plugin.error or "ok", sep="|")
print(sorted(plugins.backends()))
import suricate
assert suricate.Graph(2, device="cpu").backend == "slabhash" or "slabhash" not in plugins.backends()
"""


# -- built-ins and registration ----------------------------------------------------------------------------------------


def test_built_ins_come_through_the_entry_points() -> None:
    found = {plugin.name: plugin for plugin in plugins.installed()}
    assert set(found) >= BUILT_IN
    for name in BUILT_IN:
        assert found[name].error is None
        assert (found[name].source, found[name].version) == ("suricate", su.__version__)
    assert set(plugins.backends()) >= {"slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"}
    assert set(plugins.algorithms()) >= {"bfs", "pagerank"}
    assert set(plugins.commands()) >= {"demo", "bench"}
    assert plugins.backend("slabhash") is plugins.backends()["slabhash"]
    assert plugins.algorithm("bfs") is plugins.algorithms()["bfs"]


def test_suricate_backends_hook(registered: list[str]) -> None:
    module = ModuleType("my_backends")
    module.suricate_backends = su.hookimpl(lambda: [TutorialStore], specname="suricate_backends")  # type: ignore[attr-defined]
    registered.append(plugins.register(module))
    assert plugins.backends()["tutorial"] is TutorialStore
    graph = su.Graph(3, backend="tutorial", device="cpu")
    graph.insert_edges([0], [2])
    assert graph.store("out").name == "tutorial"


def test_suricate_algorithms_hook(registered: list[str]) -> None:
    registered.append(plugins.register(Nothing))
    with pytest.raises(UnknownNameError, match="no plugin 'nothing': 'nothing' came with 'Nothing'"):
        plugins.unregister("nothing")
    assert registered == ["Nothing"]
    assert plugins.algorithms()["nothing"] is Nothing
    assert plugins.installed()[-1].hooks == ("suricate_algorithms",)
    plugins.unregister(registered.pop())
    assert "nothing" not in plugins.algorithms()


def test_suricate_commands_hook(registered: list[str]) -> None:
    from click.testing import CliRunner

    from suricate.cli import cli

    command = click.Command("hello", callback=lambda: click.echo("hello, graph"), help="Greet.")
    plugin = type("Greeter", (), {"suricate_commands": staticmethod(su.hookimpl(lambda: [command]))})()
    registered.append(plugins.register(plugin))
    assert "Greet." in CliRunner().invoke(cli, ["--help"]).output
    assert CliRunner().invoke(cli, ["hello"]).output == "hello, graph\n"


def test_suricate_sources_hook(registered: list[str]) -> None:
    def three(start: int = 0) -> st.Source:
        """Return three events."""
        return st.source({"time": [start, start + 1, start + 2], "src": [0, 1, 2], "dst": [1, 2, 0]})

    plugin = type("Three", (), {"suricate_sources": staticmethod(su.hookimpl(lambda: [three]))})()
    registered.append(plugins.register(plugin))
    assert plugins.sources()["three"] is three is st.three
    assert [w.events for w in st.Window(st.three(start=5), size="3", slide="1", graph={"device": "cpu"})] == [1, 1, 1]
    plugins.unregister(registered.pop())
    with pytest.raises(AttributeError, match=r"module 'suricate\.stream' has no attribute 'three'"):
        st.three  # noqa: B018


def test_suricate_functions_hook(registered: list[str]) -> None:
    def newest(log: su.Events) -> int:
        """Return the time of the newest event."""
        return int(log.newest or 0)

    plugin = type("Newest", (), {"suricate_functions": staticmethod(su.hookimpl(lambda: [newest]))})()
    registered.append(plugins.register(plugin))
    log = su.Events(3, device="cpu")
    log.append([1, 7], [0, 1], [1, 2])
    assert su.newest(log) == 7  # type: ignore[attr-defined]
    plugins.unregister(registered.pop())
    with pytest.raises(AttributeError, match="module 'suricate' has no attribute 'newest'"):
        su.newest  # type: ignore[attr-defined]  # noqa: B018


def test_suricate_comms_hook(registered: list[str]) -> None:
    """A job that nothing has started is told how; one that was started goes on, but with no other comm."""
    module = ModuleType("queues")
    module.suricate_comms = su.hookimpl(lambda: [Queued], specname="suricate_comms")  # type: ignore[attr-defined]
    with pytest.raises(UnknownNameError, match=r"library='queued' is unknown: use one of 'auto', 'mpi', 'nccl'"):
        connect("queued")
    registered.append(plugins.register(module))
    assert plugins.comms()["queued"] is Queued
    with pytest.raises(CommunicationError, match=r"start the job by queued_ranks\.run\(job, ranks\)"):
        connect("queued")

    def job(comm: Comm) -> list[str]:
        assert connect() is connect("queued") is comm
        with pytest.raises(
            ParameterError, match=r"connect\('mpi'\): this job was started with 'queued': write connect"
        ):
            connect("mpi")
        with pytest.raises(ParameterError, match="comm must be a Comm, got 'self'"), using("self"):  # type: ignore[arg-type]
            pass
        with using(SelfComm()) as inner:
            assert connect() is inner
        assert connect() is comm
        return [Queued.name]

    assert queued_ranks.run(job, 2) == [["queued"]] * 2


@pytest.mark.filterwarnings("ignore:suricate plugin")
@pytest.mark.parametrize(
    ("comm", "said"),
    [
        (
            type("Mine", (SelfComm,), {"name": "mine"}),
            r"Mine has no class method join\(\), which connect\('mine'\) calls",
        ),
        (type("Nccl", (Queued,), {"name": "nccl"}), "Nccl.name is 'nccl': auto, mpi, nccl are taken"),
        (type("Half", (Comm,), {"name": "half"}), "Half, which lacks abort, gather"),
        (type("Anon", (Queued,), {"name": ""}), "Anon.name is ''"),
        (SelfComm(), "which is no subclass of Comm"),
    ],
)
def test_comms_that_cannot_be_joined_are_refused(comm: object, said: str) -> None:
    module = ModuleType("odd_comm")
    module.suricate_comms = su.hookimpl(lambda: [comm], specname="suricate_comms")  # type: ignore[attr-defined]
    with pytest.raises(PluginError, match=said):
        plugins.register(module)


def test_brokers_are_sources_of_plugins() -> None:
    assert {"kafka", "redis"} <= plugins.sources().keys()
    assert st.kafka is plugins.sources()["kafka"]
    loaded = python("import suricate.stream as st, sys; st.kafka; print(*sys.modules)").stdout.split()
    assert "suricate.sources" in loaded
    assert not {"confluent_kafka", "redis", "suricate.io.sources.source"} & {*loaded}


@pytest.mark.filterwarnings("ignore:suricate plugin")
@pytest.mark.parametrize(
    "source", [5, lambda: None, type("Nameless", (), {"__call__": len})()], ids=["number", "lambda", "object"]
)
def test_sources_without_a_name_are_refused(source: object) -> None:
    module = ModuleType("odd")
    module.suricate_sources = su.hookimpl(lambda: [source], specname="suricate_sources")  # type: ignore[attr-defined]
    with pytest.raises(PluginError, match="which is no function with a name"):
        plugins.register(module)


def test_results_are_copies() -> None:
    plugins.backends().clear()
    assert plugins.backends()


@pytest.mark.filterwarnings("ignore:suricate plugin")
def test_a_taken_name_is_refused_and_nothing_changes() -> None:
    class Impostor(Nothing):
        name = "bfs"

    before = (plugins.algorithms(), len(plugins.installed()))
    with pytest.raises(PluginError, match=r"'bfs'.*plugin 'bfs' has taken"):
        plugins.register(Impostor)
    assert (plugins.algorithms(), len(plugins.installed())) == before
    with pytest.raises(PluginError, match="is there already"):
        plugins.register(Nothing, name="bfs")


@pytest.mark.filterwarnings("ignore:suricate plugin")
@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        (SimpleNamespace(x=1), "implements nothing"),
        (su.Algorithm, "lacks compute, result"),
        (type("Nameless", (Nothing,), {"name": ""}), r"Nameless\.name is '': expected text of letters"),
    ],
    ids=["no hook", "abstract", "nameless"],
)
def test_unusable_plugins_are_refused(plugin: object, reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        plugins.register(plugin, name="unusable")
    assert "unusable" not in {plugin.name for plugin in plugins.installed()}


def backend_with(**attributes: object) -> type[TutorialStore]:
    return type("Liar", (TutorialStore,), {"name": "liar", **attributes})


def algorithm_with(**attributes: object) -> type[Nothing]:
    return type("Liar", (Nothing,), {"name": "liar", **attributes})


def lacks_hints(self: object, num_vertices: int, *, device: object, weight_dtype: object, memory_limit: object) -> None:
    """The constructor of a backend that takes no degree hints."""


def wants_more(self: object, num_vertices: int, slab_bytes: int, **options: object) -> None:
    """The constructor of a backend that needs an option."""


LIARS = {
    "priority text": (lambda: backend_with(priority="high"), r"Liar\.priority is 'high': expected an int"),
    "priority bool": (lambda: backend_with(priority=True), r"Liar\.priority is True"),
    "priority NaN": (lambda: backend_with(priority=float("nan")), r"Liar\.priority is nan"),
    "devices text": (lambda: backend_with(devices="cpu"), r"Liar\.devices is 'cpu': expected a tuple"),
    "devices unknown": (lambda: backend_with(devices=("cpu", "tpu")), r"expected some of cpu, cuda"),
    "devices unhashable": (lambda: backend_with(devices=("cpu", [])), r"unhashable"),
    "no devices": (lambda: backend_with(devices=()), r"expected some of cpu, cuda"),
    "guarded": (lambda: backend_with(guarded="yes"), r"Liar\.guarded is 'yes': expected a bool"),
    "knobs": (lambda: backend_with(knobs=[("slab", 1)]), r"Liar\.knobs is .*: expected a dict"),
    "knob values": (lambda: backend_with(knobs={"slab": 1}), r"a tuple of values each"),
    "name number": (lambda: backend_with(name=5), r"Liar\.name is 5: expected text"),
    "name with blanks": (lambda: backend_with(name="my backend"), r"Liar\.name is 'my backend': expected text"),
    "missing keyword": (lambda: backend_with(__init__=lacks_hints), r"cannot be built.*degree_hints"),
    "extra argument": (lambda: backend_with(__init__=wants_more), r"cannot be built.*slab_bytes"),
    "insert": (lambda: backend_with(insert=TutorialStore.find), r"insert cannot be called with \(src, dst"),
    "edges": (lambda: backend_with(edges=TutorialStore.find), r"edges cannot be called with \(\)"),
    "requires text": (lambda: algorithm_with(requires="weights"), r"Liar\.requires is 'weights'"),
    "requires wrong": (lambda: algorithm_with(requires=su.Requirements(weighted="yes")), r"weighted is 'yes'"),
    "requires None": (lambda: algorithm_with(requires=su.Requirements(in_edges=None)), r"requires\.in_edges is None"),
    "update kind": (lambda: algorithm_with(update_kind="fast"), r"update_kind is 'fast': expected one of dynamic"),
    "name None": (lambda: algorithm_with(name=None), r"Liar\.name is None: expected text"),
}


@pytest.mark.filterwarnings("ignore:suricate plugin")
@pytest.mark.parametrize(("make", "reason"), LIARS.values(), ids=LIARS)
def test_plugins_with_wrong_attributes_are_refused(make: Callable[[], type], reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        plugins.register(make(), name="liar")
    assert su.Graph(2, device="cpu").store("out").name == "slabhash"
    assert "liar" not in {plugin.name for plugin in plugins.installed()}


class Hostile:
    """A plugin object that compares equal to everything, cannot be hashed, and whose error has no text."""

    __hash__ = None  # type: ignore[assignment]

    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        return True

    @su.hookimpl
    def suricate_algorithms(self) -> list[type]:
        raise self.UnprintableError


@pytest.mark.filterwarnings("ignore:suricate plugin")
def test_a_hostile_plugin_object_harms_nobody() -> None:
    with pytest.raises(PluginError, match="its message cannot be shown"):
        plugins.register(Hostile(), name="hostile")
    plugins.register(Nothing)
    plugins.unregister("Nothing")


@pytest.mark.filterwarnings("ignore:suricate plugin")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "returned None, which is no list"),
        (Nothing, "which is no list"),
        ("ab", "which is no list"),
        ([Nothing, algorithm_with(name="nothing")], "the name 'nothing' twice"),
        ([Nothing, 5], "returned 5, which is no subclass of Algorithm"),
    ],
    ids=["None", "a class", "text", "one name twice", "one good one bad"],
)
def test_answers_that_are_no_lists_of_classes(answer: object, reason: str) -> None:
    module = ModuleType("odd")
    module.suricate_algorithms = su.hookimpl(lambda: answer, specname="suricate_algorithms")  # type: ignore[attr-defined]
    with pytest.raises(PluginError, match=reason):
        plugins.register(module)
    assert "nothing" not in plugins.algorithms()


@pytest.mark.filterwarnings("ignore:suricate plugin")
@pytest.mark.parametrize(
    "command", [click.Command(None), click.Command("two words"), len, click.Command("x", short_help=5)], ids=repr
)
def test_commands_that_would_break_the_help_are_refused(command: object) -> None:
    module = ModuleType("odd")
    module.suricate_commands = su.hookimpl(lambda: [command], specname="suricate_commands")  # type: ignore[attr-defined]
    with pytest.raises(PluginError):
        plugins.register(module)


def test_two_functions_of_one_hook(registered: list[str]) -> None:
    module = ModuleType("two")
    for name, kind in {"first": Nothing, "second": algorithm_with(name="second")}.items():
        setattr(module, name, su.hookimpl(lambda kind=kind: [kind], specname="suricate_algorithms"))
    registered.append(plugins.register(module))
    assert {"nothing", "second"} <= set(plugins.algorithms())


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match=r"no backend 'nope' is installed \(there are: .*slabhash"):
        plugins.backend("nope")
    with pytest.raises(UnknownNameError, match="pagerank"):
        plugins.algorithm("nope")
    for wrong in (["bfs"], {}, 3, None):
        with pytest.raises(ParameterError, match="algorithm must be a name or a class, got"):
            plugins.algorithm(wrong)
    with pytest.raises(UnknownNameError, match="no plugin 'nope'"):
        plugins.unregister("nope")


def test_default_backend(monkeypatch: pytest.MonkeyPatch, registered: list[str]) -> None:
    assert plugins.default_backend(CPU).name == "slabhash"
    urgent = type("Urgent", (TutorialStore,), {"name": "urgent", "priority": 1000, "devices": ("cuda",)})
    registered.append(plugins.register(urgent))
    assert plugins.default_backend(CPU).name == "slabhash"
    assert plugins.default_backend(Device("cuda")).name == "urgent"
    monkeypatch.setenv("SURICATE_BACKEND", "csr_baseline")
    assert plugins.default_backend(CPU).name == "csr_baseline"
    assert su.Graph(2, device="cpu").store("out").name == "csr_baseline"
    monkeypatch.setenv("SURICATE_BACKEND", "nope")
    with pytest.raises(UnknownNameError):
        plugins.default_backend(CPU)
    monkeypatch.delenv("SURICATE_BACKEND")
    with pytest.raises(DeviceError, match="no installed backend runs on"):
        plugins.default_backend(Device("tpu"))


def test_many_threads_load_once() -> None:
    code = """
import threading
from suricate import plugins
import importlib.metadata as metadata
loads, load = [], metadata.EntryPoint.load
metadata.EntryPoint.load = lambda point: (loads.append(point.name), load(point))[1]
start, seen = threading.Barrier(8), []
def ask():
    start.wait()
    seen.append(sorted(plugins.backends()))
threads = [threading.Thread(target=ask) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(loads) == len(set(loads)), loads
assert len(seen) == 8 and all(names == seen[0] for names in seen), seen
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_registration_from_threads() -> None:
    kinds = [type(f"Kind{i}", (Nothing,), {"name": f"kind{i}"}) for i in range(8)]
    threads = [threading.Thread(target=plugins.register, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {kind.name for kind in kinds} <= set(plugins.algorithms())
    for kind in kinds:
        plugins.unregister(kind.__name__)


# -- installed plugins, in a new interpreter ---------------------------------------------------------------------------


def test_failing_plugins_are_named_and_contained(site: Path) -> None:
    done = python(STATE, site)
    assert done.returncode == 0, done.stderr
    *lines, backends = done.stdout.splitlines()
    states = {line.split("|")[0]: line for line in lines}
    assert backends == "['blocked', 'csr_baseline', 'gpma', 'hornet_like', 'slabhash', 'tutorial']"
    assert states["good"] == "good|2.5|outsider|suricate_backends|ok"
    reasons = {
        "raises": "ImportError: no such library",
        "exits": "SystemExit: 3",
        "silent": "implements nothing",
        "typo": "suricate_backend; the hooks are",
        "bad_hook": "ValueError: no",
        "bad_thing": "int",
        "abstract": "lacks delete, edges, insert",
        "greedy": "the name 'slabhash', which plugin 'slabhash' has taken",
        "arguments": "graph",
        "urgent": "Mine.priority is 'high': expected an int",
        "hidden": "plug_hidden has no __init__.py, and hides an installed 'plug_hidden'",
    }
    for name, reason in reasons.items():
        assert reason in states[name], states[name]
        assert f"suricate plugin '{name}' (outsider) failed" in done.stderr
    assert all(states[name].endswith("|ok") for name in BUILT_IN)


def test_asking_for_what_a_failed_plugin_would_bring_names_it(site: Path) -> None:
    code = """
from suricate import plugins
from suricate.errors import PluginError, UnknownNameError
try:
    plugins.backend("raises")
except PluginError as error:
    assert "no backend 'raises'" in str(error) and "no such library" in str(error), error
    assert isinstance(error.__cause__, ImportError)
try:
    plugins.algorithm("fancy_rank")
except UnknownNameError as error:
    assert "plugin 'raises' failed: ImportError: no such library" in str(error), error
    print("named")
"""
    done = python(code, site)
    assert done.stdout == "named\n", done.stderr


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        ("", []),
        ("good", ["good"]),
        ("slabhash, good", ["slabhash", "good"]),
        ("suricate", sorted(BUILT_IN)),
        ("bfs,missing", ["missing", "bfs"]),
    ],
)
def test_selection(site: Path, selection: str, names: list[str]) -> None:
    done = python(STATE, site, SURICATE_PLUGINS=selection)
    lines = done.stdout.splitlines()[:-1]
    assert [line.split("|")[0] for line in lines] == names, done.stderr
    assert all(line.endswith("|ok") or line.startswith("missing|") for line in lines)
    if "missing" in names:
        assert "suricate plugin 'missing' (SURICATE_PLUGINS) failed" in done.stderr


@pytest.mark.slow
def test_tracing(site: Path) -> None:
    code = "from suricate import plugins; plugins.backends(); plugins.backends()"
    assert python(code, SURICATE_PLUGINS="slabhash").stderr == ""
    assert python(code, SURICATE_PLUGINS="slabhash", SURICATE_TRACE_PLUGINS="0").stderr == ""
    traced = python(code, SURICATE_PLUGINS="slabhash,bfs", SURICATE_TRACE_PLUGINS="1").stderr.splitlines()
    assert len(traced) == 1
    assert traced[0].startswith("suricate: suricate_backends of slabhash: ")
    failing = python("from suricate import plugins; plugins.algorithms()", site, SURICATE_TRACE_PLUGINS="1").stderr
    assert "suricate: suricate_algorithms of bad_hook: ValueError('no')" in failing


# -- the example package -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example package is installed."""
    import shutil

    work = tmp_path_factory.mktemp("example")
    source, target = work / "source", work / "site"
    shutil.copytree(EXAMPLE, source)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--target", str(target), str(source)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return target


def suricate(example: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return python(f"from suricate.cli import main; main({list(args)!r})", example)


@pytest.mark.slow
def test_example_is_listed(example: Path) -> None:
    done = suricate(example, "plugins")
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if "suricate-concentration" in line)
    assert "suricate_algorithms" in row
    assert "ok" in row


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
def test_example_runs_on_every_backend(example: Path, tmp_path: Path, backend: str) -> None:
    graph = tmp_path / "payments.csv"
    graph.write_text("src,dst,weight\n0,1,8\n0,2,1\n0,3,1\n1,0,5\n2,0,1\n2,1,1\n")
    values = tmp_path / "values.csv"
    done = suricate(example, "run", "concentration", str(graph), "--backend", backend, "--device", "cpu",
                    "--output", str(values))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert backend in done.stdout
    assert values.read_text().split() == ["vertex,value", "0,0.66", "1,1.0", "2,0.5", "3,0.0"]


@pytest.mark.slow
def test_example_has_verified_rows_in_the_benchmark(example: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    done = suricate(example, "bench", "--suite", "algorithms", "--algorithm", "concentration",
                    "--graph", "uniform:40:300", "--device", "cpu", "--repeats", "1", "--time-limit", "0",
                    "--output", str(results))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    mine = [row for row in rows if row.get("algorithm") == "concentration"]
    assert {row["backend"] for row in mine} == {"slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"}
    skipped = {row["workload"] for row in mine if row["status"] == "skip"}
    assert skipped == {"kept current without vertices"}, "its reference takes no mask of live vertices"
    mine = [row for row in mine if row["workload"] not in skipped]
    assert {row["workload"] for row in mine} == {"from scratch", "kept current", "update alone", "ten batches"}
    for row in mine:
        assert (row["status"], row["verified"]) == ("ok", "reference() of concentration")
        assert row["workload"] == "ten batches" or row["median_s"] > 0  # the one is a ratio of two times


@pytest.mark.slow
def test_example_passes_its_own_test(example: Path) -> None:
    test = EXAMPLE / "test_suricate_concentration.py"
    arguments = ["-q", "--tier=quick", "-p", "no:cacheprovider", "--rootdir", "/", str(test)]
    code = f"import sys, pytest; sys.exit(pytest.main({arguments!r}))"
    done = python(code, example)
    assert done.returncode == 0, done.stdout + done.stderr


def test_example_is_short() -> None:
    assert len((EXAMPLE / "suricate_concentration.py").read_text().splitlines()) <= 90
    assert len((EXAMPLE / "pyproject.toml").read_text().splitlines()) <= 15
