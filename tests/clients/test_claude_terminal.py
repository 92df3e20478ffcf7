"""Claude Code in a terminal: every way in which a person leaves a session, and what /clear makes of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from claude_kit import Claude, Interactive, bash, script, told
from kit import Machine

pytestmark = pytest.mark.clients

LEAVE = script(bash("echo unfinished > left.txt"))


def type_exit(session: Interactive) -> None:
    session.prompt("/exit")


def press_twice(key: str) -> Callable[[Interactive], None]:
    def press(session: Interactive) -> None:
        session.terminal.press(key)
        session.terminal.wait_for("again to exit")
        session.terminal.press(key)

    return press


def close_window(session: Interactive) -> None:
    session.terminal.close_window()


@pytest.mark.parametrize(
    "leave",
    [type_exit, press_twice("C-c"), press_twice("C-d"), close_window],
    ids=["exit", "ctrl-c", "ctrl-d", "closed"],
)
def test_every_way_to_leave_is_an_end(
    claude: Claude, machine: Machine, project: Path, leave: Callable[[Interactive], None]
) -> None:
    with claude.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        assert claude.record()["owner"]["pid"] == session.process.pid
        session.terminal.wait_for("done")
        leave(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_killed_terminal_is_named(claude: Claude, machine: Machine, project: Path) -> None:
    with claude.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.process.kill()
        session.gone()
    assert machine.verdict(project) == "abandoned"
    with claude.interactive(project) as session:
        session.terminal.wait_for("session-gate: 1 finding: REPO")  # the person's own line
        session.prompt("hello")
        session.wait_for_turn(1)
        (text,) = session.told()
        assert text.startswith("SESSION-GATE DEBT: no end recorded")
        type_exit(session)
        session.gone()


def test_what_stood_before_clear_is_said_after_it(claude: Claude, machine: Machine, project: Path) -> None:
    with claude.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        before = claude.record()
        session.terminal.wait_for("done")
        session.prompt("/clear")
        session.terminal.wait_for("session-gate: 1 finding: REPO")
        assert not [
            p for p in psutil.process_iter(["cmdline"]) if {"finish", before["id"]} <= set(p.info["cmdline"] or [])
        ]
        after = claude.record()
        assert after["id"] != before["id"]
        assert (after["owner"], after["source"], after["state"]) == (before["owner"], "clear", "open")

        session.prompt(script(bash('echo "$SESSION_GATE_SESSION" > tag')))
        (text,) = told(session.wait_for_turn(3))
        assert text.splitlines()[0] == "SESSION-GATE DEBT: this stood before /clear."
        assert "left.txt" in text
        session.wait_for_turn(4)
        assert (project / "tag").read_text().strip() == after["id"]
        type_exit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_branched_conversation_is_a_new_session_of_a_living_client(
    claude: Claude, machine: Machine, project: Path
) -> None:
    with claude.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        before = claude.record()
        session.terminal.wait_for("done")
        session.prompt("/branch")
        session.terminal.wait_for("Branched")
        session.prompt("hello")
        (text,) = told(session.wait_for_turn(3))
        assert "left.txt" in text
        assert "cut off" not in text
        assert "no end recorded" not in text
        type_exit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
    assert claude.marker()["session"]["id"] != before["id"]


def test_a_compacted_conversation_is_the_same_session(claude: Claude, machine: Machine, project: Path) -> None:
    with claude.interactive(project) as session:
        session.prompt(script(bash("true")))
        session.wait_for_turn(2)
        before = claude.record()
        session.terminal.wait_for("done")
        session.prompt("/compact")
        session.terminal.wait_for("Compacted")
        session.prompt("hello")
        session.user.api.wait(session.label, lambda: "hello" in str(session.turns()[-1].body["messages"][-2:]))
        assert told(session.turns()[-1]) == []
        assert claude.record() == before
        type_exit(session)
        session.gone()
    assert machine.records() == []


def test_a_directory_that_is_not_trusted_has_no_session(claude: Claude, machine: Machine, project: Path) -> None:
    with claude.interactive(project, trusted=False) as session:
        session.terminal.wait_for("No, exit")
        session.terminal.choose("No, exit")
        session.gone()
    assert not list(machine.state.glob("*/sessions"))

    with claude.interactive(project, trusted=False) as session:
        session.terminal.wait_for("No, exit")
        assert not list(machine.state.glob("*/sessions"))
        session.terminal.choose("Yes, I trust this folder")
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        assert claude.record()["owner"]["pid"] == session.process.pid
        type_exit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
