"""Which commits would be lost with a worktree and its branch, because nothing else holds them.

"Not merged" is not "lost": a warning about commits that had long been pushed, or squashed into the main branch, taught
people to click it away. And the other way round, two commits that nobody had pushed went with a session's branch.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gate.errors import UnknownError
from gate.world.git import Git

MOST_PATHS = 300
"""Paths of a branch that are compared with the main branch, to see whether it was merged as one commit."""

MAIN = ("main-worktree/HEAD", "refs/remotes/origin/HEAD")
"""Where work is merged to: what the main worktree has, and what the remote repository calls its own HEAD."""


@dataclass(frozen=True, slots=True)
class History:
    """What is known of all local branches: the time of each one's last commit (epoch seconds), and which are merged."""

    dates: dict[str, float] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()


def read_history(git: Git, directory: str, seconds: float) -> History:
    """The branches of a repository. What cannot be read is left out, and is then asked for branch by branch."""
    deadline = time.monotonic() + seconds

    def ask(*arguments: str) -> list[str]:
        timeout = deadline - time.monotonic()
        return os.fsdecode(git.run(directory, "for-each-ref", *arguments, "refs/heads", timeout=timeout)).splitlines()

    dates: dict[str, float] = {}
    try:
        for line in ask("--format=%(committerdate:unix) %(refname:lstrip=2)"):
            date, _, branch = line.partition(" ")
            dates[branch] = float(date)
        return History(dates, frozenset(ask("--format=%(refname:lstrip=2)", f"--merged={MAIN[0]}")))
    except (UnknownError, ValueError):  # the main worktree has no commit, a branch leads nowhere, or there is no time
        return History(dates)


def count_lost(git: Git, directory: str, head: str, branch: str | None, history: History, seconds: float) -> int:
    """How many commits `head` holds that no remote branch, no tag and no other branch than `branch` does, and whose
    changes are not in the main branch in another form. Raises UnknownError.
    """
    if branch in history.merged:
        return 0
    deadline = time.monotonic() + seconds

    def ask(*arguments: str) -> str:
        return os.fsdecode(git.run(directory, *arguments, timeout=deadline - time.monotonic()))

    own = [f"--exclude={branch}"] if branch else []
    count = int(ask("rev-list", "--count", head, "--not", *own, "--branches", "--remotes", "--tags", "--"))
    return 0 if count and any(_is_contained(ask, main, head) for main in MAIN) else count


def _is_contained(ask: Callable[..., str], main: str, head: str) -> bool:
    """Whether what `head` changes is in `main`: commit by commit (rebased, cherry-picked), or as one (squashed)."""
    try:
        base = ask("merge-base", main, head).strip()
        changed = ("diff-tree", "-r", "--no-renames", "--name-only", "-z")
        paths = ask(*changed, base, head, "--").split("\0")[:-1]
        if not paths:  # nothing but words, and those are not kept
            return False
        if ask("rev-list", "--count", "--right-only", "--cherry-pick", f"{main}...{head}", "--").strip() == "0":
            return True
        return len(paths) <= MOST_PATHS and not ask("--literal-pathspecs", *changed, main, head, "--", *paths)
    except UnknownError:  # there is no such branch, nothing in common, or no time: the commits stay counted
        return False


def last_logged(git_dir: str) -> str:
    """The commit that a worktree's HEAD was last seen at, by its log; empty where there is none. It says what the
    worktree held where its branch was deleted, and HEAD leads nowhere.
    """
    try:
        with open(os.path.join(git_dir, "logs/HEAD"), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            fields = os.fsdecode(file.read()).rpartition("\n")[0].rpartition("\n")[2].split(" ", 2)
    except OSError:
        return ""
    found = re.fullmatch("[0-9a-f]{40,64}", fields[1]) if len(fields) == 3 else None
    return found[0] if found and fields[1].strip("0") else ""


def head_of(git_dir: str, branch: str | None) -> str:
    """What a worktree's HEAD is, read without the worktree: its branch's full name, else a commit, else empty."""
    if branch:
        return f"refs/heads/{branch}"
    path = os.path.join(git_dir, "HEAD")
    try:
        if not os.path.isfile(path):  # opening a FIFO would wait for a writer
            return ""
        with open(path, "rb") as file:
            head = os.fsdecode(file.read(100).strip())
    except OSError:
        return ""
    return head if re.fullmatch("[0-9a-f]{40,64}", head) else ""
