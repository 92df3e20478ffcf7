"""The paths in an index, compared with what git lists."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import repository

from gate.testing import World
from gate.world.index import has_files_of, index_paths, name_bytes

NAMES = [
    "a",
    "a-b",
    "a/b/c",
    "a/b/cd",
    "odd\nname",
    "z" * 200 + "/" + "y" * 100,
    *(f"many/{number:03}" for number in range(150)),
    "ü",
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = repository(tmp_path / "world")
    for name in NAMES:
        made.file(name.replace("a/b", "c/b"))
    made.git("add", "--all")
    return made


def listed(world: World) -> list[bytes]:
    return os.fsencode(world.git("ls-files", "-z")).split(b"\0")[:-1]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_paths_that_git_lists(version: int, world: World) -> None:
    world.git("update-index", "--index-version", str(version))
    if version > 2:
        world.git("update-index", "--skip-worktree", "README")
    data = (world.root / ".git/index").read_bytes()
    assert data[7] == version
    assert list(index_paths(data)) == listed(world)
    assert len(listed(world)) == len(NAMES) + 1


def test_objects_with_longer_names(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.git("init", "--quiet", "--object-format=sha256")
    for name in ("a", "b/c"):
        world.file(name)
    world.git("add", "--all")
    data = (world.root / ".git/index").read_bytes()
    configuration = (world.root / ".git/config").read_text()
    assert list(index_paths(data, name_bytes(configuration))) == [b"a", b"b/c"]
    assert name_bytes("[core]\n") == 20


@given(st.binary(max_size=400), st.sampled_from([2, 3, 4, 5]), st.integers(0, 9))
def test_any_bytes_end_somewhere(data: bytes, version: int, count: int) -> None:
    whole = b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big") + data
    paths = list(index_paths(whole))
    assert len(paths) <= count
    assert all(path and b"\0" not in path for path in paths)
    assert list(index_paths(data)) == [] or data[:4] == b"DIRC"


@given(st.integers(0, 400))
def test_a_torn_index_gives_what_is_whole(length: int) -> None:
    entry = bytes(60) + b"\0\3" + b"xyz" + bytes(7)
    data = (b"DIRC" + (2).to_bytes(4, "big") + (5).to_bytes(4, "big") + entry * 5)[:length]
    assert list(index_paths(data)) == [b"xyz"] * min(5, max(0, (length - 12 + 6) // 72))


def test_what_cannot_be_understood_ends_it() -> None:
    begin = {version: b"DIRC" + version.to_bytes(4, "big") + (2).to_bytes(4, "big") for version in (2, 4, 5)}
    assert list(index_paths(begin[2] + bytes(200))) == [], "a path that is empty"
    assert list(index_paths(begin[4] + bytes(62) + b"\0abc\0" + bytes(62) + b"\2d\0")) == [b"abc", b"ad"]
    assert list(index_paths(begin[4] + bytes(62) + b"\0abc\0" + bytes(62) + b"\4d\0")) == [b"abc"], "4 of 3 bytes"
    assert list(index_paths(begin[5] + bytes(62) + b"abc\0")) == [], "a version of another time"


def test_whether_its_files_are_there(world: World) -> None:
    index = str(world.root / ".git/index")
    assert has_files_of(index, str(world.root)) is True
    assert has_files_of(index, str(world.temp)) is False
    assert has_files_of(str(world.root / ".git/none"), str(world.root)) is None
    (world.root / ".git/index").write_bytes(b"DIRC" + bytes(7) + b"\2")
    assert has_files_of(index, str(world.root)) is None, "a split one names none"
    os.unlink(index)
    os.mkfifo(index)
    assert has_files_of(index, str(world.root)) is None, "nothing is waited for"


def test_one_file_that_is_there_is_enough(world: World) -> None:
    for name in listed(world)[1:]:
        os.unlink(os.path.join(os.fsencode(world.root), name))
    assert has_files_of(str(world.root / ".git/index"), str(world.root)) is True
