"""The habits of the repository: checks before a commit and on the forge, lengths of files, words of the glossary."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE

import suricate as su
from suricate import plugins

CHECKOUT = Path(__file__).resolve().parent.parent
LAYERS = ("core", "backends", "algorithms", "bench")
#: A file is cut where its subject ends: one of more lines has two subjects, and in one of fewer length is no reason
MOST_LINES = {".py": 700, ".cu": 250, ".cuh": 250}
EXAMPLE = re.compile(r"\n\n +Example:\n.*?(?=\n *\"\"\")", re.DOTALL)  #: examples in docstrings do not count
INSTEAD = {  # word -> what the glossary says (docs/glossary.md)
    "anew": "from scratch, or again",
    "aside": "cached, or deferred",
    "bed": "fixture",
    "engine": "backend",
    "fallen": "detached",
    "grant": "reservation",
    "late": "deferred",
    "looker": "what it looks for",
    "met": "existing",
    "mirror": "symmetric arcs, or pinned counters",
    "outweigh": "should_recompute",
    "rebucket": "rehash",
    "room": "capacity, growth factor, or resident blocks",
    "settle": "epilogue, or raise pending errors",
    "stage": "scenario",
    "standing": "what it is",
    "thin": "small",
    "vain": "denied, or unused",
}
FORMS = {form: word for word in INSTEAD for form in (word, f"{word}s", f"{word}d")}
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")


def pins(text: str) -> dict[str, str]:
    """The packages that a text asks for in one version, with that version."""
    return dict(re.findall(r'"([\w-]+)==([\w.]+)"', text))


def test_the_root_of_the_repository_holds_only_what_belongs_there() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    found = {line.split("/")[0] for line in listed.stdout.splitlines() if not line.startswith(".")}
    assert found <= {*LAYERS, "docs", "examples", "tests", "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md",
                     "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "README.md", "SECURITY.md",
                     "pyproject.toml", "setup.py"}  # fmt: skip


def test_the_version_is_the_same_everywhere() -> None:
    said = {
        "pyproject.toml": r'^version = "(.+)"$',
        "CITATION.cff": "^version: (.+)$",
        "CHANGELOG.md": r"^## ([\d.]+)",
        "README.md": r"^Version ([\d.]+)\. ",
    }
    found = {file: re.findall(text, (CHECKOUT / file).read_text(), re.MULTILINE)[0] for file, text in said.items()}
    assert found == dict.fromkeys(said, su.__version__) | {"README.md": su.__version__.removesuffix(".0")}


def test_the_published_readme_links_to_no_file() -> None:
    published, text = runpy.run_path(str(CHECKOUT / "setup.py"))["published"], (CHECKOUT / "README.md").read_text()
    relative = re.compile(r"\]\((?!https?:)")
    alone, linked = published(text), published(text, "https://example.org/suricate")
    assert not relative.search(alone + linked)
    assert "checkout -->" not in alone + linked
    assert "![" not in alone
    assert "](https://example.org/suricate/raw/main/docs/mathoverflow.svg)" in linked
    assert "](https://example.org/suricate/blob/main/docs/streams.md)" in linked
    assert "pip install suricate" in alone
    assert "make test" not in alone, "it is for those who have a checkout"
    urls = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"].get("urls", {})
    assert urls.get("Source", "https://").startswith("https://")


def test_kits_can_be_looked_through_without_pytest() -> None:
    code = """
import sys
sys.modules.update(dict.fromkeys(("pytest", "_pytest", "hypothesis")))
import suricate as su
assert set(dir(su.testing)) == set(su.testing.__all__)
assert su.testing.measure is not None
try:
    su.testing.StoreConformance()
except su.errors.MissingLibraryError as error:
    assert "pip install 'suricate[dev]'" in str(error)
else:
    raise AssertionError("a kit without pytest")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


def test_pre_commit_uses_the_versions_of_the_development_extra() -> None:
    hooks = pins((CHECKOUT / ".pre-commit-config.yaml").read_text())
    extra = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    wanted = pins(str(extra).replace("'", '"'))
    assert {"ruff", "codespell", "clang-format"} <= wanted.keys()
    assert {name: hooks.get(name) for name in wanted} == wanted


def test_the_forge_runs_what_ci_runs() -> None:
    workflow = (CHECKOUT / ".github" / "workflows" / "ci.yml").read_text()
    assert "run: .ci/run\n" in workflow
    lowest = re.search(r'requires-python = ">=([\d.]+)"', (CHECKOUT / "pyproject.toml").read_text())
    assert lowest
    assert f'"{lowest[1]}"' in workflow


def test_the_bug_form_offers_every_backend_that_comes_along() -> None:
    form = (CHECKOUT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text()
    offered = re.findall(r"options: \[(.+)\]", form)[-1].split(", ")
    for plugin in plugins.installed():
        if plugin.source == "suricate" and "suricate_backends" in plugin.hooks:
            assert plugin.name in offered


@pytest.mark.slow
def test_the_tour_for_the_sanitizers_is_right() -> None:
    environ = {**os.environ, "DEVICE": "cpu"}
    command = [sys.executable, str(CHECKOUT / ".ci" / "sanitize.py"), "--graph", "2", "csr_baseline"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


def test_scripts_that_are_named_exist() -> None:
    for page in (*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md"), CHECKOUT / "Makefile"):
        for script in re.findall(r"(?:\.ci|tests/support)/\w+\.py", page.read_text()):
            assert (CHECKOUT / script).exists(), f"{page}: {script}"


# -- sources -----------------------------------------------------------------------------------------------------------


def sources(*endings: str) -> list[Path]:
    """The files of the package with these endings."""
    return sorted(file for layer in LAYERS for ending in endings for file in (CHECKOUT / layer).rglob(f"*{ending}"))


def relative(file: Path) -> str:
    return str(file.relative_to(CHECKOUT))


def test_every_package_is_in_the_wheel() -> None:
    listed = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {file.parent.relative_to(CHECKOUT) for file in sources(".py")}
    names = {".".join(folder.parts).removeprefix("core.") for folder in folders} - {"core"} | {"suricate", "examples"}
    assert sorted(listed) == sorted(name if name.startswith("suricate") else f"suricate.{name}" for name in names)


def test_test_modules_have_names_of_their_own() -> None:
    names = [file.name for file in (CHECKOUT / "tests").rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names), "pytest imports them by their names"


def test_files_are_of_a_length_that_can_be_read() -> None:
    files = [*sources(*MOST_LINES), *(CHECKOUT / "tests").rglob("*.py"), *(CHECKOUT / ".ci").glob("*.py")]
    lines = {relative(file): len(EXAMPLE.sub("", file.read_text()).splitlines()) for file in files}
    too_long = {name: count for name, count in lines.items() if count > MOST_LINES[Path(name).suffix]}
    assert not too_long


def identifiers(file: Path) -> Iterator[str]:
    """The names in a source: all of a CUDA source, and those that a Python module uses as names."""
    text = file.read_text()
    if file.suffix != ".py":
        yield from set(re.findall(r"[A-Za-z_]\w*", re.sub(r"//[^\n]*", "", text)))
        return
    for node in ast.walk(ast.parse(text)):
        for kind in ("id", "attr", "name", "arg"):
            if isinstance(found := getattr(node, kind, None), str):
                yield found


def forbidden(word: str) -> str | None:
    """What to say in place of a word, if the glossary has another for it."""
    plain = FORMS.get(word.lower())
    return None if plain is None else INSTEAD[plain]


#: where "late" is the field's word for an event behind its window
ABOUT_LATE_EVENTS = {
    "core/base/errors.py", "core/cli/stream.py", "core/errors.py", "core/events/__init__.py",
    "core/stream/all_ranks/contents.py", "core/stream/all_ranks/reading.py", "core/stream/checkpoint.py",
    "core/stream/contents.py",
    "core/stream/history.py", "core/stream/chunk_events.py", "core/stream/slide.py",
    "core/stream/window.py", "core/windows/counters.py", "core/stream/options.py", "core/stream/report.py",
    "core/windows/rule.py",
}  # fmt: skip
ABOUT_FILES_THAT_SETTLE = {"core/cli/stream.py", "core/io/sources/folder.py"}  #: the option of those who write them
ALLOWED = {"late": ABOUT_LATE_EVENTS, "settle": ABOUT_FILES_THAT_SETTLE}


def test_names_use_the_words_of_the_glossary() -> None:
    wrong = [
        f"{relative(file)}: {name}: say {instead}"
        for file in sources(".py", ".cu", ".cuh")
        for name in identifiers(file)
        for word in CAPITAL.split(name)
        if (instead := forbidden(word)) and relative(file) not in ALLOWED.get(word.lower(), ())
    ]
    assert not wrong


def raised_texts(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of exceptions that a Python source raises, with their lines."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Raise):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield node.lineno, part.value


def test_messages_use_the_words_of_the_glossary() -> None:
    wrong = [
        f"{relative(file)}:{line}: say {instead}"
        for file in sources(".py")
        for line, text in raised_texts(file)
        for word in re.findall(r"[a-z]+", text.lower())
        if (instead := forbidden(word)) and relative(file) not in ALLOWED.get(word.lower(), ())
    ]
    assert not wrong


def test_planted_faults_are_where_they_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(CHECKOUT / ".ci")
    faults = runpy.run_path(str(CHECKOUT / ".ci" / "planted_faults.py"))["FAULTS"]
    assert len({fault.name for fault in faults}) == len(faults) == 40
    for fault in faults:
        assert (CHECKOUT / fault.file).read_text().count(fault.right) == 1, fault.name
        assert fault.right != fault.wrong
        assert all((CHECKOUT / name).exists() for name in fault.tests.split()), fault.name


def test_cursors_of_backends_have_no_struct_of_a_name_that_the_core_has() -> None:
    """Programs of the core are compiled over any cursor, whose text comes first."""
    struct = re.compile(r"^struct (\w+)(?= [{:])", re.MULTILINE)
    core = {name for file in sources(".cu", ".cuh") if relative(file).startswith("core/")
            for name in struct.findall(file.read_text())}  # fmt: skip
    cursors = [file for file in sources("cursor.cuh") if relative(file).startswith("backends/")]
    assert len(cursors) >= 3
    for cursor in cursors:
        left, names = [cursor], set[str]()
        while left:  # it and what it includes
            text = left.pop().read_text()
            names.update(struct.findall(text))
            near = [cursor.with_name(name) for name in re.findall(r'^#include "(.+)"', text, re.MULTILINE)]
            left += [file for file in near if file.exists()]
        assert not names & core, relative(cursor)


def test_no_test_ends_by_a_time_out_on_a_busy_machine() -> None:
    """What must come is waited for with ``PATIENCE``; a wait of less than a second is for what must not come."""
    short = re.compile(r"\btimeout=[1-9]|\.(?:wait|join|result|acquire|exception|communicate)\([1-9]")
    for file in (CHECKOUT / "tests").rglob("*.py"):
        assert not short.search(file.read_text()), f"{file.relative_to(CHECKOUT)}: take PATIENCE of tests/support"
