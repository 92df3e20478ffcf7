"""A repository in which any of git's operations can be stopped by a conflict, in a linked worktree of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gate.testing import World

TIMEOUT = 20.0


class Stalled(World):
    """`main` and `side` change the same line; the linked worktree is on `side`, three commits away from `main`."""

    @property
    def linked(self) -> Path:
        return self.directory / "linked"

    @property
    def git_dir(self) -> Path:
        return self.root / ".git/worktrees/linked"

    def build(self) -> None:
        self.repository()
        self.worktree("../linked", branch="side")
        for number in (1, 2, 3):
            self.commit(self.linked, f"side {number}")
        self.commit(self.root, "main 1")
        assert self.run("repack", "-a", "-d", "--quiet") == 0  # every test copies this, file by file

    def run(self, *arguments: str, cwd: Path | None = None) -> int:
        """git's exit code; a conflict is no error here."""
        command = ["git", "-c", "core.editor=true", "-c", "advice.detachedHead=false", *arguments]
        done = subprocess.run(
            command, cwd=cwd or self.linked, env=self.environ, capture_output=True, check=False, timeout=TIMEOUT
        )
        return done.returncode

    def commit(self, place: Path, text: str) -> None:
        """A commit that changes the line about which everything is in conflict."""
        (place / "README").write_text(f"{text}\n")
        assert self.run("commit", "--quiet", "--all", "--message", text, cwd=place) == 0


def rebase(world: Stalled) -> None:
    assert world.run("rebase", "main") == 1


def rebase_by_patches(world: Stalled) -> None:
    assert world.run("rebase", "--apply", "main") == 1


def merge(world: Stalled) -> None:
    assert world.run("merge", "main") == 1


def pick(world: Stalled) -> None:
    assert world.run("cherry-pick", "main") == 1


def picks(world: Stalled) -> None:
    assert world.run("checkout", "--quiet", "-b", "other", "main") == 0
    assert world.run("cherry-pick", "side~2..side") == 1


def picks_whose_conflict_was_committed(world: Stalled) -> None:
    picks(world)
    world.commit(world.linked, "resolved")


def revert(world: Stalled) -> None:
    assert world.run("revert", "--no-edit", "side~1") == 1


def reverts(world: Stalled) -> None:
    assert world.run("revert", "--no-edit", "side~1", "side~2") == 1


def patches(world: Stalled) -> None:
    assert world.run("format-patch", "--quiet", "-2", "-o", str(world.temp), "main~1..side") == 0
    assert world.run("checkout", "--quiet", "-b", "other", "main") == 0
    assert world.run("am", *sorted(str(path) for path in world.temp.glob("*.patch"))) == 128


def bisection(world: Stalled) -> None:
    assert world.run("bisect", "start", "side", "main~1") == 0
