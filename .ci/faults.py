"""Plant faults of one line in a copy of the checkout, one at a time, and see whether the tests of a tier fail.

Usage: ``python .ci/faults.py [--tier all] [--first-only] [WORD ...]`` (default: the quick tier; faults with one of the
words in their names). For each fault the tests nearest to it run first, and the rest of the tier only if they pass,
unless ``--first-only``. The plain part of the quick tier runs before the compiled one, which is slower. Prints what
caught each fault and how many were caught; returns 1 if that is less than the tier promises: 36 of 40, all: 39.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from planted_faults import FAULTS, Fault

CHECKOUT = Path(__file__).resolve().parents[1]
PROMISED = {"quick": 36, "all": 39}
LIMIT = 1800  #: seconds of a run: a fault may have a loop never end, in which case the tests never do either
REDIRECT = """\
import sys

for name, module in list(sys.modules.items()):
    if name.startswith("__editable___suricate"):
        module.MAPPING.update({key: value.replace(%r, %r) for key, value in module.MAPPING.items()})
"""  #: an editable installation names the folders of the checkout: these become those of the copy


def copy_checkout(folder: Path) -> Path:
    """Copy all files that git does not ignore; return the copy."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    copy = folder / "checkout"
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, copy / name)
    (folder / "redirect").mkdir()
    (folder / "redirect" / "sitecustomize.py").write_text(REDIRECT % (str(CHECKOUT), str(copy)))
    return copy


def environment(folder: Path, *, plain: bool) -> dict[str, str]:
    """Return the variables of a run of tests in the copy."""
    variables = {**os.environ, "PYTHONPATH": str(folder / "redirect"), "NUMBA_OPT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    variables.setdefault("SURICATE_CACHE_DIR", str(CHECKOUT / ".cache" / "quick"))
    variables.setdefault("SURICATE_DATA", str(CHECKOUT.parent / "shared" / "data"))
    return variables | ({"NUMBA_DISABLE_JIT": "1"} if plain else {})


def runs(tier: str, fault: Fault, *, first_only: bool) -> Iterator[tuple[bool, list[str]]]:
    """Yield the runs of a tier, nearest tests first: whether as plain Python, and pytest's arguments."""
    near = fault.tests.split()
    parts = [(True, []), (False, ["--compiled-part"])] if tier == "quick" else [(False, ["--tier=all"])]
    yield from ((plain, [*options, *near]) for plain, options in parts)
    if not first_only:
        rest = [f"--ignore={name}" for name in near]
        yield from ((plain, [*options, *rest]) for plain, options in parts)


def failing_test(folder: Path, copy: Path, arguments: list[str], *, plain: bool) -> str | None:
    """Run tests until one fails; return its name, or None."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "not gpu"]
    try:
        done = subprocess.run(
            [*command, *arguments], cwd=copy, env=environment(folder, plain=plain), timeout=LIMIT, capture_output=True,
            text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "a test that does not end"
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if found is None and done.returncode in (1, 2, 3, 4):
        raise RuntimeError(f"pytest did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found[1] if found else f"a crash ({done.returncode})"


def caught(folder: Path, copy: Path, fault: Fault, options: argparse.Namespace) -> str | None:
    """Plant a fault and take it out again; return what caught it, or None."""
    file = copy / fault.file
    text = file.read_text()
    if text.count(fault.right) != 1:
        raise ValueError(f"{fault.name}: {fault.file} has the right text {text.count(fault.right)} times")
    file.write_text(text.replace(fault.right, fault.wrong))
    try:
        for plain, arguments in runs(options.tier, fault, first_only=options.first_only):
            if found := failing_test(folder, copy, arguments, plain=plain):
                return f"{'plain' if plain else 'compiled'}: {found}"
    finally:
        file.write_text(text)
    return None


def main() -> int:
    """Plant all faults, or those whose names have one of the words; return 1 if too few are caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--tier", choices=PROMISED, default="quick")
    parser.add_argument("--first-only", action="store_true", help="run the nearest tests only")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if not options.words or any(word in fault.name for word in options.words)]
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = copy_checkout(folder)
        for fault in chosen:
            begun = time.perf_counter()
            found = caught(folder, copy, fault, options)
            count += found is not None
            print(f"{time.perf_counter() - begun:5.0f} s  {fault.name}: {found or 'NOT SEEN'}", flush=True)
    print(f"{count} of {len(chosen)} caught")
    return int(count < min(PROMISED[options.tier], len(chosen)))


if __name__ == "__main__":
    sys.exit(main())
