"""Read files that other people wrote: without waiting for anybody, and no more of them than was asked for.

A repository can hold a FIFO or a link to a device in the place of any file, a file of a terabyte of holes costs nothing
to make, and what was a file a moment ago need not be one now. So a file is opened without blocking, looked at by its
descriptor, and read up to a limit. It is not mapped: one that is cut off meanwhile, or lies on a disk that fails, would
end this process; and a search in a mapping holds all threads up. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHUNK = 1 << 20
"""Bytes that are looked at together."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


def read(path: str, limit: int, from_end: bool = False) -> bytes | None:
    """The first `limit` bytes of a regular file, or with `from_end` the last; None where there is none.

    Raises OSError where it may not be read.
    """
    fd = _open(path)
    if fd < 0:
        return None
    try:
        if from_end:
            os.lseek(fd, max(0, os.fstat(fd).st_size - limit), os.SEEK_SET)
        return b"".join(_chunks(fd, limit))
    finally:
        os.close(fd)


def text(path: str, limit: int = 1 << 16, from_end: bool = False) -> str:
    """The same as a text, whatever its bytes (`os.fsdecode`); empty where there is none, or it may not be read."""
    try:
        return os.fsdecode(read(path, limit, from_end) or b"")
    except OSError:
        return ""


def holds(path: str, marks: Sequence[bytes], limit: int) -> bool:
    """Whether a regular file holds one of these, which are not empty; so too where it has more than `limit` bytes, of
    which the rest was not looked at. Raises OSError where it may not be read.
    """
    fd = _open(path)
    if fd < 0:
        return False
    try:
        kept, seen, longest = b"", 0, max(map(len, marks))
        for chunk in _chunks(fd, limit + 1):
            seen += len(chunk)
            kept += chunk
            if any(kept.find(mark) >= 0 for mark in marks):
                return True
            kept = kept[max(0, len(kept) - longest + 1) :]
        return seen > limit
    finally:
        os.close(fd)


def _open(path: str) -> int:
    """A descriptor; -1 where no regular file is there. Raises OSError."""
    try:
        # Before it is opened, because with some devices that does something already; a FIFO would not be waited for.
        if not stat.S_ISREG(os.stat(path).st_mode):
            return -1
        fd = os.open(path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no file has a name with a NUL
        return -1
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return -1


def _chunks(fd: int, limit: int) -> Iterator[bytes]:
    while limit > 0 and (chunk := os.read(fd, min(limit, CHUNK))):
        limit -= len(chunk)
        yield chunk
