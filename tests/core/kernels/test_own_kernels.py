"""A third party's algorithm with a loop and a kernel of its own is tested like ours: the example package."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "suricate-reciprocity"))

from test_suricate_reciprocity import TestReciprocity, test_the_kernels_compile

__all__ = ["TestReciprocity", "test_the_kernels_compile"]
