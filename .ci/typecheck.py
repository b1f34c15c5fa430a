"""Run mypy over the package as it is installed: the folders of the checkout, linked into one tree ``suricate/``.

The tree stays in ``.cache``, so that the next run looks at what has changed only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUBPACKAGES = ("backends", "algorithms", "bench")
TREE = ROOT / ".cache" / "types"


def main() -> int:
    """Return mypy's exit code."""
    package = TREE / "suricate"
    package.mkdir(parents=True, exist_ok=True)
    for link in package.iterdir():
        link.unlink()
    for entry in [*(ROOT / "core").iterdir(), *(ROOT / name for name in SUBPACKAGES)]:
        (package / entry.name).symlink_to(entry)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p", "suricate"]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "MYPYPATH": str(TREE)}).returncode


if __name__ == "__main__":
    sys.exit(main())
