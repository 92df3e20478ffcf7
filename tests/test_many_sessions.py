"""Many sessions at once, and an end that races the next start."""

from __future__ import annotations

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from kit import GATE, Machine, injected

from gate import marker

SESSIONS = 50
RACES = 2


def hook(machine: Machine, project: Path, boundary: str, session: str) -> str:
    event = {"start": "SessionStart", "end": "SessionEnd"}[boundary]
    payload = {"session_id": session, "cwd": str(project), "hook_event_name": event, "source": "startup"}
    done = machine.gate("hook", boundary, "--client", "claude", cwd=project, payload=json.dumps(payload).encode())
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    return injected(done.stdout.decode())


def test_fifty_sessions_at_once_leave_one_valid_marker_and_nothing_else(machine: Machine, project: Path) -> None:
    machine.only("uncommitted_paths")
    machine.text("end", cwd=project)

    def session(number: int) -> None:
        hook(machine, project, "start", f"s{number}")
        (project / f"left-{number}").write_text("")
        hook(machine, project, "end", f"s{number}")

    with ThreadPoolExecutor(SESSIONS) as pool:
        list(pool.map(session, range(SESSIONS)))
    machine.settle()
    assert machine.records() == []
    assert [path.name for path in machine.project_dir().rglob("*.tmp")] == []
    assert list((machine.project_dir() / "sessions").iterdir()) == []
    written = marker.parse((machine.project_dir() / "marker.json").read_bytes())
    assert written.state == "debt"
    assert f"{SESSIONS} uncommitted paths" in written.data["findings"][0]["summary"]
    mine = [p for p in psutil.process_iter(["cmdline"]) if str(machine.directory) in " ".join(p.info["cmdline"] or [])]
    assert mine == []


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2])
def test_a_start_that_races_the_end_before_it_loses_nothing(machine: Machine, project: Path, delay: float) -> None:
    machine.only("uncommitted_paths")
    machine.text("end", cwd=project)
    for number in range(RACES):
        hook(machine, project, "start", f"first-{number}")
        machine.settle()
        left = project / f"left-{number}"
        left.write_text("")
        hook(machine, project, "end", f"first-{number}")
        time.sleep(delay)  # how far the finisher has come is what varies here
        hook(machine, project, "start", f"second-{number}")
        machine.settle()
        hook(machine, project, "end", f"second-{number}")
        machine.settle()
        assert machine.marker()["state"] == "debt"
        assert left.name in machine.text("start", cwd=project)
        left.unlink()
        machine.text("end", cwd=project)


def test_the_end_hook_returns_while_the_suite_still_runs(machine: Machine, project: Path) -> None:
    fifo = machine.directory / "fifo"
    subprocess.run(["mkfifo", fifo], check=True)
    checks = machine.directory / "config" / "checks"
    checks.mkdir(mode=0o700)
    (checks / "slow.py").write_text(
        "from gate.api import Check, hookimpl\n"
        f"def find(context):\n    open({str(fifo)!r}, 'rb').read()\n    return []\n"
        "@hookimpl\ndef gate_check():\n"
        "    incident = '# Slow\\nand nobody knew why.'\n"
        "    return Check(name='slow', label='SLOW', incident=incident, summary='it takes its time', run=find)\n"
    )
    payload = {"session_id": "s", "cwd": str(project), "hook_event_name": "SessionEnd"}
    with subprocess.Popen(
        [GATE, "hook", "end", "--client", "claude"],
        env=machine.environ,
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        output, errors = process.communicate(json.dumps(payload).encode(), timeout=30)  # to the end of its pipes
    assert (process.returncode, output, errors) == (0, b"", b"")
    assert len(machine.records()) == 1
    fifo.write_bytes(b"")  # only now can the suite end
    machine.settle()
    assert machine.records() == []
    assert machine.marker()["state"] == "ok"
