"""What imports what: a light start, and layers that keep to themselves."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest
from patience import PATIENCE

CHECKOUT = Path(__file__).resolve().parent.parent
LAYERS = {
    "core": "suricate",
    "backends": "suricate.backends",
    "algorithms": "suricate.algorithms",
    "bench": "suricate.bench",
}
HEAVY = ("numba", "cupy", "scipy", "networkx", "pandas", "matplotlib", "distributed")
BUILT_IN_NAMES = {
    entry.name
    for entry in metadata.entry_points(group="suricate")
    if entry.value.startswith(("suricate.backends.", "suricate.algorithms."))
}
ENGLISH = {"closeness", "coloring", "degree", "hits", "triangles"}  #: words that texts may use in their own sense
FIELDS = {"degree"}  #: words that are also names of columns, fields and options


def files(layer: str) -> list[Path]:
    """All modules of a layer."""
    return sorted((CHECKOUT / layer).rglob("*.py"))


def module_name(file: Path) -> str:
    """The import name of a module of the checkout."""
    layer, *parts = file.relative_to(CHECKOUT).with_suffix("").parts
    return ".".join([LAYERS[layer], *parts]).removesuffix(".__init__")


MODULES = {module_name(file): file for layer in LAYERS for file in files(layer)}


def imports(file: Path, types: bool = False) -> set[str]:
    """Names of the suricate modules that ``file`` imports, inside functions too; ``types``: for type checkers too."""
    tree = ast.parse(file.read_text())
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if not types and isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & MODULES.keys() or {str(node.module)}
    return {name for name in found if name.split(".")[0] == "suricate"}


def roots(file: Path) -> set[str]:
    """The top-level packages that ``file`` imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).split(".")[0])
    return found


def loaded_by(code: str, devices: str = "") -> set[str]:
    """The top-level modules that a new interpreter has loaded after ``code``."""
    script = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": devices}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environ, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


# -- a light start -----------------------------------------------------------------------------------------------------


def test_import_loads_nothing_heavy() -> None:
    loaded = loaded_by("import suricate")
    assert "suricate" in loaded
    assert not loaded & {*HEAVY, "click", "rich", "pluggy"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import suricate as su; [getattr(su, name) for name in su.__all__]",
        "from suricate import plugins; plugins.installed()",
        "import suricate.plugins.algorithm, suricate.store, suricate.cuda, suricate.errors",
    ],
    ids=["all public names", "all plugins", "base classes"],
)
def test_neither_numba_nor_cupy_before_a_device_needs_them(code: str) -> None:
    assert not loaded_by(code) & {"numba", "cupy"}


def test_plugins_load_without_what_their_extras_bring() -> None:
    absent = "sys.modules.update(dict.fromkeys(('distributed', 'confluent_kafka', 'redis', 'torch')))"
    code = (
        f"{absent}; import warnings; warnings.simplefilter('error'); from suricate import plugins; plugins.installed()"
    )
    assert "suricate" in loaded_by(code)


@pytest.mark.gpu
def test_answers_kept_current_on_cuda_load_no_numba() -> None:
    """To import it takes a second, in which no other thread gets on, at the first change."""
    code = """
import suricate as su
graph = su.Graph(9, device="cuda", in_edges=True)
trackers = [graph.track("bfs", source=0), graph.track("sssp", source=0), graph.track("wcc"), graph.track("pagerank")]
graph.insert_edges([0, 1, 2], [1, 2, 3])
graph.apply(su.Batch(delete=([1], [2]), insert=([0, 3], [2, 4])))
assert [tracker.result is not None for tracker in trackers] == [True] * 4
"""
    assert "numba" not in loaded_by(code, "0")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "from suricate.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert not loaded_by(code) & set(HEAVY)


def test_import_loads_few_modules() -> None:
    script = "import sys; before = {*sys.modules}; import suricate; print(len(sys.modules.keys() - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20


def test_pytest_and_hypothesis_only_in_the_kits() -> None:
    for file in (file for layer in LAYERS for file in files(layer)):
        if CHECKOUT / "core" / "testing" not in file.parents:
            assert not roots(file) & {"pytest", "hypothesis"}, file


# -- layers ------------------------------------------------------------------------------------------------------------


def layer_of(file: Path) -> str:
    """The folder at the top of the checkout."""
    return file.relative_to(CHECKOUT).parts[0]


def below(name: str, *layers: str) -> bool:
    """Whether ``name`` is a module of one of ``layers``."""
    return any(name == LAYERS[layer] or name.startswith(f"{LAYERS[layer]}.") for layer in layers)


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["core", "backends", "algorithms"])
def test_layers(layer: str) -> None:
    forbidden = {
        "core": ("backends", "algorithms", "bench"),
        "backends": ("algorithms", "bench"),
        "algorithms": ("backends", "bench"),
    }[layer]
    for file in files(layer):
        wrong = {name for name in imports(file) if below(name, *forbidden)}
        assert not wrong, f"{file} imports {wrong}"


def test_backends_do_not_import_each_other() -> None:
    for file in files("backends"):
        own = module_name(file).split(".")[:3]
        for name in imports(file):
            assert not below(name, "backends") or name.split(".")[:3] == own, f"{file} imports {name}"


def without_examples(text: str) -> str:
    """The text of a module without the examples of its docstrings, which show built-in ones."""
    return re.sub(r'(?s)\n +Example:\n.*?"""', '"""', text)


@pytest.mark.parametrize("layer", ["core", "bench"])
def test_names_no_backend_and_no_algorithm(layer: str) -> None:
    peers = CHECKOUT / "bench" / "peers"  # say how other libraries compute an algorithm
    sources = [file for ending in ("py", "cu", "cuh") for file in (CHECKOUT / layer).rglob(f"*.{ending}")]
    sources = [file for file in sources if peers not in file.parents]
    words = re.compile(rf"(?<![\w-])({'|'.join(BUILT_IN_NAMES - ENGLISH)})(?![\w-])")
    for file in sources:
        text = without_examples(file.read_text())
        assert not (found := words.search(text)), f"{file} names {found[0]}"
    for file in {*sources} & {*files(layer)}:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in BUILT_IN_NAMES - FIELDS, f"{file}:{node.lineno} names {node.value!r}"
            if isinstance(node, (ast.Name, ast.Attribute)):
                name = node.id if isinstance(node, ast.Name) else node.attr
                assert name.lower() not in BUILT_IN_NAMES - FIELDS, f"{file}:{node.lineno} names {name!r}"


def test_algorithms_name_no_backend() -> None:
    for file in files("algorithms"):
        for name in ("slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"):
            assert name not in file.read_text(), f"{file} names {name}"


def test_no_circle_of_imports() -> None:
    needs = {name: (imports(file) & MODULES.keys()) - {name} for name, file in MODULES.items()}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' -> '.join(reversed(error.args[1]))}")


def test_every_module_says_what_it_is_for() -> None:
    for file in (file for layer in LAYERS for file in files(layer)):
        tree = ast.parse(file.read_text())
        assert not tree.body or ast.get_docstring(tree), f"{file} has no docstring"
