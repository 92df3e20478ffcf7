"""How long nothing has changed in a worktree, and what would be lost with it.

Being clean says neither. Worktrees of sessions at work were taken away because nothing was committed in them; notes
were destroyed because git ignores them; and a removal that followed a symbolic link emptied the main worktree. So a
worktree is as old as the newest of all that can change in it, and it is called removable only when everything that
could be lost was looked for and not found.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from gate.errors import UnknownError
from gate.project import is_within
from gate.quote import Phrase, say
from gate.world.commits import History, count_lost, last_logged
from gate.world.git import Git
from gate.world.gitstatus import UNTRACKED, Status, plainly, read_status
from gate.world.operations import operation
from gate.world.tree import Tree
from gate.world.worktrees import Worktree

WALK_LIMIT = 20_000
"""Entries of one worktree that are looked at for their age; git compares what it knows of the rest."""

CACHES = (
    *("node_modules", "__pycache__", "*.pyc", ".venv", "venv", ".tox", ".nox", "*.egg-info", ".mypy_cache"),
    *(".ruff_cache", ".pytest_cache", ".hypothesis", "target", "build", "dist", ".next", ".nuxt", ".svelte-kit"),
    *(".turbo", ".parcel-cache", ".gradle", ".terraform", "coverage", "htmlcov", ".coverage", ".DS_Store", "Thumbs.db"),
)
"""Names of what a build, an installation or a test run makes anew."""


class Life(NamedTuple):
    """What is known of a directory: `newest` is the last change that was seen, in epoch seconds; `idle` is False where
    that is not long ago, None where a later one could not be excluded. What would be lost with it follows (None: not
    established), and in `gaps` what could not be looked at.
    """

    newest: float
    idle: bool | None = True
    uncommitted: int | None = None
    commits: int | None = None
    ignored: int = 0
    links: tuple[str, ...] = ()
    submodules: int = 0
    operation: str = ""
    locks: tuple[str, ...] = ()
    gaps: tuple[Phrase, ...] = ()

    @property
    def holds(self) -> list[Phrase]:
        """What would be lost or stands in the way, and what could not be looked at; for uncommitted paths and commits
        also that there are none.
        """
        held = []
        if self.uncommitted is not None:
            held.append(_count(self.uncommitted, "uncommitted path"))
        if self.commits is not None:
            commits = say("{} found nowhere else", _count(self.commits, "commit"))
            held.append(commits if self.commits else say("its commits are elsewhere too"))
        if self.ignored:
            held.append(say("{} that cannot be made again", _count(self.ignored, "ignored path")))
        if self.submodules:
            held.append(_count(self.submodules, "submodule"))
        if self.operation:
            held.append(say("{} in progress", say(self.operation)))
        if self.links:
            held.append(say("{} out of it ({})", _count(len(self.links), "symbolic link"), self.links))
        if self.locks:
            held.append(say("locks of git's ({})", self.locks))
        return [*held, *self.gaps]

    @property
    def removable(self) -> bool:
        """Whether nothing would be lost with it, all of that being known."""
        held = (self.uncommitted, self.commits, self.ignored, self.submodules, self.operation, self.links, self.locks)
        return self.idle is True and not self.gaps and None not in held and not any(held)


def last_activity(worktree: Worktree) -> float:
    """When git last wrote in a worktree's own directory: HEAD, index, and the log of HEAD; where none of them is there,
    when it was added. In epoch seconds.
    """
    written = [changed(os.path.join(worktree.git_dir, name)) for name in ("HEAD", "index", "logs/HEAD")]
    return max(written) or worktree.created


def changed(path: str) -> float:
    """The last change of a path itself in epoch seconds, 0 where it is not there."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def examine(
    git: Git, worktree: Worktree, history: History, since: float, deadline: float, caches: Sequence[str] = CACHES
) -> Life:
    """Whether anything changed in a worktree since `since` (epoch seconds), and if not, what it holds.

    `deadline` is by `time.monotonic`. Raises nothing: what could not be established is said.
    """
    newest = max(last_activity(worktree), history.dates.get(worktree.branch or "", 0.0))
    if newest >= since:
        return Life(newest, idle=False)
    if time.monotonic() >= deadline:
        return Life(newest, idle=None, gaps=(say("there was no time to look into it"),))
    is_cache = _matcher(caches)
    files = _look_at_files(worktree.path, since, deadline, lambda name: name == ".git" or is_cache(name))
    if files.idle is False:
        return files
    gaps = list(files.gaps)
    status, commits = Status("", ()), None
    established = False
    try:
        status = read_status(git, worktree.path, deadline - time.monotonic(), ignored=True)
        established = True
        gaps += [say("its submodule {} could not be asked", name) for name, _ in status.unknown]
        left = deadline - time.monotonic()
        head = "HEAD" if status.head else last_logged(worktree.git_dir)
        commits = count_lost(git, worktree.path, head, worktree.branch, history, left) if head else 0
    except UnknownError as error:
        gaps.append(
            say("{} could not be established: {}", say("commits" if established else "what it holds"), plainly(error))
        )
    listed = [*status.ignored, *(entry.path for entry in status.entries if entry.kind == UNTRACKED)]
    links = {*files.links, *(path for path in listed if _leads_out(worktree.path, os.path.join(worktree.path, path)))}
    life = Life(
        newest=max(newest, files.newest),
        idle=True if established else files.idle,
        uncommitted=len(status.entries) if established else None,
        commits=commits,
        ignored=sum(not any(map(is_cache, path.split("/"))) for path in status.ignored),
        links=tuple(sorted(links)),
        submodules=len(status.submodules) + len(status.taken_in),
        operation=operation(worktree.git_dir),
        locks=tuple(sorted(_locks(worktree.git_dir))),
        gaps=tuple(gaps),
    )
    return _with_what_git_skips(git, worktree.path, life, deadline) if life.removable else life


def _with_what_git_skips(git: Git, path: str, life: Life, deadline: float) -> Life:
    """The same, but for files whose changes git was told not to show (git-update-index(1): assume-unchanged, and
    skip-worktree where the file is there all the same).
    """
    try:
        listed = os.fsdecode(git.run(path, "ls-files", "-v", "-z", timeout=deadline - time.monotonic())).split("\0")
    except UnknownError as error:
        return life._replace(gaps=(say("what git does not look at could not be listed: {}", plainly(error)),))
    skipped = [entry[2:] for entry in listed if entry[:1].islower() or entry[:1] == "S"]
    there = sum(os.path.lexists(os.path.join(path, name)) for name in skipped)
    return life._replace(gaps=(say("{} that git was told not to look at", _count(there, "file")),)) if there else life


def files_below(path: str, since: float, deadline: float) -> Life:
    """The life of a directory that is no worktree. One without a single file is not idle: nothing is left in it."""
    life = _look_at_files(path, since, deadline, lambda _: False)
    return life if life.newest or life.gaps else life._replace(idle=False)


def _look_at_files(root: str, since: float, deadline: float, skip: Callable[[str], bool]) -> Life:
    """The newest file below a directory, and the links out of it; the look ends at a file that is not old."""
    newest, number = 0.0, 0
    links, gaps = [], []
    tree = Tree(root, skip)
    with closing(tree.entries()) as entries:
        for number, (directory, name, status) in enumerate(itertools.islice(entries, WALK_LIMIT + 1)):
            if number % 500 == 0 and time.monotonic() >= deadline:
                gaps.append(say("there was no time to look at all of its files"))
                break
            if stat.S_ISLNK(status.st_mode) and _leads_out(root, path := os.path.join(directory, name)):
                links.append(os.path.relpath(path, root))
            if not stat.S_ISDIR(status.st_mode):
                newest = max(newest, status.st_mtime)
                if newest >= since:
                    return Life(newest, idle=False)
    if number >= WALK_LIMIT:
        gaps.append(say("only {} of its files were looked at", WALK_LIMIT))
    if tree.unread_count:
        unread = [path for path, _ in tree.unread]
        gaps.append(say("{} in it could not be read ({})", _count(tree.unread_count, "place"), unread))
    idle = None if gaps else True
    if tree.mounts:  # what lies there is not this directory's, but a removal would take it along
        gaps.append(say("{} mounted in it, not looked into", _count(tree.mounts, "file system")))
    return Life(newest, idle, links=tuple(links), gaps=tuple(gaps))


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    pattern = re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")
    return lambda name: pattern.match(name) is not None


def _leads_out(root: str, path: str) -> bool:
    path = path.rstrip("/")
    return os.path.islink(path) and not is_within(os.path.realpath(path), root)


def _locks(git_dir: str) -> Iterator[str]:
    """Locks of git's in a worktree's own directory, at any depth but for its submodules', which are counted."""
    with closing(Tree(git_dir, skip="modules".__eq__).entries()) as entries:
        for directory, name, status in entries:
            if name.endswith(".lock") and not stat.S_ISDIR(status.st_mode):
                yield os.path.relpath(os.path.join(directory, name), git_dir)


def _count(number: int, what: str) -> Phrase:
    return say("{} {}", number if number else say("no"), say(what if number == 1 else what + "s"))
