"""Conversations that go on: what an earlier start told the model is taken back once it is gone."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from claude_kit import HOLD, Claude, bash
from kit import Machine

pytestmark = pytest.mark.clients

LEAVE = bash("echo unfinished > left.txt")
RESUME = ["--continue"]
FORK = ["--continue", "--fork-session"]


@pytest.mark.parametrize(
    ("options", "looked"),
    [(RESUME, True), (RESUME, False), (FORK, True)],
    ids=["resume", "resume, nobody looked", "fork"],
)
def test_what_is_gone_is_taken_back(
    claude: Claude, machine: Machine, project: Path, options: list[str], looked: bool
) -> None:
    claude.run(project, LEAVE)
    (debt,) = claude.run(project).told()
    (project / "left.txt").unlink()
    if looked:
        machine.text("end", cwd=project)

    old, new = claude.run(project, options=options).told()
    assert old == debt
    assert new.startswith("SESSION-GATE: what an earlier text in this conversation reported is gone; ")
    assert machine.verdict(project) == "green"


def test_what_stands_is_not_taken_back(claude: Claude, machine: Machine, project: Path) -> None:
    claude.run(project, LEAVE)
    (debt,) = claude.run(project).told()
    texts = claude.run(project, options=RESUME).told()
    assert texts[0] == debt
    assert "left.txt" in texts[-1]
    assert machine.verdict(project) == "debt"


@pytest.mark.parametrize("options", [RESUME, FORK], ids=["resume", "fork"])
def test_a_green_conversation_stays_silent(claude: Claude, machine: Machine, project: Path, options: list[str]) -> None:
    claude.run(project)
    assert claude.run(project, options=options).told() == []
    assert machine.records() == []
    assert machine.verdict(project) == "green"


def test_a_killed_conversation_that_is_taken_up_is_named(claude: Claude, machine: Machine, project: Path) -> None:
    """Its record has the id of the session that takes the conversation up."""
    with claude.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        run.end(signal.SIGKILL)
    (text,) = claude.run(project, options=RESUME).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded")
    assert "left.txt" in text
    assert machine.records() == []


def test_what_comes_back_is_said_again(claude: Claude, machine: Machine, project: Path) -> None:
    """The client sends no text that the conversation already holds, wherever it stands in it."""
    conversation = ["--resume", "2f6c0f2e-9c8e-4e0e-8d47-6a3c1b1f9a10"]
    claude.run(project, LEAVE)
    claude.run(project, options=["--session-id", conversation[1]])
    for _ in range(2):
        (project / "left.txt").unlink()
        machine.text("end", cwd=project)
        assert "is gone" in claude.run(project, options=conversation).told()[-1]
        claude.run(project, LEAVE)
        assert "left.txt" in claude.run(project, options=conversation).told()[-1]
