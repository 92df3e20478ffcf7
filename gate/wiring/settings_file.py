"""A client's settings file on disk: read, replaced in one step, removed. It is a person's file, so it stays what it is.

A symbolic link stays one (what it leads to is written), permissions, owner and extended attributes stay, and a reader
finds the old text or the new and never a part.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from gate import files
from gate.errors import GateError
from gate.quote import line, name

SIZE_LIMIT = 8 << 20
"""Bytes; a larger file is nobody's settings."""

_FLAGS = getattr(os, "O_CLOEXEC", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


class SettingsFile:
    """The file that a client reads at `path`. `target` is where it really lies, `data` what it held when it was read
    (None: there was no file), `shown` how its path is written in messages.
    """

    def __init__(self, path: str) -> None:
        """Read it. Raises GateError."""
        self.path = path
        self.target = os.path.realpath(path)
        self.shown = name(path, 1000)
        if os.path.islink(path):
            self.shown += f" (a link to {name(self.target, 1000)})"
        self._status: os.stat_result | None = None
        self.data = self._read()

    def text(self) -> str:
        """What it holds, empty where there is no file. Raises GateError for what is not UTF-8."""
        data = self.data or b""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            number = data.count(b"\n", 0, error.start) + 1
            raise GateError(f"{self.shown}: line {number} is not UTF-8: save it as UTF-8 and run this again") from None

    def missing_directories(self) -> list[str]:
        """The directories that have to be made for the file, the outermost first."""
        missing: list[str] = []
        path = os.path.dirname(self.target)
        while not os.path.lexists(path):
            missing.insert(0, path)
            path = os.path.dirname(path)
        return missing

    def write(self, data: bytes) -> None:
        """Replace or create the file, and the directories that it needs.

        Raises GateError, and then nothing has changed; also where another program changed the file since it was read.
        """
        made: list[str] = []
        temporary = files.temporary_name(self.target, os.getpid())
        try:
            if self._status is not None and not _may_write(self.target):
                # Replacing asks for a writable directory alone; who made the file read-only meant it.
                raise PermissionError(0, "it is read-only")
            for directory in self.missing_directories():
                os.mkdir(directory)
                made.append(directory)
            self._write_beside(temporary, data)
            self._refuse_changed()
            os.replace(temporary, self.target)
        except (OSError, GateError) as error:
            files.remove(temporary)
            remove_directories(made)
            raise self._failure("written", error) from None

    def remove(self) -> None:
        """Take the file away; a link to it stays. Raises GateError."""
        try:
            self._refuse_changed()
            os.unlink(self.target)
        except OSError as error:
            raise self._failure("removed", error) from None

    def has_other_names(self) -> bool:
        """Whether hard links lead to it too: replaced under this name, the text stays the old one under the others."""
        return self._status is not None and self._status.st_nlink > 1

    def _read(self) -> bytes | None:
        try:
            fd = os.open(self.target, os.O_RDONLY | _FLAGS | _NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failure("read", error) from None
        try:
            self._status = os.fstat(fd)
            if not stat.S_ISREG(self._status.st_mode) or self._status.st_size > SIZE_LIMIT:
                raise GateError(f"{self.shown}: is no settings file: a regular file of at most 8 MiB is expected")
            data = b""
            while chunk := os.read(fd, 1 << 20):
                data += chunk
                if len(data) > SIZE_LIMIT:  # it grows, or says nothing of its size
                    raise GateError(f"{self.shown}: is no settings file: it has no end")
            return data
        except OSError as error:
            raise self._failure("read", error) from None
        finally:
            os.close(fd)

    def _write_beside(self, path: str, data: bytes) -> None:
        files.remove(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS | _NOFOLLOW, 0o666)
        try:
            if self._status is not None:
                self._take_over(fd, self._status)
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            os.close(fd)

    def _take_over(self, fd: int, old: os.stat_result) -> None:
        """Make the new file what the old one is: whose, for whom, with which attributes (access lists among them)."""
        own = os.fstat(fd)
        if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid):
            try:
                os.fchown(fd, old.st_uid, old.st_gid)
            except PermissionError:
                if own.st_uid != old.st_uid:
                    raise PermissionError(0, "it belongs to another user") from None
        os.fchmod(fd, stat.S_IMODE(old.st_mode))
        for attribute in os.listxattr(self.target) if hasattr(os, "listxattr") else ():
            try:
                os.setxattr(fd, attribute, os.getxattr(self.target, attribute))
            except OSError:  # one that the system keeps for itself
                continue

    def _refuse_changed(self) -> None:
        if SettingsFile(self.path).data != self.data:
            raise GateError(f"{self.shown}: another program changed it meanwhile: run this again")

    def _failure(self, what: str, error: OSError | GateError) -> GateError:
        if isinstance(error, GateError):
            return error
        cure = "" if what == "read" else "; what --dry-run shows can be put in by hand"
        return GateError(f"{self.shown}: cannot be {what}: {line(error.strerror or str(error))}{cure}")


def _may_write(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def remove_directories(paths: Sequence[str]) -> None:
    """Take away directories that were made, the innermost first, as long as they are empty."""
    for path in reversed(paths):
        try:
            os.rmdir(path)
        except OSError:
            return
