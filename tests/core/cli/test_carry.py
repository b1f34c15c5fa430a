"""Compiled code goes from one machine to another of its kind, by a file or a folder that is only read."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cli_calls import call
from numba import njit
from numba.core.registry import cpu_target

from suricate.base import cache
from suricate.cli import carry
from suricate.cpu import code_key
from suricate.errors import ParameterError

DIGESTS = {
    "sha1": 40,
    "md5": 32,
}  #: before the code in files of CuPy, and how long they are; one or the other by version
MODULE = """
from suricate.cpu.jit import inner, kernel

@inner
def one():
    return 1

@kernel
def more(x):
    return x + one()
"""
CALLED = """
import sys
sys.path.insert(0, sys.argv[1])
from numba.core import event

class Compiled(event.Listener):
    names = []
    def on_start(self, event): self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass

event.register("numba:compile", Compiled())
from carried_loop import more
assert more(3) == 4
if len(sys.argv) > 2:
    from pathlib import Path
    from suricate.cli import carry
    assert carry.save(Path(sys.argv[2])) == 1
print(*Compiled.names)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "carried_loop.py").write_text(MODULE)

    def run(machine: str, *given: object, **variables: str) -> list[str]:
        """Return the names of the functions that a process on a ``machine``, with a cache of its own, has compiled."""
        own = {"SURICATE_CACHE_DIR": str(tmp_path / machine), "NUMBA_DISABLE_JIT": "0", "NUMBA_CPU_NAME": ""}
        environment = {**os.environ, **own, **variables}
        environment = {name: value for name, value in environment.items() if value != ""} | {
            name: "" for name, value in variables.items() if value == ""
        }
        command = [sys.executable, "-c", CALLED, tmp_path, *given]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


@pytest.fixture
def saved(run, tmp_path):
    assert run("first", tmp_path / "code.zip") == ["more", "one"]
    return tmp_path / "code.zip"


def unpacked(archive: Path, folder: Path) -> Path:
    zipfile.ZipFile(archive).extractall(folder)
    return folder


def files_of(folder: Path) -> dict[str, Any]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_nothing_that_was_saved_is_compiled_on_the_next_machine(run, saved, tmp_path, monkeypatch):
    monkeypatch.setenv("SURICATE_CACHE_DIR", str(tmp_path / "second"))
    for function in (cache.named_folder, cache.can_write):
        function.cache_clear()
    try:
        result = call("warmup", "--load", saved)
    finally:
        monkeypatch.undo()
        for function in (cache.named_folder, cache.can_write):
            function.cache_clear()
    assert result.stdout == f"1 entries of {saved} are in {tmp_path / 'second'}\n"
    assert run("second") == []
    assert run("third") == ["more", "one"], "without the file"


@pytest.mark.slow
def test_a_folder_of_code_is_read_and_never_changed(run, saved, tmp_path):
    folder = unpacked(saved, tmp_path / "code")
    before = files_of(folder)
    for entry in (folder / "entries").iterdir():
        os.utime(entry, (1, 1))  # so old that a cache would touch or remove it
        before = files_of(folder)
    assert run("second", SURICATE_CODE=str(folder)) == []
    assert files_of(folder) == before
    assert run("third", SURICATE_CODE="code") == ["more", "one"], "a relative path depends on the working directory"


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "not code"])
def test_what_is_damaged_or_foreign_is_compiled_and_stays_there(run, saved, tmp_path, damage):
    folder = unpacked(saved, tmp_path / "code")
    (entry,) = (folder / "entries").iterdir()
    data = bytearray(entry.read_bytes())
    data[-1] ^= 1
    changed = {"cut": data[:40], "flipped": data, "foreign": b"else", "not code": cache.wrapped(b"no pickle")}
    entry.write_bytes(changed[damage])
    before = files_of(folder)
    assert run("second", SURICATE_CODE=str(folder)) == ["more", "one"]
    assert files_of(folder) == before
    assert run("second", SURICATE_CODE=str(folder)) == [], "from its own cache"


@pytest.mark.slow
def test_code_for_the_baseline_serves_processors_that_include_it(run, saved, tmp_path):
    if not code_key.includes_baseline(cpu_target.target_context.codegen().magic_tuple()[2]):
        pytest.skip("this processor does not")
    built = tmp_path / "baseline.zip"
    variables = {"NUMBA_CPU_NAME": code_key.BASELINE, "NUMBA_CPU_FEATURES": ""}
    assert run("builder", built, **variables) == ["more", "one"]
    folder = unpacked(built, tmp_path / "code")
    assert json.loads((folder / "about.json").read_text())["processor"] == code_key.BASELINE
    assert run("second", SURICATE_CODE=str(folder)) == []
    assert carry.misfit(json.loads((folder / "about.json").read_text())) == ""


def test_kernels_of_cupy_go_to_its_folder(tmp_path, monkeypatch):
    """Whole ones, by their names; what has another name, or is damaged, does not."""
    monkeypatch.setattr(cache, "USED", {})
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "first"))
    (tmp_path / "first").mkdir()
    code, names = b"machine code", {hash: f"{number}" * size for number, (hash, size) in enumerate(DIGESTS.items())}
    kernels = {f"{name}.cubin": hashlib.new(hash, code).hexdigest().encode() + code for hash, name in names.items()}
    for name, content in {
        **kernels,
        f"{'a' * 40}.cubin": b"cut",
        "notes.cubin": b"else",
        f"{'b' * 40}.cu": b"",
    }.items():
        (tmp_path / "first" / name).write_bytes(content)
    assert carry.save(tmp_path / "cpu.zip") == (2 if "cupy" in sys.modules else 0)
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    assert carry.save(tmp_path / "code.zip") == 2
    with zipfile.ZipFile(tmp_path / "code.zip", "a") as archive:
        archive.writestr("cupy/../escaped.cubin", cache.wrapped(code))
        archive.writestr(f"cupy/{'c' * 40}.cubin", cache.wrapped(code))
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "second"))
    assert carry.load(tmp_path / "code.zip") == (2, "")
    assert {file.name: file.read_bytes() for file in (tmp_path / "second").iterdir()} == kernels
    assert carry.load(tmp_path / "code.zip") == (2, ""), "they are there"


def test_keys_name_versions_and_the_processor():
    @njit
    def nothing(x):
        return x

    def keys(features: str, name: str = "cpu") -> list[str]:
        return code_key.digests_of(nothing, (), ("x86", name, features))

    v3 = ",".join(sorted(code_key.V3))
    assert len(keys("+avx")) == 2
    assert len(keys(v3)) == 3
    assert keys(v3)[2] == keys(f"{v3},+avx512f", "other")[2] == keys("", code_key.BASELINE)[1]
    assert len({*keys("+avx"), *keys("-avx"), *keys("+avx", "other")}) == 6


@pytest.mark.slow
def test_only_what_can_run_here_is_loaded(saved, monkeypatch):
    put: list[str] = []
    monkeypatch.setattr(cache, "put", lambda name, content: put.append(name))
    assert carry.load(saved) == (1, "")
    here = carry.made_with()
    for name, told in (("numba", "made for numba 0.1, here is"), ("features", "made for a processor with other")):
        monkeypatch.setattr(carry, "made_with", lambda name=name: {**here, name: "here"})
        with zipfile.ZipFile(saved) as archive:
            about = json.loads(archive.read("about.json"))
        assert carry.misfit({**about, name: "0.1"}).startswith(told)
        assert carry.load(saved)[0] == 0
    assert len(put) == 1


def test_files_that_are_something_else_are_refused(tmp_path):
    file = tmp_path / "code.zip"
    file.write_bytes(b"no archive")
    with pytest.raises(ParameterError, match=r"not a file of suricate warmup --save"):
        carry.load(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("entries/../../outside.nbc", b"")
    with pytest.raises(ParameterError, match=r"not a file of suricate warmup --save"):
        carry.load(file)


def test_names_outside_of_the_folder_are_left_out(tmp_path, monkeypatch):
    put: list[str] = []
    monkeypatch.setattr(cache, "put", lambda name, content: put.append(name))
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("about.json", json.dumps(carry.made_with()))
        for name in ("entries/../outside.nbc", "entries/a/b.nbc", "/entries/a.nbc", "entries/a.py", "entries/a.nbc"):
            archive.writestr(name, cache.wrapped(b"content"))
    assert carry.load(tmp_path / "code.zip") == (1, "")
    assert put == ["a.nbc"]


@pytest.mark.slow
def test_info_says_what_is_used_and_why_not(saved, tmp_path, monkeypatch):
    folder = unpacked(saved, tmp_path / "code")
    about = json.loads((folder / "about.json").read_text())

    def told(named: str) -> str:
        monkeypatch.setenv("SURICATE_CODE", named)
        cache.code_folder.cache_clear()
        return carry.shipped_code()["code made elsewhere"]

    assert told("") == "not used: SURICATE_CODE names no folder"
    assert told("code") == "not used: code depends on the working directory: give an absolute path"
    assert told(str(tmp_path)) == f"not used: {tmp_path} has no folder entries"
    assert told(str(folder)).startswith(f"{folder}, 1 entries: python {sys.implementation.cache_tag}, numba ")
    assert "not used" not in told(str(folder))
    (folder / "about.json").write_text(json.dumps({**about, "llvmlite": "0.1"}))
    assert "; not used on the CPU: made for llvmlite 0.1, here is " in told(str(folder))
    (folder / "entries").chmod(0o777)
    assert told(str(folder)) == f"not used: {folder} can be written by others"
    cache.code_folder.cache_clear()
