"""Runs a command whose CUDA kernels run on the CPU, built with sanitizers: reports of bad memory, and of bad loads.

Usage: ``python .ci/sanitize_emulated.py COMMAND ...``. The device of the command is the emulated one of
``tests/support``. It fails if the command does, or if a kernel read or wrote outside of the memory that an array has,
used freed memory, an index beyond an array in ``__shared__`` memory, or an address that is not aligned as CUDA needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
sys.path.insert(0, str(SUPPORT))
import emulated_cuda  # noqa: E402

# Each program has its own libubsan: beside libasan the shared one does not write to files.
FLAGS = "-g1 -static-libubsan -fsanitize=address,alignment,bounds -fsanitize-recover=address,alignment,bounds"
LIBRARIES = ("libasan.so", "libstdc++.so")  # before all others, as the interpreter lacks them
ASAN = "detect_leaks=0:detect_odr_violation=0:halt_on_error=0:detect_stack_use_after_return=0"


def main() -> int:
    """Run the command; return 1 if there was a report, else what it returned."""
    found = [subprocess.check_output(["g++", f"-print-file-name={name}"], text=True).strip() for name in LIBRARIES]
    if not all(map(os.path.isabs, found)):
        sys.exit("g++ has no sanitizers here")
    emulated_cuda.install()
    with tempfile.TemporaryDirectory() as folder:
        sanitized = {
            "SURICATE_EMULATED_FLAGS": FLAGS,
            "LD_PRELOAD": ":".join(found),
            "ASAN_OPTIONS": f"{ASAN}:log_path={folder}/memory",
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={folder}/other",
            "PYTHONMALLOC": "malloc",  # so that what Python frees is known
        }
        code = subprocess.run(sys.argv[1:], env={**os.environ, **sanitized}, check=False).returncode
        reports = [path.read_text(errors="replace") for path in sorted(Path(folder).iterdir())]
    print(*reports, sep="\n")
    print(f"{len(reports)} processes had reports" if reports else "no reports")
    return 1 if reports else code


if __name__ == "__main__":
    sys.exit(main())
