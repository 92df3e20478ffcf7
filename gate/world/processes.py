"""The process table, read once for a whole suite; command lines and environments only of candidates.

Reading every process's arguments can stall on one that hangs in the kernel (incident: 13 linkers in D state), and
arguments hold tokens. So the snapshot has names and parents only, and each further question names one process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

from gate.errors import UnknownError
from gate.liveness import parse_stat, read_stat
from gate.tags import tag_of


class Process(NamedTuple):
    """One process: `started` in epoch seconds, `state` a letter of proc(5) (`Z` is a zombie).

    `ticks` is its start as the kernel counts it from boot, where it does: `started` moves with the clock. `group` and
    `session` are the ids of its process group and process session (0: not known), `terminal` says whether it has a
    controlling terminal, `seconds` is the processor time that it took, `memory` its resident bytes.
    """

    pid: int
    ppid: int
    name: str
    state: str
    started: float
    ticks: int | None = None
    group: int = 0
    session: int = 0
    terminal: bool = False
    seconds: float = 0.0
    memory: int = 0

    @property
    def key(self) -> str:
        """Stays the same for this process alone, though its pid will be used again."""
        return f"{self.pid}:{self.started:.2f}" if self.ticks is None else f"{self.pid}:{self.ticks}"


class ProcessTable:
    """The processes of this machine. Thread-safe; reads nothing before it is asked.

    The engine adds what it knows of sessions: `kin` has those of processes that do not name theirs, by the keys of the
    processes; `is_over` tells whether a tag is that of a session that has ended; `owners` are the ids of the clients of
    those that have not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files_lock = threading.Lock()  # what is open may lie where nothing answers, and the table must not wait
        self.kin: Mapping[str, str] = {}
        self.is_over: Callable[[str], bool] = lambda tag: False  # noqa: ARG005
        self.owners: Collection[int] = ()

    def __iter__(self) -> Iterator[Process]:
        with self._lock:
            return iter(self.snapshot)

    @cached_property
    def snapshot(self) -> Sequence[Process]:
        """Every process that could be seen at one moment. Raises UnknownError where there is no looking."""
        if sys.platform.startswith("linux"):
            return list(_from_proc("/proc"))
        return list(_psutil().list_processes())

    def get(self, pid: int) -> Process | None:
        """The process with this id in the snapshot."""
        return next((process for process in self if process.pid == pid), None)

    def exists(self, pid: int) -> bool:
        """Whether a process has this id now, also one that is younger than the snapshot or hidden from this user."""
        try:
            stat = read_stat(pid)
        except (OSError, OverflowError):
            return True
        return stat is not None and stat.state not in ("Z", "X") and _psutil().exists(pid)

    def named(self, names: frozenset[str] | set[str]) -> list[Process]:
        """Living processes whose program has one of these names (the kernel keeps 15 characters of one)."""
        short = {name[:15] for name in names}
        return [process for process in self if process.name[:15] in short and process.state not in ("Z", "X")]

    def arguments(self, pid: int) -> list[str] | None:
        """The command line, None where the process is gone. Raises UnknownError where it may not be read.

        May hold secrets: to decide by, never to show.
        """
        return cast("list[str] | None", self._ask(pid, "cmdline"))

    def directory(self, pid: int) -> str | None:
        """The working directory, None where the process is gone. Raises UnknownError where it may not be read."""
        return cast("str | None", self._ask(pid, "cwd"))

    def environ(self, pid: int) -> Mapping[str, str] | None:
        """The environment that a process was started with, None where it is gone. Raises UnknownError where it may not
        be read. May hold secrets: to decide by, never to show.
        """
        return cast("dict[str, str] | None", self._ask(pid, "environ"))

    def tag(self, pid: int) -> str | None:
        """The session named in the process's environment; None without one, or where it may not be read."""
        try:
            return tag_of(self.environ(pid) or {})
        except UnknownError:
            return None

    def is_own(self, pid: int) -> bool:
        """Whether a process belongs to the user who asks; root may read other people's too."""
        if not sys.platform.startswith("linux"):
            return _psutil().is_own(pid)
        try:
            return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
        except OSError:
            return False

    def ports(self, pid: int) -> list[int]:
        """The TCP ports that a process listens on; none where it is gone or may not be asked."""
        return list[int](_psutil().ports(pid))

    def directory_is_gone(self, pid: int) -> bool:
        """Whether the working directory of a process is deleted. By its link count: a directory may well be called
        `work (deleted)`. False where that cannot be told.
        """
        try:
            return sys.platform.startswith("linux") and os.stat(f"/proc/{pid}/cwd").st_nlink == 0
        except OSError:
            return False

    def has_lost_its_terminal(self, pid: int) -> bool:
        """Whether a process without a terminal still has one open that is closed: it was at work there, and has
        outlived it. False where that cannot be told.
        """
        try:
            names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1)]
        except OSError:
            return False
        return all(name.startswith("/dev/pts/") and name.endswith(_DELETED) for name in names)

    def holders(self, path: str) -> list[int]:
        """The ids of processes that have this file open, among those that may be looked at."""
        try:
            status = os.stat(path)
        except OSError:
            return []
        with self._files_lock:
            return self._open_files.get((status.st_dev, status.st_ino), [])

    @cached_property
    def _open_files(self) -> Mapping[tuple[int, int], list[int]]:
        """What is open, by device and inode. Read once, as the snapshot is: asked for each of 300 locks anew, it took
        all the time that there was.
        """
        found: dict[tuple[int, int], list[int]] = {}
        for process in self:
            mine = set()
            for name in _open_by(process.pid):
                try:
                    status = os.stat(name)
                except OSError:
                    continue
                mine.add((status.st_dev, status.st_ino))
            for file in mine:
                found.setdefault(file, []).append(process.pid)
        return found

    def _ask(self, pid: int, question: str) -> object:
        return _read(pid, question) if sys.platform.startswith("linux") else _psutil().ask(pid, question)


def _psutil() -> Any:
    from gate.world import psutil_view

    return psutil_view


def _read(pid: int, question: str) -> object:
    """The command line, environment or working directory from proc(5): psutil takes ten times as long, which thousands
    of leftovers (7,000 shells, anthropics/claude-code#40354) do not leave time for.
    """
    try:
        if question == "cwd":
            return _without_mark(os.readlink(f"/proc/{pid}/cwd"))
        with open(f"/proc/{pid}/{question}", "rb") as file:
            texts = os.fsdecode(file.read()).split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError as error:
        raise UnknownError(f"process {pid} may not be inspected ({error.strerror})") from None
    if question == "environ":
        return dict(text.split("=", 1) for text in texts if "=" in text)
    return texts[:-1] if texts[-1:] == [""] else texts


def _without_mark(path: str) -> str:
    """A directory's name without what the kernel puts behind that of a deleted one."""
    is_marked = path.endswith(_DELETED) and not os.path.lexists(path)
    return path.removesuffix(_DELETED) if is_marked else path


def _open_by(pid: int) -> list[str]:
    """Names of the files that a process has open; none where it may not be looked at."""
    if not sys.platform.startswith("linux"):
        return _psutil().open_files(pid)
    try:
        return [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


_DELETED = " (deleted)"
_PROC_CURE = "it is known where /proc is mounted and shows this user's own processes: ls -l /proc/self"


def _boot_time(root: str) -> float:
    """When the machine started (epoch seconds), by proc(5)."""
    with open(f"{root}/stat", "rb") as file:
        for line in file:
            if line.startswith(b"btime "):
                return float(line[6:])
    raise UnknownError(f"{root}/stat does not say when the machine started", _PROC_CURE)


def _from_proc(root: str) -> Iterator[Process]:
    # psutil takes seven times as long for the same fields (5,000 processes: 1.44 of pgrep's time, against 0.20).
    try:
        names = os.listdir(root)
        boot_time = _boot_time(root)
    except OSError as error:
        raise UnknownError(f"{root} cannot be read: {error.strerror}", _PROC_CURE) from None
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    seen_self = False
    for name in names:
        if not name.isdigit():
            continue
        try:
            fd = os.open(f"{root}/{name}/stat", os.O_RDONLY)
            try:
                stat = parse_stat(os.read(fd, 4096))
            finally:
                os.close(fd)
        except OSError:
            continue
        if stat is not None:
            seen_self = seen_self or int(name) == os.getpid()
            started = boot_time + stat.started / ticks
            yield Process(
                int(name), stat.ppid, stat.name, stat.state, started, stat.started, stat.group, stat.session,
                stat.terminal, stat.used / ticks, stat.memory * page,
            )  # fmt: skip
    if not seen_self:
        raise UnknownError(f"{root} hides the process table", _PROC_CURE)
