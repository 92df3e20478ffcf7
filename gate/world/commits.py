"""Which commits would be lost with a worktree and its branch, because nothing else holds them.

"Not merged" is not "lost": a warning about commits that had long been pushed, or squashed into the main branch, taught
people to click it away. And the other way round, two commits that nobody had pushed went with a session's branch.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import NamedTuple

from gate import foreign
from gate.errors import UnknownError
from gate.world.child import epoch, number_in
from gate.world.forms import LOG, Ask, find_kept, not_kept, parse_log
from gate.world.git import Git
from gate.world.references import KEEPERS, read_references
from gate.world.reflogs import last_moves

MOST_COMPARED = 2000
"""Commits of one worktree that are looked for in other forms."""


class History(NamedTuple):
    """What is known of all local branches: the time of each one's last commit (epoch seconds), and which are merged."""

    dates: Mapping[str, float] = {}
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
            dates[branch] = epoch(date)
        return History(dates, frozenset(ask("--format=%(refname:lstrip=2)", "--merged=main-worktree/HEAD")))
    except (UnknownError, ValueError):  # the main worktree has no commit, a branch leads nowhere, or there is no time
        return History(dates)


def count_lost(git: Git, directory: str, head: str, branch: str | None, history: History, seconds: float) -> int:
    """How many commits `head` holds that no remote branch, no tag and no other branch than `branch` does; none, where
    the changes of all of them are kept in another form. Raises UnknownError.
    """
    if branch in history.merged:
        return 0
    deadline = time.monotonic() + seconds
    ask = Ask(git, directory, deadline)
    own = [f"--exclude={branch}"] if branch else []
    asked = (head, "--not", *own, *KEEPERS, "--")
    count = number_in(ask("rev-list", "--count", *asked))
    if not 0 < count <= MOST_COMPARED:
        return count
    try:
        lost = parse_log(ask(*LOG, *asked))
        references = read_references(git, directory, deadline - time.monotonic())
        kept = find_kept(ask, lost, list(lost)[:1], references.tips)
    except UnknownError:  # no time: the commits stay counted
        return count
    return count if not_kept(lost.keys(), lost, kept.commits) else 0


def last_logged(git_dir: str) -> str:
    """The commit that a worktree's HEAD was last seen at, by its log; empty where there is none. It says what the
    worktree held where its branch was deleted, and HEAD leads nowhere.
    """
    last = last_moves(os.path.join(git_dir, "logs/HEAD"))[-1:]
    return last[0].new if last and last[0].new.strip("0") else ""


def head_of(git_dir: str, branch: str | None) -> str:
    """What a worktree's HEAD is, read without the worktree: its branch's full name, else a commit, else empty."""
    if branch:
        return f"refs/heads/{branch}"
    head = foreign.text(os.path.join(git_dir, "HEAD"), 100).strip()
    return head if re.fullmatch("[0-9a-f]{40,64}", head) else ""
