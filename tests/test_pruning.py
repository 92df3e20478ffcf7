"""What the state keeps of projects that are gone: it goes after a time, and never while anybody needs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from kit import Client, Machine, green

from gate import files
from gate.clock import Clock
from gate.pruning import CLEAN_FOR, DAY, OWED_FOR, prune
from gate.state import ProjectState


class Forgotten:
    """A project that was looked at once, and is gone."""

    def __init__(self, machine: Machine, debt: bool = False) -> None:
        self.machine = machine
        self.root = machine.repository()
        if debt:
            (self.root / "left.py").write_text("work\n")
            machine.text("end", cwd=self.root, code=1)
        else:
            green(machine, self.root)
        self.state = ProjectState(str(machine.state), machine.project_dir().name)
        marker = self.state.marker_file.read()
        assert marker is not None
        self.looked = marker.when
        shutil.rmtree(self.root)

    def after(self, seconds: float) -> list[str]:
        """What goes at a turn so long after the last look."""
        return prune(str(self.machine.state), Clock(self.looked + seconds))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(("debt", "kept_for"), [(False, CLEAN_FOR), (True, OWED_FOR)])
def test_a_project_that_is_gone_is_forgotten_in_time(machine: Machine, debt: bool, kept_for: float) -> None:
    project = Forgotten(machine, debt)
    assert project.after(kept_for - 1) == []
    (machine.state / "pruned").unlink()
    assert project.after(kept_for + 1) == [project.state.key]
    assert [path.name for path in machine.state.iterdir()] == ["pruned"]


@pytest.mark.parametrize("reason", ["unwritten", "unanswered", "doubted"])
def test_one_whose_marker_lost_its_word_leaves_nothing_either(machine: Machine, reason: str) -> None:
    project = Forgotten(machine)
    project.state.marker_file.retire(reason)
    assert project.after(OWED_FOR + 1) == [project.state.key]
    assert [path.name for path in machine.state.iterdir()] == ["pruned"]


def test_there_is_a_turn_a_day(machine: Machine) -> None:
    project = Forgotten(machine)
    files.write(str(machine.state / "pruned"), b"")
    os.utime(machine.state / "pruned", (project.looked + 2 * CLEAN_FOR,) * 2)
    assert project.after(2 * CLEAN_FOR + DAY - 1) == []
    assert project.after(2 * CLEAN_FOR + DAY + 1) == [project.state.key]


def there_again(project: Forgotten) -> None:
    project.root.mkdir()


def a_link_that_leads_nowhere(project: Forgotten) -> None:
    project.root.symlink_to("nowhere")


def a_record(project: Forgotten) -> None:
    Path(project.state.ledger.record_path("other")).write_text("{")


def no_marker(project: Forgotten) -> None:
    os.unlink(project.state.marker_file.path)


def a_damaged_marker(project: Forgotten) -> None:
    Path(project.state.marker_file.path).write_text("{")


def a_retired_marker(project: Forgotten) -> None:
    project.state.marker_file.retire("doubted")


def a_name_that_is_not_utf8(project: Forgotten) -> None:
    path = Path(project.state.marker_file.path)
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {"project": "/x/\\xff"}))


@pytest.mark.parametrize(
    "change",
    [
        there_again,
        a_link_that_leads_nowhere,
        a_record,
        no_marker,
        a_damaged_marker,
        a_retired_marker,
        a_name_that_is_not_utf8,
    ],
    ids=lambda change: change.__name__,
)
def test_what_is_not_surely_over_stays(machine: Machine, change: Callable[[Forgotten], None]) -> None:
    project = Forgotten(machine)
    change(project)
    kept = {str(path) for path in machine.state.rglob("*")}
    assert project.after(2 * CLEAN_FOR) == []
    assert {str(path) for path in machine.state.rglob("*")} - {str(machine.state / "pruned")} == kept


@pytest.mark.parametrize("name", ["lock", "sessions/one.lock"])
def test_what_somebody_is_at_work_in_stays(machine: Machine, name: str) -> None:
    project = Forgotten(machine)
    with files.Lock(os.path.join(project.state.directory, name)):
        assert project.after(2 * CLEAN_FOR) == []
    assert os.path.exists(project.state.marker_file.path)


def test_what_is_not_ours_stays(machine: Machine) -> None:
    project = Forgotten(machine)
    stranger = Path(project.state.directory) / "notes.txt"
    stranger.write_text("mine\n")
    assert project.after(2 * CLEAN_FOR) == []
    assert stranger.read_text() == "mine\n"


def test_a_state_that_cannot_be_written_or_is_not_there_is_survived(tmp_path: Path) -> None:
    assert prune(str(tmp_path / "none"), Clock(1e9)) == []
    (tmp_path / "pruned").mkdir()
    assert prune(str(tmp_path), Clock(4e9)) == []


def test_the_end_of_a_session_has_its_turn(machine: Machine) -> None:
    gone = Forgotten(machine)
    here = machine.repository("here")
    later = {"SESSION_GATE_NOW": "2200-01-01T00:00:00Z"}
    machine.environ |= later
    with_one = Client(machine, here)
    with_one.start()
    machine.settle()
    with_one.end()
    assert not os.path.exists(gone.state.directory)
    assert machine.project_dir().name.startswith("here-")
