"""What the real client leaves running reaches the next session, and nothing that is at work does."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from claude_kit import HOLD, Claude, bash
from kit import Machine, only_processes
from waiters import Waiters

pytestmark = pytest.mark.clients


def leave(waiters: Waiters) -> object:
    plain, nohup, setsid, disown, _ = waiters.paths
    return bash(f"{plain} 901 & nohup {nohup} 902 >/dev/null 2>&1 & setsid {setsid} 903 & {disown} 904 & disown; true")


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
    assert waiters.told_of(text) == ALL
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
    assert waiters.told_of(text) == ALL  # the client has ended its own task


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
