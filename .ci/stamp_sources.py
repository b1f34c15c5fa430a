"""Give every Python source a modification time computed from its content: Numba's cache then outlives a checkout.

Numba takes a cached function for current if size and modification time of its file are those it was compiled from.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Stamp the sources of the package."""
    for folder in ("core", "backends", "algorithms", "bench"):
        for file in (ROOT / folder).rglob("*.py"):
            seconds = (1 << 29) + (zlib.crc32(file.read_bytes()) >> 3)  # 1987 to 2004: zip files go back to 1980
            os.utime(file, (seconds, seconds))


if __name__ == "__main__":
    main()
