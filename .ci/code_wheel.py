"""Build the packages ``suricate-code-cpu`` and ``suricate-code-cuda``: machine code made before the user comes.

Usage: ``python .ci/code_wheel.py cpu [--output FOLDER] [--load FILE]``,
``python .ci/code_wheel.py cuda [--output FOLDER] [--programs FILE] [--only TEXT] [--arch sm_90 ...] [--nvrtc FILE]``,
``python .ci/code_wheel.py record --programs FILE [--processes N]``

``cpu``: what ``suricate warmup`` compiles, for processors with the features of x86-64-v3, and none besides; for this
Python's minor version. ``--load`` packs a file of ``suricate warmup --save`` instead, made with ``ENVIRONMENT``.

``cuda``: machine code for ``ARCHITECTURES``, for CUDA of the major version of the NVRTC that is installed, by any
Python. The programs are those that ``record`` has kept in ``--programs FILE``; without one they are those that need no
graph to be known: the default backend's and the algorithms' own. ``--only``: programs whose name contains the text.

``record``, on a machine with a GPU: write the text of each program that ``suricate warmup --device cuda`` compiles to a
line of the file, as it is met, so that a run that is stopped leaves what it has found. N processes share the steps.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import suricate
from suricate.base import cache, packaged
from suricate.cpu.threads import cores
from suricate.cuda.compiler import Compilation

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 60 << 20  #: of an archive
ARCHITECTURES = "sm_80", "sm_86", "sm_89", "sm_90"
#: The name of the processor alone keeps the features of the builder's, AVX-512 among them.
ENVIRONMENT = {
    "NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1", "SURICATE_AHEAD": "0",
    "SURICATE_CODE": "",
}  # fmt: skip
AVX_512 = re.compile(r"%zmm\d|%[xy]mm(?:1[6-9]|2\d|3[01])\b|%k[0-7]\b")
METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Machine code for suricate, made ahead: {what}.
License: Apache-2.0
Requires-Python: >=3.11
"""
DOCUMENT = '"""Machine code for suricate, which reads it from the archive beside this file."""\n'


def write_wheel(folder: Path, module: str, tag: str, archive: Path, what: str) -> Path:
    """Write a wheel with ``module``, an ``archive`` of code and nothing else, to ``folder``; return its path.

    Raises:
        SystemExit: the archive is larger than :data:`MOST_BYTES`.
    """
    if archive.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{archive.stat().st_size} bytes of code: at most {MOST_BYTES}")
    version = suricate.__version__
    name = "suricate-code-cpu" if module.endswith("cpu") else "suricate-code-cuda"
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}/__init__.py": DOCUMENT.encode(),
        f"{module}/{packaged.ARCHIVE}": archive.read_bytes(),
        f"{info}/METADATA": METADATA.format(name=name, version=version, what=what).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: suricate\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    record = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as out:
        for path, data in files.items():
            out.writestr(path, data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


# -- the CPU -----------------------------------------------------------------------------------------------------------


def build_cpu(folder: Path, load: Path | None) -> Path:
    """Return the wheel with what ``suricate warmup`` compiles, or with the entries of the file ``load``."""
    with tempfile.TemporaryDirectory() as scratch:
        archive = load or Path(scratch) / packaged.ARCHIVE
        if load is None:
            environment = {**os.environ, **ENVIRONMENT, "SURICATE_CACHE_DIR": str(Path(scratch) / "cache")}
            command = [sys.executable, "-P", "-m", "suricate", "warmup", "--device", "cpu", "--save", str(archive)]
            subprocess.run(command, env=environment, check=True, cwd=scratch)
        found = packaged.Archive(archive)
        about = found.about
        if (about.get("processor"), about.get("features")) != (ENVIRONMENT["NUMBA_CPU_NAME"], ""):
            raise SystemExit(f"{archive} was made for another processor: {about}")
        if wrong := list(with_avx_512(found)):
            raise SystemExit(f"AVX-512 in {wrong}")
        minor = about["python"].removeprefix("cpython-")
        what = f"linux x86-64-v3, Python {minor}, Numba {about['numba']}, llvmlite {about['llvmlite']}"
        return write_wheel(folder, packaged.MODULES[".nbc"], f"cp{minor}-none-manylinux_2_17_x86_64", archive, what)


def with_avx_512(archive: packaged.Archive) -> Iterator[str]:
    """Yield the names of the entries whose machine code has instructions of AVX-512; needs ``objdump``."""
    for name in archive.names():
        content = cache.unwrapped(archive.read(name) or b"")
        if content is None:
            raise SystemExit(f"{name} is damaged")
        with tempfile.NamedTemporaryFile(suffix=".o") as file:
            file.write(machine_code(content))
            file.flush()
            listing = subprocess.run(["objdump", "-d", file.name], capture_output=True, text=True, check=True).stdout
        assert "ret" in listing
        if AVX_512.search(listing):
            yield name


def machine_code(content: bytes) -> bytes:
    """Return the object file in an entry and what follows it: entries are pickled, with their bytes as they are."""
    return content[content.index(b"\x7fELF") :]


# -- CUDA --------------------------------------------------------------------------------------------------------------

Text = tuple[str, str, tuple[str, ...]]  #: of a program: its text, its name, and options without the architecture


def build_cuda(
    folder: Path, programs: Path | None, only: str, architectures: tuple[str, ...], library: str = ""
) -> Path:
    """Return the wheel with the machine code of all programs, or those whose names contain ``only``.

    ``library``: path of the NVRTC library; empty: the oldest one that is installed.
    """
    from suricate.testing.nvrtc import library_file

    texts = [each for each in all_texts(programs) if only in each[1]]
    library = library or str(library_file())
    major = re.search(r"\.so\.(\d+)", library)
    assert major is not None
    jobs = [(library, major[1], text, architecture) for text, architecture in product(texts, architectures)]
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor() as pool:
        archive = Path(scratch) / packaged.ARCHIVE
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            about = {"cuda": major[1], "architectures": list(architectures)}
            out.writestr(packaged.ABOUT, json.dumps(about))
            for name, binary in pool.map(compiled, jobs, chunksize=4):
                out.writestr(f"{packaged.ENTRIES}/{name}", cache.wrapped(binary))
        what = f"CUDA {major[1]}, {', '.join(architectures)}"
        return write_wheel(folder, packaged.MODULES[".cubin"], "py3-none-manylinux_2_17_x86_64", archive, what)


def compiled(job: tuple[str, str, Text, str]) -> tuple[str, bytes]:
    """Return name and binary of a program for one architecture, compiled by the NVRTC at ``library``."""
    from suricate.cuda.nvrtc import compile_text

    library, major, (text, name, options), architecture = job
    given = (*options, *options_for(architecture))
    return portable_name(text, name, given, major), compile_text(library, text, name, given)


def options_for(architecture: str) -> tuple[str, ...]:
    """Return what ``suricate.cuda.compiler.target_options`` returns on a machine with devices of this kind."""
    return "-ftz=true", f"-arch={architecture}"


def portable_name(text: str, name: str, options: tuple[str, ...], major: str) -> str:
    """Return the name of the entry that machines with NVRTC ``major`` look for."""
    one = Compilation.__new__(Compilation)
    one._text, one._name, one._options = text, name, options
    return one._named(f"portable {major}")


def all_texts(kept: Path | None) -> list[Text]:
    """Return the programs to compile, see the module."""
    if kept is not None:
        lines = map(json.loads, kept.read_text().splitlines())
        return [(text, name, tuple(options)) for text, name, options in lines]
    sys.path.insert(0, str(ROOT / ".ci"))
    from compile_cuda import all_programs

    default = max(suricate.plugins.backends().values(), key=lambda backend: backend.priority).name
    plain = (f"{default}  weight=None", f"{default}  weight=float32", "core")
    found = [one for label, one, _ in all_programs([default]) if label in plain]
    return list(dict.fromkeys((each.text, each.source.name, each.options) for each in found))


def record(kept: Path, processes: int) -> int:
    """Write the programs that ``suricate warmup`` compiles on this machine's GPU to ``kept``; return the failures.

    Only quick builds are made, and each process compiles in its own thread.
    """
    os.environ |= {"SURICATE_BUILDS": "quick", "SURICATE_AHEAD": "0"}
    known: set[Text] = set()
    failed = 0
    labels = [what for what, _ in _steps()]
    with kept.open("w") as file, ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(record_step, number) for number in range(len(labels))]):
            number, seconds, failure, texts = done.result()
            failed += bool(failure)
            print(f"{seconds:6.1f} s  {len(texts):3} programs  {labels[number]} {failure}", flush=True)
            file.writelines(json.dumps(text) + "\n" for text in texts if text not in known)
            file.flush()
            known.update(texts)
    print(f"{len(known)} programs, {failed} steps failed")
    return failed


def record_step(number: int) -> tuple[int, float, str, list[Text]]:
    """Return a step's number, its seconds, why it failed, and what programs it made that this process had not met."""
    texts: dict[Text, None] = {}
    made: Any = Compilation.__init__

    def noted(self: Compilation, text: str, name: str, options: tuple[str, ...]) -> None:
        texts[text, name, tuple(options)] = None
        made(self, text, name, options)

    Compilation.__init__ = noted  # type: ignore[method-assign]
    begun, failure = time.perf_counter(), ""
    try:
        _steps()[number][1]()
    except Exception as error:  # the others are still worth having
        failure = f"FAILED {error!r}"
    finally:
        Compilation.__init__ = made  # type: ignore[method-assign]
    return number, time.perf_counter() - begun, failure, [*texts]


def _steps() -> list[tuple[str, Callable[[], None]]]:
    from suricate.base.devices import resolve_device
    from suricate.cli.precompile import steps

    device = resolve_device("cuda")
    return steps(suricate.plugins.default_backend(device).name, device)


def main(arguments: list[str] | None = None) -> int:
    """Build one wheel and say where it is; or record programs. Return how many steps failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", choices=("cpu", "cuda", "record"))
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--load", type=Path)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--only", default="")
    parser.add_argument("--nvrtc", default="")
    parser.add_argument("--arch", dest="architectures", action="append")
    given = parser.parse_args(arguments)
    if given.device == "record":
        return record(given.programs, given.processes)
    if given.device == "cpu":
        wheel = build_cpu(given.output, given.load)
    else:
        architectures = tuple(given.architectures or ARCHITECTURES)
        wheel = build_cuda(given.output, given.programs, given.only, architectures, given.nvrtc)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(bool(main()))
