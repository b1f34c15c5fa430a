"""CuPy's own kernels are taken from the package of machine code, whatever the machine calls its folders."""

from __future__ import annotations

import inspect
import sys
import zipfile

import cupy_compiler
import pytest

from suricate.base import cache, devices, packaged
from suricate.cuda import cupy_kernels

OPTIONS = "-std=c++17", "-I/here/cupy/include", "-arch=sm_80"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The class of CuPy's programs, and a folder for packages, which is looked for when it is served."""
    monkeypatch.setattr(packaged, "_folders", lambda: [str(tmp_path)])
    monkeypatch.delenv("SURICATE_CODE", raising=False)
    packaged.installed.cache_clear()
    cupy_kernels.serve.cache_clear()
    yield cupy_compiler.install(tmp_path, monkeypatch)
    packaged.installed.cache_clear()
    cupy_kernels.serve.cache_clear()


def install_package(folder, texts, versions="14.0 13"):
    (folder / "suricate_code_cuda").mkdir()
    with zipfile.ZipFile(folder / "suricate_code_cuda" / packaged.ARCHIVE, "w", zipfile.ZIP_LZMA) as archive:
        for text in texts:
            name = cupy_kernels.name_of(text, OPTIONS, versions)
            archive.writestr(f"{packaged.ENTRIES}/{name}", cache.wrapped(text.encode() * 50))


def test_kernels_of_the_package_are_served_in_all_architectures_of_the_family(program, tmp_path):
    install_package(tmp_path, ["one"])
    assert devices.Device("cuda").xp.__version__ == "14.0"
    elsewhere = "-arch=sm_89", "-I/there/include", "-std=c++17", "--pch"
    assert program("one").compile(elsewhere) == (b"one" * 50, None)
    assert program("one").compile(options=(*elsewhere[1:], "-arch=sm_90")) == (b"compiled", None)
    assert program("one").compile(("-std=c++14", "-arch=sm_89")) == (b"compiled", None)
    assert program("two").compile(elsewhere) == (b"compiled", None)
    assert program("one", expressions=("f<int>",)).compile(elsewhere) == (b"compiled", None)


def test_kernels_of_another_cupy_are_not_served(program, tmp_path):
    install_package(tmp_path, ["one"], "13.6 13")
    cupy_kernels.serve()
    assert program("one").compile(OPTIONS) == (b"compiled", None)


def test_damaged_kernels_are_compiled(program, tmp_path):
    install_package(tmp_path, ["one"])
    path = tmp_path / "suricate_code_cuda" / packaged.ARCHIVE
    archive = packaged.Archive(path)
    (member,) = archive.names()
    whole = archive.read(member)
    known = archive._members[member]
    begin = packaged.HEADER + len(member)
    for place in range(begin, begin + known.compress_size):
        data = bytearray(path.read_bytes())
        data[place] ^= 0x10
        path.write_bytes(bytes(data))
        found = archive.read(member)
        assert found is None or cache.unwrapped(found) in (None, b"one" * 50)
        data[place] ^= 0x10
        path.write_bytes(bytes(data))
    assert archive.read(member) == whole


@pytest.mark.parametrize("has_package", [False, True])
def test_nothing_changes_without_the_package_or_with_a_cupy_that_has_renamed_its_class(program, tmp_path, has_package):
    if has_package:
        install_package(tmp_path, ["one"])
        del sys.modules["cupy.cuda.compiler"]._NVRTCProgram
    before = program.compile
    cupy_kernels.serve()
    assert program.compile is before


@pytest.mark.gpu
def test_cupy_has_what_its_kernels_are_served_through():
    compiler = pytest.importorskip("cupy.cuda.compiler", reason="the emulated CuPy compiles nothing")
    parameters = list(inspect.signature(compiler._NVRTCProgram.compile).parameters)
    assert parameters == ["self", "options", "log_stream"]
    made = compiler._NVRTCProgram("text")
    assert (made.src, made.name_expressions) == ("text", None)
    assert sys.modules["cupy"].cuda.nvrtc.getVersion()[0] >= 12
