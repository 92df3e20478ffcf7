"""Gemini CLI in a terminal: every way in which a person leaves a session, and what /clear makes of one. Seen with
0.61.0: it says an end two or three times.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from agent_kit import Interactive, script
from gemini_kit import Gemini, shell
from kit import Machine

pytestmark = pytest.mark.clients

LEAVE = script(shell("echo unfinished > left.txt"))


def type_quit(session: Interactive) -> None:
    session.prompt("/quit")


def press_twice(key: str) -> Callable[[Interactive], None]:
    def press(session: Interactive) -> None:
        session.terminal.press(key)
        session.terminal.wait_for("again to exit")
        session.terminal.press(key)

    return press


@pytest.mark.parametrize("leave", [type_quit, press_twice("C-c")], ids=["quit", "ctrl-c"])
def test_every_way_to_leave_is_one_end(
    gemini: Gemini, machine: Machine, project: Path, leave: Callable[[Interactive], None]
) -> None:
    with gemini.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        record = gemini.record()
        assert record["owner"]["pid"] == session.process.pid
        session.terminal.wait_for("done")
        leave(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
    assert list(gemini.marker()["ended"]) == [record["id"]]


def test_what_a_closed_terminal_leaves_is_said(gemini: Gemini, machine: Machine, project: Path) -> None:
    """Seen both: that it says its end, and that it does not come to it."""
    with gemini.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.terminal.wait_for("done")
        session.terminal.close_window()
        session.gone()
    assert machine.verdict(project) in ("debt", "abandoned")
    (text,) = gemini.run(project).told()
    assert "left.txt" in text
    assert machine.records() == []


def test_a_killed_terminal_is_named(gemini: Gemini, machine: Machine, project: Path) -> None:
    with gemini.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.process.kill()
        session.gone()
    assert machine.verdict(project) == "abandoned"
    with gemini.interactive(project) as session:
        session.terminal.wait_for("session-gate: 1 finding: REPO")  # the person's own line
        session.prompt("hello")
        (text,) = gemini.told(session.wait_for_turn(1))
        assert text.startswith("SESSION-GATE DEBT: no end recorded")
        session.terminal.wait_for("done")
        type_quit(session)
        session.gone()
    assert machine.records() == []


def test_what_stood_before_clear_is_shown_after_it(gemini: Gemini, machine: Machine, project: Path) -> None:
    with gemini.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        before = gemini.record()
        session.terminal.wait_for("done")
        session.prompt("/clear")
        session.terminal.wait_for("session-gate: 1 finding: REPO")
        after = gemini.record()
        assert after["id"] != before["id"]
        assert (after["owner"], after["source"], after["state"]) == (before["owner"], "clear", "open")
        session.prompt("hello")
        assert gemini.told(session.wait_for_turn(3)) == []  # the client drops what is for the model
        session.terminal.wait_for("done")
        type_quit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
    assert gemini.marker()["session"]["id"] == after["id"]
    (text,) = gemini.run(project).told()
    assert "left.txt" in text
