"""A repository with a remote one, in which agents leave commits: what the tests of stranded work begin with."""

from __future__ import annotations

import re
from pathlib import Path

from gate_checks import stranded_work

from gate.finding import DEBT, Finding
from gate.testing import World, run_check, said

CHECK = stranded_work.gate_check()
TASK = "worktree-task (in .claude/worktrees/task)"


class Forge(World):
    """A repository with a remote one and an agent's worktree on the branch `worktree-task`, without work in it."""

    def build(self) -> None:
        self.repository()
        self.git("config", "core.fsync", "none")  # most of a test's time otherwise
        self.file(".gitignore", ".claude/\n.worktrees/\n")
        self.work("shared", place=self.root, text="".join(f"line {number}\n" for number in range(30)))
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.remote))
        self.git("remote", "add", "origin", str(self.remote))
        self.git("push", "--quiet", "--set-upstream", "origin", "main")
        self.git("worktree", "add", "--quiet", "-b", "worktree-task", str(self.task))

    @property
    def remote(self) -> Path:
        return self.directory / "remote.git"

    @property
    def task(self) -> Path:
        return self.root / ".claude/worktrees/task"

    def work(self, *names: str, place: Path | None = None, text: str = "text\n") -> None:
        """A commit for each name, which puts a file of that name there; in the agent's worktree unless told."""
        for name in names:
            (place or self.task).joinpath(name).write_text(text)
            self.git("add", "--all", cwd=place or self.task)
            self.git("commit", "--quiet", "--message", name, cwd=place or self.task)

    def edit(self, line: int, text: str, place: Path, message: str = "edit") -> None:
        """A commit that changes one line of `shared`."""
        lines = (place / "shared").read_text().split("\n")
        lines[line] = text
        (place / "shared").write_text("\n".join(lines))
        self.git("commit", "--quiet", "--all", "--message", message, cwd=place)

    def findings(self, **options: object) -> list[Finding]:
        return run_check(CHECK, self, **options)

    def found(self, **options: object) -> list[str]:
        """What is said of each finding, all of which are debt; without the age."""
        found = self.findings(**options)
        assert {finding.kind for finding in found} <= {DEBT}
        return [re.sub(r",( the newest)? \d+ s old", "", said(finding)) for finding in found]


def lost(count: int, where: str) -> str:
    """What is said of commits, without their age."""
    return f"{count} commit{'' if count == 1 else 's'} on {where} {'is' if count == 1 else 'are'} found nowhere else"
