"""When a path that nobody committed last changed, and a text by which a later look tells whether it changed again."""

from __future__ import annotations

import itertools
import os
import stat
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from gate.errors import UnknownError
from gate.project import find_project
from gate.world.gitstatus import DELETED, SUBMODULE, Entry
from gate.world.tree import Tree

WALK_LIMIT = 200_000
"""Entries of an untracked directory that are looked at for its last change."""


@dataclass(frozen=True, slots=True)
class Trace:
    """When a path last changed (epoch seconds, None where nothing tells), and a text that changes when it does.

    `came` is its ctime: what was moved or copied to here brings its old mtime along, and only this tells when it came;
    nor can it lie in the future because somebody said so.
    """

    changed: float | None
    state: str
    came: float = field(default=0.0, compare=False)

    @property
    def latest(self) -> float | None:
        """When it came to be as it is: by its ctime, where there is one."""
        return self.came or self.changed


def trace(root: str, entry: Entry, seconds: float = 1.0) -> Trace:
    """When the path of an entry last changed, by the file system; a directory is looked at for `seconds` at most.

    Whether it is staged does not count: `git add` changes nothing in it. A deleted one changed when the directory did
    that held it, an untracked directory when the newest file inside did.
    """
    path = os.path.join(root, entry.path)
    if entry.kind == SUBMODULE and not os.path.islink(path):
        return _trace_of_submodule(path, entry, seconds)
    try:
        status = os.lstat(path)
    except OSError:
        return Trace(_parent_changed(path), DELETED)
    if stat.S_ISDIR(status.st_mode):
        inside = newest_below(path, time.monotonic() + seconds)
        state = f"directory:{inside.changed!r}:{inside.files}"
        return Trace(inside.changed or status.st_mtime, state, max(inside.came, status.st_ctime))
    return Trace(status.st_mtime, f"{status.st_mode:o}:{status.st_mtime_ns}:{status.st_size}", status.st_ctime)


def _trace_of_submodule(path: str, entry: Entry, seconds: float) -> Trace:
    traces = [trace(path, inner, seconds / len(entry.inside)) for inner in entry.inside]
    times = [inner.changed for inner in traces if inner.changed is not None]
    git_dir = find_project(path).git_dir
    if entry.moved and git_dir is not None:
        for name in ("HEAD", "logs/HEAD"):
            times.extend(_changed(os.path.join(git_dir, name)))
    newest = max(times, default=None)
    return Trace(newest, f"submodule:{entry.commit}:{newest!r}:{len(traces)}")


def _changed(path: str) -> list[float]:
    try:
        return [os.lstat(path).st_mtime]
    except OSError:
        return []


def _parent_changed(path: str) -> float | None:
    parent = os.path.dirname(path.rstrip("/"))
    while not os.path.isdir(parent) and parent != os.path.dirname(parent):
        parent = os.path.dirname(parent)
    return next(iter(_changed(parent)), None)


class Newest(NamedTuple):
    """The newest mtime (None: no file) and ctime of the files below a directory, and how many there are."""

    changed: float | None
    came: float
    files: int


def newest_below(root: str, deadline: float) -> Newest:
    """The last change of any file below a directory; of `WALK_LIMIT` entries, and until `deadline`
    (`time.monotonic`). Raises UnknownError where the time is over before all was seen.
    """
    newest = Newest(None, 0.0, 0)
    with closing(Tree(root, skip=".git".__eq__).entries()) as entries:
        for number, (_, _, status) in enumerate(itertools.islice(entries, WALK_LIMIT)):
            if number % 500 == 499 and time.monotonic() >= deadline:
                raise UnknownError("it holds too many files to look at in the time there was")
            if not stat.S_ISDIR(status.st_mode):
                changed = status.st_mtime if newest.changed is None else max(newest.changed, status.st_mtime)
                newest = Newest(changed, max(newest.came, status.st_ctime), newest.files + 1)
    return newest
