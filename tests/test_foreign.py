"""Other people's files are read to a limit, whatever stands in their place, and nobody waits for anybody."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import foreign

LINUX = sys.platform.startswith("linux")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def terminal(path: Path) -> None:
    path.symlink_to("/dev/ptmx")


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def directory(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    pass


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    return Path("file")


@pytest.mark.parametrize("make", [fifo, endless, terminal, a_socket, directory, nothing, dangling])
def test_what_is_no_file_is_none(make: Callable[[Path], None], place: Path) -> None:
    make(place)
    assert foreign.read(str(place), 100) is None
    assert foreign.text(str(place)) == ""
    assert not foreign.holds(str(place), (b"\0",), 100)


@pytest.mark.parametrize("name", ["a\0b", "file/below"])
def test_a_name_that_no_file_can_have(name: str, place: Path) -> None:
    place.write_text("x")
    assert foreign.read(name, 100) is None
    assert not foreign.holds(name, (b"x",), 100)


def test_what_may_not_be_read_is_said(place: Path) -> None:
    place.symlink_to(place)  # a link to itself: root too may not read that
    with pytest.raises(OSError, match="symbolic links"):
        foreign.read(str(place), 100)
    with pytest.raises(OSError, match="symbolic links"):
        foreign.holds(str(place), (b"x",), 100)
    assert foreign.text(str(place)) == ""


@pytest.mark.skipif(not LINUX or not os.access("/proc/kmsg", os.R_OK), reason="only some may read it")
def test_a_file_that_waits_for_its_reader_is_not_waited_for(place: Path) -> None:
    """The kernel's log is a regular file, and to read it waits for the next line."""
    place.symlink_to("/proc/kmsg")
    with pytest.raises(BlockingIOError):
        foreign.holds(str(place), (b"\0 never",), 1 << 30)


def test_a_file_that_becomes_another_thing_while_one_looks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write_text("x")
    status = os.stat(place)
    place.unlink()
    os.mkfifo(place)
    monkeypatch.setattr("os.stat", lambda _: status)
    before = len(os.listdir("/proc/self/fd")) if LINUX else 0
    assert foreign.read(str(place), 100) is None
    assert not LINUX or len(os.listdir("/proc/self/fd")) == before


def test_a_terabyte_of_holes(place: Path) -> None:
    place.write_bytes(b"begin")
    os.truncate(place, 1 << 40)
    with place.open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"end")
    assert foreign.read(str(place), 8) == b"begin\0\0\0"
    assert foreign.read(str(place), 5, from_end=True) == b"\0\0end"
    assert foreign.holds(str(place), (b"end",), 1 << 20), "what was not looked at may hold it"
    assert foreign.holds(str(place), (b"gin",), 1 << 20)


@given(st.binary(max_size=60), st.integers(0, 70), st.lists(st.binary(min_size=1, max_size=9), min_size=1), st.data())
def test_any_file_in_chunks_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, limit: int, marks: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / f"foreign-{os.getpid()}"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(foreign, "CHUNK", data.draw(st.integers(1, 70)))
        assert foreign.read(str(path), limit) == content[:limit]
        assert foreign.read(str(path), limit, from_end=True) == (content[-limit:] if limit else b"")
        part = content[data.draw(st.integers(0, len(content))) :][: data.draw(st.integers(1, 9))]
        for wanted in (marks, [part] if part else marks):
            expected = any(mark in content for mark in wanted)
            assert foreign.holds(str(path), wanted, len(content)) == expected
            assert foreign.holds(str(path), wanted, limit) >= expected
        assert os.fsencode(foreign.text(str(path), limit)) == content[:limit]
