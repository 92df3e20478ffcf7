"""Ten ordinary days, and what every start of them prints: nobody would mute it.

A person with local edits that go on every day, and a long-lived worktree; five agents in one checkout; a batch of short
runs; ten agents' worktrees that wait for review; a laptop that sleeps for a week; a container that is restarted; a
repository whose git takes longer than a start may; a branch that disables a check. The clock is made up, all else is
real.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import Client, Machine

from gate.clock import parse_rfc3339, rfc3339

DAY = 86400.0
BATCH = 20
NOON = 1_796_040_000.0
FIRST_LINE = "SESSION-GATE: first look at this project; what stood here before is shown once."
EDITS = "2 uncommitted paths, from before: local.py, settings.local. They may be a person's unfinished work."


class Days:
    """The days of one project: each has sessions, and what their starts print."""

    def __init__(self, machine: Machine, project: Path) -> None:
        self.machine = machine
        self.project = project
        self.number = 0

    def day(self, number: int) -> None:
        """A day begins; its person goes on with what nobody has to commit, unless the laptop was asleep."""
        self.machine.environ["SESSION_GATE_NOW"] = rfc3339(NOON + number * DAY)
        if number in range(2, 10):
            (self.project / "local.py").write_text(f"as on day {number}\n")

    def age(self, *roots: Path) -> None:
        """Give everything below some directories the time of the made-up day."""
        then = parse_rfc3339(self.machine.environ["SESSION_GATE_NOW"])
        for root in roots:
            for path in [root, *root.rglob("*")]:
                os.utime(path, (then, then), follow_symlinks=False)

    def open(self, cwd: Path | None = None, started: Callable[[], None] | None = None) -> tuple[Client, str]:
        self.number += 1
        client = Client(self.machine, cwd or self.project, f"session-{self.number}")
        text = client.start()
        if started is not None:
            started()
        self.machine.settle()
        return client, text

    def session(self, work: str = "true", cwd: Path | None = None) -> str:
        """A whole session that does some work and ends in order; what its start printed."""
        client, text = self.open(cwd)
        client.shell(work)
        client.end()
        return text


@pytest.fixture
def days(machine: Machine, project: Path) -> Days:
    shutil.copy(project / "README", project / "local.py")
    (project / "settings.local").write_text("mine\n")
    machine.git(project, "worktree", "add", "--quiet", "-b", "feature", str(machine.directory / "my-feature"))
    (machine.directory / "my-feature" / "draft.md").write_text("a person's draft\n")
    return Days(machine, project)


COMMIT = "git add done.py && git -c commit.gpgsign=false commit -qm work done.py"


def test_ten_days(machine: Machine, project: Path, days: Days) -> None:
    days.day(1)
    lines = days.session().splitlines()
    assert lines[:2] == [FIRST_LINE, f"  - REPO: {EDITS}"]
    assert "REPO: the same in 1 other worktree" in lines[2]
    assert len(lines) == 4

    days.day(2)
    assert days.session(f"echo 1 > done.py && {COMMIT}") == ""
    five = [days.open() for _ in range(5)]
    assert [text for _, text in five] == [""] * 5
    for number, (client, _) in enumerate(five):
        client.shell(f"echo {number} > agent-{number}.py")
    for client, _ in five[:4]:
        client.end()
    five[4][0].shell("rm agent-*.py")
    five[4][0].end()
    assert days.session() == ""

    days.day(3)
    for _ in range(BATCH):
        client = Client(machine, project, f"batch-{days.number}")
        days.number += 1
        assert client.start() == ""
        client.hook("end", reason="other")
        client.exit()
    machine.settle()
    assert days.session() == ""

    days.day(4)
    for number in range(10):
        tree = project / ".claude" / "worktrees" / f"task-{number}"
        machine.environ |= {f"GIT_{who}_DATE": rfc3339(NOON + 4 * DAY) for who in ("AUTHOR", "COMMITTER")}
        machine.git(project, "worktree", "add", "--quiet", "-b", f"worktree-task-{number}", str(tree))
        (tree / "result.py").write_text("done\n")
        machine.commit(tree)
        del machine.environ["GIT_AUTHOR_DATE"], machine.environ["GIT_COMMITTER_DATE"]
        days.age(tree, project / ".git" / "worktrees" / tree.name)
    with open(project / ".git" / "info" / "exclude", "a") as exclude:
        exclude.write(".claude/\n")
    assert days.session() == ""

    days.day(5)
    branch = project / ".claude" / "worktrees" / "task-0"
    (branch / ".gate.toml").write_text('disable = ["uncommitted_paths"]\n')
    machine.commit(branch)
    assert days.session("echo 1 > forgotten.py", cwd=branch) == ""
    text = days.session("rm forgotten.py", cwd=branch)
    assert "forgotten.py" in text
    assert days.session(cwd=branch) == ""

    days.day(6)
    client, text = days.open()
    assert text == ""
    client.shell("echo 1 > left.py")
    client.kill()
    killed = days.session("rm left.py")
    assert killed.splitlines()[0].startswith("SESSION-GATE DEBT: no end recorded for the claude session opened at ")
    assert "1 uncommitted path since the claude session that began" in killed
    assert "(2 more from before): left.py." in killed
    assert days.session() == ""

    days.day(7)
    marker = machine.project_dir() / "marker.json"
    value = json.loads(marker.read_bytes())
    value["began"]["boot"] = "another-boot"
    marker.write_text(json.dumps(value))
    assert days.session() == ""

    days.day(8)
    value = json.loads(marker.read_bytes())
    value["stamp"] = ["another version"]
    marker.write_text(json.dumps(value))
    slow = machine.directory / "slow"
    slow.mkdir()
    now = slow / "now"
    (slow / "git").write_text(f'#!/bin/sh\n[ -e {now} ] && sleep 3\nexec {shutil.which("git")} "$@"\n')
    (slow / "git").chmod(0o755)
    path = machine.environ["PATH"]
    machine.environ["PATH"] = f"{slow}{os.pathsep}{path}"
    now.touch()
    client, text = days.open(started=now.unlink)
    lines = text.splitlines()
    assert lines[0] == "SESSION-GATE: the configuration changed since the last check."
    assert "could not check" in lines[1]
    assert "(clean on " in lines[1]
    client.end()
    assert days.session() == ""
    machine.environ["PATH"] = path
    assert days.session() == ""

    days.day(18)
    text = days.session()
    lines = text.splitlines()
    assert lines[0] == "SESSION-GATE DEBT: the last check is older than a week."
    assert sum("WORKTREE: " in line and "has been idle for" in line for line in lines) >= 3
    assert "REPO" not in text
    assert len(text) <= 2000
    days.session()
    assert (
        days.session() == f"SESSION-GATE DEBT: 10 findings unchanged since {rfc3339(NOON + 18 * DAY)[:10]}: gate status"
    )
    for number in range(10):
        tree = project / ".claude" / "worktrees" / f"task-{number}"
        machine.git(project, "worktree", "remove", str(tree))
    assert days.session() == ""
    assert days.session() == ""
    assert machine.verdict(project) == "green"
