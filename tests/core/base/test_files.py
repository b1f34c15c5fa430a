"""Output files: regular ones are replaced whole, special ones are written through, links are followed."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

import suricate as su
from suricate.base.files import check_writable, is_special, replacing


def put(path: Path | str, content: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(content)


def fail_after(_: object, error: type[BaseException]) -> None:
    raise error


def read_while(path: Path, action: Callable[[], object]) -> bytes:
    """Return what arrives at the reading end of the pipe ``path`` while ``action`` writes to it."""
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()), daemon=True)
    reader.start()
    action()
    reader.join(timeout=PATIENCE)
    return received[0]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_regular_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        with replacing(path) as file:
            file.write(b"new")
            assert path.read_bytes() == b"old"
        assert (reader.read(), path.read_bytes()) == (b"old", b"new")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error), replacing(path) as file:
        fail_after(file.write(b"half"), error)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_stay(tmp_path: Path) -> None:
    fresh, plain, private = tmp_path / "fresh", tmp_path / "plain", tmp_path / "private"
    plain.touch()
    private.touch(mode=0o600)
    for path in (fresh, private):
        put(path)
    assert fresh.stat().st_mode == plain.stat().st_mode
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_links_are_followed(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    (tmp_path / "middle").symlink_to("there/target")
    link.symlink_to("middle")
    put(link)
    assert link.is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert target.read_bytes() == b"new"
    assert list((tmp_path / "there").iterdir()) == [target]


def test_a_pipe_is_written_through(pipe: Path) -> None:
    assert is_special(pipe)
    assert read_while(pipe, lambda: put(pipe)) == b"new"
    assert pipe.is_fifo()


def test_graphs_and_files_go_through_pipes(pipe: Path, tmp_path: Path) -> None:
    graph = su.Graph(3, device="cpu")
    graph.insert_edges([0], [2])
    assert read_while(pipe, lambda: su.write(graph, pipe, "csv")) == b"src,dst\n0,2\n"


def test_a_full_device_stays_a_device() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        put("/dev/full")
    assert Path("/dev/full").is_char_device()
    put("/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_link_to_a_device_is_written_through(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    put(link)
    assert link.is_symlink()
    assert link.is_char_device()


def test_a_socket_stays_a_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="socket"):
            put(tmp_path / "socket")
    assert (tmp_path / "socket").is_socket()


def test_an_open_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb", buffering=0) as log:
        log.write(b"old")
        inode = path.stat().st_ino
        for name in (f"/dev/fd/{log.fileno()}", f"/proc/self/fd/{log.fileno()}"):
            put(name)
    assert path.read_bytes() == b"oldnewnew"
    assert path.stat().st_ino == inode


def test_errors_name_the_target(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for path, error in {
        tmp_path: IsADirectoryError,
        tmp_path / "no" / "file": FileNotFoundError,
        tmp_path / "file" / "x": NotADirectoryError,
        tmp_path / "loop": OSError,
    }.items():
        with pytest.raises(error) as caught:
            put(path)
        assert caught.value.filename == str(path)
        with pytest.raises(error):
            check_writable(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_what_may_not_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(PermissionError, match="file"):
        put(path)
    assert path.read_bytes() == b"old"
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="other"):
        put(tmp_path / "other")


def test_archives_go_through_special_files(pipe: Path, tmp_path: Path) -> None:
    def save() -> None:
        with replacing(pipe) as file:
            np.savez(file, values=np.arange(9))

    (tmp_path / "copy.npz").write_bytes(read_while(pipe, save))
    assert np.load(tmp_path / "copy.npz")["values"].tolist() == list(range(9))


def test_what_a_killed_process_left_is_removed_by_the_next_save(tmp_path: Path) -> None:
    target = tmp_path / ("long" * 60 + ".npz")
    code = """
import os, sys
from suricate.base.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), 9)
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, str(target)])
    with replacing(tmp_path / "other") as other:
        assert len(list(tmp_path.iterdir())) == 2  # the first was removed by the second; another target removes none
        other.write(b"1")
    with replacing(target) as first, replacing(target) as second:  # what is in use stays
        assert len(list(tmp_path.glob(".*.part"))) == 2
        first.write(b"first")
        second.write(b"second")
    assert target.read_bytes() == b"first"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([target.name, "other"])
