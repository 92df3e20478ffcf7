"""Worktrees whose HEAD leads to no commit: its object is not there, or the file of its branch is torn."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from gate.errors import UnknownError
from gate.quote import Phrase, say
from gate.world.git import GitFailedError
from gate.world.gitstatus import in_two_threads
from gate.world.pointers import read
from gate.world.worktrees import Worktree

ROUNDS = 10
"""How many lost ones are looked for together; where there are more, each one is asked."""

_NAMED = r"'?(main-worktree/HEAD|worktrees/\S+/HEAD)'?$"


def lost_heads(ask: Callable[..., str], common: str, trees: Sequence[Worktree]) -> list[tuple[Worktree, Phrase]]:
    """Those whose HEAD is lost, and why. `ask` gives the output of a git command in a directory. Raises UnknownError.

    All are asked for at once, again without the one that git names in its refusal, and one by one only where it names
    none. One without a commit yet is in order.
    """
    fresh = _without_a_commit_yet(common, trees)
    waiting = {_name(tree): tree for tree in trees if tree.path not in fresh}
    found: list[tuple[Worktree, Phrase | None]] = []
    for _ in range(ROUNDS):
        if not waiting:
            break
        try:
            ask(next(iter(waiting.values())).path, "rev-list", "--no-walk", "--quiet", *waiting, "--")
            waiting.clear()
        except UnknownError as error:
            named = re.search(_NAMED, error.said) if isinstance(error, GitFailedError) else None
            if named is None or named[1] not in waiting:
                break
            tree = waiting.pop(named[1])
            found.append((tree, _why_lost(ask, tree)))
    found += in_two_threads(lambda tree: (tree, _why_lost(ask, tree)), list(waiting.values()))
    return [(tree, why) for tree, why in found if why is not None]


def _name(tree: Worktree) -> str:
    """A worktree's HEAD as it is called from all of them (gitrevisions(7) by way of git-worktree(1), REFS)."""
    return "main-worktree/HEAD" if tree.main else f"worktrees/{os.path.basename(tree.git_dir)}/HEAD"


def _without_a_commit_yet(common: str, trees: Sequence[Worktree]) -> set[str]:
    """The paths of those whose branch is not there, as far as files tell. (Where references are no files they cannot be
    torn ones.)
    """
    unseen = {
        tree.path: os.fsencode(f" refs/heads/{tree.branch}\n")
        for tree in trees
        if tree.branch and not os.path.isfile(os.path.join(common, "refs/heads", tree.branch))
    }
    packed = read(os.path.join(common, "packed-refs"), 1 << 26) or b"" if unseen else b""
    return {path for path, line in unseen.items() if line not in packed}


def _why_lost(ask: Callable[..., str], tree: Worktree) -> Phrase | None:
    with suppress(UnknownError):  # where git has no time, it has none for the next question either
        ask(tree.path, "rev-list", "--no-walk", "--quiet", "HEAD", "--")
        return None
    commit = ask(tree.path, "rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1)).strip()
    if commit:
        return say("the commit {} is not there", commit[:12])
    return say("the branch {} names no commit", tree.branch) if tree.branch else None
