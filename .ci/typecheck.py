"""Run mypy over the package as it is installed: the folders of the checkout, linked into one tree ``suricate/``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUBPACKAGES = ("backends", "algorithms", "bench")


def main() -> int:
    """Return mypy's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "suricate"
        package.mkdir()
        for entry in [*(ROOT / "core").iterdir(), *(ROOT / name for name in SUBPACKAGES)]:
            (package / entry.name).symlink_to(entry)
        command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p", "suricate"]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, "MYPYPATH": folder}).returncode


if __name__ == "__main__":
    sys.exit(main())
