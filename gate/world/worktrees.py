"""The worktrees of a repository, read from its directory as gitrepository-layout(5) describes it, without git.

`git worktree list` opens every worktree in a row; what a check needs first is which there are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple, overload

from gate import foreign
from gate.errors import UnknownError
from gate.project import Project, is_within
from gate.world.answers import ask_each
from gate.world.index import has_files_of, name_bytes
from gate.world.pointers import misled

AGENT_ROOTS = (".claude/worktrees/*", ".worktrees/*", ".codex/worktrees/*")
"""Where clients put the worktrees that they make, below a repository or the home directory."""

AGENT_NAMES = ("*sweep*", "worktree-*")
"""How agents' worktrees or their branches are called: a nightly sweep's, and Claude Code's branches."""

AGENT_LOCKS = ("claude session *", "claude agent *", "openclaw pid=*")
"""The reasons with which clients lock worktrees."""

_BARE = rb"(?im)^[ \t]*\[core\][^\[]*?^[ \t]*bare[ \t]*(=[ \t]*\"?(true|yes|on|1)\"?[ \t]*)?\r?$"
_DRIVE = r"[A-Za-z]:[\\/]"


class Worktree(NamedTuple):
    """One worktree.

    `branch` is None for a detached HEAD, `locked` the reason of `git worktree lock` (None: not locked), `missing` says
    that its directory is not there (or is another repository's by now), `created` is when it was added, in epoch
    seconds. One that is there and that git cannot use is not missing: what asks git about it must hear that. The engine
    adds `in_use` (a living session is in it) and `made_in_session` (a recorded session was open when it was added).
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
    """Every worktree of a project, the main one first; empty outside a repository. Raises UnknownError.

    A bare repository has no main one, also where it is called `.git` or a `.git` file beside its worktrees names it.
    """
    return [*_main(project), *(tree for tree in map(_linked, _registered(project)) if tree is not None)]


def list_in(project: Project, patience: float) -> tuple[list[Worktree], list[str]]:
    """The same within `patience` seconds for the linked ones, and the paths of those whose file system gives no answer:
    what stands there is not known, and the others must not wait for it. Raises UnknownError.
    """
    found, silent = ask_each(_registered(project), _linked, patience / 2, patience)
    paths = [os.path.dirname(_text(os.path.join(git_dir, "gitdir")) or "") or git_dir for git_dir in silent]
    return [*_main(project), *(tree for tree in found if tree is not None)], paths


class Worktrees(Sequence[Worktree]):
    """The worktrees as a check is given them. `silent` are the paths of those of which nothing is known, and `asked`
    tells whether the check wanted to know of any.
    """

    def __init__(self, trees: Sequence[Worktree], silent: Sequence[str]) -> None:
        self._trees = trees
        self.silent = silent
        self.asked = False

    @overload
    def __getitem__(self, place: int) -> Worktree: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Worktree]: ...
    def __getitem__(self, place: int | slice) -> Worktree | Sequence[Worktree]:
        self.asked = True
        return self._trees[place]

    def __len__(self) -> int:
        self.asked = True
        return len(self._trees)


def _main(project: Project) -> list[Worktree]:
    common = project.common_dir
    if common is None or project.root == common or _is_bare(common, project.root):
        return []
    return [Worktree(project.root, common, main=True, branch=_branch(common))]


def _registered(project: Project) -> list[str]:
    """git's own directories of the linked worktrees."""
    if project.common_dir is None:
        return []
    above = os.path.join(project.common_dir, "worktrees")
    try:
        return [os.path.join(above, name) for name in sorted(os.listdir(above))]
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = f"the list of worktrees cannot be read: {error.strerror}"
        raise UnknownError(reason, "it is known once the directory worktrees in git's own can be read") from None


def _is_bare(common: str, root: str) -> bool:
    """Whether a repository says that it is bare, and has no working tree at `root`. One whose index names files that
    are there has one: there the setting is an accident (incident: `core.bare=true` in a shared configuration, and every
    check of git fell silent). An index without its files is what a person left who made a repository bare.
    """
    # With extensions.worktreeConfig the setting moves to the second file, where linked worktrees do not see it.
    texts = [_text(os.path.join(common, "config")) or ""]
    if "worktreeconfig" in texts[0].lower():
        texts.append(_text(os.path.join(common, "config.worktree")) or "")
    if not any(re.search(_BARE, os.fsencode(text)) for text in texts):
        return False
    index = os.path.join(common, "index")
    return not os.path.lexists(index) or has_files_of(index, root, name_bytes(texts[0])) is False


def _linked(git_dir: str) -> Worktree | None:
    dot_git = _text(os.path.join(git_dir, "gitdir"))
    if not dot_git:
        # Somewhere there is a worktree of which nobody knows where; what looks at all of them must not miss that.
        return Worktree(git_dir, git_dir, branch=_branch(git_dir)) if _is_misled(git_dir) else None
    if os.sep == "/" and re.match(_DRIVE, dot_git):  # Windows made it, and this is WSL or a container
        path, missing = dot_git.removesuffix("/.git"), True
    else:
        path = os.path.realpath(os.path.dirname(os.path.join(git_dir, dot_git)))
        missing = not _leads_back(path, git_dir) and not (os.path.isdir(path) and _is_misled(git_dir))
    try:
        created = os.stat(os.path.join(git_dir, "commondir")).st_mtime
    except OSError:
        created = 0.0
    return Worktree(
        path=path,
        git_dir=git_dir,
        branch=_branch(git_dir),
        locked=_lock_reason(os.path.join(git_dir, "locked")),
        missing=missing,
        created=created,
    )


def _leads_back(path: str, git_dir: str) -> bool:
    """Whether the `.git` in a worktree names its registration. Not so where something else stands there by now: asked
    for its status, git would answer for that. Where it cannot be told, nothing is said to be gone.
    """
    dot_git = os.path.join(path, ".git")
    try:
        content = foreign.read(dot_git, 1 << 16)
        kind, _, named = os.fsdecode((content or b"").strip(b"\r\n")).partition(": ")
        return kind == "gitdir" and os.path.samefile(os.path.join(path, named), git_dir)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True


def _is_misled(git_dir: str) -> bool:
    common = os.path.dirname(os.path.dirname(git_dir))
    try:
        return misled(git_dir, common, name_bytes(_text(os.path.join(common, "config")) or "")) is not None
    except UnknownError:
        return True


def _lock_reason(path: str) -> str | None:
    reason = _text(path)
    return "" if reason is None and os.path.lexists(path) else reason


def _branch(git_dir: str) -> str | None:
    head = _text(os.path.join(git_dir, "HEAD")) or ""
    if not head.startswith("ref: ") or head == "ref: refs/heads/.invalid":  # so it is where references are a reftable
        return None
    return head.removeprefix("ref: ").removeprefix("refs/heads/")


def _text(path: str) -> str | None:
    try:
        content = foreign.read(path, 1 << 16)
    except OSError:
        return None
    # Up to a NUL, where git's own reading ends too.
    return None if content is None else os.fsdecode(content.partition(b"\0")[0].strip(b"\r\n"))


def shown(path: str, root: str) -> str:
    """A worktree's path as a person would write it: relative to the main worktree where it lies inside."""
    return os.path.relpath(path, root) if is_within(path, root) else path
