"""The branches of a repository, its own and those it last saw elsewhere, and which of them work is merged to."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import NamedTuple

from gate.errors import UnknownError
from gate.world.child import UNCLEAR, epoch
from gate.world.git import Git

HEADS = "refs/heads/"
REMOTES = "refs/remotes/"
STASH = "refs/stash"

MAIN = ("main", "master", "trunk", "develop")
"""What branches are called that work is merged to; what a remote repository's HEAD is says more, where it is known."""

KEEPERS = ("--branches", "--remotes", "--tags", "--glob=refs/jj", "--glob=refs/branchless")
"""What keeps commits, as options of git-rev-list(1). Jujutsu and git-branchless work on a detached HEAD all day, and
keep what they know of below references of their own.
"""

MOST_TIPS = 200
"""Branches that are looked at for copies, the newest first."""


class References(NamedTuple):
    """The commit of each reference by its full name, and that commit's time (epoch seconds); `symbolic` has for each
    that merely stands for another one (a remote repository's HEAD) which that is.
    """

    commits: Mapping[str, str]
    dates: Mapping[str, float]
    symbolic: Mapping[str, str]

    @property
    def branches(self) -> list[str]:
        """The names of the local branches, without refs/heads/."""
        return [name.removeprefix(HEADS) for name in self.commits if name.startswith(HEADS)]

    def mains(self) -> list[str]:
        """The full names of the branches that work is merged to, those of remote repositories first."""
        remote = [name for name in self.commits if name.startswith(REMOTES)]
        theirs = [self.symbolic.get(name, name) for name in remote if name.endswith("/HEAD")]
        names = [*theirs, *(name for name in remote if _short(name) in MAIN)]
        ours = dict.fromkeys([*map(_short, theirs), *MAIN])
        return [name for name in dict.fromkeys([*names, *(HEADS + name for name in ours)]) if name in self.commits]

    def tips(self, since: float, head: str = "", without: Collection[str] = ()) -> list[str]:
        """The commits of the branches in which a copy of what was made `since` then could be, those that work is merged
        to first. `head` is the full name of the main worktree's branch, `without` those of branches that do not count.
        """
        recent = [name for name, date in self.dates.items() if date >= since and name != STASH]
        recent.sort(key=lambda name: -self.dates[name])
        names = [name for name in (*self.mains(), head, *recent) if name in self.commits and name not in without]
        return list(dict.fromkeys(self.commits[name] for name in names))[:MOST_TIPS]


def _short(name: str) -> str:
    return name.removeprefix(REMOTES).partition("/")[2]


def read_references(git: Git, directory: str, seconds: float) -> References:
    """Ask git for all branches, remote-tracking ones, and the stash. Raises UnknownError."""
    form = "--format=%(objectname) %(committerdate:unix) %(refname) %(symref)"
    return parse_references(git.run(directory, "for-each-ref", form, HEADS, REMOTES, STASH, timeout=seconds))


def parse_references(answer: bytes) -> References:
    """Read the answer. Raises UnknownError where it is not whole."""
    commits, dates, symbolic = {}, {}, {}
    # Not by splitlines: a branch's name may hold what Unicode takes for a line's end.
    lines = os.fsdecode(answer).split("\n")
    try:
        for line in lines[:-1]:
            commit, date, name, target = line.split(" ")
            commits[name] = commit
            dates[name] = epoch(date or "0")  # none where it is no commit, but a tree that somebody put there
            if target:
                symbolic[name] = target
    except ValueError:
        raise UnknownError(UNCLEAR) from None
    if lines[-1]:
        raise UnknownError("git's answer was cut off")
    return References(commits, dates, symbolic)
