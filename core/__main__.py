"""``python -m suricate`` is ``suricate``."""

from __future__ import annotations

from suricate.cli import main

main()
