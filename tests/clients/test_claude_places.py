"""Where a session is: in a subdirectory, in a worktree, at a path that is long or strange."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_kit import Claude, bash
from kit import Machine

pytestmark = pytest.mark.clients

LEAVE = bash("echo unfinished > left.txt")
LONGEST = 4050
"""Bytes of a path: beyond PATH_MAX (4096, with the files that lie there) a process cannot be started in it at all."""


def test_a_subdirectory_belongs_to_its_repository(claude: Claude, machine: Machine, project: Path) -> None:
    below = project / "sub" / "deeper"
    below.mkdir(parents=True)
    (below / "kept").write_text("")
    machine.commit(project)
    claude.run(below, LEAVE)
    (text,) = claude.run(project).told()
    assert "1 uncommitted path" in text
    assert "sub/deeper/left.txt" in text


def test_a_worktree_belongs_to_its_repository(claude: Claude, machine: Machine, project: Path) -> None:
    side = machine.directory / "side"
    machine.git(project, "worktree", "add", "--quiet", str(side))
    claude.run(side, LEAVE)
    (text,) = claude.run(project).told()
    assert "REPO: " in text
    assert "1 other worktree" in text
    (text,) = claude.run(side).told()
    assert "left.txt" in text
    claude.marker()  # of one project


def test_the_worktree_that_the_client_makes_belongs_to_its_repository(
    claude: Claude, machine: Machine, project: Path
) -> None:
    claude.run(project)
    with claude.printing(project, LEAVE, options=["--worktree", "side"]) as run:
        run.wait_for_turn(2)
        assert claude.record()["worktree"] == str(project / ".claude" / "worktrees" / "side")
        run.finish()
    findings = {finding["label"]: finding for finding in claude.marker()["findings"]}
    # `.claude/` is untracked in the main worktree, and no leftover there.
    assert findings["REPO"]["details"] == ["left.txt: untracked"]
    # Version 2.1.332 leaves its worktree locked in the name of a process that is gone by then.
    locked = "locked claude session side (pid " in machine.git(project, "worktree", "list", "--porcelain")
    assert set(findings) == ({"REPO", "LOCK"} if locked else {"REPO"})
    if locked:
        assert "is dead" in findings["LOCK"]["summary"]
    (text,) = claude.run(project).told()
    assert "1 other worktree" in text


@pytest.mark.parametrize("name", ["-two  words ünïcødé-日本", "quote'\"$HOME`x`\nline"], ids=["words", "signs"])
def test_a_strange_path(claude: Claude, machine: Machine, name: str) -> None:
    strange = machine.repository(name)
    claude.run(strange, LEAVE)
    (text,) = claude.run(strange).told()
    assert "left.txt" in text
    assert claude.marker()["project"] == str(strange)


def test_the_longest_path(claude: Claude, machine: Machine) -> None:
    directory = machine.directory
    while (room := LONGEST - len(str(directory)) - len("/project")) > 1:
        directory /= "d" * min(200, room - 1)
    directory.mkdir(parents=True)
    project = machine.repository(str(directory.relative_to(machine.directory) / "project"))
    assert len(str(project)) > LONGEST - 3
    claude.run(project, LEAVE)
    (text,) = claude.run(project).told()
    assert "left.txt" in text
