from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gate import __version__
from gate.project import find_project
from gate.stamp import MOST_BROUGHT, config_paths, stamp


class Place:
    """A project and a user, whose files lie below a directory."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.config = directory / "config"
        for path in (self.root, self.config / "checks"):
            path.mkdir(parents=True)
        self.environ = {"SESSION_GATE_CONFIG": str(self.config / "config.toml")}
        for name in (".gate.toml", "pyproject.toml"):
            (self.root / name).write_text("a = 1\n")
        for name in ("config.toml", "waivers.toml", "checks/mine.py"):
            (self.config / name).write_text("a = 1\n")

    def stamp(self) -> list[str]:
        return stamp(find_project(str(self.root)), self.environ)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "place")


def rewrite(path: Path) -> None:
    """Another text of the same length, with the same time, in the same directory entry's place."""
    status = path.stat()
    path.write_text("b = 2\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def replace(path: Path) -> None:
    """A new file of the same length and time, moved into its place."""
    status = path.stat()
    new = path.with_name("new")
    new.write_text("b = 2\n")
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.rename(path)


def grow(path: Path) -> None:
    status = path.stat()
    path.write_text("a = 1\nb = 2\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", [rewrite, replace, grow, Path.unlink])
@pytest.mark.parametrize(
    "name",
    [
        "project/.gate.toml",
        "project/pyproject.toml",
        "config/config.toml",
        "config/waivers.toml",
        "config/checks/mine.py",
    ],
)
def test_a_changed_file_changes_the_stamp(place: Place, name: str, change: Callable[[Path], None]) -> None:
    before = place.stamp()
    assert place.stamp() == before
    change(place.root.parent / name)
    assert place.stamp() != before


def test_a_new_check_of_the_users_changes_the_stamp(place: Place) -> None:
    before = place.stamp()
    (place.config / "checks" / "another.py").write_text("")
    assert place.stamp() != before


def test_what_lies_beside_does_not(place: Place) -> None:
    before = place.stamp()
    (place.root / "README").write_text("")
    (place.config / "notes.txt").write_text("")
    assert place.stamp() == before


def test_the_version_is_part_of_the_stamp(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before = place.stamp()
    assert before[0].startswith(f"session-gate {__version__} python 3.")
    monkeypatch.setattr("gate.stamp.__version__", "99.0")
    assert place.stamp() != before


def test_missing_files_have_a_stamp_too(tmp_path: Path) -> None:
    project = find_project(str(tmp_path))
    environ = {"SESSION_GATE_CONFIG": str(tmp_path / "none" / "config.toml")}
    assert stamp(project, environ)[1:] == ["-"] * 5
    assert config_paths(project, environ) == [
        os.path.join(project.root, ".gate.toml"), os.path.join(project.root, "pyproject.toml"),
        *(str(tmp_path / "none" / name) for name in ("config.toml", "waivers.toml", "checks")),
    ]  # fmt: skip


def test_without_a_home_the_projects_files_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert stamp(find_project(str(tmp_path)), {})[1:] == ["-", "-"]


def test_no_more_files_of_a_project_are_looked_at_than_can_be_checks(place: Place) -> None:
    directory = place.root / ".gate/checks"
    directory.mkdir(parents=True)
    for number in range(3 * MOST_BROUGHT):
        (directory / f"check_{number:03}.py").write_text("")
    full = place.stamp()
    assert len(full) < 2 * MOST_BROUGHT
    (directory / "another.py").write_text("")
    assert place.stamp() != full, "its directory tells"
