"""Notebooks that need a GPU: their outputs belong to their cells; what runs them; they run on the emulated device."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from patience import PATIENCE

CHECKOUT = Path(__file__).resolve().parent.parent
TUTORIALS = sorted((CHECKOUT / "docs" / "tutorials").glob("*.md"))
KEPT = [page for page in TUTORIALS if 'execution_mode: "off"' in page.read_text()]
PAGE = """# Page

> Not run on a GPU since the last change of its cells, so without outputs.

```{code-cell} python
import suricate as su


def seen(u, v, w, count):
    su.atomic.add(count, v, 1)


2 + 2
```

Text between.

```{code-cell} python
print("a")
print("b")
```

```{code-cell} python
silent = 1
```
"""


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    """What is in the runner."""
    return runpy.run_path(str(CHECKOUT / "docs" / "_ext" / "kept.py"))


def test_pages_are_found() -> None:
    assert len(KEPT) == 3
    assert len(TUTORIALS) == 8


@pytest.mark.parametrize("page", KEPT, ids=lambda page: page.stem)
def test_kept_outputs_are_those_of_the_cells(page: Path, kept: dict[str, Any]) -> None:
    assert kept["stands"](page.read_text()), f"run `python docs/_ext/kept.py {page.relative_to(CHECKOUT)}` on a GPU"


def test_outputs_stand_behind_their_cells_until_a_cell_changes(kept: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert kept["stands"](PAGE)
    made = list(kept["outputs"](page))
    assert made == ["4\n", "a\nb\n", ""]
    text = kept["kept"](PAGE, made, "1 May 2026 on a card")
    assert "2 + 2\n```\n\n```text\n4\n```\n\nText between." in text
    assert re.search(r"^> Run on 1 May 2026 on a card; .*$", text, re.MULTILINE)
    assert kept["stands"](text)
    assert kept["kept"](text, made, "1 May 2026 on a card") == text
    changed = text.replace("2 + 2", "2 + 3")
    assert not kept["stands"](changed)
    page.write_text(changed)
    kept["main"](["--forget", str(page)])
    assert page.read_text() == PAGE.replace("2 + 2", "2 + 3")
    assert not kept["stands"](PAGE.replace("> Not run", "Not run"))


def test_a_page_that_fails_is_left_alone(kept: dict[str, Any], tmp_path: Path) -> None:
    pages = [tmp_path / "good.md", tmp_path / "bad.md"]
    for page, last in zip(pages, ("silent = 1", "silent = missing"), strict=True):
        page.write_text(PAGE.replace("silent = 1", last))
    with pytest.raises(NameError, match="missing"):
        kept["main"]([str(page) for page in pages])
    assert pages[0].read_text() == PAGE


@pytest.mark.slow
def test_the_algorithm_of_the_tutorial_passes_the_test_of_the_tutorial(kept: dict[str, Any], tmp_path: Path) -> None:
    text = (CHECKOUT / "docs" / "tutorials" / "algorithm.md").read_text()
    uses = re.compile(r"\n\n\n(?:g|tracker) = ")  # what comes behind a class
    classes = [uses.split(cell)[0] for cell in kept["cells"](text) if re.search("^class ", cell, re.MULTILINE)]
    (tmp_path / "mutual.py").write_text("\n\n\n".join(classes))
    test = re.search(r"^```text\n# test_mutual.py: .*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "test_mutual.py").write_text(test[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "suricate.testing.tier"]
    done = subprocess.run([*command, "--tier=quick"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert re.search(r"^\d+ passed", done.stdout.splitlines()[-1]), done.stdout + done.stderr


SMALLER = {
    "kernel": {"SCALE = 20": "SCALE = 8"},
    "several-gpus": {"SCALE = 21": "SCALE = 8"},
}
SHOWN = {
    "kernel": {3: r"True", 4: r"True", 5: r"slabhash (\d+)\nhornet_like \1\ncsr_baseline \1"},
    "several-gpus": {
        0: r"\(0, (.*)\n\(1, \1\n\(2, \1",
        1: r"\(\d+, \d+\)",
        3: r"1 processes: \d+ edges(.|\n)*new edges",
    },
}


def smaller(page: Path, folder: Path) -> Path:
    """A copy of a page with numbers that take little time."""
    text = page.read_text()
    for before, after in SMALLER[page.stem].items():
        assert before in text
        text = text.replace(before, after)
    copy = folder / page.name
    copy.write_text(text)
    return copy


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["kernel", "several-gpus"])
def test_cells_run_on_a_gpu(name: str, kept: dict[str, Any], tmp_path: Path) -> None:
    """Or the emulated one, with less to do; those of `sampling` need PyTorch: see ``tests/pyg``."""
    if name == "several-gpus":
        pytest.importorskip("mpi4py", exc_type=ImportError)
    (page,) = (page for page in KEPT if page.stem == name)
    allowed = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}
    launcher = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    with mock.patch.dict(os.environ, allowed | launcher):
        made = list(kept["outputs"](smaller(page, tmp_path)))
    for cell, shown in SHOWN[name].items():
        assert re.search(shown, made[cell]), made[cell]
