"""The folder of real graphs, which ``SURICATE_DATA`` names."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SURICATE_DATA") or CHECKOUT.parent / "shared" / "data")
