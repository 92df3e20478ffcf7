"""Where locks stand on disk.

git takes a lock by creating `NAME.lock` and gives it back by renaming or removing it; nothing in it says whose it is.
Its places lie in its own directory, so no list of versions (`poetry.lock`, `yarn.lock` …) is met there. Everything else
is looked at only where a pattern says so.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gate.errors import UnknownError
from gate.files import is_held
from gate.project import Project
from gate.world.holders import CONTENT_LIMIT, Holder, parse_holder, parse_link, parse_reason
from gate.world.processes import ProcessTable
from gate.world.worktrees import Worktree

# fmt: off
NEVER_LOCKS = frozenset((
    "berksfile.lock", "buf.lock", "bun.lock", "bun.lockb", "cargo.lock", "chart.lock", "composer.lock", "conan.lock",
    "conda-lock.yaml", "conda-lock.yml", "deno.lock", "devbox.lock", "flake.lock", "gemfile.lock", "gradle.lockfile",
    "mise.lock", "mix.lock", "module.bazel.lock", "npm-shrinkwrap.json", "package-lock.json", "packages.lock.json",
    "paket.lock", "pdm.lock", "pipfile.lock", "pixi.lock", "pnpm-lock.yaml", "podfile.lock", "poetry.lock",
    "pubspec.lock", "puppetfile.lock", "pylock.toml", "rebar.lock", "renv.lock", "requirements.lock", "shard.lock",
    "uv.lock", "yarn.lock",
    ".cargo-lock", ".package-cache", ".package-cache-mutate", "lock-frontend",
))
# fmt: on
"""Names, in lower case, of files that say nothing by being there: lists of versions, and (the last line) files that
stay for good, and are locks only while a process holds one on them.
"""

_OBJECTS = ("objects", "objects/info", "objects/info/commit-graphs", "objects/pack")
_FLAT = ("", "info", *_OBJECTS, "reftable", "sequencer", "rebase-merge")
_DEEP = ("refs", "logs")
_INSIDE = frozenset(("branches", "hooks", "info", "lfs", "logs", "modules", "objects", "refs", "worktrees"))
_OF_ONE = ("index.lock", "HEAD.lock")  # of the main worktree; what else stands beside them is shared by all
_INITIALIZING = "initializing"  # what `git worktree add` writes for as long as it lasts
# gc.pid, and other programs' locks in git's places (seen: fak-commit.lock with "21688"); no text of git's begins so
_NAMES_PID = rb"\{|\d{1,7}\s"
_DEEPEST = 20
"""Directories of submodules in one another, in which locks are looked for; git makes one for each part of a name."""
_NAMING = ("pid", "owner.json")  # files in which a lock that is a directory says whose it is


class Lock(NamedTuple):
    """A lock, at its real path, with what it says about its holder; `name` is the path to show.

    `place` is one for all locks of a place that can hold many. `of_git` says that git takes it for a moment.
    """

    path: str
    name: str
    status: os.stat_result
    holder: Holder
    place: str
    worktree: str | None = None
    of_git: bool = False

    @property
    def changed(self) -> float:
        """When it was taken or last refreshed, in epoch seconds."""
        return self.status.st_mtime

    def age(self, now: float) -> float:
        """Seconds since then. Where that lies in the future, since the file system says that the file changed: a clock
        that was wrong for a moment would keep it young for good.
        """
        return now - (self.changed if self.changed <= now else min(self.changed, self.status.st_ctime))

    @property
    def state(self) -> str:
        """Changes when the lock is taken anew."""
        return f"{self.status.st_ino}:{self.status.st_mtime_ns}"

    def is_still_there(self) -> bool:
        """A second look. Locks come and go (seen: an index.lock that nobody held was there for 20 s, and went)."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return (status.st_ino, status.st_mtime_ns) == (self.status.st_ino, self.status.st_mtime_ns)

    def is_in_use(self, processes: ProcessTable) -> bool:
        """Whether a living process has the file open, or an flock on it (git never has, and its own are not touched).

        Raises UnknownError where the file may not be read, or is another user's and names nobody: what that user's
        processes have open cannot be seen.
        """
        if not stat.S_ISREG(self.status.st_mode) or self._is_of_a_worktree():
            return False  # nobody holds a worktree's lock by having it open: whoever has, reads it
        if not os.access(self.path, os.R_OK):
            raise UnknownError("it may not be read")
        if (not self.of_git and is_held(self.path)) or processes.holders(self.path):
            return True
        if self.holder.pid is None and os.geteuid() not in (0, self.status.st_uid):
            raise UnknownError("it is another user's, whose open files cannot be seen")
        return False

    def _is_of_a_worktree(self) -> bool:
        above, name = os.path.split(self.path)
        return name == "locked" and os.path.basename(os.path.dirname(above)) == "worktrees"


def read_holder(path: str, status: os.stat_result, of_git: bool = False) -> Holder:
    """What a lock says about its holder; nothing where it cannot be read."""
    try:
        if stat.S_ISLNK(status.st_mode):
            return parse_link(os.readlink(path))
        if stat.S_ISDIR(status.st_mode):
            inner = [file for file in (os.path.join(path, name) for name in _NAMING) if os.path.isfile(file)]
            return parse_holder(_content(inner[0])) if inner else Holder()
        content = _content(path)
    except OSError:
        return Holder()
    if of_git and not re.match(_NAMES_PID, content + b"\n"):
        return Holder()  # the next index, configuration or ref
    return parse_holder(content, os.path.basename(path))


def _content(path: str) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags)
    try:
        return os.read(fd, CONTENT_LIMIT)
    finally:
        os.close(fd)


class LockSearch:
    """Finds the locks of a project, each once, in the time that there is."""

    def __init__(self, project: Project, worktrees: Sequence[Worktree], time_left: Callable[[], float]) -> None:
        self._project = project
        self._worktrees = worktrees
        self._time_left = time_left
        self._reserve = max(0.01, 0.1 * time_left())
        self._over = False
        self._linked = {worktree.git_dir: worktree.path for worktree in worktrees}
        self._seen: set[str] = set()
        self.gaps: dict[str, str] = {}
        """What was not looked at, or not to its end: a path, and why."""

    def is_over(self, path: str) -> bool:
        """Whether the time is over; where that is first noticed, a gap begins."""
        if not self._over and self._time_left() <= self._reserve:
            self._over = True
            self.gaps[path] = "the time was over"
        return self._over

    def shown(self, path: str) -> str:
        """A path as it is seen from the project's root, where it lies below that."""
        return path.removeprefix(os.path.join(self._project.root, ""))

    def matching(self, patterns: Iterable[str]) -> Iterator[Lock]:
        """What patterns name: below each worktree where they are relative. `*` in a pattern is not for hidden names,
        `**` is for directories at any depth; neither follows a symbolic link.
        """
        bases = [self._project.root, *(worktree.path for worktree in self._worktrees)]
        for pattern in patterns:
            parts = [part for part in pattern.split(os.sep) if part not in ("", ".")]
            for base in [""] if os.path.isabs(pattern) else bases:
                for path, is_named in self._match(base or os.sep, parts) if parts else ():
                    yield from self._lock(path, base or None, place=path if is_named else os.path.dirname(path))

    def of_worktrees(self) -> Iterator[Lock]:
        """`git worktree lock`, where its reason names a process, or where git was making the worktree. A person's
        reason does neither: those are kept on purpose.
        """
        for worktree in self._worktrees:
            if worktree.locked is None:
                continue
            path, holder = os.path.join(worktree.git_dir, "locked"), parse_reason(worktree.locked)
            if worktree.locked == _INITIALIZING:
                yield from self._lock(path, worktree.path, of_git=True)
            elif holder.pid is not None:
                yield from self._lock(path, worktree.path, holder=holder._replace(away=worktree.missing))

    def of_git(self) -> Iterator[Lock]:
        """git's own locks: of the repository, of each worktree, of submodules."""
        if self._project.common_dir is not None:
            main = next((worktree.path for worktree in self._worktrees if worktree.main), None)
            yield from self._git_dir(self._project.common_dir, main, shared=True)
        elif self._project.broken:
            self.gaps[os.path.join(self._project.here, ".git")] = self._project.broken

    def _git_dir(self, git_dir: str, worktree: str | None, shared: bool = False, depth: int = 0) -> Iterator[Lock]:
        for place in _FLAT:
            for entry in self._entries(os.path.join(git_dir, place)):
                if _is_gits(entry):
                    own = worktree if not shared or entry.name in _OF_ONE else None
                    yield from self._lock(entry.path, own, of_git=True)
        yield from self._lock(os.path.join(git_dir, "gc.pid"), None if shared else worktree, of_git=True)
        for entry in self._directories(os.path.join(git_dir, "worktrees")):
            yield from self._git_dir(entry.path, self._linked.get(entry.path), depth=depth + 1)
        yield from self._modules(os.path.join(git_dir, "modules"), worktree, depth + 1)
        for place in _DEEP:
            top = os.path.join(git_dir, place)
            for path in self._below(top):
                yield from self._lock(path, None if shared else worktree, of_git=True, place=top)

    def _modules(self, directory: str, worktree: str | None, depth: int) -> Iterator[Lock]:
        """Submodules' git directories; one called `libs/x` lies two levels deep."""
        found = self._directories(directory)
        if found and depth > _DEEPEST:
            self.gaps[directory] = "it lies too deep"
            return
        for entry in found:
            yield from self._git_dir(entry.path, worktree, depth=depth)
            if entry.name not in _INSIDE and not os.path.lexists(os.path.join(entry.path, "HEAD")):
                yield from self._modules(entry.path, worktree, depth + 1)

    def _below(self, top: str) -> Iterator[str]:
        waiting = [top]
        while waiting:
            for entry in self._entries(waiting.pop()):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif _is_gits(entry):
                    yield entry.path

    def _match(self, directory: str, parts: Sequence[str], is_named: bool = True) -> Iterator[tuple[str, bool]]:
        """Paths below `directory`, each with whether the pattern named it without a wildcard."""
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self._match(directory, rest or ["*"], is_named=False)
            for entry in self._directories(directory):
                if not entry.name.startswith("."):
                    yield from self._match(entry.path, parts, is_named=False)
        elif not re.search(r"[*?\[]", part):
            path = os.path.join(directory, part)
            yield from self._match(path, rest, is_named) if rest else [(path, is_named)]
        else:
            for entry in self._directories(directory) if rest else self._entries(directory):
                if fnmatch.fnmatchcase(entry.name, part) and (part[0] == "." or entry.name[0] != "."):
                    yield from self._match(entry.path, rest, is_named=False) if rest else [(entry.path, False)]

    def _directories(self, directory: str) -> list[os.DirEntry[str]]:
        return [entry for entry in self._entries(directory) if entry.is_dir(follow_symlinks=False)]

    def _entries(self, directory: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if self.is_over(directory):
                        return
                    yield entry
        except (FileNotFoundError, NotADirectoryError):
            pass  # few repositories have all the places, and some go while one looks
        except OSError as error:
            self.gaps[directory] = error.strerror or str(error)

    def _lock(
        self, path: str, worktree: str | None, place: str = "", of_git: bool = False, holder: Holder | None = None
    ) -> Iterator[Lock]:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.gaps[path] = error.strerror or str(error)
            return
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if real not in self._seen and (of_git or _can_be_lock(real, status)):
            self._seen.add(real)
            holder = holder or read_holder(real, status, of_git)
            yield Lock(real, self.shown(real), status, holder, place or real, worktree, of_git)


def _is_gits(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".lock") and entry.name[0] != "." and entry.is_file(follow_symlinks=False)


def _can_be_lock(path: str, status: os.stat_result) -> bool:
    if stat.S_ISREG(status.st_mode):
        return os.path.basename(path).lower() not in NEVER_LOCKS and status.st_size <= CONTENT_LIMIT
    return stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode)
