"""What has no end is not read to its end: files of holes, links to devices, lists and lines that never stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from assault import Assault, left_processes
from kit import injected
from tally import refuse, tried
from test_never_the_incident import BUDGET, followers, hook, payload


def start(assault: Assault, project: Path) -> str:
    """What a session's start is told, in the time that it has; nothing crashes, and nothing stays."""
    machine = assault.machine
    began = time.monotonic()
    process = hook(machine.environ, project, "start", payload(project, "SessionStart", source="startup"))
    out, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < BUDGET
    refuse("crashes", (process.returncode or errors) and (process.returncode, errors))
    tried()
    for follower in followers(machine.state):  # it may wait for git for a minute
        os.kill(follower, 15)
    machine.settle()
    refuse("leftovers", left_processes(machine))
    said = injected(out.decode())
    refuse("crashes", "check failed" in said and said)
    return said


HOLES = (
    (".git/config",),
    (".git/commondir",),
    (".git/index", ".git/packed-refs", ".git/refs/heads/main", ".git/info/exclude", ".gitignore", "pyproject.toml"),
    (".git/config.worktree", ".git/sharedindex.x", ".git/MERGE_MSG", ".git/logs/HEAD", ".gate.toml",
     ".gate/checks/one.py", ".pilot.lock", ".git/FETCH_HEAD", ".git/worktrees/w/commondir"),
)  # fmt: skip


def put(project: Path, names: tuple[str, ...], make: Callable[[Path], object]) -> None:
    for name in names:
        place = project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        make(place)


def with_holes(place: Path) -> None:
    with place.open("ab"):
        os.truncate(place, 32 << 30)


@pytest.mark.parametrize("names", HOLES, ids=lambda names: names[0])
def test_files_of_holes(assault: Assault, names: tuple[str, ...]) -> None:
    """They cost nothing to make: 32 GiB, more than it takes to fill a memory or to be read through in time."""
    project = assault.repository()
    put(project, names, with_holes)
    start(assault, project)


DEVICES = (
    (".git/config",),
    (".git/commondir",),
    (".git/refs/heads/main",),
    (".git/objects/info/alternates", ".git/sequencer/todo", ".git/info/grafts", ".gitignore", ".gate.toml",
     ".git/worktrees/w/commondir"),
)  # fmt: skip


@pytest.mark.parametrize("names", DEVICES, ids=lambda names: names[0])
def test_links_to_a_device(assault: Assault, names: tuple[str, ...]) -> None:
    """git itself reads some of them until its memory is full."""
    project = assault.repository()
    put(project, names, lambda place: (place.unlink(missing_ok=True), place.symlink_to("/dev/zero")))
    start(assault, project)


def test_an_order_of_files_without_an_end(assault: Assault) -> None:
    project = assault.repository()
    assault.configure(project, {"diff.orderFile": "/dev/zero"})
    (project / "README").write_text("changed\n")
    assert "REPO: 1 uncommitted path" in start(assault, project), "git is told of another"


@pytest.mark.skipif(not os.access("/proc/kmsg", os.R_OK), reason="only some may read it")
@pytest.mark.parametrize("names", [(".git",), (".git/commondir",), (".git/config", ".git/MERGE_MSG", "pyproject.toml")])
def test_links_to_a_file_that_waits_for_its_reader(assault: Assault, names: tuple[str, ...]) -> None:
    """The kernel's log is a regular file."""
    project = assault.repository()
    if names == (".git",):
        (project / ".git").rename(project / "moved")
    put(project, names, lambda place: (place.unlink(missing_ok=True), place.symlink_to("/proc/kmsg")))
    start(assault, project)


def endless_line(project: Path) -> None:
    with (project / ".git/config").open("a") as config:
        config.write("[core]\n\tworktree = /nowhere\n[x]\n\tworktree = a" + " " * 1_000_000 + "b\n")


def endless_list(project: Path) -> None:
    (project / ".gate/checks").mkdir(parents=True)
    for number in range(20_000):
        os.close(os.open(project / f".gate/checks/check_{number}.py", os.O_CREAT, 0o644))


def endless_registrations(project: Path) -> None:
    for number in range(3000):
        place = project / f".git/worktrees/w{number}"
        place.mkdir(parents=True)
        (place / "gitdir").write_text(f"/nowhere/{number}/.git\n")
        (place / "HEAD").write_text("ref: refs/heads/main\n")
        (place / "commondir").write_text("../..\n")


def endless_locks(project: Path) -> None:
    """In as many places, each with a name that is long to show."""
    for number in range(1500):
        place = project / f".git/modules/{number}" / ("\U000e0101" * 60)
        place.mkdir(parents=True)
        (place / "index.lock").touch()
        os.utime(place / "index.lock", (1, 1))


def endless_stashes(project: Path) -> None:
    head = (project / ".git/refs/heads/main").read_text().strip()
    line = f"{head} {head} A <a@b> 1 +0000\t{'x' * 1000}\n"
    (project / ".git/refs/stash").write_text(head + "\n")
    (project / ".git/logs/refs").mkdir(parents=True, exist_ok=True)
    (project / ".git/logs/refs/stash").write_text(line * 20_000)


@pytest.mark.parametrize(
    "fill",
    [endless_line, endless_list, endless_registrations, endless_locks, endless_stashes],
    ids=lambda f: f.__name__,
)
def test_what_goes_on_and_on(assault: Assault, fill: Callable[[Path], None]) -> None:
    project, machine = assault.repository(), assault.machine
    fill(project)
    said = start(assault, project)
    assert len(said) <= 2000
    assert said or machine.verdict(project) == "green", "where the time was enough, nothing is left"
    machine.gate("end", cwd=project)
    assert machine.verdict(project) != "damaged", "what is remembered can be read again"
    start(assault, project)
