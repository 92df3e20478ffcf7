"""Stashes: changes put aside, on one stack for all worktrees, so that another session takes up what is not its own."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from gate.errors import UnknownError
from gate.world.child import epoch
from gate.world.git import Git
from gate.world.references import STASH, References

_MESSAGE = r"(?s)(?:WIP on|On) ([^:]+): (.*)"
_ENTRY = r"@\{(\d+)\}$"
_NO_BRANCH = "(no branch)"


class Stash(NamedTuple):
    """One stash: its commit, when it was put there (epoch seconds), the branch that it was made on (empty: none, or not
    told), and what its maker said, or git: then it is the commit that it was made on.
    """

    commit: str
    made: float
    branch: str
    message: str


def list_stashes(git: Git, directory: str, references: References, seconds: float) -> list[Stash]:
    """Every stash of a repository, the newest first. Raises UnknownError."""
    if STASH not in references.commits:
        return []
    asked = ("log", "-g", "-z", "--date=unix", "--no-color", "--format=%H%n%ct%n%gd%n%gs", STASH, "--")
    stashes = parse_stashes(os.fsdecode(git.run(directory, *asked, timeout=seconds)))
    top = references.commits[STASH]
    if not any(stash.commit == top for stash in stashes):  # its log is not there, and git itself lists none
        stashes.insert(0, Stash(top, references.dates[STASH], "", ""))
    return stashes


def parse_stashes(text: str) -> list[Stash]:
    """Read a log of the stash, with commit, time, entry and message of each. Raises UnknownError."""
    stashes = []
    for record in filter(None, text.split("\0")):
        try:
            commit, committed, entry, message = record.split("\n", 3)
            logged = re.search(_ENTRY, entry)
            # A stash that was dropped and is stored again is an old commit, and new on the stack.
            made = max(epoch(committed), epoch(logged[1]) if logged else 0.0)
        except ValueError:
            raise UnknownError("git's log of the stashes could not be understood") from None
        match = re.fullmatch(_MESSAGE, message)
        branch = match[1] if match and match[1] != _NO_BRANCH else ""
        stashes.append(Stash(commit, made, branch, match[2] if match else message))
    return stashes
