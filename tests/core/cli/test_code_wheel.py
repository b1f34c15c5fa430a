"""Packages of machine code: what is in them, where they are found, and that they are only read."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import cupy_compiler
import pytest
from numba.core.registry import cpu_target

from suricate.base import cache, packaged
from suricate.cli import carry
from suricate.cpu import code_key
from suricate.cuda import compiler
from suricate.cuda.cupy_kernels import name_of
from suricate.testing.nvrtc import library_file, no_nvrtc

CHECKOUT = Path(__file__).resolve().parents[3]
LOOP = """
from suricate.cpu.jit import kernel

@kernel
def filled(x, value):
    for i in range(len(x)):
        x[i] += value * i
"""
CALLED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from suricate.base import packaged
if len(sys.argv) > 3:
    packaged._folders = lambda: [sys.argv[3]]
import compiled
listener = compiled.Compiled()
import numpy as np
from filled_loop import filled
x = np.zeros(100)
filled(x, 2.0)
assert x[99] == 198
if sys.argv[2]:
    from pathlib import Path
    from suricate.cli import carry
    assert carry.save(Path(sys.argv[2])) == 1
print(len(listener.found))
"""


@pytest.fixture(scope="module")
def wheels() -> ModuleType:
    spec = importlib.util.spec_from_file_location("code_wheel", CHECKOUT / ".ci" / "code_wheel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["code_wheel"] = module  # processes of a pool import it by its name
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path):
    (tmp_path / "filled_loop.py").write_text(LOOP)

    def run(machine: str, *given: object, **variables: str) -> int:
        """Return how many functions a process on a ``machine``, with a cache of its own, compiles."""
        own = {"SURICATE_CACHE_DIR": str(tmp_path / machine), "NUMBA_DISABLE_JIT": "0"}
        own["PYTHONPATH"] = str(CHECKOUT / "tests" / "support")
        command = [sys.executable, "-c", CALLED, tmp_path, *given]
        environment = {**os.environ, **own, **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    return run


@pytest.fixture
def packages(run, wheels, tmp_path):
    """A folder into which the package of a loop's code is installed."""
    if not code_key.includes_baseline(cpu_target.target_context.codegen().magic_tuple()[2]):
        pytest.skip("this processor has not the features of the baseline")
    if shutil.which("objdump") is None:
        pytest.skip("no objdump")
    assert run("builder", tmp_path / "code.zip", **wheels.ENVIRONMENT) == 1
    wheel = wheels.build_cpu(tmp_path / "dist", tmp_path / "code.zip")
    minor = "".join(map(str, sys.version_info[:2]))
    assert wheel.name == f"suricate_code_cpu-{wheels.suricate.__version__}-cp{minor}-none-manylinux_2_17_x86_64.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        assert not any("entry_points" in name for name in archive.namelist())
        archive.extractall(tmp_path / "packages")
    return tmp_path / "packages"


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_code_of_a_package_is_run_and_never_changed(run, packages, tmp_path):
    before = state_of(packages)
    assert run("second", "", packages) == 0
    assert run("third", "", packages, NUMBA_OPT="0") == 1, "another option of Numba makes other code"
    assert run("fourth", "") == 1, "without the package"
    assert state_of(packages) == before
    assert run("fifth", "", packages, NUMBA_CPU_NAME="nehalem", NUMBA_CPU_FEATURES="") == 1, "a processor that lacks it"
    (tmp_path / "suricate_code_cpu").symlink_to(packages / "suricate_code_cpu")
    assert run("sixth", "") == 1, "what lies in the working directory is not a package"


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "no code"])
def test_damaged_code_is_compiled_and_stays_there(run, packages, damage):
    path = packages / "suricate_code_cpu" / packaged.ARCHIVE
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-30])
    else:
        with zipfile.ZipFile(path) as archive:
            ((name, data),) = [(each, archive.read(each)) for each in archive.namelist() if each.endswith(".nbc")]
        changed = {"flipped": data[:-1] + bytes([data[-1] ^ 1]), "foreign": b"else", "no code": cache.wrapped(b"none")}
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, changed[damage])
    before = state_of(packages)
    assert run("second", "", packages) == 1
    assert run("second", "", packages) == 0, "its own"
    assert state_of(packages) == before


@pytest.mark.slow
def test_avx_512_is_found_and_refused(run, wheels, tmp_path):
    features = cpu_target.target_context.codegen().magic_tuple()[2]
    if "+avx512f" not in features or shutil.which("objdump") is None:
        pytest.skip("this processor has none, or there is no objdump")
    wide = {"NUMBA_CPU_NAME": "x86-64-v4", "NUMBA_CPU_FEATURES": "+avx512f,-prefer-256-bit"}
    assert run("builder", tmp_path / "code.zip", **wide) == 1
    archive = packaged.Archive(tmp_path / "code.zip")
    assert list(wheels.with_avx_512(archive)) == archive.names()
    with pytest.raises(SystemExit, match="another processor"):
        wheels.build_cpu(tmp_path / "dist", tmp_path / "code.zip")


@pytest.mark.slow
def test_info_says_what_a_package_serves_and_why_it_is_unused(packages, monkeypatch):
    monkeypatch.setattr(packaged, "_folders", lambda: [str(packages)])
    packaged.installed.cache_clear()
    try:
        told = carry.shipped_code()
        assert told["package suricate-code-cpu"].startswith(
            f"{packages / 'suricate_code_cpu' / 'code.zip'}, 1 entries: "
        )
        assert f"python {sys.implementation.cache_tag}" in told["package suricate-code-cpu"]
        assert "not used" not in told["package suricate-code-cpu"]
        assert told["package suricate-code-cuda"] == "not installed"
        monkeypatch.setattr(carry, "made_with", lambda: {**packaged.installed("suricate_code_cpu").about, "numba": "0"})
        assert "not used on the CPU: made for numba" in carry.shipped_code()["package suricate-code-cpu"]
    finally:
        packaged.installed.cache_clear()


def test_packages_are_looked_for_where_they_are_installed():
    folders = packaged._folders()
    assert folders
    assert all(os.path.isabs(each) for each in folders)
    assert str(Path.cwd()) not in folders


def test_programs_that_a_step_compiles_are_recorded(wheels, monkeypatch):
    def compiles():
        for name in ("one.cu", "two.cu", "one.cu"):
            compiler.Compilation("text", name, ("-std=c++17",))

    def fails():
        compiles()
        raise ValueError("no device")

    monkeypatch.setattr(compiler, "target_options", lambda: wheels.options_for("sm_90"))
    monkeypatch.delenv("SURICATE_BUILDS", raising=False)
    monkeypatch.setattr(wheels, "_steps", lambda: [("first", compiles), ("second", fails)])
    texts = [("text", name, ("-std=c++17",)) for name in ("one.cu", "two.cu")]
    number, _, failure, found = wheels.record_step(0)
    assert (number, failure, found) == (0, "", texts)
    number, _, failure, found = wheels.record_step(1)
    assert (number, failure, found) == (1, "FAILED ValueError('no device')", texts)


@pytest.mark.skipif(bool(no_nvrtc()), reason=str(no_nvrtc()))
def test_programs_are_compiled_without_a_gpu_under_the_names_that_are_looked_for(wheels, tmp_path, monkeypatch):
    texts = [('extern "C" __global__ void fill(int *x) { x[threadIdx.x] = 1; }', "fill.cu", ("-std=c++17",))]
    (tmp_path / "programs").write_text("\n".join(map(json.dumps, texts)))
    wheel = wheels.build_cuda(tmp_path / "dist", tmp_path / "programs", "", ("sm_80", "sm_90"))
    assert wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "packages")
    monkeypatch.setattr(packaged, "_folders", lambda: [str(tmp_path / "packages")])
    packaged.installed.cache_clear()
    try:
        for architecture in ("sm_80", "sm_90", "sm_87"):  # the last is served by the oldest of its family
            monkeypatch.setattr(compiler, "target_options", lambda arch=architecture: wheels.options_for(arch))
            monkeypatch.setattr(compiler, "nvrtc_version", lambda: (12, 1))
            monkeypatch.setattr(cache, "get", lambda name: None)
            binary = compiler.Compilation(*texts[0]).ready()
            assert binary is not None
            assert binary[:4] == b"\x7fELF"
        monkeypatch.setattr(compiler, "nvrtc_version", lambda: (13, 0))
        assert compiler.Compilation(*texts[0]).ready() is None
        told = carry.shipped_code()["package suricate-code-cuda"]
        assert "2 entries: CUDA 12, sm_80, sm_90; not used on CUDA: there is no CUDA device" in told
    finally:
        packaged.installed.cache_clear()


def test_entries_in_blocks_are_found_and_damaged_blocks_are_not(wheels, tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "BLOCK_BYTES", 1_000)
    contents = {f"entry{number}.cubin": bytes([number]) * 300 for number in range(10)}
    with zipfile.ZipFile(tmp_path / "code.zip", "w", zipfile.ZIP_LZMA) as out:
        wheels.write_blocks(out, contents.items())
        assert sum(name.startswith("block") for name in out.namelist()) == 6, "five, and the index"
    archive = packaged.Archive(tmp_path / "code.zip")
    assert archive.names() == [f"{packaged.ENTRIES}/{name}" for name in contents]
    assert [cache.unwrapped(archive.read(name)) for name in archive.names()] == [*contents.values()]
    assert archive.read("entries/other.cubin") is None
    known = archive._members["block1"]
    data = bytearray((tmp_path / "code.zip").read_bytes())
    data[known.header_offset + packaged.HEADER + len("block1") + known.compress_size // 2] ^= 0xFF
    (tmp_path / "code.zip").write_bytes(data)
    damaged = packaged.Archive(tmp_path / "code.zip")
    found = [damaged.read(name) for name in archive.names()]
    whole = [each is not None and cache.unwrapped(each) is not None for each in found]
    assert whole.count(False) in (1, 2), "of the block that is damaged"


@pytest.mark.skipif(bool(no_nvrtc()), reason=str(no_nvrtc()))
def test_kernels_of_cupy_are_compiled_for_families_with_its_headers(wheels, tmp_path, monkeypatch):
    (tmp_path / "one.cuh").write_text("typedef int T;")
    monkeypatch.setattr(wheels, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
    text = '#include <one.cuh>\nextern "C" __global__ void fill(T *x) { x[0] = 1; }'
    kernel = text, "cupy 14.0", ("-std=c++17", "-I{cupy}")
    library = str(library_file())
    name, binary = wheels.compiled((library, "12", kernel, "sm_80"))
    assert binary[:4] == b"\x7fELF"
    assert name == name_of(text, ("-I/elsewhere", "-std=c++17", "-arch=sm_86", "--pch"), "14.0 12")
    assert name != name_of(text, ("-std=c++17", "-arch=sm_90"), "14.0 12")


@pytest.mark.skipif(bool(no_nvrtc()), reason=str(no_nvrtc()))
def test_kernels_of_cupy_are_refused_without_its_headers(wheels, tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "find_spec", lambda name: None)
    (tmp_path / "programs").write_text(json.dumps(("text", "cupy 14.0", ())))
    with pytest.raises(SystemExit, match=r"kernels of CuPy 14\.0 need its headers"):
        wheels.build_cuda(tmp_path / "dist", tmp_path / "programs", "", ("sm_80",))


def test_kernels_that_cupy_compiles_are_recorded(wheels, tmp_path, monkeypatch):
    fake = cupy_compiler.install(tmp_path, monkeypatch)
    texts = {}
    with wheels.noting(texts):
        fake("one").compile(("-I" + str(tmp_path / "cupy" / "include"), "-arch=sm_90", "--pch", "-std=c++17"))
        fake("two", expressions=("f<int>",)).compile(())
    assert list(texts) == [("one", "cupy 14.0", ("-I{cupy}/include", "-std=c++17"))]
    assert fake("one").compile(("-std=c++17",)) == (b"compiled", None)
