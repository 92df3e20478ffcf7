"""What an installation remembers, so that it can be undone to the byte: kept in the state directory, not beside the
settings, where in a project it would be an untracked file.

One directory for each settings file: `record.json` and the texts that stood there before each change. Settings can
hold tokens; like all state these files are the user's alone.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from gate import files, jsontext
from gate.clock import rfc3339
from gate.errors import DamagedError
from gate.project import digest

SCHEMA = 1
BACKUPS_KEPT = 20
"""Backups of one file; older ones go, but never the one that an uninstallation would put back."""


class Record(NamedTuple):
    """What our entries in one settings file replaced.

    `after` stands for the bytes that the last installation wrote (and, where it only brought entries up to date, for
    those that it found, in case it was killed before it wrote). `restorable` says that what was there before the
    first one can be put back as long as one of these stands there: the backup called `original`, no file where that
    is empty. `made` are the containers that were made for our entries (None: it is not known), `directories` those
    that were made for the file.
    """

    after: tuple[str, ...]
    original: str
    restorable: bool
    made: tuple[str, ...] | None
    directories: tuple[str, ...]


class Keeper:
    """The place in the state directory for one settings file. `target` is where that really lies."""

    def __init__(self, state_root: str, target: str) -> None:
        self._root = state_root
        self.directory = os.path.join(state_root, "settings", digest(os.fsencode(target)))
        self._target = target

    def lock(self) -> files.Lock:
        """Keeps two installations apart. Raises StateError."""
        for directory in (self._root, os.path.dirname(self.directory), self.directory):
            files.make_private_dir(directory)
        return files.Lock(os.path.join(self.directory, "lock"))

    def record(self) -> Record | None:
        """What is remembered; None where there is nothing, or nothing that can be believed."""
        try:
            data = files.read(os.path.join(self.directory, "record.json"))
            value: dict[str, Any] = jsontext.loads((data or b"").decode("utf-8"))
            if value["schema"] != SCHEMA:
                return None
            return Record(
                after=tuple(map(str, value["after"])),
                original=os.path.basename(str(value["original"])),
                restorable=value["restorable"] is True,
                made=None if value["made"] is None else tuple(map(str, value["made"])),
                directories=tuple(map(str, value["directories"])),
            )
        except (DamagedError, ValueError, TypeError, KeyError):
            return None

    def remember(self, record: Record) -> None:
        """Replace what is remembered. Raises StateError."""
        value = {
            "schema": SCHEMA,
            "file": self._target,
            "after": record.after,
            "original": record.original,
            "restorable": record.restorable,
            "made": record.made,
            "directories": record.directories,
        }
        files.write(os.path.join(self.directory, "record.json"), jsontext.dumps(value).encode("ascii"))

    def forget(self) -> None:
        """Remove the record; the backups stay."""
        files.remove(os.path.join(self.directory, "record.json"))

    def back_up(self, data: bytes, now: float) -> str:
        """Keep these bytes; the path of the copy. `now` is in seconds since the epoch. Raises StateError."""
        stamp = rfc3339(now).replace(":", "")
        taken = set(os.listdir(self.directory))
        names = (f"{stamp}{f'-{number}' if number else ''}.backup" for number in range(len(taken) + 1))
        path = os.path.join(self.directory, next(name for name in names if name not in taken))
        files.write(path, data)
        return path

    def read_backup(self, name: str) -> bytes | None:
        """The bytes of a backup; None where it is gone."""
        try:
            return files.read(os.path.join(self.directory, name))
        except DamagedError:
            return None

    def thin_out(self) -> None:
        """Remove the oldest backups."""
        record = self.record()
        names = sorted(name for name in os.listdir(self.directory) if name.endswith(".backup"))
        for name in names[:-BACKUPS_KEPT]:
            if record is None or name != record.original:
                files.remove(os.path.join(self.directory, name))


def stands_for(data: bytes) -> str:
    """A digest that tells whether a file still holds what was written."""
    return digest(data)
