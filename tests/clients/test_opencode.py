"""The real OpenCode with the gate's hooks, without a terminal (`opencode run`). Seen with 1.18.33."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from agent_kit import HOLD, script
from kit import GATE, Machine
from opencode_kit import OpenCode, shell, subagent
from waiters import Waiters

pytestmark = pytest.mark.clients

LEAVE = shell("echo unfinished > left.txt")
CONTINUE = ["--continue"]


def test_what_a_session_leaves_is_in_the_next_ones_first_request(
    opencode: OpenCode, machine: Machine, project: Path
) -> None:
    first = opencode.run(project, LEAVE)
    assert first.told() == []
    assert opencode.marker()["state"] == "debt"
    assert machine.records() == []

    second = opencode.run(project, LEAVE)
    (text,) = second.told()
    lines = text.splitlines()
    assert lines[0] == "SESSION-GATE DEBT: the previous session left work."
    assert lines[1].startswith("  - REPO: 1 uncommitted path since the opencode session that ended ")
    assert lines[1].endswith(": left.txt. They may be a person's unfinished work.")
    assert len(lines) == 3
    assert [len(opencode.told(turn)) for turn in second.turns()] == [1, 1]  # where it stood, and said once

    (project / "left.txt").unlink()
    assert opencode.run(project).told() == []  # the thing is gone
    assert machine.verdict(project) == "green"
    assert opencode.run(project).told() == []  # and a green start does not even look


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_session_that_says_no_end_is_named(
    opencode: OpenCode, machine: Machine, project: Path, number: signal.Signals
) -> None:
    """Asked to go by a signal, `opencode run` is gone without a word to its plugins."""
    with opencode.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        record = opencode.record()
        assert (record["client"], record["source"], record["state"]) == ("opencode", "startup", "open")
        assert record["owner"]["pid"] == run.process.pid
        assert record["worktree"] == str(project)
        run.end(number)
    assert machine.verdict(project) == "abandoned"

    (text,) = opencode.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the opencode session opened at ")
    assert "left.txt" in text
    assert machine.records() == []


def test_what_runs_on_after_the_client_is_its_sessions(
    opencode: OpenCode, machine: Machine, project: Path, waiters: Waiters
) -> None:
    """One that keeps its shell tool's output open would keep that waiting, for two minutes."""
    _, nohup, setsid, *_ = waiters.paths
    steps = [f"nohup {nohup} 1000 >/dev/null 2>&1 &", f"setsid -f {setsid} 1000 >/dev/null 2>&1"]
    opencode.run(project, shell(" ".join(steps)))
    waiters.wait_for(2)
    (text,) = opencode.run(project).told()
    assert waiters.told_of(text) == {"nohup", "setsid"}
    assert "outlived its opencode session" in text
    waiters.end()
    assert opencode.run(project).told() == []


def test_a_resumed_session_is_told(opencode: OpenCode, machine: Machine, project: Path) -> None:
    opencode.run(project, LEAVE)
    resumed = opencode.run(project, shell("cat left.txt"), options=CONTINUE)
    (text,) = resumed.told()
    assert "left.txt" in text
    assert [len(opencode.told(turn)) for turn in resumed.turns()] == [1, 1]
    assert machine.records() == []

    (project / "left.txt").unlink()
    first, second = opencode.run(project, options=CONTINUE).told()
    assert first == text  # stands in the conversation
    assert "what an earlier text in this conversation reported is gone; nothing is left behind." in second
    assert machine.verdict(project) == "green"
    assert opencode.run(project, options=CONTINUE).told() == [first, second]


def test_a_subagent_works_for_the_session_that_sent_it(opencode: OpenCode, machine: Machine, project: Path) -> None:
    task = subagent(script(shell('echo "$SESSION_GATE_SESSION" > tag')))
    with opencode.printing(project, task, HOLD) as run:
        run.wait_for_turn(4)
        record = opencode.record()
        assert (project / "tag").read_text().strip() == record["id"]
        run.end(signal.SIGTERM)


def test_an_installation_that_is_gone_is_said(opencode: OpenCode, machine: Machine, project: Path) -> None:
    plugin = opencode.config / "plugins" / "session-gate.js"
    plugin.write_text(plugin.read_text().replace(str(GATE.parent), "/gone/bin"))
    (text,) = opencode.run(project).told()
    assert text.startswith("SESSION-GATE: did not run: /gone/bin/")
    assert machine.records() == []
