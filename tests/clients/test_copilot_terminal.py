"""The real Copilot CLI in a terminal: every way in which a person leaves a session. Seen with 1.0.102."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from agent_kit import Interactive, script
from copilot_kit import Copilot, shell
from kit import Machine

pytestmark = pytest.mark.clients

LEAVE = script(shell("echo unfinished > left.txt"))


def type_exit(session: Interactive) -> None:
    session.prompt("/exit")


def insist(key: str) -> Callable[[Interactive], None]:
    return lambda session: session.terminal.insist(key)


def close_window(session: Interactive) -> None:
    session.terminal.close_window()


@pytest.mark.parametrize(
    "leave",
    [type_exit, insist("C-c"), insist("C-d"), close_window],
    ids=["exit", "ctrl-c", "ctrl-d", "closed"],
)
def test_every_way_to_leave_is_an_end(
    copilot: Copilot, machine: Machine, project: Path, leave: Callable[[Interactive], None]
) -> None:
    with copilot.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        assert copilot.record()["owner"]["pid"] == session.process.pid
        session.terminal.wait_for("done")
        leave(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_killed_terminal_is_named(copilot: Copilot, machine: Machine, project: Path) -> None:
    with copilot.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.process.kill()
        session.gone()
    assert machine.verdict(project) == "abandoned"
    (text,) = copilot.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the copilot session opened at ")


def test_an_end_without_a_prompt_charges_nobody(copilot: Copilot, machine: Machine, project: Path) -> None:
    """The start comes with the first prompt, so that there is none; the end comes all the same."""
    machine.text("end", cwd=project)
    (project / "mine.txt").write_text("a person's own\n")
    with copilot.interactive(project) as session:
        session.terminal.wait_for("/ commands")
        assert machine.records() == []
        type_exit(session)
        session.gone()
    assert machine.records() == []
    assert "copilot session" not in "".join(copilot.run(project).told())


def test_after_clear_another_session_of_the_same_client_begins(
    copilot: Copilot, machine: Machine, project: Path
) -> None:
    with copilot.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        before = copilot.record()
        session.terminal.wait_for("done")
        session.prompt("/clear")
        session.terminal.wait(lambda _: all(record["state"] != "open" for record in copilot.records()))
        session.prompt("hello")
        (text,) = copilot.told(session.wait_for_turn(3))
        assert "left.txt" in text
        (after,) = [record for record in copilot.records() if record["state"] == "open"]
        assert after["id"] != before["id"]
        assert after["owner"] == before["owner"]
        session.terminal.wait_for("done")
        type_exit(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_a_new_conversation_leaves_the_old_one_open(copilot: Copilot, machine: Machine, project: Path) -> None:
    with copilot.interactive(project) as session:
        session.prompt(LEAVE)
        session.wait_for_turn(2)
        session.terminal.wait_for("done")
        session.prompt("/new")
        session.terminal.wait(lambda _: len(list(copilot.config.glob("session-state/*/inuse.*.lock"))) == 2)
        session.prompt("hello")
        session.wait_for_turn(3)
        one, other = copilot.records()
        assert one["owner"] == other["owner"]
        assert (one["state"], other["state"]) == ("open", "open")
        session.terminal.wait_for("done")
        insist("C-c")(session)
        session.gone()
    assert machine.records() == []
    assert machine.verdict(project) == "debt"
