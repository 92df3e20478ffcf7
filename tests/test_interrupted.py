"""The gate is killed just before each of its calls that change disk or processes; nothing may go unseen.

In every scenario a session has left `left.py`. Whatever happens to the gate, the next start names it, no damaged state
is believed, no process stays, and the next `gate end` recovers.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kit import PYTHON, SILENT, Client, Machine, injected, wait_for_exit

import gate
from gate.boundary import end_by_hand
from gate.site import Site

SOURCE = Path(next(iter(gate.__path__)))
INTERRUPTED = Path(__file__).with_name("interrupted.py")
MOST_POINTS = 200


class Scenario:
    """A machine at the moment before a hook, which can be put back to that moment again and again."""

    def __init__(self, machine: Machine, project: Path, boundary: str, package: Path = SOURCE) -> None:
        self.machine = machine
        self.project = project
        self.boundary = boundary
        self.package = package
        self.template = machine.directory / "template"
        shutil.copytree(machine.state, self.template, symlinks=True)
        self.interpreter = machine.directory / "interpreter"
        self.interpreter.write_text(f"#!{PYTHON} -IS\n{INTERRUPTED.read_text()}")
        self.interpreter.chmod(0o755)
        self.counter = machine.directory / "counter"

    def restore(self) -> None:
        shutil.rmtree(self.machine.state)
        shutil.copytree(self.template, self.machine.state, symlinks=True)
        (self.project / "left.py").write_text("work\n")

    def interrupt(self, point: int, mode: str = "kill") -> int:
        """Run the hook and what it starts, with a failure at `point`; how many points there were."""
        self.counter.write_bytes(b"")
        session = {"start": "next", "end": "first"}[self.boundary]
        event = {"start": "SessionStart", "end": "SessionEnd"}[self.boundary]
        payload = {"session_id": session, "cwd": str(self.project), "hook_event_name": event, "source": "startup"}
        environ = self.machine.environ | {
            "GATE_TEST_POINT": str(point),
            "GATE_TEST_MODE": mode,
            "GATE_TEST_COUNTER": str(self.counter),
            "GATE_TEST_INTERPRETER": str(self.interpreter),
        }
        subprocess.run(
            [self.interpreter, self.package / "hook.py", self.boundary, "--client", "claude"],
            input=json.dumps(payload).encode(),
            env=environ,
            cwd=self.project,
            capture_output=True,
            check=False,
            timeout=60,
        )
        self.wait_until_nothing_runs()
        return self.counter.stat().st_size

    def wait_until_nothing_runs(self) -> None:
        """Wait for every process that the hook left; none may outlive its deadline."""
        for process in psutil.process_iter():
            try:
                if process.environ().get("GATE_TEST_COUNTER") == str(self.counter):
                    wait_for_exit(process)
            except psutil.Error:
                continue

    def next_start(self) -> str:
        """What the next session is shown."""
        value = {"session_id": "after", "cwd": str(self.project), "hook_event_name": "SessionStart"}
        done = subprocess.run(
            [PYTHON, "-I", "-S", SILENT, "start", "--client", "claude"],
            input=json.dumps(value).encode(),
            env=self.machine.environ,
            cwd=self.project,
            capture_output=True,
            check=True,
            timeout=60,
        )
        self.machine.settle()
        return injected(done.stdout.decode())

    def recovery(self) -> str:
        """What `gate end` comes to where that is not debt while the thing stands, and green once it is gone."""
        examined, trouble = end_by_hand(Site.at(str(self.project), self.machine.environ))
        if examined.report.state != "debt" or trouble is not None:
            return f"no debt any more: {trouble}"
        (self.project / "left.py").unlink()
        examined, trouble = end_by_hand(Site.at(str(self.project), self.machine.environ))
        return "" if examined.report.state == "ok" and trouble is None else f"{examined.report.findings} {trouble}"


def prepare(machine: Machine, project: Path, scenario: str) -> None:
    machine.only("uncommitted_paths")
    machine.text("end", cwd=project)
    client = Client(machine, project, "first")
    assert client.start() == ""
    machine.settle()
    client.shell("echo work > left.py")
    if scenario == "start on a debt":
        client.end()
    else:
        client.kill()


SCENARIOS = {"end": "end", "start on a debt": "start", "start after a dead session": "start"}


@pytest.fixture
def scenario(machine: Machine, project: Path, request: pytest.FixtureRequest) -> Scenario:
    prepare(machine, project, request.param)
    return Scenario(machine, project, SCENARIOS[request.param])


def lost(scenario: Scenario, mode: str) -> Iterator[tuple[int, str, str]]:
    """The points after which the debt went unseen or the state did not recover, and what was seen there; last first."""
    scenario.restore()
    total = scenario.interrupt(0, mode)
    assert 5 < total < MOST_POINTS
    for point in range(total, 0, -1):
        scenario.restore()
        scenario.interrupt(point, mode)
        text, recovery = scenario.next_start(), scenario.recovery()
        if "left.py" not in text or recovery:
            yield point, text, recovery


@pytest.mark.parametrize("scenario", list(SCENARIOS), indirect=True)
def test_killed_anywhere_nothing_goes_unseen(scenario: Scenario) -> None:
    assert list(lost(scenario, "kill")) == []


@pytest.mark.parametrize("mode", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("scenario", ["end", "start after a dead session"], indirect=True)
def test_with_a_disk_that_fails_anywhere_nothing_goes_unseen(scenario: Scenario, mode: str) -> None:
    assert list(lost(scenario, mode)) == []


@pytest.mark.parametrize("scenario", ["end"], indirect=True)
def test_a_record_that_goes_before_the_marker_is_written_is_found_out(scenario: Scenario, tmp_path: Path) -> None:
    scenario.package = tmp_path / "mutant" / "gate"
    shutil.copytree(SOURCE, scenario.package)
    module = scenario.package / "detached.py"
    before, settle, after = module.read_text().partition("    settle(site, survey(")
    assert settle
    module.write_text(f"{before}    site.state.ledger.remove(session)\n{settle}{after}")
    assert next(lost(scenario, "kill"), None) is not None
