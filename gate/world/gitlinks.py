"""Gitlinks: entries of an index that are another repository's commit. A submodule is one, and `.gitmodules` names it.

One that nothing names is an accident, and an agent's worktree makes it easily: where its directory is not ignored, `git
add --all` takes it in as if it were a submodule (incident: one was committed, and from then on every checkout printed
an error).
"""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Collection, Iterable

from gate import foreign
from gate.world.git import Git
from gate.world.worktrees import AGENT_ROOTS

MODE = b"\0\0\xe0\0"
"""160000, as an entry of the index has it (gitformat-index(5))."""

MOST_BYTES = 1 << 28
"""Of an index that are looked at, some 2,500,000 entries; of a larger one git is asked."""


def list_gitlinks(git: Git, path: str, git_dir: str, deadline: float) -> list[str]:
    """The paths of gitlinks in the index of the worktree at `path`, whether or not `.gitmodules` knows them."""
    if not _may_hold_gitlinks(git_dir):
        return []
    listed = os.fsdecode(git.run(path, "ls-files", "--stage", "-z", timeout=deadline - time.monotonic()))
    names = [record.partition("\t")[2] for record in listed.split("\0") if record.startswith("160000 ")]
    return list(dict.fromkeys(names))


def _may_hold_gitlinks(git_dir: str) -> bool:
    """Look for the mode in the index itself, which takes a moment where listing a large one takes a second."""
    try:
        paths = [os.path.join(git_dir, n) for n in os.listdir(git_dir) if n == "index" or n.startswith("sharedindex.")]
        return any(foreign.holds(path, (MODE,), MOST_BYTES) for path in paths)
    except OSError:
        return True


def without_a_name(
    git: Git, path: str, gitlinks: Iterable[str], worktrees: Collection[str], deadline: float
) -> tuple[str, ...]:
    """Those gitlinks that are no submodules but agents' worktrees: one of `worktrees` stands there, or it lies where
    agents keep theirs, and `.gitmodules` does not name it. (People have other nameless ones for years.)
    """
    suspects = [name for name in gitlinks if is_agents(path, name, worktrees)]
    if not suspects:
        return ()
    named = named_submodules(git, path, deadline)
    return tuple(name for name in suspects if name not in named)


def is_agents(path: str, name: str, worktrees: Collection[str]) -> bool:
    """Whether a gitlink of the worktree at `path` is an agent's worktree by where it lies."""
    if os.path.join(path, name) in worktrees:
        return True
    return any(fnmatch.fnmatchcase(f"/{name}", f"*/{root}") for root in AGENT_ROOTS)


def named_submodules(git: Git, path: str, deadline: float) -> frozenset[str]:
    """The paths that `.gitmodules` names in the worktree at `path`; by the index, where it is not checked out."""
    is_there = os.path.lexists(os.path.join(path, ".gitmodules"))
    at = ("--file", ".gitmodules") if is_there else ("--blob", ":.gitmodules")
    ask = ("config", *at, "-z", "--get-regexp", r"^submodule\..*\.path$")
    listed = os.fsdecode(git.run(path, *ask, timeout=deadline - time.monotonic(), ok=(0, 1)))
    return frozenset(entry.partition("\n")[2].rstrip("/") for entry in listed.split("\0"))
