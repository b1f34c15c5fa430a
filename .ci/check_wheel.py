"""Build the wheel, install it into a clean virtual environment, and use it from a folder that is not the checkout.

Every source of the package must be in it, CUDA sources and headers included.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = """
import suricate as su
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


def missing_from(wheel: Path) -> list[str]:
    """Return the sources of the package that are not in ``wheel``."""
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    sources = {
        f"{home}/{file.relative_to(ROOT / layer)}"
        for layer, home in LAYERS.items()
        for ending in ("py", "pyi", "cu", "cuh", "toml", "json")
        for file in (ROOT / layer).rglob(f"*.{ending}")
    }
    return sorted(sources - there)


def main() -> int:
    """Return 0 if the installed wheel is complete and works."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (wheel,) = Path(folder).glob("*.whl")
        if missing := missing_from(wheel):
            print(f"{wheel.name} lacks {', '.join(missing)}", file=sys.stderr)
            return 1
        venv.create(Path(folder) / "env", with_pip=True)
        bin_folder = Path(folder) / "env" / "bin"
        subprocess.run([bin_folder / "pip", "install", "--quiet", str(wheel)], check=True)
        subprocess.run([bin_folder / "suricate", "plugins"], check=True, cwd=folder)
        subprocess.run([bin_folder / "python", "-c", SCRIPT], check=True, cwd=folder)
    print(f"{wheel.name} installs and works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
