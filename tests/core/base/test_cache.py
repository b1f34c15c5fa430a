"""The folder of compiled code: damaged entries, several writers, limits, and folders that must not be used."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from suricate.base import cache, notice

CACHED = (cache.named_folder, cache.private_folder, cache._private_folder, cache.can_write)


@pytest.fixture
def forget():
    """Forget the folders of this process, before and after."""

    def clear():
        for function in CACHED:
            function.cache_clear()
        notice._told.clear()

    clear()
    yield clear
    clear()


@pytest.fixture
def folder(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("SURICATE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_entry_is_what_was_put(folder):
    assert cache.get("one") is None
    cache.put("one", b"content")
    cache.put("two", b"")
    assert (cache.get("one"), cache.get("two")) == (b"content", b"")
    assert [file.name for file in sorted((folder / "entries").iterdir())] == ["one", "two"]
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE((folder / "entries").stat().st_mode) == 0o700
    cache.drop("one")
    assert cache.get("one") is None


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "longer", "a folder", "of another version"])
def test_a_damaged_entry_counts_as_absent_and_can_be_written_again(folder, damage):
    cache.put("one", b"content")
    file = folder / "entries" / "one"
    data = bytearray(file.read_bytes())
    if damage == "a folder":
        file.unlink()
        file.mkdir()
    else:
        flipped = data.copy()
        flipped[-3] ^= 1
        damaged = {"empty": b"", "cut": data[:-1], "flipped": flipped, "longer": data + b"x"}
        file.write_bytes(damaged.get(damage, data.replace(b"entry 1", b"entry 0")))
    assert cache.get("one") is None
    if damage == "a folder":
        file.rmdir()
    cache.put("one", b"content")
    assert cache.get("one") == b"content"


def test_many_writers_and_readers_see_whole_entries(folder):
    contents, seen = [bytes([i]) * 100_000 for i in range(4)], set()

    def work(content):
        for _ in range(50):
            cache.put("one", content)
            seen.add(cache.get("one"))

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert seen <= set(contents)
    assert [file.name for file in (folder / "entries").iterdir()] == ["one"]


def test_pruning_removes_what_was_not_used(folder):
    for name, days, size in (("old", 61, 10), ("older", 3, 500), ("new", 2, 500), ("newest", 0, 500), ("x.part", 1, 1)):
        cache.put(name, bytes(size))
        used = time.time() - days * cache.DAY
        os.utime(folder / "entries" / name, (used, used))
    assert cache.get("older") is not None  # and so it was used today
    cache.prune(folder / "entries", most_bytes=10_000, days=60)
    assert sorted(file.name for file in (folder / "entries").iterdir()) == ["new", "newest", "older"]
    cache.prune(folder / "entries", most_bytes=1_300, days=60)
    assert sorted(file.name for file in (folder / "entries").iterdir()) == ["newest", "older"]


def test_a_process_prunes_when_it_first_writes_unless_another_did_today(folder, monkeypatch):
    monkeypatch.setenv("SURICATE_CACHE_SIZE", "0")
    monkeypatch.setattr(cache, "_written", 0)
    cache.put("one", b"content")
    assert cache.get("one") is None
    monkeypatch.setattr(cache, "_written", 0)
    cache.put("one", b"content")
    assert cache.get("one") == b"content"
    monkeypatch.setattr(cache, "_written", cache.LOOK_AFTER - 1)
    cache.put("two", b"content")
    assert cache.get("one") is None


def test_a_folder_that_others_can_write_is_not_used(folder, forget, capsys, monkeypatch):
    monkeypatch.delenv("SURICATE_QUIET", raising=False)
    cache.put("one", b"content")
    for each in (folder, folder / "entries"):
        each.chmod(0o777)
        forget()
        assert cache.get("one") is None
        private = cache.cache_folder()
        assert private is not None
        assert not private.is_relative_to(folder)
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        cache.put("two", b"content")
        assert cache.get("two") == b"content"
        assert capsys.readouterr().err.count("SURICATE_CACHE_DIR") == 1
        each.chmod(0o700)
        private.joinpath("entries", "two").unlink()


def test_without_a_home_there_is_a_private_folder(forget, monkeypatch):
    for name in ("SURICATE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cache.named_folder() is None
    assert cache.cache_folder() == cache.private_folder()


def test_without_any_folder_nothing_is_kept(forget, monkeypatch):
    monkeypatch.setenv("SURICATE_CACHE_DIR", "/proc/nope")
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **given: (_ for _ in ()).throw(OSError("full")))
    assert cache.cache_folder() is None
    cache.put("one", b"content")
    assert cache.get("one") is None


PRIVATE = """
import os, sys
from suricate.base import cache, notice
folder = cache.cache_folder()
if os.fork() == 0:
    sys.exit()
os.wait()
cache.put("one", b"content")
print(folder, cache.get("one") == b"content")
"""


def test_the_private_folder_lives_as_long_as_its_process():
    environment = {"SURICATE_CACHE_DIR": "/proc/nope", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", PRIVATE], env=environment, capture_output=True, text=True, check=True)
    folder, kept = done.stdout.split()
    assert kept == "True"
    assert not Path(folder).exists()
    assert len(done.stderr.splitlines()) == 1


FOREIGN = """
from numba import njit

@njit(cache=True)
def doubled(x):
    return 2 * x

def target(u, v, w):
    return v
"""
WITHOUT = """
import suricate as su
g = su.Graph(3, backend="csr_baseline", device="cpu")
import foreign
g.insert_edges([0, 1], [1, 2])
print(su.neighbor_reduce(g, None, foreign.target, reduce="sum").tolist(), foreign.doubled(2))
"""


@pytest.mark.slow
def test_everything_works_where_nothing_can_be_written(tmp_path):
    drops = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"] if os.geteuid() == 0 else []
    if drops and shutil.which("setpriv") is None:
        pytest.skip("root can write everywhere, and there is no setpriv")
    (tmp_path / "foreign.py").write_text(FOREIGN)
    tmp_path.chmod(0o500)
    environment = {"HOME": "/proc/nope", "PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [*drops, sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    tmp_path.chmod(0o700)
    assert done.stdout == "[1, 2, 0] 4\n"
    assert done.stderr.count("SURICATE_CACHE_DIR") == 1


def test_cupy_has_a_folder_before_a_backend_imports_it(tmp_path):
    """CuPy makes its folder when it is imported, and raises where it cannot."""
    (tmp_path / "cupy.py").write_text("import os\nprint(os.path.isdir(os.environ['CUPY_CACHE_DIR']))")
    script = "from suricate.base.devices import Device; device = Device('cuda'); import cupy"
    environment = {"HOME": "/proc/nope", "PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
