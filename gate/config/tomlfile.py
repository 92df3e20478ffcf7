"""TOML that other people wrote, within bounds: a repository's is read at every start that is not silent."""

from __future__ import annotations

import os
import re
import stat
from typing import Any

from gate.quote import short

LIMIT = 512 << 10
"""Bytes. Configuration is small; of a larger file nothing is believed."""

# Strings and comments, each to its end or, without one, as far as it could go: nothing here can fail after it began, so
# the search takes time by the length alone. No possessive quantifiers: before 3.11.5 they are wrong where a group is
# repeated (python/cpython#106052).
_OPAQUE = (
    r'''"""[^"\\]*(?:(?:\\[\s\S]|"{1,2}(?!"))[^"\\]*)*(?:""")?'''
    r"""|'''[^']*(?:'{1,2}(?!')[^']*)*(?:''')?"""
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\n]*'?|\#[^\n]*"""
)
# tomllib takes time by the square of a dotted key's length: 20 s for one of 64 KB.
_LONG_KEY = r"(?a)(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){32}"


class UnusableError(Exception):
    """A file that cannot be read as TOML; its text says why."""


def read_head(path: str) -> bytes:
    """The first `LIMIT` + 1 bytes of a regular file. Raises UnusableError; never waits for anyone (a FIFO)."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise UnusableError(f"cannot be read: {error.strerror}") from None
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise UnusableError("is a directory" if stat.S_ISDIR(mode) else "is not a regular file")
        data = b""
        while len(data) <= LIMIT and (more := os.read(fd, LIMIT + 1 - len(data))):
            data += more
        return data
    except OSError as error:
        raise UnusableError(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(fd)


def is_too_long(text: str) -> bool:
    """Whether a TOML text holds a dotted key with more parts than anybody writes."""
    bare = re.sub(_OPAQUE, lambda found: "" if found[0].startswith("#") else "_", text)
    return re.search(_LONG_KEY, bare) is not None


def read_table(path: str) -> dict[str, Any]:
    """The table in a TOML file. Raises UnusableError, which names the line where there is one to name."""
    data = read_head(path)
    if len(data) > LIMIT:
        raise UnusableError(f"is larger than {LIMIT >> 10} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableError(f"is not UTF-8 (at line {data[: error.start].count(10) + 1})") from None
    if is_too_long(text):
        raise UnusableError("holds a key of more than 32 parts")
    import tomllib  # most people have no file of ours

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnusableError(f"is not TOML: {short(str(error)[-200:], 250)}") from None  # it names keys
    except ValueError:
        raise UnusableError("is not TOML that can be read: it holds a number that is too long") from None
    except RecursionError:
        raise UnusableError("is not TOML that can be read: it is nested too deeply") from None
