"""Compiled code carried between machines of one kind: a file that ``suricate warmup`` saves on one, loads on others.

The file is a ZIP archive of ``entries/NAME`` and ``about.json``, which says what the entries were made with. Unpacked,
it is a folder for ``SURICATE_CODE``. ``cupy/NAME`` are kernels of CuPy's own, which it compiles when an operation on
arrays meets types that are new to it: they go to CuPy's folder, which it looks up by names that tell sources, versions
and the device, so that those of others are never read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import zipfile
from pathlib import Path
from typing import Any

from suricate.base import cache, packaged
from suricate.base.errors import ParameterError
from suricate.base.packaged import ABOUT, ENTRIES
from suricate.cuda.cupy_kernels import oldest

CPU = ".nbc"
CUPY = re.compile(r"cupy/([0-9a-f]{32,64}\.cubin)")  #: of a kernel of CuPy
NAME = re.compile(rf"{ENTRIES}/([\w.-]+\.(?:nbc|cubin))")  #: of an entry, in the archive


def save(path: Path) -> int:
    """Write the entries that this process has used to the file ``path``; return how many there are."""
    found = {name: cache.get(own) or cache.get(name) or cache.shipped(name) for name, own in cache.USED.items()}
    held = {name: content for name, content in found.items() if content is not None}
    kernels = {file.name: file.read_bytes() for file in _of_cupy()} if "cupy" in sys.modules else {}
    kernels = {name: content for name, content in kernels.items() if _is_whole(content)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(ABOUT, json.dumps(made_with(), indent=1))
        for folder, contents in ((ENTRIES, held), ("cupy", kernels)):
            for name in sorted(contents):
                archive.writestr(f"{folder}/{name}", cache.wrapped(contents[name]))
    return len(held) + len(kernels)


def load(path: Path) -> tuple[int, str]:
    """Copy the entries of the file ``path`` that can serve here to the cache folder.

    Return their number, and why the CPU's are not among them, if so.

    Raises:
        ParameterError: the file was not written by :func:`save`. Damaged entries are left out.
    """
    count = 0
    try:
        with zipfile.ZipFile(path) as archive:
            reason = misfit(json.loads(archive.read(ABOUT)))
            for member in archive.namelist():
                known, kernel = NAME.fullmatch(member), CUPY.fullmatch(member)
                if (known is None and kernel is None) or (reason and member.endswith(CPU)):
                    continue
                content = _content(archive, member)
                if content is not None and known is not None:
                    cache.put(known[1], content)
                    count += 1
                elif content is not None and kernel is not None:
                    count += _put_kernel(kernel[1], content)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise ParameterError(f"{path} is not a file of suricate warmup --save: {error}") from error
    return count, reason


def cupy_folder() -> Path:
    """Return the folder in which CuPy keeps its kernels."""
    return Path(os.environ.get("CUPY_CACHE_DIR") or os.path.expanduser("~/.cupy/kernel_cache"))


def _of_cupy() -> list[Path]:
    """Return the kernels in CuPy's folder."""
    return [file for file in sorted(cupy_folder().glob("*.cubin")) if CUPY.fullmatch(f"cupy/{file.name}")]


def _is_whole(kernel: bytes) -> bool:
    """Return whether a file of CuPy is whole: a digest in hexadecimal digits comes before the code."""
    return any(
        kernel[:size] == hashlib.new(name, kernel[size:], usedforsecurity=False).hexdigest().encode()
        for name, size in (("sha1", 40), ("md5", 32))
    )


def _put_kernel(name: str, content: bytes) -> bool:
    """Write a kernel to CuPy's folder, if it is whole; return whether it is there, new or from before."""
    folder = cupy_folder()
    if not _is_whole(content):
        return False
    part = folder / f"{secrets.token_hex(8)}.part"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_bytes(content)
        os.replace(part, folder / name)
    except OSError:
        part.unlink(missing_ok=True)
        return (folder / name).exists()
    return True


def _content(archive: zipfile.ZipFile, member: str) -> bytes | None:
    try:
        return cache.unwrapped(archive.read(member))
    except (zipfile.BadZipFile, OSError, ValueError):  # damaged: its checksum is wrong, or it does not unpack
        return None


def made_with() -> dict[str, str]:
    """Return by name what machine code for the CPU is made with here: versions, and the processor."""
    from numba.core.registry import cpu_target

    from suricate.cpu.code_key import portable_versions

    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return {**portable_versions(), "processor": name, "features": features}


def misfit(about: dict[str, Any]) -> str:
    """Return why machine code for the CPU made with ``about`` is not used here; "" if it is."""
    from suricate.cpu.code_key import BASELINE, includes_baseline

    here = made_with()
    if (about["processor"], about["features"]) == (BASELINE, "") and includes_baseline(here["features"]):
        about = {**about, "processor": here["processor"], "features": here["features"]}
    differing = [name for name, value in here.items() if about[name] != value]
    if not differing:
        return ""
    if differing == ["features"]:
        return "made for a processor with other features"
    return "; ".join(f"made for {name} {about[name]}, here is {here[name]}" for name in differing if name != "features")


def shipped_code() -> dict[str, str]:
    """Return what ``suricate info`` says of code made elsewhere: where it is, what it serves, and why it is unused."""
    folder, reason = cache.code_folder()
    told = {"code made elsewhere": f"not used: {reason}"}
    if folder is not None:
        try:
            about = json.loads((folder / ABOUT).read_text())
        except (OSError, ValueError):
            about = {}
        told = {"code made elsewhere": _told(str(folder), sum(1 for _ in (folder / ENTRIES).iterdir()), about)}
    for module in packaged.MODULES.values():
        found, what = packaged.installed(module), f"package {module.replace('_', '-')}"
        told[what] = "not installed" if found is None else _told(str(found.path), len(found.names()), found.about)
    return told


def _told(place: str, count: int, about: dict[str, Any]) -> str:
    """Return in words what ``count`` entries at ``place``, made with ``about``, serve, and why they are unused."""
    if "architectures" in about:
        made = f"CUDA {about['cuda']}, {', '.join(about['architectures'])}"
        made += f", kernels of CuPy {about['cupy']}" if about.get("cupy") else ""
        reason = misfit_of_device(about)
    else:
        try:
            made = ", ".join(f"{name} {about[name]}" for name in made_with() if name != "features")
            reason = misfit(about)
        except (KeyError, TypeError):
            made, reason = f"it does not say what made it (no {ABOUT})", ""
    return f"{place}, {count} entries: {made}" + (
        f"; not used on {'CUDA' if 'cuda' in about else 'the CPU'}: {reason}" if reason else ""
    )


def misfit_of_device(about: dict[str, Any]) -> str:
    """Return why machine code for CUDA made with ``about`` is not used here; "" if it is."""
    from suricate.base.devices import cuda_device_count
    from suricate.cuda import compiler

    if not cuda_device_count():
        return "there is no CUDA device"
    major = str(compiler.nvrtc_version()[0])
    if major != about["cuda"]:
        return f"made for CUDA {about['cuda']}, here is {major}"
    here = compiler.target_options()[-1]
    names = {each.partition("=")[2] for each in (here, oldest(here))}
    return "" if names & {*about["architectures"]} else f"it has none for {here.partition('=')[2]}"
