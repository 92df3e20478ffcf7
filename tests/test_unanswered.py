"""What a watchdog says of where a hook stands, and whose green it takes away: as far as that can be told."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from kit import Machine

from gate import files, unanswered
from gate.marker import UNANSWERED
from gate.project import find_project
from gate.site import Site
from gate.state import ProjectState
from gate.watchdog import Watchdog


@contextmanager
def standing(stand: Callable[[], object]) -> Iterator[Watchdog]:
    """The watchdog of a thread that does this."""
    made: list[Watchdog] = []
    begun = threading.Event()

    def work() -> None:
        made.append(Watchdog())
        begun.set()
        stand()

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    made[0].limit = 8.0
    yield made[0]
    thread.join()


def test_where_a_thread_waits_for_a_file_is_said(tmp_path: Path) -> None:
    """A FIFO without a writer: whoever opens it waits, as on a disk that does not answer."""
    fifo = tmp_path / "odd `name`"
    os.mkfifo(fifo)
    with standing(lambda: fifo.read_bytes()) as watchdog:
        said = unanswered.reason(watchdog)
        os.close(os.open(fifo, os.O_WRONLY))
    quoted = str(fifo).replace("`", "\\x60")
    assert said == f'no answer from the file system of "{quoted}"; given up after 8 s'


def test_one_that_moves_is_slow(tmp_path: Path) -> None:
    over = threading.Event()

    def read_many() -> None:
        number = 0
        while not over.is_set():
            number += 1
            files.read(f"{tmp_path}/{number}")

    with standing(read_many) as watchdog:
        said = unanswered.reason(watchdog)
        over.set()
    assert said == "given up after 8 s" or said.startswith(f"given up after 8 s, the last of them at {tmp_path}/")


def test_one_that_waits_for_something_else_is_not_said_to_wait_for_a_file() -> None:
    over = threading.Event()
    with standing(lambda: over.wait(60)) as watchdog:
        said = unanswered.reason(watchdog)
        over.set()
    assert said == "given up after 8 s"


def test_one_that_is_gone_is_nowhere() -> None:
    with standing(lambda: None) as watchdog:
        pass
    assert unanswered.reason(watchdog) == "given up after 8 s"


GREEN = {
    "schema": 1, "state": "ok", "when": "2026-11-30T08:26:46Z", "session": None, "duration_ms": 1, "results": [],
    "findings": [], "began": {"boot": "boot", "since_boot": 1.0}, "stale_after": 604800, "stamp": [], "memory": {},
    "shown": {},
}  # fmt: skip


@pytest.fixture
def worktree(machine: Machine, project: Path) -> Path:
    """A linked worktree elsewhere; and three projects that are green."""
    path = machine.directory / "elsewhere" / "tree"
    machine.git(project, "worktree", "add", "--quiet", str(path))
    (machine.directory / "plain").mkdir()
    machine.repository("other")
    for place in (project, machine.directory / "other", machine.directory / "plain"):
        site = Site.at(str(place), machine.environ)
        site.state.ensure()
        Path(site.state.marker_file.path).write_bytes(orjson.dumps(GREEN | {"project": site.project.root}))
    return path


def retired(machine: Machine) -> list[str]:
    """The projects whose green was taken away, and nothing else of them."""
    found = []
    for directory in machine.state.iterdir():
        marker = ProjectState(str(machine.state), directory.name).marker_file.read()
        assert marker is not None
        assert marker.retired in ("", UNANSWERED)
        found += [Path(marker.data["project"]).name] if marker.retired else []
    return found


@pytest.mark.parametrize(
    ("where", "whose"),
    [
        ("project", ["project"]),
        ("project/a/b/../c", ["project"]),
        ("plain/deep", ["plain"]),
        ("elsewhere/tree/a", ["project"]),
        ("elsewhere/tree-of-another", []),
        ("project-of-another", []),
    ],
)
def test_the_green_of_the_project_around_a_directory_goes(
    machine: Machine, worktree: Path, where: str, whose: list[str]
) -> None:
    watchdog = Watchdog()
    watchdog.directory = f"{machine.directory}/{where}"
    assert unanswered.note(watchdog, machine.environ)
    assert retired(machine) == whose


def test_a_project_that_was_found_is_not_looked_for(machine: Machine, worktree: Path) -> None:
    watchdog = Watchdog()
    watchdog.directory = "/nowhere"
    watchdog.site = Site.at(str(worktree), machine.environ)
    assert unanswered.note(watchdog, machine.environ)
    assert retired(machine) == ["project"]


def test_what_is_damaged_or_gone_keeps_nothing_from_being_noted(
    machine: Machine, project: Path, worktree: Path
) -> None:
    (machine.state / "a-file").write_text("")
    odd = machine.state / "odd-0000000000000000"
    odd.mkdir()
    (odd / "marker.json").write_text("{")
    key = find_project(str(machine.directory / "other")).key
    marker = machine.state / key / "marker.json"
    marker.write_bytes(orjson.dumps(orjson.loads(marker.read_bytes()) | {"project": "/gone"}))
    watchdog = Watchdog()
    watchdog.directory = str(worktree)
    assert unanswered.note(watchdog, machine.environ)
    there = ProjectState(str(machine.state), find_project(str(project)).key).marker_file.read()
    assert there is not None
    assert there.retired == UNANSWERED
