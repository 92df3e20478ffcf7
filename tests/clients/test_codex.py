"""The real Codex with the gate's hooks, without a terminal (`codex exec`). Seen with 0.171.0."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from agent_kit import HOLD
from codex_kit import Codex, shell, subagent
from kit import Machine
from waiters import Waiters

pytestmark = pytest.mark.clients

LEAVE = shell("echo unfinished > left.txt")
RESUME = ["resume", "--last"]


def test_what_a_session_leaves_is_in_the_next_ones_first_request(codex: Codex, machine: Machine, project: Path) -> None:
    first = codex.run(project, LEAVE)
    assert first.told() == []
    assert codex.marker()["state"] == "debt"
    assert machine.records() == []

    second = codex.run(project)
    (text,) = second.told()
    lines = text.splitlines()
    assert lines[0] == "SESSION-GATE DEBT: the previous session left work."
    assert lines[1].startswith("  - REPO: 1 uncommitted path since the codex session that ended ")
    assert lines[1].endswith(": left.txt. They may be a person's unfinished work.")
    assert len(lines) == 3
    holders = [item for item in second.turns()[0].body["input"] if "SESSION-GATE" in str(item)]
    assert [(item["role"], item["content"][0]["text"]) for item in holders] == [("developer", text)]

    (project / "left.txt").unlink()
    assert codex.run(project).told() == []  # the thing is gone
    assert machine.verdict(project) == "green"
    assert codex.run(project).told() == []  # and a green start does not even look


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_session_that_says_no_end_is_named(
    codex: Codex, machine: Machine, project: Path, number: signal.Signals
) -> None:
    with codex.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        record = codex.record()
        assert record["owner"]["pid"] == run.process.pid
        assert record["worktree"] == str(project)
        assert Path(record["transcript"]).name.endswith(f"-{record['id']}.jsonl")
        run.end(number)
    assert codex.record()["state"] == "open"
    assert machine.verdict(project) == "abandoned"

    (text,) = codex.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the codex session opened at ")
    assert "left.txt" in text
    assert machine.records() == []


def test_a_session_that_is_interrupted_ends_in_order(codex: Codex, machine: Machine, project: Path) -> None:
    with codex.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        run.end(signal.SIGINT)
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_resumed_conversation_is_told_that_it_is_gone(codex: Codex, machine: Machine, project: Path) -> None:
    codex.run(project, LEAVE)
    (debt,) = codex.run(project).told()
    (project / "left.txt").unlink()

    old, new = codex.run(project, options=RESUME).told()
    assert old == debt
    assert new.startswith("SESSION-GATE: what an earlier text in this conversation reported is gone; ")
    assert machine.verdict(project) == "green"


@pytest.mark.parametrize("ending", ["orderly", "killed"])
def test_whatever_outlives_its_session_is_named_to_the_next(
    codex: Codex, project: Path, waiters: Waiters, ending: str
) -> None:
    plain, nohup, setsid, *_ = waiters.paths
    leave = shell(f"{plain} 901 & nohup {nohup} 902 >/dev/null 2>&1 & setsid -f {setsid} 903")
    if ending == "orderly":
        codex.run(project, leave)
    else:
        with codex.printing(project, leave, HOLD) as run:
            run.wait_for_turn(2)
            run.end(signal.SIGKILL)
    waiters.wait_for(1)
    (text,) = codex.run(project).told()
    assert waiters.told_of(text) == {"setsid"}
    assert " outlived its codex session: started " in text
    waiters.end()
    assert codex.run(project).told() == []


def test_what_a_subagent_leaves_running_is_its_sessions(codex: Codex, project: Path, waiters: Waiters) -> None:
    """A subagent is a thread of its own, and no session: it fires no start."""
    setsid = waiters.paths[2]
    with codex.printing(project, subagent(shell(f"setsid -f {setsid} 903"), HOLD), HOLD) as run:
        waiters.wait_for(1)
        (process,) = waiters.running().values()
        environ = process.environ()
        assert environ["CODEX_SESSION_ID"] == codex.record()["id"] != environ["CODEX_THREAD_ID"]
        run.end(signal.SIGINT)
    (text,) = codex.run(project).told()
    assert waiters.told_of(text) == {"setsid"}


def test_a_subdirectory_belongs_to_its_repository(codex: Codex, machine: Machine, project: Path) -> None:
    """So it does without a transcript."""
    below = project / "sub"
    below.mkdir()
    (below / "kept").write_text("")
    machine.commit(project)
    with codex.printing(below, LEAVE, HOLD, options=["--ephemeral"]) as run:
        run.wait_for_turn(2)
        assert codex.record()["transcript"] == ""
        run.end(signal.SIGINT)
    (text,) = codex.run(project).told()
    assert "sub/left.txt" in text
