"""Calls of the command line, and the cells of the tables that it prints."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from typing import Any

from click.testing import CliRunner, Result

from suricate.cli import cli


def call(*args: object) -> Result:
    return CliRunner().invoke(cli, [str(arg) for arg in args], env={"COLUMNS": "160"}, prog_name="suricate")


def rows(result: Result) -> list[list[str]]:
    """The cells of the plain tables that were printed, without their heads."""
    found: list[list[str]] = []
    lines = result.stdout.splitlines()
    for number, line in enumerate(lines):
        if set(line) == {"-", " "} or set(line) == {"-"}:
            found += [re.split("  +", row) for row in itertools.takewhile(bool, lines[number + 1 :])]
    return found


def shell(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "suricate", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, **options)
