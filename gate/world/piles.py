"""What piles of output hold: how much in all, by session, and the files that are too big. Quickly, and at least.

One file of a task's output was 1.4 TB beside others of a few kilobytes, and still grew; one directory held 61 symbolic
links into other sessions' transcripts (incidents). So nothing is followed, nothing is read, and names are not counted.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from gate.world.outputs import Found, Outlet, is_shared
from gate.world.tree import MOST_UNREAD, Entry, Tree

MOST_BIG = 50
"""Files over the limit that are told apart; what there is beside them is in the sum."""

HALF_MADE = "tmp_pack_"
"""How git calls a pack that it has not finished; one that was cut off stays for two weeks, or for good."""

_SESSION = re.compile(r"(?:^|/)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![^/.])")


class File(NamedTuple):
    """One file, as it was at the moment `seen` (`time.monotonic`): `bytes` allocated, `changed` in epoch seconds."""

    path: str
    bytes: int
    size: int
    changed: float
    seen: float

    @property
    def state(self) -> str:
        """Changes when it does."""
        return f"{self.changed!r}:{self.size}"


@dataclass(slots=True)
class Share:
    """What one session has in a pile, beside its big files: in bytes, and its last change."""

    path: str
    bytes: int = 0
    changed: float = 0.0


@dataclass(slots=True)
class Pile:
    """What one pile of output holds.

    Bytes are those allocated (no holes, a file with several names once, what clones share in each), all at least that
    unless `complete`. `big` are files over the limit, with `big_bytes`; `rest` are the bytes beside them, of which
    `sessions` has what each session's directory holds. `half_made` are packs that git has not finished, and in no sum.
    All else is as in `gate.world.tree.Held`.
    """

    found: Found
    big_bytes: int = 0
    rest: int = 0
    files: int = 0
    newest: float = 0.0
    complete: bool = True
    big: list[File] = field(default_factory=list)
    sessions: dict[str, Share] = field(default_factory=dict)
    half_made: list[File] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    unread_count: int = 0
    mounts: int = 0

    @property
    def outlet(self) -> Outlet:
        """Whose it is."""
        return self.found.outlet

    @property
    def bytes(self) -> int:
        """All that it holds, but for packs that are half made."""
        return self.big_bytes + self.rest


def session_in(path: str) -> str | None:
    """The session that a part of a path is called by, as clients call theirs: a UUID, with an ending or none. None
    where there is none; one in the middle of a name is something else, say a worktree's in a client's name for it.
    """
    match = _SESSION.search(path)
    return match[1] if match else None


def weigh(found: Found, max_file: int, max_bytes: int, until: float, extra: float, ignore: Sequence[str] = ()) -> Pile:
    """What a pile holds, counted to the moment `until` (of `time.monotonic`) at the longest, and for no more than
    `extra` seconds once it is over `max_bytes` without its big files. Names that match a pattern of `ignore` are left
    out with what is in them.
    """
    skip = re.compile("|".join(map(fnmatch.translate, ignore))).match if ignore else None
    scale = _Scale(Pile(found), max_file)
    passed, looked = False, 0
    with closing(_entries(scale.pile, skip)) as entries:
        for directory, name, status in entries:
            looked += 1
            if not looked & 15:
                now = time.monotonic()
                if not passed and scale.pile.rest > max_bytes:
                    passed, until = True, min(until, now + extra)
                if now >= until:
                    scale.pile.complete = False
                    break
            scale.add(directory, name, status)
    return scale.pile


def _entries(pile: Pile, skip: Callable[[str], object] | None) -> Generator[Entry, None, None]:
    """Everything in a pile, and its parts themselves where they are many; what could not be read is noted in it."""
    kept, found = frozenset(pile.outlet.kept), pile.found
    me = os.geteuid() if is_shared(found.directory) else None
    leaves_out = (lambda name: name in kept or (skip is not None and skip(name))) if kept else skip
    for root in found.roots:
        if root != found.directory:
            name = os.path.basename(root)
            try:
                status = os.lstat(root)
            except OSError:
                continue  # it went
            if (leaves_out is not None and leaves_out(name)) or (me is not None and status.st_uid != me):
                continue
            yield found.directory, name, status
            if not stat.S_ISDIR(status.st_mode):
                continue
        tree = Tree(root, leaves_out)
        try:
            yield from tree.entries()
        finally:
            pile.unread += tree.unread[: MOST_UNREAD - len(pile.unread)]
            pile.unread_count += tree.unread_count
            pile.mounts += tree.mounts


class _Scale:
    """Adds to a pile, entry by entry."""

    def __init__(self, pile: Pile, max_file: int) -> None:
        self.pile = pile
        self._max_blocks = max_file // 512
        self._linked: set[tuple[int, int]] = set()
        self._base = len(pile.found.directory)
        self._directory = ""
        self._share: Share | None = None

    def add(self, directory: str, name: str, status: os.stat_result) -> None:
        """One entry: its directory, its name, its own status."""
        pile, blocks, changed = self.pile, status.st_blocks, status.st_mtime
        if stat.S_ISREG(status.st_mode):
            if status.st_nlink > 1 and self._is_known(status):
                return
            if name.startswith(HALF_MADE):
                pile.half_made.append(file_of(os.path.join(directory, name), status))
                return
            pile.files += 1
            if blocks > self._max_blocks and len(pile.big) < MOST_BIG:
                pile.big.append(file_of(os.path.join(directory, name), status))
                pile.big_bytes += blocks * 512
                blocks = 0
        if directory is not self._directory:
            self._directory, self._share = directory, self._share_of(directory)
        pile.rest += blocks * 512
        if changed > pile.newest:  # noqa: PLR1730 - max() would be one more call for each of a million files
            pile.newest = changed
        if (share := self._share) is not None:
            share.bytes += blocks * 512
            if changed > share.changed:  # noqa: PLR1730 - as above
                share.changed = changed

    def _is_known(self, status: os.stat_result) -> bool:
        inode = (status.st_dev, status.st_ino)
        known = inode in self._linked
        self._linked.add(inode)
        return known

    def _share_of(self, directory: str) -> Share | None:
        session = _SESSION.search(directory, self._base)
        if session is None:
            return None
        return self.pile.sessions.setdefault(session[1], Share(directory[: session.end()]))


def file_of(path: str, status: os.stat_result) -> File:
    """A file as it is now."""
    return File(path, status.st_blocks * 512, status.st_size, status.st_mtime, time.monotonic())


def grown_since(files: Sequence[File], pause: float) -> dict[str, int]:
    """By how many bytes each of these files has grown, in length or in what is allocated for it, since it was looked
    at `pause` seconds ago or more; for that it waits. Those that did not grow are left out.
    """
    if not files:
        return {}
    time.sleep(max(0.0, max(file.seen for file in files) + pause - time.monotonic()))
    growth = {file.path: _growth(file) for file in files}
    return {path: count for path, count in growth.items() if count > 0}


def _growth(file: File) -> int:
    try:
        status = os.lstat(file.path)
    except OSError:
        return 0
    return max(status.st_size - file.size, status.st_blocks * 512 - file.bytes)
