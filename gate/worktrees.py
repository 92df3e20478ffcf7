"""The worktrees of a repository, read from its directory as gitrepository-layout(5) describes it, without git.

`git worktree list` opens every worktree in a row; what a check needs first is which there are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from gate.errors import UnknownError
from gate.project import Project


@dataclass(frozen=True, slots=True)
class Worktree:
    """One worktree.

    `branch` is None for a detached HEAD, `locked` the reason of `git worktree lock` (None: not locked), `missing` says
    that its directory is not there, `created` is when it was added, in epoch seconds. The engine adds `in_use` (a
    living session is in it) and `made_in_session` (a recorded session was open when it was added).
    """

    path: str
    git_dir: str
    main: bool = False
    branch: str | None = None
    locked: str | None = None
    missing: bool = False
    created: float = 0.0
    in_use: bool = False
    made_in_session: bool = False


def list_worktrees(project: Project) -> list[Worktree]:
    """Every worktree of a project, the main one first; empty outside a repository. Raises UnknownError."""
    common = project.common_dir
    if common is None:
        return []
    found = []
    if project.root != common:
        found.append(Worktree(project.root, common, main=True, branch=_branch(common)))
    try:
        names = sorted(os.listdir(os.path.join(common, "worktrees")))
    except FileNotFoundError:
        names = []
    except OSError as error:
        raise UnknownError(f"the list of worktrees cannot be read: {error.strerror}") from None
    for name in names:
        linked = _linked(os.path.join(common, "worktrees", name))
        if linked is not None:
            found.append(linked)
    return found


def _linked(git_dir: str) -> Worktree | None:
    dot_git = _text(os.path.join(git_dir, "gitdir"))
    if not dot_git:
        return None
    path = os.path.dirname(os.path.join(git_dir, dot_git))
    try:
        created = os.stat(os.path.join(git_dir, "commondir")).st_mtime
    except OSError:
        created = 0.0
    return Worktree(
        path=os.path.realpath(path),
        git_dir=git_dir,
        branch=_branch(git_dir),
        locked=_text(os.path.join(git_dir, "locked")),
        missing=not os.path.lexists(os.path.join(path, ".git")),
        created=created,
    )


def _branch(git_dir: str) -> str | None:
    head = _text(os.path.join(git_dir, "HEAD")) or ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else None


def _text(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(1 << 16).strip(b"\r\n"))
    except OSError:
        return None
