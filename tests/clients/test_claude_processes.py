"""What the real client leaves running reaches the next session, and nothing that is at work does."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from claude_kit import HOLD, Claude, bash
from kit import NO_PROCESSES, TIMEOUT, Machine, only_processes, wait_for_exit

pytestmark = pytest.mark.clients


class Waiters:
    """Programs that wait, each under a name that no other test uses."""

    def __init__(self, directory: Path) -> None:
        self.prefix = f"w{os.getpid() % 10000}-"
        self.names = tuple(self.prefix + way for way in ("plain", "nohup", "setsid", "disown", "task"))
        self.paths = [directory / name for name in self.names]
        for path in self.paths:
            shutil.copy(shutil.which("sleep") or "", path)

    def running(self) -> dict[str, psutil.Process]:
        found = {process.info["name"]: process for process in psutil.process_iter(["name"])}
        return {name: found[name] for name in self.names if name in found}

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + TIMEOUT
        while len(self.running()) != count:
            assert time.monotonic() < deadline, self.running()
            time.sleep(0.01)

    def end(self) -> None:
        for process in self.running().values():
            process.kill()
            wait_for_exit(process)


@pytest.fixture
def waiters(tmp_path: Path, machine: Machine) -> Iterator[Waiters]:
    made = Waiters(tmp_path)
    machine.config.write_text(machine.config.read_text().replace(NO_PROCESSES, only_processes(made.prefix)))
    yield made
    made.end()


def leave(waiters: Waiters) -> object:
    plain, nohup, setsid, disown, _ = waiters.paths
    return bash(f"{plain} 901 & nohup {nohup} 902 >/dev/null 2>&1 & setsid {setsid} 903 & {disown} 904 & disown; true")


def told_of(text: str, waiters: Waiters) -> set[str]:
    return {name.rpartition("-")[2] for name in waiters.names if name in text}


ALL = {"plain", "nohup", "setsid", "disown"}


@pytest.mark.parametrize("ending", ["orderly", "killed"])
def test_whatever_outlives_its_session_is_named_to_the_next(
    claude: Claude, project: Path, waiters: Waiters, ending: str
) -> None:
    if ending == "orderly":
        claude.run(project, leave(waiters))
    else:
        with claude.printing(project, leave(waiters), HOLD) as run:
            run.wait_for_turn(2)
            run.end(signal.SIGKILL)
    waiters.wait_for(4)
    (text,) = claude.run(project).told()
    assert told_of(text, waiters) == ALL
    assert text.count(" outlived its claude session: started ") == 4
    waiters.end()
    assert claude.run(project).told() == []


def test_what_a_living_session_runs_is_not_named(claude: Claude, project: Path, waiters: Waiters) -> None:
    task = bash(f"{waiters.paths[4]} 905")
    task["input"]["run_in_background"] = True
    with claude.printing(project, leave(waiters), task, HOLD) as run:
        run.wait_for_turn(3)
        waiters.wait_for(5)
        beside = claude.run(project)
        assert beside.told() == []
        run.end(signal.SIGTERM)
    (text,) = claude.run(project).told()
    assert told_of(text, waiters) == ALL  # the client has ended its own task


def test_equal_ones_are_grouped_with_their_ports(
    claude: Claude, machine: Machine, project: Path, waiters: Waiters
) -> None:
    machine.config.write_text(
        machine.config.read_text().replace(only_processes(waiters.prefix), only_processes("python3 s"))
    )
    server = "import http.server as s; s.HTTPServer(('127.0.0.1', 0), s.BaseHTTPRequestHandler).serve_forever()"
    (project / ".git" / "info" / "exclude").write_text("serve.py\n")
    (project / "serve.py").write_text(server)
    try:
        claude.run(project, bash("for i in 1 2 3; do setsid python3 serve.py >/dev/null 2>&1 & done; sleep 1"))
        (text,) = claude.run(project).told()
    finally:
        claude.end_everything()
    (line,) = [line for line in text.splitlines() if "serve.py" in line]
    assert line.startswith("  - PROCESS: 3 × python3 serve.py outlived their claude session: s")
    assert " MiB, ports " in line
    assert line.count(",") >= 5
