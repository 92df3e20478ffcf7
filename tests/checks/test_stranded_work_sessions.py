"""STRANDED, through the installed command: whose a commit or a stash is, as the engine tells it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kit import Client, Machine, green

from gate.registry import BUILT_IN

OpenClient = Callable[..., Client]
OTHERS = [name for name in BUILT_IN if name != "stranded_work"]


@pytest.fixture
def project(machine: Machine) -> Path:
    path = machine.repository()
    (path / ".gitignore").write_text(".claude/\n")
    (path / ".gate.toml").write_text(f"disable = {OTHERS}\n")
    machine.commit(path)
    return path


def stranded(text: str) -> list[str]:
    return [line for line in text.splitlines() if "STRANDED" in line]


def test_what_a_session_leaves_is_told_to_the_next_and_a_persons_stash_is_not(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    (project / "README").write_text("a person's half-done work\n")
    machine.git(project, "stash", "--quiet")
    first = open_client(project, "first")
    assert first.start() == ""
    machine.settle()
    first.shell("git worktree add --quiet -b worktree-x .claude/worktrees/x && cd .claude/worktrees/x")
    first.shell("echo one > one && git add --all && git commit --quiet --message one && cd ../../..")
    first.shell("echo two >> README && git stash --quiet")
    first.end()
    second = open_client(project, "second")
    told = stranded(second.start())
    assert len(told) == 2
    assert told[0].startswith("  - STRANDED: 1 stash since the claude session that ended ")
    assert " (1 more from before): " in told[0]
    assert told[1] == "  - STRANDED: the same in 1 other worktree: gate status"
    said = machine.text("run", "stranded_work", cwd=project, code=1)
    assert "1 commit on worktree-x (in .claude/worktrees/x) is found nowhere else since the claude session" in said
    second.shell("git merge --quiet --squash worktree-x && git commit --quiet --message squashed")
    second.shell("git stash pop --quiet && git commit --quiet --all --message two")
    second.end()
    third = open_client(project, "third")
    assert third.start() == ""
    notes = [finding["summary"] for finding in machine.marker()["findings"] if finding["label"] == "STRANDED"]
    assert len(notes) == 1
    assert notes[0].startswith("1 stash, from before: ")


def test_what_a_living_session_does_is_its_own_to_answer_for(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    machine.git(project, "worktree", "add", "--quiet", "-b", "worktree-x", ".claude/worktrees/x")
    other, mine = open_client(project / ".claude/worktrees/x", "other"), open_client(project, "mine")
    for client in (other, mine):
        assert client.start() == ""
    machine.settle()
    other.shell("echo one > one && git add --all && git commit --quiet --message one")
    mine.end()
    (finding,) = [finding for finding in machine.marker()["findings"] if finding["label"] == "STRANDED"]
    assert finding["kind"] == "deferred"
    other.end()
    (finding,) = [finding for finding in machine.marker()["findings"] if finding["label"] == "STRANDED"]
    assert finding["kind"] == "debt"
    assert stranded(open_client(project, "third").start()) == [
        "  - STRANDED: something left in 1 other worktree: gate status"
    ]
