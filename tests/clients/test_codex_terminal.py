"""Codex in a terminal, without its daemon: every way in which a person leaves a session, and what goes on without an
end. Seen with 0.171.0.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from agent_kit import Interactive, script
from codex_kit import Codex, shell
from kit import Machine

pytestmark = pytest.mark.clients

LEAVE = script(shell("echo unfinished > left.txt"))


def type_quit(session: Interactive) -> None:
    session.prompt("/quit")


def press(key: str) -> Callable[[Interactive], None]:
    return lambda session: session.terminal.press(key)


@pytest.mark.parametrize("leave", [type_quit, press("C-c"), press("C-d")], ids=["quit", "ctrl-c", "ctrl-d"])
def test_every_way_to_leave_is_an_end(
    codex: Codex, machine: Machine, project: Path, leave: Callable[[Interactive], None]
) -> None:
    with codex.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        assert codex.record()["owner"]["pid"] == session.process.pid
        session.terminal.wait_for("done")
        leave(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_closed_terminal_is_named(codex: Codex, machine: Machine, project: Path) -> None:
    with codex.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.terminal.wait_for("done")
        session.terminal.close_window()
        session.gone()
    assert machine.verdict(project) == "abandoned"
    with codex.interactive(project) as session:
        session.prompt("hello")
        (text,) = codex.told(session.wait_for_turn(1))
        assert text.startswith("SESSION-GATE DEBT: no end recorded")
        session.terminal.wait_for("session-gate: 1 finding: REPO")  # the person's own line
        session.terminal.wait_for("done")
        type_quit(session)
        session.gone()
    assert machine.records() == []


def test_an_end_without_a_start_charges_nobody(codex: Codex, machine: Machine, project: Path) -> None:
    """The client says a start at the first prompt, and an end where there was none."""
    machine.text("end", cwd=project)
    (project / "kept.txt").write_text("a person's, from before")
    codex.run(project)
    with codex.interactive(project) as session:
        session.terminal.wait_for("? for shortcuts")
        assert machine.records() == []
        type_quit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "green"


def test_what_stood_before_clear_is_said_after_it(codex: Codex, machine: Machine, project: Path) -> None:
    with codex.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        before = codex.record()
        session.terminal.wait_for("done")
        session.prompt("/clear")
        session.prompt(script(shell("echo more > more.txt")))
        (text,) = codex.told(session.wait_for_turn(3))
        assert text.splitlines()[0] == "SESSION-GATE DEBT: this stood before /clear."
        assert "left.txt" in text
        after = codex.record()
        assert after["id"] != before["id"]
        assert (after["owner"], after["source"], after["state"]) == (before["owner"], "clear", "open")
        session.wait_for_turn(4)
        session.terminal.wait_for("done")
        type_quit(session)  # both say their end now
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
    assert codex.marker()["session"]["id"] == after["id"]
    assert set(codex.marker()["ended"]) == {before["id"], after["id"]}


def test_what_goes_on_beside_it_is_a_session_too(codex: Codex, machine: Machine, project: Path) -> None:
    """`/new` leaves the old conversation open, and both say their end when the client is left."""
    with codex.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.terminal.wait_for("done")
        session.prompt("/new")
        session.terminal.choose("Use current Git worktree")
        session.prompt("hello")
        assert codex.told(session.wait_for_turn(3)) == []
        first, second = codex.records()
        assert first["owner"] == second["owner"]
        assert second["source"] == "startup"
        session.terminal.wait_for("done")
        type_quit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
