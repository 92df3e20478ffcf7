"""What is kept of projects that are gone goes too, after a time: the state does not grow for ever.

Agents clone a repository for a task and remove it again, and each of them leaves a directory in the state.
"""

from __future__ import annotations

import os

from gate import files, fired
from gate.clock import Clock
from gate.errors import DamagedError, StateError
from gate.marker import OK
from gate.state import ProjectState

DAY = 86400.0
CLEAN_FOR, OWED_FOR = 90 * DAY, 365 * DAY
"""Seconds since its last look after which a project that is not there is forgotten: where nothing was left behind, and
where something was. Its disk may only be away (a stick, a container's mount), and would come back to a first look."""

_TURN = "pruned"
"""A file whose age tells when the last turn was."""


def prune(root: str, clock: Clock) -> list[str]:
    """Once a day, forget the projects of a state directory that are gone; the keys of those that went. Never fails."""
    turn = os.path.join(root, _TURN)
    try:
        if clock.now() - _written(turn) < DAY:
            return []
        files.write(turn, b"")
        keys = sorted(entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))
    except (OSError, StateError):
        return []
    return [key for key in keys if _forget(ProjectState(root, key), clock.now())]


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except FileNotFoundError:
        return 0.0


def _forget(state: ProjectState, now: float) -> bool:
    """Forget one project, if it is gone and nobody is at work in what is kept of it."""
    lock = state.lock()
    try:
        if not _is_over(state, now) or not lock.acquire():
            return False
        if not _is_over(state, now) or _in_use(state):
            return False
        # The marker goes first: what is left of a project without one, after a kill, is a first look.
        known = (state.marker_file.path, *state.marker_file.retired_paths.values(), fired.path(state.directory))
        inside = [os.path.join(state.ledger.directory, name) for name in os.listdir(state.ledger.directory)]
        for path in (*known, *inside):
            files.remove(path)
        os.rmdir(state.ledger.directory)
        lock.release(unlink=True)
        os.rmdir(state.directory)
        return True
    except (OSError, StateError):
        return False
    finally:
        lock.release()


def _is_over(state: ProjectState, now: float) -> bool:
    try:
        marker = state.marker_file.read()
    except DamagedError:
        return False
    if marker is None:
        return False
    if now - marker.when <= (CLEAN_FOR if marker.state == OK and not marker.retired else OWED_FOR):
        return False  # and where it lay is not asked: that may be a disk which does not answer
    root = str(marker.data["project"])
    return "\\" not in root and not os.path.lexists(root)  # a name that is not UTF-8 stands there in another form


def _in_use(state: ProjectState) -> bool:
    """Whether a session stands in the ledger, or somebody holds one of its locks."""
    paths = [os.path.join(state.ledger.directory, name) for name in os.listdir(state.ledger.directory)]
    return any(path.endswith(".json") or files.is_held(path) for path in paths)
