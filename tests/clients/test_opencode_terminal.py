"""The real OpenCode in a terminal: every way in which a person leaves a session. Seen with 1.18.33."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_kit import Interactive, script
from kit import Machine
from opencode_kit import OpenCode, shell

pytestmark = pytest.mark.clients

LEAVE = script(shell("echo unfinished > left.txt"))


def type_exit(session: Interactive) -> None:
    session.prompt("/exit")


def press(key: str) -> Callable[[Interactive], None]:
    return lambda session: session.terminal.press(key)  # once: another Ctrl-C is a signal, and cuts its end off


def ask_to_go(number: signal.Signals) -> Callable[[Interactive], None]:
    return lambda session: session.process.send_signal(number)


def close_window(session: Interactive) -> None:
    session.terminal.close_window()


@pytest.mark.parametrize(
    "leave",
    [type_exit, press("C-c"), press("C-d"), close_window, ask_to_go(signal.SIGTERM)],
    ids=["exit", "ctrl-c", "ctrl-d", "closed", "sigterm"],
)
def test_every_way_to_leave_is_an_end(
    opencode: OpenCode, machine: Machine, project: Path, leave: Callable[[Interactive], None]
) -> None:
    with opencode.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        assert opencode.record()["owner"]["pid"] == session.process.pid
        session.terminal.wait_for("done")
        leave(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_killed_terminal_is_named(opencode: OpenCode, machine: Machine, project: Path) -> None:
    with opencode.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.process.kill()
        session.gone()
    assert machine.verdict(project) == "abandoned"
    (text,) = opencode.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the opencode session opened at ")


def test_an_end_without_a_prompt_charges_nobody(opencode: OpenCode, machine: Machine, project: Path) -> None:
    """A session begins with its first message."""
    machine.text("end", cwd=project)
    (project / "mine.txt").write_text("a person's own\n")
    with opencode.interactive(project) as session:
        session.terminal.wait_for("ctrl+p commands")
        assert machine.records() == []
        type_exit(session)
        session.gone()
    assert machine.records() == []
    assert "opencode session" not in "".join(opencode.run(project).told())


def test_a_new_conversation_leaves_the_old_one_open(opencode: OpenCode, machine: Machine, project: Path) -> None:
    with opencode.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.terminal.wait_for("done")
        session.prompt("/new")
        session.terminal.wait_for("Ask anything")
        session.prompt("hello")
        session.wait_for_turn(3)
        one, other = opencode.records()
        assert one["owner"] == other["owner"]
        assert (one["state"], other["state"]) == ("open", "open")
        session.terminal.wait_for("done")
        type_exit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
