"""What a hook's watchdog says and does when the time is over: where the hook stands, and that nobody looked.

Loaded only then. Everything here may meet the file system that hangs, and so runs in threads that are given up.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from types import FrameType

from gate.directories import state_dir
from gate.errors import DamagedError, StateError
from gate.marker import UNANSWERED
from gate.project import keys_above
from gate.quote import name
from gate.state import ProjectState
from gate.watchdog import Watchdog

LOOK = 0.3
"""Seconds between two looks at where a thread stands: one that moved meanwhile is slow, and does not hang."""

_PLACES = ("path", "directory", "root")
"""What functions, and the objects that they belong to, call a place in the file system."""


def reason(watchdog: Watchdog) -> str:
    """Why there is no answer, and where the watched thread stands, as exactly as its stack tells."""
    before = _standing(watchdog.thread)
    time.sleep(LOOK)
    now = _standing(watchdog.thread)
    place, limit = now[0], f"{watchdog.limit:g} s"
    if not place:
        return f"given up after {limit}"
    if now == before:
        return f"no answer from the file system of {name(place)}; given up after {limit}"
    return f"given up after {limit}, the last of them at {name(place)}"


def _standing(thread: int) -> tuple[str, list[tuple[FrameType, int]]]:
    """Where a thread stands: the path that the innermost function which was given one works on, empty where none was;
    and what tells whether it has moved (the frames themselves: one that is kept cannot be another call's later).
    """
    frames = list(_frames(sys._current_frames().get(thread)))
    places = [place for frame in frames for place in _given(frame)]
    return (places[0] if places else ""), [(frame, frame.f_lasti) for frame in frames]


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _given(frame: FrameType) -> Iterator[str]:
    """The absolute paths that a function was given or has made, and those that its object or its project stands for."""
    code, values = frame.f_code, frame.f_locals
    # `newpath` is the part of a path that os.path.realpath has come to.
    for variable in ("newpath", *code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *_PLACES):
        value = values.get(variable)
        found = [value]
        if variable in ("self", "project") and not isinstance(value, os.PathLike):
            found = [getattr(value, attribute, None) for attribute in _PLACES]
        for path in found:
            if isinstance(path, (str, bytes, os.PathLike)) and os.path.isabs(path):
                yield os.fsdecode(path)


def note(watchdog: Watchdog, environ: Mapping[str, str]) -> bool:
    """Take the green marker's word from the project where this hook is, so that no later start inherits a silence that
    this session, of which there is no record, has no part in. Always True: it is done, as far as it can be.
    """
    if watchdog.site is not None:
        _take_word(watchdog.site.state)
        return True
    # Which project it is would have to be asked of the file system that does not answer; so by the name alone.
    root, directory = state_dir(environ), watchdog.directory or environ.get("PWD", "")
    for key in keys_above(directory):
        if os.path.isdir(os.path.join(root, key)):
            _take_word(ProjectState(root, key))
            return True
    for state in (ProjectState(root, key) for key in sorted(os.listdir(root))):
        if _has_worktree(state, directory):
            _take_word(state)
    return True


def _take_word(state: ProjectState) -> None:
    try:
        state.marker_file.retire(UNANSWERED)
    except StateError:
        pass  # it stands where nothing can be written: the next start says that, too


def _has_worktree(state: ProjectState, directory: str) -> bool:
    """Whether `directory` lies in a linked worktree of a project, by what that has registered: a worktree may lie on a
    file system of its own.
    """
    try:
        marker = state.marker_file.read()
    except DamagedError:
        return False
    registered = os.path.join(marker.data["project"], ".git", "worktrees") if marker is not None else ""
    try:
        names = os.listdir(registered) if registered else []
    except OSError:
        return False
    for entry in names:
        try:
            with open(os.path.join(registered, entry, "gitdir"), "rb") as file:
                worktree = os.path.dirname(os.fsdecode(file.read(1 << 16).strip(b"\r\n")))
        except OSError:
            continue
        if worktree and os.path.join(directory, "").startswith(os.path.join(worktree, "")):
            return True
    return False
