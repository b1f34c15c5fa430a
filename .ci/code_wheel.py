"""Build the packages ``suricate-code-cpu`` and ``suricate-code-cuda``: machine code made before the user comes.

Usage: ``python .ci/code_wheel.py cpu [--output FOLDER] [--load FILE]``,
``python .ci/code_wheel.py cuda [--output FOLDER] [--programs FILE] [--only TEXT] [--arch sm_90 ...] [--nvrtc FILE]``,
``python .ci/code_wheel.py record --programs FILE [--processes N]``

``cpu``: what ``suricate warmup`` compiles, for processors with the features of x86-64-v3, and none besides; for this
Python's minor version. ``--load`` packs a file of ``suricate warmup --save`` instead, made with ``ENVIRONMENT``.

``cuda``: machine code for those of ``ARCHITECTURES`` that the NVRTC that is installed knows, for CUDA of its major
version, by any Python. The programs are those that ``record`` has kept in ``--programs FILE``; without one they are
those that need no graph to be known: the default backend's and the algorithms' own. ``--only``: programs whose name
contains the text.

``record``, on a machine with a GPU: write the text of each program that ``suricate warmup --device cuda`` and the
scripts of ``suricate bench --suite first`` compile to a line of the file, as it is met, so that a run that is stopped
leaves what it has found; CuPy's own kernels as well (``suricate.cuda.cupy_kernels``). N processes share the steps.
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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import suricate
from suricate.base import cache, packaged
from suricate.cpu.threads import cores
from suricate.cuda.compiler import Compilation
from suricate.cuda.cupy_kernels import name_of, oldest

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 60 << 20  #: of an archive
BLOCK_BYTES = 512 << 10  #: of entries that are packed together, and unpacked in ten milliseconds
ARCHITECTURES = "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"
CUPY = "cupy "  #: begin of the names of CuPy's kernels, which end in its version
CUPY_FOLDER = "{cupy}"  #: in their options, where CuPy is installed
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
    from suricate.cuda.nvrtc import architectures_of
    from suricate.testing.nvrtc import library_file

    texts = [each for each in all_texts(programs) if only in each[1]]
    library = library or str(library_file())
    major = re.search(r"\.so\.(\d+)", library)
    assert major is not None
    known = {f"sm_{each}" for each in architectures_of(library)}
    architectures = tuple(each for each in architectures if each in known)
    jobs = [
        (library, major[1], text, architecture)
        for architecture in architectures
        for text in sorted(texts, key=lambda text: text[1])
        if not text[1].startswith(CUPY) or options_for(architecture)[-1] == oldest(options_for(architecture)[-1])
    ]
    cupy = sorted({name.removeprefix(CUPY) for _, name, _ in texts if name.startswith(CUPY)})
    if cupy and find_spec("cupy") is None:
        raise SystemExit(f"kernels of CuPy {', '.join(cupy)} need its headers: install CuPy")
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor() as pool:
        archive = Path(scratch) / packaged.ARCHIVE
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as out:
            about = {"cuda": major[1], "architectures": list(architectures), "cupy": ", ".join(cupy)}
            out.writestr(packaged.ABOUT, json.dumps(about))
            write_blocks(out, pool.map(compiled, jobs, chunksize=4))
        what = f"CUDA {major[1]}, {', '.join(architectures)}"
        return write_wheel(folder, packaged.MODULES[".cubin"], "py3-none-manylinux_2_17_x86_64", archive, what)


def write_blocks(out: zipfile.ZipFile, entries: Iterable[tuple[str, bytes]]) -> None:
    """Write ``entries``, names and contents, to an archive in blocks; neighbours should differ little."""
    index: dict[str, tuple[str, int, int]] = {}
    block, number = bytearray(), 0
    for name, content in entries:
        data = cache.wrapped(content)
        if block and len(block) + len(data) > BLOCK_BYTES:
            out.writestr(f"block{number}", bytes(block))
            block, number = bytearray(), number + 1
        index[f"{packaged.ENTRIES}/{name}"] = f"block{number}", len(block), len(data)
        block += data
    out.writestr(f"block{number}", bytes(block))
    out.writestr(packaged.INDEX, json.dumps(index))


def compiled(job: tuple[str, str, Text, str]) -> tuple[str, bytes]:
    """Return name and binary of a program for one architecture, compiled by the NVRTC at ``library``."""
    from suricate.cuda.nvrtc import compile_text

    library, major, (text, name, options), architecture = job
    if name.startswith(CUPY):
        folder = str(Path(str(find_spec("cupy").origin)).parent)  # type: ignore[union-attr]
        given = (*(each.replace(CUPY_FOLDER, folder) for each in options), f"-arch={architecture}")
        entry = name_of(text, given, f"{name.removeprefix(CUPY)} {major}")
        return entry, compile_text(library, text, "cupy.cu", given)
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
    scratch = tempfile.TemporaryDirectory()  # so that CuPy, too, compiles everything
    os.environ |= {"SURICATE_BUILDS": "quick", "SURICATE_AHEAD": "0", "CUPY_CACHE_DIR": scratch.name}
    known: set[Text] = set()
    failed = 0
    labels = [what for what, _ in _steps()]
    with scratch, kept.open("w") as file, ProcessPoolExecutor(processes, get_context("spawn")) as pool:
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
    begun, failure = time.perf_counter(), ""
    with noting(texts):
        try:
            _steps()[number][1]()
        except Exception as error:  # the others are still worth having
            failure = f"FAILED {error!r}"
    return number, time.perf_counter() - begun, failure, [*texts]


@contextmanager
def noting(texts: dict[Text, None]) -> Iterator[None]:
    """Note the programs that this process makes, and the kernels that CuPy compiles, as keys of ``texts``."""
    made: Any = Compilation.__init__

    def noted(self: Compilation, text: str, name: str, options: tuple[str, ...]) -> None:
        texts[text, name, tuple(options)] = None
        made(self, text, name, options)

    with ExitStack() as changed:
        changed.enter_context(patch.object(Compilation, "__init__", noted))
        with suppress(ImportError):
            changed.enter_context(_noting_cupy(texts))
        yield


def _noting_cupy(texts: dict[Text, None]) -> Any:
    import cupy
    from cupy.cuda import compiler

    program, folder, name = compiler._NVRTCProgram, str(Path(cupy.__file__).parent), f"{CUPY}{cupy.__version__}"
    compiled = program.compile

    def noted(self: Any, options: tuple[str, ...] = (), log_stream: Any = None) -> Any:
        if not self.name_expressions:
            kept = [each.replace(folder, CUPY_FOLDER) for each in options if not each.startswith(("-arch=", "--pch"))]
            texts[self.src, name, tuple(kept)] = None
        return compiled(self, options, log_stream)

    return patch.object(program, "compile", noted)


def _steps() -> list[tuple[str, Callable[[], None]]]:
    from suricate.base.devices import resolve_device
    from suricate.bench import first
    from suricate.cli.precompile import steps

    device = resolve_device("cuda")
    scripts = first.cases(str(device), 12)
    own = [(f"first: {name}", partial(exec, text, {"told": {}})) for name, text in scripts.items()]
    return [*steps(suricate.plugins.default_backend(device).name, device), *own]


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
