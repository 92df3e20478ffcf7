"""What an installation does to a file: where, what became of it, and of each of the gate's entries in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gate.wiring.settings_file import SettingsFile

ADDED, UPDATED, ALREADY, REMOVED, NOTHING = "added", "updated", "already", "removed", "nothing"
"""What became of an entry."""


class Plan(NamedTuple):
    """What a text is to become: `text` is None where the file has to go. `done` has what became of each event's
    entry, `made` the containers that stand there only for our entries.
    """

    text: str | None
    done: Mapping[str, str]
    made: tuple[str, ...] = ()


class Place(NamedTuple):
    """Where settings and state are: the environment, the worktree that project and local settings lie in, the state
    directory, and the time (seconds since the epoch).
    """

    environ: Mapping[str, str]
    worktree: str
    state_root: str
    now: float


class Change(NamedTuple):
    """What became of a settings file, or would become (`dry`): its bytes before and after (None: no file), what was
    done for each event, and where the backup is (empty: none was needed).
    """

    scope: str
    file: SettingsFile
    before: bytes | None
    after: bytes | None
    done: Mapping[str, str] = {}
    backup: str = ""
    dry: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after
