"""The real Qwen Code with the gate's hooks. Seen with 0.24.4."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest
from agent_kit import HOLD, Interactive, script
from fake_api import Request
from kit import Machine
from qwen_kit import Qwen, shell
from waiters import Waiters

pytestmark = pytest.mark.clients

LEAVE = shell("echo unfinished > left.txt")


def type_quit(session: Interactive) -> None:
    session.terminal.wait_for("Type your message")
    session.prompt("/quit")
    session.gone()


def after_clear(qwen: Qwen, before: str) -> bool:
    """Whether the start after /clear has been answered; nothing on the screen tells."""
    return any(record["id"] in qwen.marker()["told"] for record in qwen.records() if record["id"] != before)


def is_hello(turn: Request) -> bool:
    """Whether a request is that of the prompt `hello`; others ask for a suggestion of what to type next."""
    return turn.texts()[-1] == "hello"


def test_without_a_terminal_no_end_is_said_and_what_is_left_is_named(
    qwen: Qwen, machine: Machine, project: Path
) -> None:
    with qwen.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        record = qwen.record()
        owner = psutil.Process(record["owner"]["pid"])
        assert run.process in owner.parents()  # it starts itself anew, twice
        assert record["worktree"] == str(project)
        owner.kill()
        run.end(signal.SIGTERM)
    (text,) = qwen.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the qwen session opened at ")
    assert "left.txt" in text

    (project / "left.txt").unlink()
    assert qwen.run(project).told() == []  # the thing is gone
    assert machine.verdict(project) == "abandoned"


def test_in_a_terminal_it_is_one_end(qwen: Qwen, machine: Machine, project: Path) -> None:
    with qwen.interactive(project) as session:
        session.prompt(script(LEAVE))
        session.wait_for_turn(2)
        record = qwen.record()
        session.terminal.wait_for("done")
        type_quit(session)
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
    assert list(qwen.marker()["ended"]) == [record["id"]]
    (text,) = qwen.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: the previous session left work.")
    assert "left.txt" in text


def test_what_stood_before_clear_is_said_after_it(qwen: Qwen, machine: Machine, project: Path) -> None:
    with qwen.interactive(project) as session:
        session.prompt(script(LEAVE))
        session.wait_for_turn(2)
        before = qwen.record()
        session.terminal.wait_for("done")
        session.prompt("/clear")
        session.terminal.wait(lambda _: after_clear(qwen, before["id"]))
        session.prompt("hello")
        qwen.api.wait(session.label, lambda: any(is_hello(turn) for turn in session.turns()))
        (text,) = qwen.told(next(turn for turn in session.turns() if is_hello(turn)))
        assert text.splitlines()[0] == "SESSION-GATE DEBT: this stood before /clear."
        assert "left.txt" in text
        after = qwen.record()
        assert after["id"] != before["id"]
        assert (after["owner"], after["source"], after["state"]) == (before["owner"], "clear", "open")
        session.terminal.wait_for("done")
        type_quit(session)
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_whatever_outlives_its_session_is_named_to_the_next(qwen: Qwen, project: Path, waiters: Waiters) -> None:
    _, nohup, setsid, *_ = waiters.paths
    qwen.run(project, shell(f"nohup {nohup} 902 >/dev/null 2>&1 & setsid -f {setsid} 903 >/dev/null 2>&1"))
    (record,) = qwen.records()
    waiters.wait_for(2)
    assert {process.environ()["QWEN_CODE_SESSION_ID"] for process in waiters.running().values()} == {record["id"]}
    (text,) = qwen.run(project).told()
    assert waiters.told_of(text) == {"nohup", "setsid"}
