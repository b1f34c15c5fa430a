"""Jobs of MPI in tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE


def start(script: Path, *args: str, ranks: int = 2, limit: float = 600) -> subprocess.CompletedProcess[str]:
    """Run a script in processes of MPI."""
    pytest.importorskip("mpi4py", exc_type=ImportError)
    launcher = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("no mpiexec")
    command = [launcher, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    command += [sys.executable, "-m", "mpi4py", str(script), *args]
    plain = dict(os.environ, NUMBA_DISABLE_JIT="1", SURICATE_TIMEOUT=str(limit), PYTHONPATH=str(Path(__file__).parent))
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False, env=plain
    )
