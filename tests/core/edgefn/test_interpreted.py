"""Edge functions that were typed into the plain interpreter, in a terminal; there is no file with their source."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

CHECKOUT = Path(__file__).parents[3]
PROPAGATE = next(
    block for block in re.findall(r"^```python\n(.*?)^```", (CHECKOUT / "README.md").read_text(), re.M | re.S)
    if "su.propagate(" in block
)  # fmt: skip
DEF = """def longer(u, v, w, dist):
    if dist[u] < 0:
        return 0.0
    return dist[u] + 2 * w

"""
AGAIN = """dist[1:] = np.inf
su.propagate(g, [0], {}, out=dist, args=(dist,), reduce="min")
print("{}", dist.tolist())
"""


def typed(text: str, *, tmp: Path) -> str:
    """Type ``text`` into ``python -i`` in a terminal; return what is shown."""
    ours, theirs = pty.openpty()
    environ = os.environ | {"HOME": str(tmp), "TERM": "dumb", "NUMBA_DISABLE_JIT": "1", "PYTHON_BASIC_REPL": "1"}
    command = [sys.executable, "-i", "-c", "import sys; sys.ps1 = '> '"]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True)
    os.close(theirs)
    shown = b""
    try:
        for line in [*text.splitlines(), "exit()"]:
            while not shown.endswith((b"> ", b"... ")):
                shown += os.read(ours, 1024)
            os.write(ours, line.encode() + b"\n")
            shown += os.read(ours, 1)  # of the echo
        while True:
            shown += os.read(ours, 1024)
    except OSError:  # it has ended
        pass
    finally:
        os.close(ours)
        child.wait(PATIENCE)
    return shown.decode()


@pytest.mark.plain
def test_functions_typed_into_the_interpreter_are_edge_functions(tmp_path: Path) -> None:
    lines = [PROPAGATE, 'print("first", dist.tolist())\n', DEF, AGAIN.format("longer", "second")]
    inside = ["import code\n", "code.interact()\n", 'import numpy as np; import suricate as su; import sys\n',
              "sys.ps1 = '> '\n", "from __main__ import g, dist\n",
              "wider = [lambda u, v, w, dist: dist[u] + w, lambda u, v, w, dist: dist[u] + 3 * w]\n",
              AGAIN.format("wider[1]", "third")]  # fmt: skip
    shown = typed("".join(lines + inside), tmp=tmp_path)
    assert "Error" not in shown, shown
    assert "\nfirst [0.0, 1.0, 4.0, 5.0]" in shown.replace("\r", "")
    assert "\nsecond [0.0, 2.0, 8.0, 10.0]" in shown.replace("\r", "")
    assert "\nthird [0.0, 3.0, 12.0, 15.0]" in shown.replace("\r", "")


def test_a_function_read_from_a_pipe_says_where_it_must_be() -> None:
    script = PROPAGATE.replace("assert", "0 and")
    environ = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-"], input=script, env=environ, capture_output=True, text=True)
    assert "the source of <lambda> is not available, it was read from a pipe" in done.stderr
