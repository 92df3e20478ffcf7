"""What clients write down of their running sessions, and whether it still holds.

Seen by running them. Claude Code (2.1.197, 2.1.332) keeps `sessions/<pid>.json`, and for its background service
`daemon/roster.json` with `jobs/<id>/state.json`; Copilot CLI (1.0.102) `session-state/<id>/inuse.<pid>.lock`, and holds
an flock on `inuse.<pid>.hold` beside it as long as it lives. All of them stay after a SIGKILL. Codex (0.171.0) and
Gemini CLI keep nothing like it.

A pid means something in its own namespace alone: a container that shared the directory once took every session of the
host for dead (anthropics/claude-code#85283). What cannot be placed is never called dead.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

from gate import foreign
from gate.files import is_held
from gate.liveness import Place
from gate.world.holders import PID_LIMIT, Fate, Holder, fate_of
from gate.world.processes import ProcessTable

OVER = "the time was over"
CLAUDE = "claude"
BACKGROUND = "claude's background service"
COPILOT = "copilot"

MOST_BYTES = 1 << 20
"""Of a record that are read; a roster has each session's whole prompt."""

BEING_WRITTEN = 60.0
"""Seconds. A record that cannot be understood and is younger may be half written; the client writes it in place."""

OPEN = frozenset(("", "busy", "idle", "shell", "waiting"))
"""What Claude Code (2.1.332) writes as the status of a session that runs; older versions write none. With any other
word it is not running, or we do not know."""

_HOST_NAMESPACE = "pid:[4026531836]"
"""The first pid namespace of a Linux (PROC_PID_INIT_INO): from there the processes of containers can be seen too."""

_DOMAIN = r"(?a)linux:([0-9a-f]*):(pid:\[\d+\])"
_RECORD = r"(?a)(\d{1,7})\.json"
_IN_USE = r"(?a)inuse\.(\d{1,7})\.lock"
_JOB = r"(?a)[\w-]{1,64}"
_SESSION = r"(?s)[^.].*"
_DIRECTORY = r"(?m)^cwd:[ \t]*(\S.*)$"


class Here(NamedTuple):
    """Where this process is: the machine's id, its pid namespace, and whether that is Linux's."""

    machine: str
    namespace: str
    linux: bool = True

    @classmethod
    def current(cls) -> Here:
        """The place of this process."""
        try:
            with open("/etc/machine-id", encoding="ascii") as file:
                machine = file.read().strip()
        except (OSError, UnicodeDecodeError):
            machine = ""
        return cls(machine, Place.current("").namespace, sys.platform.startswith("linux"))


class SessionRecord(NamedTuple):
    """What a client's file at `path` says of a session: that it runs, in `directory`, by the process of `holder`.

    `keeper` says who keeps such files, `status` what its session does in the client's word, `seen` is its last sign of
    life in epoch seconds. `placed` says that the pid means something here; `hold` is a file on which the client holds
    an flock while it lives.
    """

    keeper: str
    session: str
    path: str
    directory: str
    status: str
    seen: float
    holder: Holder
    placed: bool
    hold: str = ""

    @property
    def client(self) -> str:
        """The client whose session it is."""
        return CLAUDE if self.keeper == BACKGROUND else self.keeper


def fate_of_session(record: SessionRecord, processes: ProcessTable, here: Here) -> Fate:
    """What became of a session's process; ELSEWHERE where that cannot be told. Raises UnknownError where no processes
    can be seen.
    """
    if record.hold and is_held(record.hold):
        return Fate.ALIVE
    if not record.placed and here.linux and here.namespace != _HOST_NAMESPACE:
        return Fate.ELSEWHERE
    fate, ticks = fate_of(record.holder, record.seen, processes), record.holder.ticks
    if fate in (Fate.DEAD, Fate.RECYCLED) and not record.placed and ticks is not None:
        # In a container it has another pid; when it began is the same in all of them.
        lives = any(process.ticks == ticks and process.state not in ("Z", "X") for process in processes)
        fate = Fate.ALIVE if lives else fate
    return fate


def read_claude(value: Any, path: str, seen: float, here: Here) -> SessionRecord | None:
    """The record in Claude Code's `sessions/<pid>.json`; None where no session of somebody's runs by its own words.

    Raises ValueError where it is not one.
    """
    value, pid = _table(value), int(os.path.basename(path).removesuffix(".json"))
    if value.get("pid") != pid:
        raise ValueError(path)
    status, kind, session = value.get("status") or "", value.get("kind"), value.get("sessionId")
    if status not in OPEN or kind not in (None, "interactive", "bg") or value.get("spare") is True or not _is(session):
        return None
    holder, placed = _holder(pid, value, here)
    return SessionRecord(CLAUDE, session, path, _text(value.get("cwd")), status, seen, holder, placed)


def read_roster(
    value: Any, path: str, seen: float, here: Here, state_of: Callable[[str], str]
) -> Iterator[SessionRecord]:
    """The sessions in the roster of Claude Code's background service that are at work by their own words, which
    `state_of` gives. (From the others the service takes their processes away.) Raises ValueError.
    """
    for job, worker in _table(_table(value).get("workers")).items():
        if not isinstance(worker, dict) or not re.fullmatch(_JOB, job) or not _is(worker.get("sessionId")):
            continue
        pid = worker.get("pid")
        if type(pid) is int and 2 <= pid <= PID_LIMIT and (state := state_of(job)) == "working":
            holder, placed = _holder(pid, worker, here)
            directory = _text(worker.get("cwd"))
            yield SessionRecord(BACKGROUND, worker["sessionId"], path, directory, state, seen, holder, placed)


def read_workspace(text: str) -> str:
    """The working directory in Copilot CLI's `workspace.yaml`, empty where it does not say."""
    match = re.search(_DIRECTORY, text)
    if match is None:
        return ""
    word = match[1].rstrip(" \t")
    if word[0] == "'" and word[-1] == "'":
        return word[1:-1].replace("''", "'")
    try:
        return _text(json.loads(word)) if word[0] == '"' else word
    except ValueError:
        return ""


def read_state(text: str) -> str:
    """What Claude Code's `state.json` says of a session in the background: `working`, `done` …, or nothing."""
    try:
        return _text(_table(json.loads(text)).get("state"))
    except (ValueError, RecursionError):
        return ""


def _holder(pid: int, value: Mapping[str, Any], here: Here) -> tuple[Holder, bool]:
    """Who holds a record of Claude Code's, and whether that can be told here."""
    start, begun, domain = value.get("procStart"), value.get("startedAt"), value.get("pidDomain")
    ticks = int(start) if _is(start) and start.isascii() and start.isdigit() and len(start) <= 12 else None
    started = begun / 1000 if type(begun) is int and 0 < begun < 1 << 50 else None
    if not here.linux:  # a date of `ps`; what counts ticks is a container's or a virtual machine's
        away = ticks is not None or (_is(domain) and domain.startswith("linux:"))
        return Holder(pid, started=started, away=away), True
    if domain is None:
        return Holder(pid, ticks=ticks, started=started, away=ticks is None), False
    match = re.fullmatch(_DOMAIN, domain) if _is(domain) else None
    away = match is None or ticks is None or match[1] != here.machine
    return Holder(pid, namespace=match[2] if match else None, ticks=ticks, started=started, away=away), True


def _table(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError("no record")


def _is(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _text(value: object) -> str:
    return value if isinstance(value, str) and "\0" not in value else ""


def _text_of(path: str) -> str | None:
    """The content of a regular file, None where there is none. Raises OSError where it may not be read."""
    content = foreign.read(path, MOST_BYTES)
    return None if content is None else content.decode("utf-8", "replace")


@dataclass
class SessionSearch:
    """Finds records in the directories of clients, each file once, until `is_over`. `now` is in epoch seconds; `gaps`
    has what could not be looked at, or not to its end, and why; `torn` what is no record, though it is called like one.
    """

    here: Here
    now: float
    is_over: Callable[[], bool]
    gaps: dict[str, str] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    _done: set[str] = field(default_factory=set)

    def of_claude(self, directory: str) -> Iterator[SessionRecord]:
        """Those of Claude Code, whose configuration directory this is, and of its background service."""
        for path in self._files(os.path.join(directory, "sessions"), _RECORD):
            yield from self._read(path, lambda value, path, seen: [read_claude(value, path, seen, self.here)])
        path = os.path.join(directory, "daemon", "roster.json")
        if self._is_new(path):

            def state_of(job: str) -> str:
                return read_state(_text_of(os.path.join(directory, "jobs", job, "state.json")) or "")

            yield from self._read(path, lambda value, path, seen: read_roster(value, path, seen, self.here, state_of))

    def of_copilot(self, directory: str) -> Iterator[SessionRecord]:
        """Those of Copilot CLI, whose directory this is."""
        top = os.path.join(directory, "session-state")
        for folder in self._files(top, _SESSION):
            if self.is_over():
                self.gaps[top] = OVER
                return
            for path in self._files(folder, _IN_USE):
                yield self._in_use(folder, path)

    def _in_use(self, folder: str, path: str) -> SessionRecord:
        workspace, events = (os.path.join(folder, name) for name in ("workspace.yaml", "events.jsonl"))
        seen = max(self._changed(path), self._changed(workspace), self._changed(events))
        hold, holder = path.removesuffix(".lock") + ".hold", Holder(int(os.path.basename(path).split(".")[1]))
        try:
            text = _text_of(workspace) or ""
        except OSError:
            text = ""  # then it is nobody's that is known
        session, where = os.path.basename(folder), read_workspace(text)
        return SessionRecord(COPILOT, session, path, where, "in use", seen, holder, os.path.exists(hold), hold)

    def _is_new(self, path: str) -> bool:
        real, before = os.path.realpath(path), len(self._done)
        self._done.add(real)
        return len(self._done) > before

    def _files(self, directory: str, pattern: str) -> list[str]:
        if not self._is_new(directory):
            return []
        found = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if self.is_over():
                        self.gaps[directory] = OVER
                        break
                    if re.fullmatch(pattern, entry.name):
                        found.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self.gaps[directory] = error.strerror or str(error)
        return sorted(found)

    def _read(self, path: str, read: Callable[[Any, str, float], Any]) -> Iterator[SessionRecord]:
        if self.is_over():
            self.gaps.setdefault(os.path.dirname(path), OVER)
            return
        seen = self._changed(path)
        try:
            text = _text_of(path)
            if text is not None:
                yield from (record for record in read(json.loads(text), path, seen) if record is not None)
        except OSError as error:
            self.gaps[path] = error.strerror or str(error)
        except (ValueError, RecursionError):
            if self.now - seen > BEING_WRITTEN:
                self.torn.append(path)

    def _changed(self, path: str) -> float:
        """When a file last changed; by the file system's word where its own time lies in the future. 0: not there."""
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return 0.0
        return status.st_mtime if status.st_mtime <= self.now else min(status.st_mtime, status.st_ctime)
