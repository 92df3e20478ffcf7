"""A path's last change: what must alter it, and what must not."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.errors import UnknownError
from gate.testing import World
from gate.world import traces
from gate.world.git import Git
from gate.world.gitstatus import DELETED, MODIFIED, UNTRACKED, Entry, read_status
from gate.world.traces import Trace, newest_below, trace

TIMEOUT = 20.0
OLD = 1_000_000.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("text")
    (tmp_path / "directory/below").mkdir(parents=True)
    (tmp_path / "directory/below/deep").write_text("text")
    (tmp_path / "directory/flat").write_text("text")
    (tmp_path / "link").symlink_to("file")
    for path in tmp_path.rglob("*"):
        os.utime(path, (OLD, OLD), follow_symlinks=False)
    return tmp_path


def of(root: Path, name: str, kind: str = UNTRACKED) -> Trace:
    return trace(str(root), Entry(name, kind))


def written(root: Path) -> None:
    (root / "file").write_text("txet")


def grown_at_the_same_time(root: Path) -> None:
    (root / "file").write_text("longer")
    os.utime(root / "file", (OLD, OLD))


def made_executable(root: Path) -> None:
    (root / "file").chmod(0o755)


def replaced_by_a_link(root: Path) -> None:
    (root / "file").unlink()
    (root / "file").symlink_to("elsewhere")
    os.utime(root / "file", (OLD, OLD), follow_symlinks=False)


def deleted(root: Path) -> None:
    (root / "file").unlink()


def replaced_by_a_directory(root: Path) -> None:
    (root / "file").unlink()
    (root / "file").mkdir()


@pytest.mark.parametrize(
    "change",
    [written, grown_at_the_same_time, made_executable, replaced_by_a_link, deleted, replaced_by_a_directory],
    ids=lambda change: change.__name__,
)
def test_what_changes_a_file_changes_its_state(change: Callable[[Path], None], root: Path) -> None:
    before = of(root, "file", MODIFIED)
    assert before == of(root, "file", MODIFIED)
    assert before.changed == OLD
    change(root)
    assert of(root, "file", MODIFIED).state != before.state


def edited_deep_inside(root: Path) -> None:
    (root / "directory/below/deep").write_text("txet")


def added_with_an_old_time(root: Path) -> None:
    (root / "directory/below/more").write_text("")
    os.utime(root / "directory/below/more", (OLD, OLD))


def removed_inside(root: Path) -> None:
    (root / "directory/flat").unlink()


@pytest.mark.parametrize(
    "change", [edited_deep_inside, added_with_an_old_time, removed_inside], ids=lambda change: change.__name__
)
def test_what_changes_inside_an_untracked_directory_changes_its_state(
    change: Callable[[Path], None], root: Path
) -> None:
    before = of(root, "directory/")
    assert before.changed == OLD
    change(root)
    assert of(root, "directory/").state != before.state


def test_an_edit_inside_a_directory_is_its_last_change(root: Path) -> None:
    before = time.time()
    edited_deep_inside(root)
    changed = of(root, "directory/").changed
    assert changed is not None
    assert before - 0.1 <= changed <= time.time() + 0.1


def test_nothing_outside_a_directory_changes_it(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "young").write_text("")
    (root / "directory/link").symlink_to(outside)
    os.utime(root / "directory/link", (OLD, OLD), follow_symlinks=False)
    before = of(root, "directory/")
    assert before.changed == OLD
    (outside / "younger").write_text("")
    assert of(root, "directory/") == before


def test_what_a_nested_repository_keeps_for_itself_does_not_count(root: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(root / "directory")], check=True, timeout=TIMEOUT)
    before = of(root, "directory/")
    assert before.changed == OLD
    (root / "directory/.git/index").write_text("")
    assert of(root, "directory/") == before


def test_a_link_is_not_followed(root: Path) -> None:
    before = of(root, "link")
    written(root)
    assert of(root, "link") == before
    assert before.changed == OLD


def test_a_deleted_path_changed_when_its_directory_did(root: Path) -> None:
    os.utime(root / "directory", (OLD + 5, OLD + 5))
    assert of(root, "directory/gone", DELETED) == Trace(OLD + 5, DELETED)
    assert of(root, "directory/nor/this/gone", DELETED) == Trace(OLD + 5, DELETED)


def test_an_empty_directory_has_its_own_time(root: Path) -> None:
    (root / "empty").mkdir()
    os.utime(root / "empty", (OLD, OLD))
    assert of(root, "empty/").changed == OLD


def test_a_look_into_a_directory_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1200):
        (root / f"directory/{number}").touch()
    assert newest_below(str(root / "directory"), time.monotonic() + TIMEOUT).files == 1202
    with pytest.raises(UnknownError, match="too many files"):
        newest_below(str(root / "directory"), time.monotonic())
    monkeypatch.setattr(traces, "WALK_LIMIT", 10)
    assert newest_below(str(root / "directory"), time.monotonic() + TIMEOUT).files <= 10


def test_a_time_in_the_future_is_not_believed(root: Path) -> None:
    before = time.time()
    os.utime(root / "file", (before + 9e6, before + 9e6))
    os.utime(root / "directory/flat", (before + 9e6, before + 9e6))
    for name in ("file", "directory/"):
        latest = of(root, name).latest
        assert latest is not None
        assert abs(latest - before) < TIMEOUT


def test_staging_changes_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    repository = world.repository()
    world.file("README", "otherwise\n")
    git = Git(world.environ)

    def look() -> Trace:
        (entry,) = read_status(git, str(world.root), TIMEOUT).entries
        return trace(str(world.root), entry)

    before = look()
    repository.git.add("README")
    assert look() == before


def test_a_submodule_changes_with_what_is_uncommitted_in_it(tmp_path: Path) -> None:
    inner, outer = World(tmp_path / "inner"), World(tmp_path / "outer")
    inner.repository()
    repository = outer.repository()
    repository.git.execute(
        ["git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub"]
    )
    repository.git.commit("--quiet", "--message", "with a submodule")
    git = Git(outer.environ)

    def look() -> Trace:
        (entry,) = read_status(git, str(outer.root), TIMEOUT).entries
        return trace(str(outer.root), entry)

    outer.file("sub/README", "otherwise\n", age=500)
    first = look()
    assert first == look()
    assert first.changed == pytest.approx(outer.clock.now() - 500, abs=1e-3)
    outer.file("sub/README", "once more\n", age=400)
    second = look()
    assert second.state != first.state
    outer.file("sub/new", "", age=600)
    third = look()
    assert third.state != second.state
    assert third.changed == second.changed
    sub = ["git", "-C", str(outer.root / "sub"), "-c", "user.name=x", "-c", "user.email=x@y"]
    repository.git.execute([*sub, "add", "--all"])
    repository.git.execute([*sub, "commit", "--quiet", "--message", "x"])
    fourth = look()
    assert fourth.state != third.state
    assert fourth.changed is not None
    assert fourth.changed > outer.clock.now() - 5, "a commit is a change, though no file of it is new"
