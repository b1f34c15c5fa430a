"""Build an sdist and the wheel from it, check both, install the wheel into a clean environment, and use it elsewhere.

Every source of the package must be in it, CUDA sources and headers included, and no page that it shows on a package
index may link to a file. ``--lowest``: with the lowest versions of its dependencies that pyproject.toml allows.
``--pythons``: nothing is installed or run; dependencies are resolved for other versions of Python and for aarch64.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
import warnings
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SCRIPT = """
import importlib, sys
import suricate as su
import suricate.testing
assert not {"pytest", "hypothesis"} & sys.modules.keys()
g = su.Graph(num_vertices=4, device="cpu")
ranks = g.track("pagerank")
g.insert_edges([0, 1, 2], [1, 2, 3])
assert g.compute("bfs", source=0).level.tolist() == [0, 1, 2, 3]
assert abs(ranks.result.sum() - 1) < 1e-9 and ranks.result.argmax() == 3
"""
LAYERS = {
    "core": "suricate",
    "backends": "suricate/backends",
    "algorithms": "suricate/algorithms",
    "bench": "suricate/bench",
}
PYTHONS = "3.12", "3.13", "3.14"
MACHINES = "x86_64", "aarch64"
GLIBCS = "manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"


def main() -> int:
    """Return 0 if the wheel is complete and works."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowest", action="store_true")
    parser.add_argument("--pythons", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        wheel = build(here)
        if wrong := [*missing_from(wheel), *wrong_in_metadata(wheel)]:
            print(f"{wheel.name}: {'; '.join(wrong)}", file=sys.stderr)
            return 1
        if given.pythons:
            compile_sources(wheel)
            resolve(wheel)
            return 0
        if not given.lowest:
            look_at(here, wheel)
        use(here, wheel, lowest() if given.lowest else [])
    print(f"{wheel.name} installs and works")
    return 0


def build(folder: Path) -> Path:
    """Build an sdist and, from that, the wheel in ``folder``; return its path."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def missing_from(wheel: Path) -> list[str]:
    """Return the sources of the package that are not in ``wheel``, "lacks ..." each."""
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    sources = {
        f"{home}/{file.relative_to(ROOT / layer)}"
        for layer, home in LAYERS.items()
        for ending in ("py", "pyi", "cu", "cuh", "toml", "json")
        for file in (ROOT / layer).rglob(f"*.{ending}")
    }
    return [f"lacks {name}" for name in sorted(sources - there)]


def wrong_in_metadata(wheel: Path) -> list[str]:
    """Return what is wrong with the description that a package index shows."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        found = message_from_bytes(archive.read(name))
    links = re.findall(r"\]\((?!https?:)[^)]*\)", found.get_payload())
    return [*(f"links to {link}" for link in links), *([] if len(found.get_payload()) > 2000 else ["has no README"])]


def look_at(folder: Path, wheel: Path) -> None:
    """Check what the index would refuse, and what else is not as in other wheels."""
    files = [str(file) for file in folder.iterdir() if file.suffix in (".whl", ".gz")]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    # W004: the examples that `suricate new` copies lie in folders with a "-" and are not imported.
    subprocess.run([sys.executable, "-m", "check_wheel_contents", "--ignore", "W004", str(wheel)], check=True)


def lowest() -> list[str]:
    """Return the lowest minor version of each dependency, as requirements."""
    return [re.sub(r">=([\d.]+)$", r"==\1.*", dependency) for dependency in PROJECT["dependencies"]]


def use(folder: Path, wheel: Path, versions: list[str]) -> None:
    """Install ``wheel`` beside ``versions`` of its dependencies into an environment in ``folder``, and use it.

    With the newest versions every warning is an error.
    """
    venv.create(folder / "env", with_pip=True)
    bin_folder = folder / "env" / "bin"
    python = [bin_folder / "python", *([] if versions else ["-W", "error"])]
    subprocess.run([bin_folder / "pip", "install", "--quiet", str(wheel), *versions], check=True)
    subprocess.run([bin_folder / "suricate", "plugins"], check=True, cwd=folder)
    subprocess.run([*python, "-c", SCRIPT], check=True, cwd=folder)
    for kind in ("algorithm", "backend"):
        subprocess.run([bin_folder / "suricate", "new", kind, "mine", "--folder", kind], check=True, cwd=folder)
        subprocess.run([*python, "-c", "import suricate_mine"], check=True, cwd=folder / kind)
    if versions:
        print(f"with {', '.join(versions)}")


def compile_sources(wheel: Path) -> None:
    """Compile what is in ``wheel``; raise ``SyntaxError`` where this Python warns, or 3.14 does (PEP 765)."""
    with zipfile.ZipFile(wheel) as archive, warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in (name for name in archive.namelist() if name.endswith(".py")):
            tree = ast.parse(archive.read(name), name)
            compile(tree, name, "exec")
            for node in (node for node in ast.walk(tree) if isinstance(node, ast.Try)):
                if any(isinstance(each, ast.Return) for last in node.finalbody for each in ast.walk(last)):
                    raise SyntaxError(f"{name}:{node.lineno}: return within finally")


def resolve(wheel: Path) -> None:
    """Find wheels of all dependencies of ``wheel`` for other versions of Python and other machines; run nothing."""
    for version in PYTHONS:
        for machine in MACHINES:
            platforms = [option for glibc in GLIBCS for option in ("--platform", f"{glibc}_{machine}")]
            command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--target",
                       str(wheel.parent / "none"), "--only-binary=:all:", "--python-version", version]  # fmt: skip
            subprocess.run([*command, *platforms, str(wheel)], check=True)
            print(f"Python {version} on {machine}: dependencies resolve; not run")


if __name__ == "__main__":
    sys.exit(main())
