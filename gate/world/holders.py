"""Who holds a lock: what the lock says, and whether that process can still be the one that took it.

Locks name their holder each in its own way, or not at all. A pid alone proves nothing (it is used again), and what is
not understood is left out, never guessed: a looser reading once took a UUID for a pid, and a live session's directory
was removed.
"""

from __future__ import annotations

import enum
import json
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from gate.errors import UnknownError
from gate.liveness import Place
from gate.project import Project
from gate.quote import Phrase, say
from gate.world.processes import Process, ProcessTable
from gate.world.worktrees import Worktree

CONTENT_LIMIT = 4096
"""Bytes. A lock says in a line or a few whose it is; a longer `*.lock` is something else, say a list of versions."""

PID_LIMIT = 1 << 22
"""Linux's own upper bound (PID_MAX_LIMIT); a larger number is a time, or a part of something else."""

TOLERANCE = 1.0
"""Seconds by which clocks may disagree when a process's start is compared with the time of its lock."""

# "4242"; "4242 some.host" (git's gc.pid); or that as the first of several lines
_PLAIN = r"(?as)(\d+)(?:[ \t]+(\S+))?[ \t]*(?:\r?\n.*)?"
# "claude session NAME (pid 4242 start 8675309)", "openclaw pid=4242", "claim pid=4242 host=HOST", "pid: 4242"
_NAMED = r"(?ai)(?:\(pid |(?<![\w-])pid\s*[:=]\s*)(\d+)(?![\w.-])(?: start (\d{1,12})\))?"
_HOST = r"(?ai)(?<![\w-])host(?:name)?\s*[:=]\s*([\w.-]+)"
_NAMESPACE = r"(?a)pid:\[\d+\]"


class Holder(NamedTuple):
    """What a lock says about who holds it.

    `host` and `namespace` (as /proc/self/ns/pid has it) are where the pid means something, None where the lock does not
    say; `away` says that it is elsewhere for sure, since what the lock guards cannot be seen from here. `ticks` is the
    start of that process as field 22 of /proc/PID/stat has it, `started` the same in epoch seconds.
    """

    pid: int | None = None
    host: str | None = None
    namespace: str | None = None
    ticks: int | None = None
    started: float | None = None
    away: bool = False

    @property
    def where(self) -> Phrase:
        """Where a holder is that is not here."""
        if self.away:
            return say("where its worktree is, not here")
        return say("on another host: {}", self.host) if self.host else say("in another pid namespace")


class Fate(enum.Enum):
    """What became of a lock's holder."""

    ALIVE = "alive"
    DEAD = "dead"
    RECYCLED = "its pid is another process's"
    ELSEWHERE = "cannot be probed from here"
    NOBODY = "not named"


def fate_of(holder: Holder, written: float, processes: ProcessTable) -> Fate:
    """What became of the holder of a lock that was written (or refreshed) at `written`, in epoch seconds.

    A process whose start is not known is taken for the holder. Raises UnknownError where no processes can be seen.
    """
    here = Place.current("")
    if holder.away:
        return Fate.ELSEWHERE
    if holder.host and here.host and not same_host(holder.host, here.host):
        return Fate.ELSEWHERE
    if holder.namespace and here.namespace and holder.namespace != here.namespace:
        return Fate.ELSEWHERE
    if holder.pid is None:
        return Fate.NOBODY
    process = processes.get(holder.pid)
    if process is None:  # perhaps it is younger than the snapshot
        return Fate.ALIVE if processes.exists(holder.pid) else Fate.DEAD
    if process.state in ("Z", "X"):
        return Fate.DEAD
    return Fate.ALIVE if _can_be(process, holder, written) else Fate.RECYCLED


def _can_be(process: Process, holder: Holder, written: float) -> bool:
    if holder.ticks is not None and process.ticks is not None:
        return process.ticks == holder.ticks  # whatever the clock did meanwhile
    if process.started <= 0:
        return True
    known = written if holder.started is None else min(written, holder.started)
    return process.started <= known + TOLERANCE


def same_host(one: str, other: str) -> bool:
    """Whether two names can be one host's: alike, or one the short form of the other. Case does not count."""
    one, other = one.lower().rstrip("."), other.lower().rstrip(".")
    return one == other or one.startswith(other + ".") or other.startswith(one + ".")


def parse_holder(content: bytes, name: str = "") -> Holder:
    """What the content of a lock, else its name, says about its holder. Takes any bytes; never raises."""
    text = content[:CONTENT_LIMIT].decode("utf-8", "replace").strip("\0 \t\r\n")
    namespace = re.search(_NAMESPACE, text)
    found = _parse_json(text) if text.startswith("{") else _parse_text(text)
    pid = _pid(name) if found.pid is None else found.pid
    return Holder(pid, found.host, namespace[0] if namespace else None, found.ticks, found.started)


def parse_link(target: str) -> Holder:
    """What a lock says that is a symbolic link to nothing: Chrome's `SingletonLock` is one to `HOST-PID`."""
    host, _, digits = target.rpartition("-")
    pid = _pid(digits)
    return Holder(pid, host) if pid is not None and host and "/" not in host else Holder()


def _parse_text(text: str) -> Holder:
    plain = re.fullmatch(_PLAIN, text)
    if plain:
        is_name = plain[2] and re.search("[A-Za-z]", plain[2])  # else a second number, say a time
        return Holder(_pid(plain[1]), plain[2] if is_name else None)
    return parse_reason(text)


def parse_reason(text: str) -> Holder:
    """What the reason of a `git worktree lock` says: clients name a process in theirs, a person does not (and may
    write any number in it).
    """
    matches = list(re.finditer(_NAMED, text))
    if not matches:
        return Holder()
    last, host = matches[-1], re.search(_HOST, text)  # what stands before the last may be a name that somebody chose
    return Holder(_pid(last[1]), host[1] if host else None, ticks=int(last[2]) if last[2] else None)


def _parse_json(text: str) -> Holder:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Holder()  # torn: half a number would be another process's
    found = _of_fields(value)
    if found.pid is None:  # {"owner": {"pid": …}}
        inner = [_of_fields(each) for each in value.values() if isinstance(each, dict)]
        found = next((each for each in inner if each.pid is not None), found)
    return found


def _of_fields(value: dict[str, object]) -> Holder:
    fields = {key.lower().replace("_", "").replace("-", ""): field for key, field in value.items()}
    host, ticks = fields.get("host") or fields.get("hostname"), str(fields.get("procstart"))
    return Holder(
        pid=_pid(fields.get("pid") or fields.get("processid")),
        host=host if isinstance(host, str) and host else None,
        # Claude Code's, on Linux; elsewhere a date of `ps`, or a longer count from another age
        ticks=int(ticks) if ticks.isascii() and ticks.isdigit() and len(ticks) <= 12 else None,
        started=_epoch(fields.get("starttime")),
    )


def _pid(value: object) -> int | None:
    """A number that can be a pid; pid 1 outlives everybody, and so tells nothing."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 7:
        value = int(value)
    return value if type(value) is int and 2 <= value <= PID_LIMIT else None


def _epoch(value: object) -> float | None:
    """Seconds since the epoch from a number of seconds or milliseconds, where it is a time after 2001."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    seconds = value / 1000 if 1e12 <= value < 1e13 else value
    return float(seconds) if 1e9 <= seconds < 1e10 else None


def is_git_at_work(processes: ProcessTable, project: Project, worktrees: Iterable[Worktree]) -> bool:
    """Whether a git that may hold a lock runs in the repository or in one of its worktrees.

    Raises UnknownError where it cannot be told, because of a git whose working directory may not be read.
    """
    places = [project.root, project.common_dir or project.root, *(worktree.path for worktree in worktrees)]
    inside = tuple(os.path.join(place, "") for place in places)
    hidden = None
    for process in processes:
        if not _is_git(process):
            continue
        try:
            directory = processes.directory(process.pid)
        except UnknownError:
            hidden = process
            continue
        is_there = directory is not None and os.path.join(directory, "").startswith(inside)
        if is_there and not _only_reads(processes, process):
            return True
    if hidden is not None:
        raise UnknownError(f"git (process {hidden.pid}) may be at work there, and may not be inspected")
    return False


def _is_git(process: Process) -> bool:
    name = process.name.removesuffix(".exe")
    return (name == "git" or name.startswith("git-")) and process.state not in ("Z", "X")


def _only_reads(processes: ProcessTable, process: Process | None) -> bool:
    """A git of this suite's (`gate.world.git` starts them so), what that starts, and the daemon that watches files: it
    is there for days (incident: with one alive beside it, a dead commit's index.lock stopped a fleet).
    """
    while process is not None and _is_git(process):
        try:
            arguments = processes.arguments(process.pid) or []
        except UnknownError:
            return False
        if arguments[1:2] == ["--no-optional-locks"] or "fsmonitor--daemon" in arguments:
            return True
        process = processes.get(process.ppid)
    return False
