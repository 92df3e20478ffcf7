"""The real Copilot CLI with the gate's hooks, without a terminal (`copilot -p`). Seen with 1.0.102."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from agent_kit import HOLD
from copilot_kit import Copilot, shell
from kit import GATE, Machine
from waiters import Waiters

pytestmark = pytest.mark.clients

LEAVE = shell("echo unfinished > left.txt")
CONTINUE = ["--continue"]


def test_what_a_session_leaves_is_in_the_next_ones_first_request(
    copilot: Copilot, machine: Machine, project: Path
) -> None:
    first = copilot.run(project, LEAVE)
    assert first.told() == []
    assert copilot.marker()["state"] == "debt"
    assert machine.records() == []

    second = copilot.run(project, LEAVE)
    (text,) = second.told()
    lines = text.splitlines()
    assert lines[0] == "SESSION-GATE DEBT: the previous session left work."
    assert lines[1].startswith("  - REPO: 1 uncommitted path since the copilot session that ended ")
    assert lines[1].endswith(": left.txt. They may be a person's unfinished work.")
    assert len(lines) == 3
    assert [len(copilot.told(turn)) for turn in second.turns()] == [1, 1]  # where it stood, and said once

    (project / "left.txt").unlink()
    assert copilot.run(project).told() == []  # the thing is gone
    assert machine.verdict(project) == "green"
    assert copilot.run(project).told() == []  # and a green start does not even look


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_session_that_is_asked_to_go_ends_in_order(
    copilot: Copilot, machine: Machine, project: Path, number: signal.Signals
) -> None:
    with copilot.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        record = copilot.record()
        assert (record["client"], record["source"], record["state"]) == ("copilot", "startup", "open")
        assert record["owner"]["pid"] == run.process.pid
        assert record["worktree"] == str(project)
        run.end(number)
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_killed_session_is_named(copilot: Copilot, machine: Machine, project: Path) -> None:
    with copilot.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        run.end(signal.SIGKILL)
    assert copilot.record()["state"] == "open"
    assert machine.verdict(project) == "abandoned"

    (text,) = copilot.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the copilot session opened at ")
    assert "left.txt" in text
    assert machine.records() == []


def test_what_runs_on_after_the_client_is_its_sessions(
    copilot: Copilot, machine: Machine, project: Path, waiters: Waiters
) -> None:
    plain, nohup, setsid, *_ = waiters.paths
    steps = [f"{plain} 1000 &", f"nohup {nohup} 1000 >/dev/null 2>&1 &", f"setsid -f {setsid} 1000 >/dev/null 2>&1"]
    copilot.run(project, shell(" ".join(steps)))
    waiters.wait_for(3)
    (text,) = copilot.run(project).told()
    assert waiters.told_of(text) == {"plain", "nohup", "setsid"}
    assert "outlived its copilot session" in text
    waiters.end()
    assert copilot.run(project).told() == []


def test_a_resumed_session_is_told_by_its_prompt(copilot: Copilot, machine: Machine, project: Path) -> None:
    """What its start hook says is dropped by the client."""
    copilot.run(project, LEAVE)
    resumed = copilot.run(project, shell("cat left.txt"), options=CONTINUE)
    (text,) = resumed.told()
    assert "left.txt" in text
    assert [len(copilot.told(turn)) for turn in resumed.turns()] == [1, 1]
    assert machine.records() == []

    (project / "left.txt").unlink()
    first, second = copilot.run(project, options=CONTINUE).told()
    assert first == text  # stands in the conversation
    assert "what an earlier text in this conversation reported is gone; nothing is left behind." in second
    assert machine.verdict(project) == "green"
    assert copilot.run(project, options=CONTINUE).told() == [first, second]


def test_hooks_in_claude_codes_settings_make_no_second_session(
    copilot: Copilot, machine: Machine, project: Path
) -> None:
    assert machine.gate("install", "claude", "--scope", "project", cwd=project).returncode == 0
    machine.commit(project)
    copilot.variables["PATH"] = f"{GATE.parent}{os.pathsep}{machine.environ['PATH']}"
    with copilot.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        assert copilot.record()["client"] == "copilot"
        run.end(signal.SIGTERM)
    assert machine.records() == []

    (text,) = copilot.run(project).told()  # once, though two hooks were asked
    assert text.count("SESSION-GATE") == 1
    assert "left.txt" in text
    (path,) = copilot.config.glob("hooks/*.json")
    path.unlink()
    (text,) = copilot.run(project).told()  # and by Claude Code's alone in the form that this client takes
    assert "left.txt" in text
    assert machine.records() == []
