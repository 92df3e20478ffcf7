"""What a directory holds: against du, links, mounts, rights, the clock, and others at work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.world import tree
from gate.world.tree import DEEP, Held, Tree, find_roots, measure, memory_file_system

NOBODY = 65534


def held(root: Path, max_bytes: int = 1 << 60, max_files: int = 1 << 60, ignore: tuple[str, ...] = ()) -> Held:
    return measure(str(root), max_bytes, max_files, time.monotonic() + 60, 60, ignore)


def allocate(path: Path, count: int) -> Path:
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, count)
    return path


def allocated(*paths: Path) -> int:
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "watched"
    directory.mkdir()
    return directory


@pytest.fixture
def others_directory() -> Iterator[Path]:
    """A directory that another user can reach, as pytest's own are not."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for directory, names, _ in os.walk(path):
        for name in names:
            os.chmod(os.path.join(directory, name), 0o755)
    shutil.rmtree(path)


@contextmanager
def without_privileges() -> Iterator[None]:
    """As root, whom no missing right stops, become nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_allocated_bytes_and_files(root: Path) -> None:
    big = allocate(root / "big", 3 << 20)
    (root / "below").mkdir()
    small = allocate(root / "below" / "small", 8192)
    found = held(root)
    assert (found.bytes, found.files) == (allocated(big, small, root / "below"), 2)
    assert (found.complete, found.unread, found.mounts) == (True, [], 0)
    assert found.biggest == [(allocated(big), "big"), (allocated(small), "below/small")]


def test_the_three_biggest_are_named(root: Path) -> None:
    for number in range(1, 8):
        allocate(root / f"{number}.raw", number * 65536)
    assert [name for _, name in held(root).biggest] == ["7.raw", "6.raw", "5.raw"]


def test_holes_are_not_counted(root: Path) -> None:
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert held(root).bytes < 1 << 20


def test_several_names_of_a_file_count_once(root: Path) -> None:
    file = allocate(root / "a", 1 << 20)
    for number in range(30):
        os.link(file, root / f"link-{number}")
    assert (held(root).bytes, held(root).files) == (allocated(file), 1)


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    allocate(outside / "transcript", 1 << 20)
    (root / "directory").symlink_to(outside)
    (root / "file").symlink_to(outside / "transcript")
    (root / "loop").symlink_to(root)
    (root / "nowhere").symlink_to("nothing")
    assert (held(root).bytes, held(root).files) == (allocated(*root.iterdir()), 0)  # a long link takes a block itself


def test_a_link_in_the_place_of_the_root_holds_nothing(root: Path, tmp_path: Path) -> None:
    allocate(root / "a", 8192)
    link = tmp_path / "link"
    link.symlink_to(root)
    assert (held(link).bytes, held(link).files, held(link).unread_count) == (0, 0, 0)


def test_a_file_in_the_place_of_the_root_holds_itself(tmp_path: Path) -> None:
    file = allocate(tmp_path / "capture.raw", 1 << 20)
    found = held(file)
    assert (found.bytes, found.files, found.newest) == (allocated(file), 1, file.stat().st_mtime)


def test_pipes_and_sockets_are_no_files(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert (held(root).files, held(root).complete) == (0, True)


def test_nothing_there(tmp_path: Path) -> None:
    found = held(tmp_path / "missing" / "too")
    assert (found.bytes, found.files, found.complete, found.unread_count) == (0, 0, True, 0)


@pytest.mark.parametrize("name", ["old", "below/old", "below", "."])
def test_the_newest_change_is_of_anything_in_it_or_of_itself(root: Path, name: str) -> None:
    (root / "below").mkdir()
    for path in (root / "old", root / "below" / "old"):
        path.touch()
    for path in (root / "old", root / "below" / "old", root / "below", root):
        os.utime(path, (1000, 1000))
    os.utime(root / name, (5000.5, 5000.5))
    assert held(root).newest == 5000.5


def test_ignored_names_are_left_out_with_all_in_them(root: Path) -> None:
    (root / "cache.keep").mkdir()
    allocate(root / "cache.keep" / "a", 1 << 20)
    allocate(root / "b.keep", 1 << 20)
    (root / "keep").touch()
    (root / "x.KEEP").touch()
    found = held(root, ignore=("*.keep", "keep"))
    assert (found.bytes, found.files) == (0, 1)


def test_names_of_any_bytes(root: Path) -> None:
    for name in (b"\xff\xfe", b"a\nb", b" ", b"-rf", b"\xe2\x80\xae"):
        with open(os.path.join(os.fsencode(root), name), "wb") as file:
            file.write(b"x")
    assert held(root).files == 5


def test_deep_and_wide(root: Path) -> None:
    """Beyond what is kept open at once, and with a path longer than the system takes."""
    name = "d" * 150
    fd = os.open(root, os.O_RDONLY)
    for _ in range(DEEP - 10):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    before = open_descriptors()
    found = held(root)
    assert (found.files, found.unread_count) == (DEEP - 10, 0)
    assert open_descriptors() == before


def test_deeper_than_is_kept_open(root: Path) -> None:
    path = root
    for _ in range(5 * DEEP):
        for sibling in ("a", "b"):
            (path / sibling).mkdir(parents=True)
        (path / "file").touch()
        path = path / "a"
    before = open_descriptors()
    with closing(Tree(str(root)).entries()) as entries:
        most = max(open_descriptors() for _ in entries)
    assert most <= before + 2 * DEEP + 2
    assert (held(root).files, held(root).unread_count) == (5 * DEEP, 0)
    assert open_descriptors() == before


def test_a_walk_that_is_given_up_leaves_nothing_open(root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    for number in range(100):
        (root / "a" / "b" / str(number)).touch()
    before = open_descriptors()
    found = measure(str(root), 0, 0, time.monotonic() + 60, 0)
    assert not found.complete
    assert open_descriptors() == before


def test_over_a_limit_counting_stops_after_the_extra_time(root: Path) -> None:
    for number in range(200):
        (root / str(number)).touch()
    begun = time.monotonic()
    found = measure(str(root), 1 << 60, 20, begun + 60, 0)
    assert not found.complete
    assert 20 < found.files < 100
    assert held(root, max_files=20).files == 200


def test_below_the_limits_counting_stops_when_the_time_is_over(root: Path) -> None:
    for number in range(100):
        (root / str(number)).touch()
    found = measure(str(root), 1 << 60, 1 << 60, time.monotonic() - 1, 60)
    assert not found.complete
    assert found.files < 16


def test_a_passed_limit_gives_no_more_time_than_there_is(root: Path) -> None:
    for number in range(100):
        (root / str(number)).touch()
    assert not measure(str(root), 1 << 60, 1, time.monotonic() - 1, 60).complete


def test_a_few_entries_are_counted_whatever_the_time(root: Path) -> None:
    (root / "a").touch()
    found = measure(str(root), 1 << 60, 1 << 60, time.monotonic() - 1, 60)
    assert (found.files, found.complete) == (1, True)


def test_files_and_directories_that_vanish(root: Path) -> None:
    for number in range(50):
        (root / f"{number}.d").mkdir()
        (root / f"{number}.d" / "file").touch()
        (root / f"{number}.f").touch()
    walk = Tree(str(root))
    with closing(walk.entries()) as entries:
        next(entries)
        shutil.rmtree(root)
        assert len(list(entries)) <= 2  # the one that is open already, at most
    assert (walk.unread, walk.unread_count) == ([], 0)


def test_a_directory_that_becomes_a_link_is_not_entered(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "below").mkdir(parents=True)
    (tmp_path / "outside" / "secret").touch()
    (root / "directory").mkdir()
    seen = []
    with closing(Tree(str(root)).entries()) as entries:
        for _, name, _ in entries:
            seen.append(name)
            if name == "directory":
                (root / "directory").rmdir()
                (root / "directory").symlink_to(tmp_path / "outside")
    assert seen == ["directory"]


def test_unreadable_parts_are_told_and_the_rest_is_counted(others_directory: Path) -> None:
    watched = others_directory / "watched"
    for name, mode in (("open", 0o755), ("closed", 0o000), ("no-search", 0o444)):
        (watched / name).mkdir(parents=True)
        (watched / name / "file").touch()
        if os.geteuid() == 0:
            os.chown(watched / name, NOBODY, NOBODY)
        (watched / name).chmod(mode)
    with without_privileges():
        found = held(watched)
    assert found.files == 1
    assert found.unread_count == 2
    assert sorted(found.unread) == [
        (f"{watched}/closed", "Permission denied"),
        (f"{watched}/no-search/file", "Permission denied"),
    ]


def test_an_unreadable_root_is_not_empty(others_directory: Path) -> None:
    (others_directory / "closed").mkdir(mode=0o000)
    with without_privileges():
        found = held(others_directory / "closed")
    assert found.unread == [(f"{others_directory}/closed", "Permission denied")]


def test_of_many_unreadable_places_ten_are_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(25):
        (root / str(number)).mkdir()
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    found = held(root)
    assert (len(found.unread), found.unread_count) == (10, 25)


def test_a_directory_that_fails_while_it_is_listed_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "bad").mkdir()
    (root / "good").touch()
    inode = os.stat(root / "bad").st_ino
    real = os.scandir

    class Failing:
        def __iter__(self) -> Iterator[os.DirEntry[str]]:
            raise OSError(5, "Input/output error")

        def close(self) -> None:
            pass

    monkeypatch.setattr(os, "scandir", lambda fd: Failing() if os.fstat(fd).st_ino == inode else real(fd))
    found = held(root)
    assert (found.files, found.unread) == (1, [(f"{root}/bad", "Input/output error")])


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """Mounts a small tmpfs, where one may."""
    mounted: list[Path] = []

    def mount_at(path: Path) -> Path:
        path.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(path)]
        if (
            os.geteuid() != 0
            or shutil.which("mount") is None
            or subprocess.run(command, check=False, capture_output=True).returncode
        ):
            pytest.skip("no right to mount a file system here")
        mounted.append(path)
        return path

    yield mount_at
    for path in reversed(mounted):
        subprocess.run(["umount", str(path)], check=True)


def test_other_file_systems_are_not_entered(root: Path, mount: Callable[[Path], Path]) -> None:
    allocate(mount(root / "mounted") / "foreign", 1 << 20)
    (root / "own").touch()
    found = held(root)
    assert (found.files, found.bytes, found.mounts) == (1, 0, 1)


def test_a_directory_on_another_device_is_not_entered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without a right to mount: the root pretends to lie elsewhere than what is in it."""
    (root / "mounted").mkdir()
    (root / "mounted" / "foreign").touch()
    (root / "own").touch()
    real = os.lstat

    def elsewhere(path: str) -> os.stat_result:
        status = list(real(path))
        status[2] += 1
        return os.stat_result(status)

    monkeypatch.setattr(tree.os, "lstat", elsewhere)
    walk = Tree(str(root))
    assert [name for _, name, _ in walk.entries()] == ["own"]
    assert walk.mounts == 1


def test_a_file_system_in_memory_is_known(root: Path, mount: Callable[[Path], Path]) -> None:
    mounted = mount(root / "mounted")
    assert memory_file_system(str(mounted)) == "tmpfs"
    assert memory_file_system("/proc/self") is None
    assert memory_file_system(str(root / "missing")) is None


Name = st.sampled_from("abc")
Things = st.lists(
    st.tuples(
        st.sampled_from(["file", "sparse", "directory", "link", "hard link", "pipe"]),
        st.lists(Name, min_size=1, max_size=4).map("/".join),
        st.integers(0, 20_000),
    ),
    max_size=25,
)


@pytest.mark.skipif(shutil.which("du") is None, reason="no du to ask")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(Things)
def test_the_same_as_du(tmp_path: Path, things: list[tuple[str, str, int]]) -> None:
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    (tmp_path / "outside").mkdir(exist_ok=True)
    files: list[Path] = []
    for kind, name, count in things:
        path = root / name
        if os.path.lexists(path):
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file" and count:
                files.append(allocate(path, count))
            elif kind == "sparse":
                with path.open("wb") as file:
                    file.truncate(count << 20)
            elif kind == "directory":
                path.mkdir()
            elif kind == "link":
                path.symlink_to(tmp_path / "outside")
            elif kind == "pipe":
                os.mkfifo(path)
            elif files:
                os.link(files[-1], path)
        except OSError:
            continue  # what is to be the directory is something else
    # du's -s in kilobytes is the only form that macOS has as well.
    told = int(subprocess.run(["du", "-skx", str(root)], capture_output=True, check=True).stdout.split()[0])
    found = held(root)
    assert told == (found.bytes + allocated(root)) // 1024
    regular = {os.stat(path).st_ino for path in root.rglob("*") if path.is_file() and not path.is_symlink()}
    assert found.files == len(regular)
    shutil.rmtree(root)


def expand(values: dict[str, str]) -> Callable[[str], str]:
    return lambda name: os.path.normpath(values.get(name, name))


def roots(patterns: list[str], base: Path, **values: str) -> list[str]:
    found = find_roots(patterns, str(base), expand({f"${name}": value for name, value in values.items()}))
    assert found.failed == []
    return [os.path.relpath(path, base) for path in found.found]


def test_patterns_name_paths(root: Path) -> None:
    for name in ("capture-1", "capture-2", "other"):
        (root / name / "raw").mkdir(parents=True)
    (root / "capture-file").touch()
    assert roots(["$T/capture-*"], root, T=str(root)) == ["capture-1", "capture-2", "capture-file"]
    assert roots([f"{root}/capture-?"], root) == ["capture-1", "capture-2"]
    assert roots(["capture-*/raw/"], root) == ["capture-1/raw", "capture-2/raw"]
    assert roots(["*/raw", "*/none", "none*", "./other", "capture-1/../other"], root) == [
        "capture-1/raw", "capture-2/raw", "other"
    ]  # fmt: skip


def test_the_values_of_variables_are_no_patterns(tmp_path: Path) -> None:
    for name in ("t[1]", "t1"):
        (tmp_path / name / "capture-x").mkdir(parents=True)
    assert roots(["$T/capture-*"], tmp_path, T=str(tmp_path / "t[1]")) == ["t[1]/capture-x"]


def test_what_is_not_there_is_not_found(root: Path) -> None:
    (root / "file").touch()
    assert roots(["none", "none/*", "file/*", "file/below", "*.raw"], root) == []


def test_overlapping_paths_count_once(root: Path, tmp_path: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(root)
    assert roots(["a/b", "a", "a/", "a/../a", "*", f"{tmp_path}/alias/a"], root) == ["a"]
    assert roots(["a/b", f"{tmp_path}/alias/*/b"], root) == ["a/b"]


def test_names_that_only_begin_alike_do_not_overlap(root: Path) -> None:
    for name in ("a", "a-b", "a.b"):
        (root / name).mkdir()
    assert roots(["a", "a-b", "a.b"], root) == ["a", "a-b", "a.b"]


def test_what_lies_behind_a_link_or_a_mount_is_not_counted_with_the_whole(
    root: Path, tmp_path: Path, mount: Callable[[Path], Path]
) -> None:
    (tmp_path / "real" / "b").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path / "real")
    mount(root / "mounted")
    assert roots(["link", "link/b"], root) == ["../real/b", "link"]
    assert roots([str(root), "mounted"], root) == [".", "mounted"]


def test_a_place_that_cannot_be_looked_into_is_told(others_directory: Path) -> None:
    (others_directory / "closed" / "capture-1").mkdir(parents=True)
    (others_directory / "closed").chmod(0o000)
    (others_directory / "open").mkdir()
    with without_privileges():
        found = find_roots(["closed/capture-*", "closed/capture-1", "open"], str(others_directory), os.path.normpath)
    assert [reason for _, reason in found.failed] == ["Permission denied"] * 2
    assert list(found.found) == [str(others_directory / "open")]


@pytest.mark.skipif(sys.platform == "win32", reason="no os.geteuid")
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12), max_size=4))
def test_no_pattern_makes_it_raise(patterns: list[str]) -> None:
    find_roots([f"./{pattern}" for pattern in patterns], "/nonexistent", os.path.normpath)
