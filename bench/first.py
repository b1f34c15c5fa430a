"""The suite ``first``: what somebody waits for who uses suricate for the first time on a machine.

Each case runs in a process of its own, with a cache folder of its own, in three states: ``empty``, the folder is;
``ahead``, it is, and machine code that was made before is there: that of the installed packages ``suricate-code-...``,
else what the case itself has saved, as by ``suricate warmup --save``; ``warm``, once more with the folder of the first.
Processor time is that of the process and all that it started; a compilation is a new entry of the folder. Answers are
not checked here: the same calls are in tests.

On CUDA there are first calls of algorithms besides: the first one, the best of those that follow in half a second,
while compilers may still work, and the best of a half second after they are done.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from suricate.base import packaged
from suricate.base.devices import Device
from suricate.cli.grids import Grid

STATES = "empty", "ahead", "warm"
SCRIPTS = tomllib.loads((Path(__file__).parent / "data" / "first.toml").read_text())
AROUND = """
import json, os, resource, sys, time
from pathlib import Path
begin, told = time.perf_counter(), {{}}
from suricate.base import packaged
if not {packages}:
    packaged._folders = lambda: []
{script}
took = time.perf_counter() - begin
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
told["cpu_s"], told["wall_s"] = sum(each.ru_utime + each.ru_stime for each in used), took
from suricate.cli import carry
from suricate.cuda.compiler import POOL
if {save!r}:
    POOL.wait()  # for final builds
    carry.save(Path({save!r}))
print(json.dumps(told))
"""


def cases(device: str, scale: int) -> dict[str, str]:
    """Return the scripts of the suite by name; ``scale``: of the R-MAT graph of first calls on CUDA."""
    first, second = (SCRIPTS[name].replace('"cpu"', f'"{device}"') for name in ("first_block", "second_block"))
    found = {
        "README, first block": first,
        "README, second block": second,
        "the same, slides of 6h": second.replace('slide="1d"', 'slide="6h"'),
        "window of 300,000 named events": second.replace("1_000", "30_000").replace("20_000", "300_000"),
        "twelve functions of NetworkX": filled("networkx", device=device),
    }
    if device == "cpu":
        return found | {"first replay": SCRIPTS["replay"]}
    calls = {
        f"{name}, {batch:+,} edges" if batch else f"{name} from scratch": filled(
            "call", name=name, batch=batch, scale=scale, device=device
        )
        for name, batch in SCRIPTS["calls"]
    }
    return found | calls


def filled(script: str, **values: Any) -> str:
    """Return a script of ``data/first.toml`` with ``values`` in place of their names in braces."""
    found: str = SCRIPTS[script]
    for name, value in values.items():
        found = found.replace(f"{{{name}}}", str(value))
    return found


def run(device: Device, output: Path | None, scale: int, only: tuple[str, ...], say: Callable[[str], None]) -> Grid:
    """Run the cases whose names contain one of ``only`` (empty: all) in all states; return the table.

    Rows are appended to the file ``output`` as JSON lines; ``say`` gets a line for each.
    """
    rows = []
    for name, script in cases(str(device), scale).items():
        if only and not any(part in name for part in only):
            continue
        for row in measured(name, script):
            rows.append({"suite": "first", "device": str(device), **row})
            told = (f"{each} {row[each]}" for each in row if each.endswith("_s") or each == "error")
            say(f"{name}, {row['state']}: {', '.join(told)}")
            if output is not None:
                output.parent.mkdir(parents=True, exist_ok=True)
                with open(output, "a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    columns = "case", "state", "cpu_s", "wall_s", "compilations", "first_s", "next_s", "final_s", "error"
    return Grid("first", columns, [tuple(row.get(each) for each in columns) for row in rows])


def measured(name: str, script: str) -> Iterator[dict[str, Any]]:
    """Yield a row of the case ``name`` for each state of the caches: seconds, and compilations; or an error."""
    with tempfile.TemporaryDirectory() as scratch:
        saved, code = Path(scratch) / "saved.zip", Path(scratch) / "code"
        packages = any(packaged.installed(module) for module in packaged.MODULES.values())
        for state in STATES:
            folder = Path(scratch) / ("ahead" if state == "ahead" else "cache")
            made = str(code) if state == "ahead" and not packages else ""
            own = {
                "SURICATE_CACHE_DIR": str(folder),
                "SURICATE_QUIET": "1",
                "SURICATE_CODE": made,
                "SURICATE_AHEAD": "1",
            }
            own["CUPY_CACHE_DIR"] = str(folder / "cupy")
            before = entries_of(folder)
            program = AROUND.format(
                packages=state == "ahead" and packages, script=script, save=str(saved) if state == "empty" else ""
            )
            command, environment = [sys.executable, "-P", "-c", program], {**os.environ, **own}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                yield {"case": name, "state": state, "error": "".join(done.stderr.splitlines()[-1:])}
                return
            if state == "empty":
                with zipfile.ZipFile(saved) as archive:
                    archive.extractall(code)
            told = {each: round(value, 5) for each, value in json.loads(done.stdout.splitlines()[-1]).items()}
            yield {"case": name, "state": state, **told, "compilations": entries_of(folder) - before}


def entries_of(folder: Path) -> int:
    """Return how many entries of machine code the cache ``folder`` has."""
    return sum(path.suffix in packaged.MODULES for path in (folder / packaged.ENTRIES).glob("*.*"))
