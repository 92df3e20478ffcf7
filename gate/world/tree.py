"""Measures what a directory holds: quickly, in constant memory, and without a step out of it.

Agents' temp directories hold symbolic links to other sessions' files (incident: 61 of them beside 278 GB), other file
systems, half-removed parts, and hundreds of thousands of entries (incident: 350,000 directories in 17 days).
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import heapq
import os
import re
import stat
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

DEEP = 40
"""Directories kept open at once, each in the one before (two descriptors each); what lies deeper waits its turn."""

MOST_UNREAD = 10
"""Unreadable places that are named; the others are counted."""

MOST_NAMED = 3
"""The biggest files that are named."""

_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_WENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""It is gone, or became a file or a link, since its name was read."""


class Held(NamedTuple):
    """What a directory holds, itself not counted.

    `bytes` are those allocated: no holes of sparse files, a file with several names once; but what clones share (APFS,
    btrfs, XFS) counts in each of them. `files` are regular ones. `newest` is the last change, in epoch seconds, of
    anything in it or of itself. `biggest` are sizes and names, below it, of its biggest files. Unless `complete`, all
    are at least what is said. `unread` names places that could not be read, with the reasons (at most ten;
    `unread_count` has all); `mounts` counts other file systems in it, which are not entered.
    """

    bytes: int
    files: int
    newest: float
    biggest: Sequence[tuple[int, str]]
    complete: bool = True
    unread: Sequence[tuple[str, str]] = ()
    unread_count: int = 0
    mounts: int = 0


def measure(root: str, max_bytes: int, max_files: int, until: float, extra: float, ignore: Sequence[str] = ()) -> Held:
    """Count what `root` holds, but no longer than to the moment `until` (of `time.monotonic`), nor for more than
    `extra` seconds once a limit is passed. Names that match a pattern of `ignore` are left out with what is in them.

    No symbolic link is followed: one in the place of `root` holds nothing. A file in its place holds itself.
    """
    tree = Tree(root, re.compile("|".join(map(fnmatch.translate, ignore))).match if ignore else None)
    newest, total, files, least, looked = 0.0, 0, 0, 0, 0
    with suppress(OSError):  # what is wrong with it, the walk will say
        newest = os.lstat(root).st_mtime
    biggest: list[tuple[int, str]] = []
    linked: set[tuple[int, int]] = set()
    passed, complete = False, True
    with closing(tree.entries()) as entries:
        for directory, name, status in entries:
            looked += 1
            if not looked & 15:
                now = time.monotonic()
                if not passed and (total > max_bytes or files > max_files):
                    passed, until = True, min(until, now + extra)
                if now >= until:
                    complete = False
                    break
            if status.st_mtime > newest:  # noqa: PLR1730 - max() would be one more call for each of a million files
                newest = status.st_mtime
            blocks = status.st_blocks
            if not stat.S_ISREG(status.st_mode):
                total += blocks * 512
                continue
            if status.st_nlink > 1:
                if (status.st_dev, status.st_ino) in linked:
                    continue
                linked.add((status.st_dev, status.st_ino))
            total += blocks * 512
            files += 1
            if blocks > least:
                least = _keep_biggest(biggest, blocks, os.path.join(directory, name))
    return Held(
        bytes=total,
        files=files,
        newest=newest,
        biggest=[(blocks * 512, path.removeprefix(root + "/")) for blocks, path in sorted(biggest, reverse=True)],
        complete=complete,
        unread=tree.unread,
        unread_count=tree.unread_count,
        mounts=tree.mounts,
    )


def _keep_biggest(biggest: list[tuple[int, str]], blocks: int, path: str) -> int:
    """Add a file to the few biggest; returns how many blocks the next must have more than."""
    heapq.heappush(biggest, (blocks, path))
    if len(biggest) <= MOST_NAMED:
        return 0
    heapq.heappop(biggest)
    return biggest[0][0]


class Roots(NamedTuple):
    """What patterns stand for: `found` by real path, `failed` as pattern and reason."""

    found: Mapping[str, os.stat_result]
    failed: Sequence[tuple[str, str]]


def find_roots(patterns: Sequence[str], base: str, expand: Callable[[str], str]) -> Roots:
    """The paths that patterns name, each once, and none that is a part of another.

    Relative ones are taken from `base`; `expand` replaces variables and `~`, whose values are no patterns. A path is by
    its real directory, but it may itself be a symbolic link. What is not there is not found, and is no failure.
    """
    found: dict[str, os.stat_result] = {}
    failed = []
    for pattern in patterns:
        try:
            for path in _matches(pattern, base, expand):
                real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
                with suppress(FileNotFoundError, NotADirectoryError):
                    found[real] = os.lstat(real)
        except OSError as error:
            failed.append((pattern, error.strerror or str(error)))
    return Roots({path: found[path] for path in sorted(found) if not _is_part(path, found)}, failed)


def _matches(pattern: str, base: str, expand: Callable[[str], str]) -> list[str]:
    paths = ["/" if pattern.startswith("/") else base]
    for part in pattern.split("/"):
        wanted = expand(part)
        if glob.has_magic(part):
            paths = [os.path.join(path, name) for path in paths for name in fnmatch.filter(_names(path), wanted)]
        else:
            paths = [os.path.normpath(os.path.join(path, wanted)) for path in paths]
    return paths


def _names(path: str) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(path)
    return []


def _is_part(path: str, others: Mapping[str, os.stat_result]) -> bool:
    above = path
    while (up := os.path.dirname(above)) != above:
        above = up
        other = others.get(above)
        if other is not None and other.st_dev == others[path].st_dev:
            return True
    return False


def memory_file_system(path: str) -> str | None:
    """The type of the file system that `path` lies on, where that is kept in memory; None elsewhere, or if not known.

    From proc(5)'s mountinfo: field 3 is the device, and the type is the first field after a lone hyphen.
    """
    try:
        device = os.lstat(path).st_dev
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split() for line in file]
    except OSError:
        return None
    wanted = f"{os.major(device)}:{os.minor(device)}"
    types = {fields[fields.index("-") + 1] for fields in lines if "-" in fields and fields[2] == wanted}
    return next(iter(types & {"tmpfs", "ramfs"}), None)


Entry = tuple[str, str, os.stat_result]


class Tree:
    """Everything below `root`, without the names that `skip` is true of; a file is all that is below itself.

    After a walk, `unread` names places that could not be read, with the reasons (at most ten; `unread_count` has all),
    and `mounts` counts the other file systems, which are not entered.
    """

    def __init__(self, root: str, skip: Callable[[str], object] | None = None) -> None:
        self.root = root
        self.unread: list[tuple[str, str]] = []
        self.unread_count = 0
        self.mounts = 0
        self._skip = skip
        self._device = 0
        self._opened: list[tuple[str, int, Any]] = []
        self._later = [root]

    def entries(self) -> Generator[Entry, None, None]:
        """Each entry once: its directory, its name, and its own status (a link's, not its target's).

        What vanishes meanwhile is passed over. To be used up or closed, once.
        """
        try:
            status = os.lstat(self.root)
            self._device = status.st_dev
            if stat.S_ISREG(status.st_mode):
                yield *os.path.split(self.root), status
                return
            while self._opened or self._later:
                if self._opened:
                    yield from self._go_on(*self._opened[-1])
                else:
                    path = self._later.pop()
                    self._enter(path, path)
        except OSError as error:
            self._note(self.root, error)
        finally:
            while self._opened:
                self._leave()

    def _go_on(self, path: str, fd: int, entries: Iterator[os.DirEntry[str]]) -> Iterator[Entry]:
        """What is left of one open directory, up to the next directory in it, which is then open."""
        skip = self._skip
        try:
            for entry in entries:
                name = entry.name
                if skip and skip(name):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError as error:
                    self._note(os.path.join(path, name), error)
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    yield path, name, status
                elif status.st_dev != self._device:
                    self.mounts += 1
                else:
                    yield path, name, status
                    if self._enter(os.path.join(path, name), name, fd):
                        return
        except OSError as error:
            self._note(path, error)
        self._leave()

    def _enter(self, path: str, name: str, parent: int | None = None) -> bool:
        if len(self._opened) >= DEEP:
            self._later.append(path)
            return False
        try:
            fd = os.open(name, _FLAGS, dir_fd=parent)
            try:
                self._opened.append((path, fd, os.scandir(fd)))
            except OSError:
                os.close(fd)
                raise
        except OSError as error:
            self._note(path, error)
            return False
        return True

    def _leave(self) -> None:
        _, fd, entries = self._opened.pop()
        entries.close()
        os.close(fd)

    def _note(self, path: str, error: OSError) -> None:
        if error.errno in _WENT:
            return
        self.unread_count += 1
        if len(self.unread) < MOST_UNREAD:
            self.unread.append((path, error.strerror or str(error)))
