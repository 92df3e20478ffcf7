"""Where a worktree was before git detached its HEAD to work through a rebase or a bisection.

While it does, HEAD is git's own and not somebody's place: the work is still on the branch that git goes back to, and
what a rebase has made so far are copies of it. git-rebase(1) keeps both in `rebase-merge/` or `rebase-apply/`,
git-bisect(1) in `BISECT_START`.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from gate import foreign

_REBASES = (("rebase-merge", "rewritten-list"), ("rebase-apply", "rewritten"))
_COMMIT = "[0-9a-f]{40,64}"
_LIMIT = 1 << 20


class Midway(NamedTuple):
    """What git was doing, in words, and what it goes back to: a branch, by its name below refs/heads, else a commit.

    `tip` is the commit at which a rebase found that; `copies` are those that it has made so far. `kept_in` is the file
    that says so.
    """

    what: str
    branch: str
    commit: str
    kept_in: str
    tip: str = ""
    copies: frozenset[str] = frozenset()


def read_midway(git_dir: str) -> Midway | None:
    """What a worktree's own directory tells of a rebase or a bisection there; None where neither waits."""
    for name, rewritten in _REBASES:
        place = os.path.join(git_dir, name)
        head = _text(os.path.join(place, "head-name")).strip()
        if head:
            tip = _commit(_text(os.path.join(place, "orig-head")))
            lines = _text(os.path.join(place, rewritten)).splitlines()
            copies = frozenset(filter(None, (_commit(line.partition(" ")[2]) for line in lines)))
            branch = _branch(head)
            return Midway("a rebase", branch, "" if branch else tip, os.path.join(place, "orig-head"), tip, copies)
    start = os.path.join(git_dir, "BISECT_START")
    begun = _text(start).strip()
    if not begun:
        return None
    commit = _commit(begun)
    return Midway("a bisection", "" if commit else begun.removeprefix("refs/heads/"), commit, start)


def _branch(head: str) -> str:
    return head.removeprefix("refs/heads/") if head.startswith("refs/heads/") else ""  # "detached HEAD"


def _commit(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(_COMMIT, text) else ""


def _text(path: str) -> str:
    return foreign.text(path, _LIMIT)
