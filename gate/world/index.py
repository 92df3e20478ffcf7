"""Which paths an index has, read without git: where git refuses to work, that tells a work tree from none.

A repository that became bare by accident (its files are there) and one that somebody made bare on purpose (they are
not) have the same configuration; so have a worktree that lost its `.git` and a directory that came in its place.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

from gate import foreign

MOST_BYTES = 1 << 20
"""Of an index that are read: some 10,000 entries."""

MOST_PATHS = 2000
"""Paths that are looked for. In a sparse checkout the first ones need not be there."""

_FIXED = 42
"""Bytes of an entry before its path, but for the object's name (gitformat-index(5)): ten numbers, and the flags."""

_EXTENDED = 0x4000


def index_paths(data: bytes, name_bytes: int = 20) -> Iterator[bytes]:
    """The paths in the content of an index, in its order; `name_bytes` is how long the name of an object is.

    Takes any bytes and ends at the first that cannot be understood. Entries are padded in versions 2 and 3; in version
    4 each path gives only what differs from the one before.
    """
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        return
    at, path = 12, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        begin, at = at, at + _FIXED + name_bytes
        flags = int.from_bytes(data[at - 2 : at], "big")
        at += 2 if flags & _EXTENDED else 0
        if version == 4:
            kept, at = _number(data, at)
            if kept > len(path):
                return
            path = path[: len(path) - kept]
        else:
            path = b""
        end = data.find(b"\0", at)
        if end < 0:
            return
        path += data[at:end]
        if not path:
            return
        yield path
        at = end + 1 if version == 4 else begin + (end - begin + 8) // 8 * 8


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as in gitformat-pack(5) for offsets, and where it ends."""
    number = 0
    for end in range(at + 1, min(at + 10, len(data))):
        byte = data[end - 1]
        number = (number << 7) | (byte & 0x7F)
        if not byte & 0x80:
            return number, end
        number += 1
    return number, len(data)


def name_bytes(configuration: str) -> int:
    """How long the names of objects are in a repository with this text of its configuration."""
    return (
        32
        if re.search(r"^[ \t]*objectformat[ \t]*=[ \t]*\"?sha256", configuration, re.IGNORECASE | re.MULTILINE)
        else 20
    )


def has_files_of(index: str, directory: str, name_bytes: int = 20) -> bool | None:
    """Whether any path of the index at `index` is there below `directory`; None where the index names none (it may be
    split) or cannot be read.
    """
    try:
        content = foreign.read(index, MOST_BYTES) or b""
    except OSError:
        return None
    place, answer = os.fsencode(directory), None
    for path in itertools.islice(index_paths(content, name_bytes), MOST_PATHS):
        if os.path.lexists(os.path.join(place, path)):
            return True
        answer = False
    return answer
