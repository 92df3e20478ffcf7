"""The real Gemini CLI with the gate's hooks, without a terminal. Seen with 0.61.0."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from agent_kit import HOLD
from gemini_kit import Gemini, shell
from kit import Machine
from waiters import Waiters

pytestmark = pytest.mark.clients

LEAVE = shell("echo unfinished > left.txt")


def test_what_a_session_leaves_is_in_the_next_ones_first_request(
    gemini: Gemini, machine: Machine, project: Path
) -> None:
    first = gemini.run(project, LEAVE)
    assert first.told() == []
    assert gemini.marker()["state"] == "debt"
    assert machine.records() == []

    (text,) = gemini.run(project).told()
    lines = text.splitlines()
    assert lines[0] == "SESSION-GATE DEBT: the previous session left work."
    assert lines[1].startswith("  - REPO: 1 uncommitted path since the gemini session that ended ")
    assert lines[1].endswith(": left.txt. They may be a person's unfinished work.")
    assert len(lines) == 3

    (project / "left.txt").unlink()
    assert gemini.run(project).told() == []  # the thing is gone
    assert machine.verdict(project) == "green"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_session_that_is_asked_to_go_ends_in_order(
    gemini: Gemini, machine: Machine, project: Path, number: signal.Signals
) -> None:
    with gemini.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        record = gemini.record()
        assert record["owner"]["pid"] == run.process.pid
        assert record["worktree"] == str(project)
        run.end(number)
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_killed_session_is_named(gemini: Gemini, machine: Machine, project: Path) -> None:
    with gemini.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        run.end(signal.SIGKILL)
    assert machine.verdict(project) == "abandoned"
    (text,) = gemini.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the gemini session opened at ")
    assert "left.txt" in text
    assert machine.records() == []


def test_the_owner_is_the_one_that_was_relaunched(gemini: Gemini, machine: Machine, project: Path) -> None:
    gemini.variables["GEMINI_CLI_NO_RELAUNCH"] = ""
    with gemini.printing(project, HOLD) as run:
        run.wait_for_turn(1)
        (inner,) = run.process.children()
        assert gemini.record()["owner"]["pid"] == inner.pid
        inner.terminate()
        run.end(signal.SIGTERM)
    assert machine.records() == []


def test_a_resumed_conversation_is_told_what_stands_and_holds_nothing_old(
    gemini: Gemini, machine: Machine, project: Path
) -> None:
    """It is sent without what hooks said in it."""
    resume = ["--resume", "latest"]
    gemini.run(project, LEAVE)
    (debt,) = gemini.run(project, options=resume).told()
    assert "left.txt" in debt
    (project / "left.txt").unlink()
    assert gemini.run(project, options=resume).told() == []
    assert machine.verdict(project) == "green"


@pytest.mark.parametrize("ending", ["orderly", "killed"])
def test_whatever_outlives_its_session_is_named_to_the_next(
    gemini: Gemini, project: Path, waiters: Waiters, ending: str
) -> None:
    """Its shell tool leaves no session's id in the environment, only the client's mark."""
    _, nohup, setsid, *_ = waiters.paths
    leave = shell(f"nohup {nohup} 902 >/dev/null 2>&1 & setsid -f {setsid} 903 >/dev/null 2>&1")
    if ending == "orderly":
        gemini.run(project, leave)
    else:
        with gemini.printing(project, leave, HOLD) as run:
            run.wait_for_turn(2)
            run.end(signal.SIGKILL)
    waiters.wait_for(2)
    waiters.wait_for_age(2.5)  # else the next client might have started them, as far as can be told
    assert all(process.environ()["GEMINI_CLI"] == "1" for process in waiters.running().values())
    (text,) = gemini.run(project).told()
    assert waiters.told_of(text) == {"nohup", "setsid"}
    waiters.end()
    assert gemini.run(project).told() == []


def test_a_subdirectory_belongs_to_its_repository(gemini: Gemini, machine: Machine, project: Path) -> None:
    below = project / "sub"
    below.mkdir()
    (below / "kept").write_text("")
    machine.commit(project)
    gemini.run(below, LEAVE)
    (text,) = gemini.run(project).told()
    assert "sub/left.txt" in text
