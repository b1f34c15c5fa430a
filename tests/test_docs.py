"""The documentation is true: hooks, variables, commands are in it, its code runs, its excerpts and links are right."""

from __future__ import annotations

import ast
import codeop
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from data_folder import DATA
from patience import PATIENCE

from suricate import Store, operators, plugins
from suricate.cli import cli
from suricate.plugins import hookspecs
from suricate.plugins.checks import HOOKS
from suricate.store.batch_store import BatchStore

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDERS = ("core", "docs", "examples", "backends", "bench")
PAGES = sorted([*CHECKOUT.glob("*.md"), *(page for name in FOLDERS for page in (CHECKOUT / name).rglob("*.md"))])
DECISIONS = sorted((CHECKOUT / "docs" / "decisions").glob("[a-z]*.md"))
PLUGIN_PAGE = CHECKOUT / "docs" / "plugins.md"
EXCERPTED = [
    CHECKOUT / "core" / "plugins" / "hookspecs.py",
    *(CHECKOUT / "examples").rglob("*.py"),
]


READS = re.compile(r"""\b(?:read(?:_events)?|scan)\(["']([^"']+)["']""")


def provide(name: str, folder: Path) -> bool:
    """Put the graph file ``name`` into ``folder``; return False if there is no folder of graphs to take it from."""
    for source in (CHECKOUT / "bench" / "data", DATA):
        for file in source.rglob(Path(name).name):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(file)
            return True
    return DATA.is_dir()  # the file may be one that the page writes


class Block(NamedTuple):
    """A fenced block of code: its language, the line it starts at, its text."""

    language: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    found, start, language = [], 0, ""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith("```"):
            continue
        if start:
            found.append(Block(language, start, "\n".join(lines[start : number - 1]) + "\n"))
            start = 0
        else:
            start, language = number, line.strip("` ").split(" ")[0]
    assert not start, f"{page}:{start}: the block does not end"
    return found


def relative(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


def hooks() -> dict[str, ast.FunctionDef]:
    """The hook specifications, parsed."""
    tree = ast.parse(inspect.getsource(hookspecs))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "hookspec" for d in node.decorator_list)
    }


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_there_are_at_most_six_hooks() -> None:
    assert set(hooks()) == set(HOOKS)
    assert 1 <= len(hooks()) <= 6


@pytest.mark.parametrize("hook", hooks())
def test_hook_is_documented_with_its_exact_signature(hook: str) -> None:
    node = hooks()[hook]
    signature = f"def {hook}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}:"  # type: ignore[arg-type]
    assert f"\n{signature}\n" in PLUGIN_PAGE.read_text()


@pytest.mark.parametrize("hook", hooks())
def test_hook_has_a_one_line_docstring_that_the_page_repeats(hook: str) -> None:
    text = ast.get_docstring(hooks()[hook]) or ""
    assert len(text.splitlines()) == 1
    page = " ".join(PLUGIN_PAGE.read_text().replace("`", "").split())
    assert text.replace("`", "").rstrip(".") in page


@pytest.mark.parametrize("hook", hooks())
def test_hook_has_a_test_of_its_own(hook: str) -> None:
    text = (CHECKOUT / "tests" / "core" / "plugins" / "test_plugins.py").read_text()
    assert f"\ndef test_{hook}_hook(" in text


@pytest.mark.parametrize("hook", hooks())
def test_hook_has_a_user(hook: str) -> None:
    users = [plugin.name for plugin in plugins.installed() if plugin.source == "suricate" and hook in plugin.hooks]
    assert users, f"no entry point has {hook}; after a change of pyproject.toml install again (make .venv/.dev)"


def test_page_names_what_a_backend_on_sorted_batches_brings() -> None:
    text = PLUGIN_PAGE.read_text()
    assert [name for name in sorted(BatchStore.__abstractmethods__) if f"`{name}(" not in text] == []


def test_pages_name_no_hook_that_is_not_there() -> None:
    known = {*hooks(), "suricate_concentration"}
    for page in PAGES:
        for name in re.findall(r"\bsuricate_(?:backend|algorithm|command|hook|plugin)\w*", page.read_text()):
            assert name in known, f"{relative(page)} names {name}"


# -- variables and commands --------------------------------------------------------------------------------------------


VARIABLE = re.compile(r"\bSURICATE_[A-Z_]+\b")
VARIABLES = re.findall(
    r"^\| `(SURICATE_\w+)` \| .+ \| (.+?) \|$", (CHECKOUT / "docs" / "variables.md").read_text(), re.MULTILINE
)  #: name, files that read it


def test_the_page_of_variables_lists_all_of_them() -> None:
    layers = ("core", "backends", "algorithms", "bench", "tests")
    sources = (file for layer in layers for file in (CHECKOUT / layer).rglob("*.py") if file != Path(__file__))
    used = {name for file in sources for name in VARIABLE.findall(file.read_text())}
    assert [name for name, _ in VARIABLES] == list(dict(VARIABLES)), "one line each"
    assert {name for name, _ in VARIABLES} == used


@pytest.mark.parametrize(("name", "files"), VARIABLES)
def test_the_page_of_variables_says_what_reads_them(name: str, files: str) -> None:
    named = re.findall(r"`([^`]+)`", files)
    assert named
    for file in named:
        text = (CHECKOUT / file).read_text()
        assert f'"{name}"' in text
        assert "os.environ" in text


def test_pages_name_no_variable_that_is_not_there() -> None:
    known = {name for name, *_ in VARIABLES}
    for page in PAGES:
        assert known.issuperset(VARIABLE.findall(page.read_text())), relative(page)


@pytest.mark.parametrize("command", sorted({*cli.commands, *plugins.commands()}))
def test_every_command_is_in_a_page(command: str) -> None:
    assert any(f"suricate {command}" in page.read_text() for page in PAGES)


def test_pages_name_no_command_that_is_not_there() -> None:
    known = {*cli.commands, *plugins.commands()}
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("", "sh", "bash", "console", "shell"):
                for name in re.findall(r"^\$? *suricate ([a-z]+)", block.text, re.MULTILINE):
                    assert name in known, f"{relative(page)}:{block.line}: suricate {name}"


# -- algorithms --------------------------------------------------------------------------------------------------------


def built_in() -> list[str]:
    """The algorithms that come along."""
    return sorted(
        name for name, kind in plugins.algorithms().items() if kind.__module__.startswith("suricate.algorithms.")
    )


@pytest.mark.parametrize("name", built_in())
def test_algorithm_is_in_the_table_with_its_parameters_and_its_kind_of_update(name: str) -> None:
    kind = plugins.algorithm(name)
    page = (CHECKOUT / "docs" / "algorithms.md").read_text()
    rows = re.findall(rf"^\| `{name}` \| (?:.*) \| (.*?) ?\| (\w+) \|$", page, re.MULTILINE)
    assert rows, f"docs/algorithms.md has no row for {name}"
    parameters, update = rows[0]
    assert re.findall(r"`(\w+)`", parameters) == list(inspect.signature(kind).parameters)
    assert update == kind.update_kind
    assert f"`{name}`" in (CHECKOUT / "README.md").read_text()


@pytest.mark.parametrize("name", [name for name in operators.__all__ if name[0].islower()])
def test_operator_is_on_its_page(name: str) -> None:
    assert f"`{name}`" in (CHECKOUT / "docs" / "operators.md").read_text()


def test_no_line_is_a_comment_by_chance() -> None:
    """A line that begins with a percent sign is left out of the site."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        assert not re.findall(r"^\s*%.*", text, re.MULTILINE), relative(page)


# -- code and links ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page.parent == CHECKOUT else pytest.mark.slow, id=relative(page))
        for page in PAGES
        if any(block.language == "python" for block in blocks(page))
    ],
)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    """The ``python`` blocks of a page run from top to bottom, in one namespace, on the CPU.

    Graphs that they read lie in the working folder. Where the shared folder of graphs is absent, blocks that read one
    of its files are left out.
    """
    lines = [""] * len(page.read_text().splitlines())
    for block in blocks(page):
        there = [provide(name, tmp_path) for name in READS.findall(block.text)]
        if block.language == "python" and all(there):
            text = block.text.splitlines()
            lines[block.line : block.line + len(text)] = text
    # A file, since edge functions need their source; its lines are the page's, its name is that of no module.
    script = tmp_path / f"page_{page.stem}.py"
    script.write_text("\n".join(lines) + "\n")
    kept = "SURICATE_CACHE_DIR"
    environ = {key: value for key, value in os.environ.items() if key == kept or not key.startswith("SURICATE_")}
    environ |= {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b.language == "py" for b in blocks(page))], ids=relative
)
def test_excerpts_are_in_the_files(page: Path) -> None:
    """A ``py`` block is an excerpt: lines as they stand in a file of the checkout."""
    texts = [re.sub(r"  # type: ignore.*", "", file.read_text()) for file in EXCERPTED]
    for block in blocks(page):
        if block.language == "py":
            assert any(block.text in text for text in texts), f"{relative(page)}:{block.line}: in no file\n{block.text}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_no_line_begins_with_a_percent_sign(page: Path) -> None:
    """MyST takes such a line for a comment, and leaves it out of the site."""
    inside = {number for block in blocks(page) for number in range(block.line, block.line + block.text.count("\n") + 1)}
    lines = enumerate(page.read_text().splitlines(), 1)
    assert [number for number, line in lines if line.lstrip().startswith("%") and number not in inside] == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            there = page.parent / file if file else page
            assert there.exists(), f"{relative(page)} links to {target}"
            assert not anchor or anchor in anchors(there), f"{relative(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_named_modules_exist(page: Path) -> None:
    """Names of the package, as ``suricate.base.types.EdgeList``, can be imported from where a page says."""
    for name in set(re.findall(r"(?<![\w./-])suricate(?!\.cuh)(?:\.\w+)+", page.read_text())):
        assert can_be_imported(name), f"{relative(page)} names {name}"


def can_be_imported(name: str) -> bool:
    """Whether a dotted name is a module, or what a module defines."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        return getattr(error, "name", "") == "cupy"  # which is not installed here
    return True


def test_comments_and_docstrings_name_modules_that_exist() -> None:
    for layer in ("core", "backends", "algorithms", "bench"):
        for file in (CHECKOUT / layer).rglob("*.py"):
            for name in set(re.findall(r"`~?(suricate(?!\.cuh)(?:\.\w+)+)`", file.read_text())):
                assert can_be_imported(name), f"{relative(file)} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_named_files_exist(page: Path) -> None:
    """Paths in backticks that start with a folder of the checkout are there."""
    folders = "core|backends|algorithms|bench|tests|docs|examples"
    for path in re.findall(rf"`((?:{folders})/[\w./-]*)`", page.read_text()):
        assert (CHECKOUT / path).exists(), f"{relative(page)} names {path}"


# -- form --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", DECISIONS, ids=relative)
def test_decision_has_its_four_parts_and_is_in_the_index(page: Path) -> None:
    parts = ["Context", "Options", "Decision", "What would change it"]
    assert re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE) == parts
    assert f"]({page.name})" in (page.parent / "README.md").read_text()


@pytest.mark.parametrize("backend", plugins.backends())
def test_readme_of_a_backend_is_one_page_of_known_parts(backend: str) -> None:
    text = (CHECKOUT / "backends" / backend / "README.md").read_text()
    assert len(text.splitlines()) <= 80
    parts = {"What it stores", "Why", "Knobs", "Limits", "When to use it", "Figures"}
    assert parts <= set(re.findall(r"^## (.+)$", text, re.MULTILINE))
    parameters = inspect.signature(plugins.backends()[backend]).parameters
    own = parameters.keys() - inspect.signature(Store).parameters.keys()
    for option in own:
        assert f"| `{option}` |" in text, f"{backend} does not explain its option {option}"


def test_glossary_has_one_meaning_per_word_in_alphabetical_order() -> None:
    page = (CHECKOUT / "docs" / "glossary.md").read_text()
    words = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)[1:]
    assert words == sorted(words, key=lambda word: word.lower().replace(",", " "))
    each = [word for entry in words for word in entry.split(", ")]
    assert len(each) == len(set(each))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_blocks_can_be_pasted_into_the_plain_interpreter(page: Path) -> None:
    """Line by line; a blank line ends what is indented, so it is there before the next statement, and not within.

    Classes have blank lines, and go into a file; docs/operators.md says so.
    """
    for block in blocks(page):
        typed: list[str] = []
        pastes = block.language == "python" and not re.search("^class ", block.text, re.MULTILINE)
        for number, line in enumerate([*block.text.splitlines(), ""] if pastes else []):
            typed.append(line)
            try:
                if codeop.compile_command("\n".join(typed), "<stdin>", "single") is not None:
                    typed.clear()
            except SyntaxError:
                pytest.fail(f"{relative(page)}:{block.line + number + 1}: {line!r} does not follow a blank line")
