"""Real processes that outlive a real client's session, from its end hook to the next session's first screen."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kit import GATE, NO_PROCESSES, TIMEOUT, Client, Machine, green, only_processes, wait_for_exit

from gate.clock import Clock
from gate.kin import kin
from gate.ledger import SHELL, Record
from gate.liveness import Owner, Place
from gate.marker import Marker
from gate.testing import FakeProcessTable


class Leftovers:
    """A program that waits, under a name that no other test uses; what of it still runs is ended by its id."""

    def __init__(self, directory: Path) -> None:
        self.name = f"left-{os.getpid() % 100000}"
        self.program = directory / self.name
        shutil.copy(shutil.which("sleep") or "", self.program)

    def running(self) -> list[psutil.Process]:
        return [p for p in psutil.process_iter(["name"]) if p.info["name"] == self.name]

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + TIMEOUT
        while len(self.running()) != count:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def end(self) -> None:
        for process in self.running():
            process.kill()
            wait_for_exit(process)


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Leftovers]:
    leftovers = Leftovers(tmp_path)
    yield leftovers
    leftovers.end()


@pytest.fixture
def machine(tmp_path: Path, left: Leftovers) -> Machine:
    machine = Machine(tmp_path)
    machine.config.write_text(machine.config.read_text().replace(NO_PROCESSES, only_processes(left.name)))
    return machine


@pytest.fixture
def project(machine: Machine) -> Path:
    return machine.repository()


def told(text: str, left: Leftovers) -> list[str]:
    return [line for line in text.splitlines() if left.name in line]


WAYS = ("{} 1000 & true", "nohup {} 1000 >/dev/null 2>&1 & true", "(setsid {} 1000 &)")


def test_what_a_session_leaves_running_greets_the_next_one(machine: Machine, project: Path, left: Leftovers) -> None:
    first = Client(machine, project)
    first.start()
    machine.settle()
    for way in WAYS:
        first.shell(way.format(left.program))
    left.wait_for(3)
    first.end()

    second = Client(machine, project, "session-2")
    (line,) = told(second.start(), left)
    assert line.startswith(f"  - PROCESS: 3 × {left.name} outlived their claude session: s")
    second.kill()
    left.end()
    third = Client(machine, project, "session-3")
    assert told(third.start(), left) == []
    third.kill()


def test_a_killed_sessions_processes_are_its_own(machine: Machine, project: Path, left: Leftovers) -> None:
    first = Client(machine, project)
    first.start()
    machine.settle()
    first.shell(f"setsid {left.program} 1000 & true")
    left.wait_for(1)
    beside = Client(machine, project, "session-2")
    assert told(beside.start(), left) == []  # its session lives
    first.kill()
    third = Client(machine, project, "session-3")
    assert len(told(third.start(), left)) == 1
    beside.kill()
    third.kill()


def test_another_projects_is_told_there(machine: Machine, project: Path, left: Leftovers) -> None:
    other = machine.repository("other")
    green(machine, other)
    green(machine, project)
    client = Client(machine, other)
    client.start()
    client.shell(f"setsid {left.program} 1000 & true")
    client.end()
    (line,) = told(machine.gate("run", "left_processes", cwd=project).stdout.decode(), left)[:1]
    assert line.startswith("PROCESS (note): ")
    assert f"which is a matter of {other}" in line
    assert len(told(machine.text("start", cwd=other), left)) == 1


def test_a_cleared_environment_hides_nothing_that_descends_from_the_client(
    machine: Machine, project: Path, left: Leftovers
) -> None:
    client = Client(machine, project)
    client.start()
    machine.settle()
    client.shell(f"env -i {left.program} 1000 & true")
    left.wait_for(1)
    client.end()
    for session in ("session-2", "session-3"):  # and it is remembered
        following = Client(machine, project, session)
        assert len(told(following.start(), left)) == 1
        following.end()
    assert left.running()


def test_the_session_that_asks_is_not_charged_for_its_own_tasks(
    machine: Machine, project: Path, left: Leftovers
) -> None:
    client = Client(machine, project)
    client.start()
    client.shell(f"(setsid {left.program} 1000 &)")
    left.wait_for(1)
    run = client.shell(f"cd {project}; {GATE} run left_processes; true")
    (line,) = [line for line in told(run, left) if line.startswith("PROCESS")]
    assert line.startswith("PROCESS (deferred): ")
    client.kill()


HERE = Place("host", "boot", "namespace")


def ended(pid: int, started: int = 100, client: str = "claude", alive: bool = False, boot: str = HERE.boot) -> Record:
    place = Place(HERE.host, boot, HERE.namespace)
    record = Record("session-1", client, Owner(pid, started), place, 0.0, 0.0, "/project")
    record.alive = alive
    return record


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (ended(4242), True),
        (ended(4242, alive=True), False),  # it still lives
        (ended(4242, client=SHELL), False),  # a person's own jobs may outlive a terminal
        (ended(4243), False),  # another group
        (ended(4242, started=10**15), False),  # the group is older than this owner
        (ended(4242, boot="before"), False),  # after a boot the numbers begin anew
    ],
)
def test_what_runs_in_the_group_of_a_dead_client_was_started_by_it(record: Record, known: bool) -> None:
    table = FakeProcessTable(Clock(now=2_000_000.0, boot="boot"))
    process = table.add("server", group=4242)
    assert kin(table, None, [record], HERE.boot) == ({process.key: "session-1"} if known else {})


def test_a_number_that_is_another_processs_names_no_group() -> None:
    table = FakeProcessTable(Clock(now=2_000_000.0, boot="boot"))
    table.add("server", group=4242)
    table.add("somebody-else", pid=4242)
    assert kin(table, None, [ended(4242)], HERE.boot) == {}


def test_it_is_remembered_as_long_as_it_runs() -> None:
    table = FakeProcessTable(Clock(now=2_000_000.0, boot="boot"))
    process = table.add("server")
    marker = Marker(
        {"when": "2026-11-30T00:00:00Z", "kin": {process.key: "session-1", "9:9.00": "session-0", "odd": 3}}
    )
    assert kin(table, marker, [], HERE.boot) == {process.key: "session-1"}
    record = ended(4242)
    record.running = [process.key, "9:9.00"]
    assert kin(table, None, [record], HERE.boot) == {process.key: "session-1"}
    table.end(process)
    assert kin(table, marker, [], HERE.boot) == {}
