"""The process table, read once for a whole suite; command lines and environments only of candidates.

Reading every process's arguments can stall on one that hangs in the kernel (incident: 13 linkers in D state), and
arguments hold tokens. So the snapshot has names and parents only, and each further question names one process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import psutil

from gate.errors import UnknownError
from gate.liveness import parse_stat, read_stat
from gate.tags import tag_of


@dataclass(frozen=True, slots=True)
class Process:
    """One process: `started` in epoch seconds, `state` a letter of proc(5) (`Z` is a zombie).

    `ticks` is its start as the kernel counts it from boot, where it does: `started` moves with the clock.
    """

    pid: int
    ppid: int
    name: str
    state: str
    started: float
    ticks: int | None = None

    @property
    def key(self) -> str:
        """Stays the same for this process alone, though its pid will be used again."""
        return f"{self.pid}:{self.started:.2f}" if self.ticks is None else f"{self.pid}:{self.ticks}"


class ProcessTable:
    """The processes of this machine. Thread-safe; reads nothing before it is asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Process]:
        with self._lock:
            return iter(self.snapshot)

    @cached_property
    def snapshot(self) -> Sequence[Process]:
        """Every process that could be seen at one moment. Raises UnknownError where there is no looking."""
        if sys.platform.startswith("linux"):
            return list(_from_proc("/proc"))
        return list(_from_psutil())

    def get(self, pid: int) -> Process | None:
        """The process with this id in the snapshot."""
        return next((process for process in self if process.pid == pid), None)

    def exists(self, pid: int) -> bool:
        """Whether a process has this id now, also one that is younger than the snapshot or hidden from this user."""
        try:
            stat = read_stat(pid)
        except (OSError, OverflowError):
            return True
        return stat is not None and stat.state not in ("Z", "X") and psutil.pid_exists(pid)  # no thread's id

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

    def tag(self, pid: int) -> str | None:
        """The session named in the process's environment; None without one, or where it may not be read."""
        try:
            environ = cast("dict[str, str] | None", self._ask(pid, "environ")) or {}
        except UnknownError:
            return None
        return tag_of(environ)

    def holders(self, path: str) -> list[int]:
        """The ids of processes that have this file open, among those that may be looked at."""
        try:
            status = os.stat(path)
        except OSError:
            return []
        with self._lock:
            return self._open_files.get((status.st_dev, status.st_ino), [])

    @cached_property
    def _open_files(self) -> Mapping[tuple[int, int], list[int]]:
        """What is open, by device and inode. Read once, as the snapshot is: asked for each of 300 locks anew, it took
        all the time that there was.
        """
        found: dict[tuple[int, int], list[int]] = {}
        for process in self.snapshot:
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
        try:
            return getattr(psutil.Process(pid), question)()
        except psutil.NoSuchProcess:
            return None
        except (psutil.Error, OSError) as error:
            raise UnknownError(f"process {pid} may not be inspected ({type(error).__name__})") from None


def _open_by(pid: int) -> list[str]:
    """Names of the files that a process has open; none where it may not be looked at."""
    if sys.platform.startswith("linux"):
        try:
            return [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            return []
    try:
        return [file.path for file in psutil.Process(pid).open_files()]
    except psutil.Error:
        return []


_PROC_CURE = "it is known where /proc is mounted and shows this user's own processes: ls -l /proc/self"


def _from_proc(root: str) -> Iterator[Process]:
    # psutil takes seven times as long for the same fields (5,000 processes: 1.44 of pgrep's time, against 0.20).
    try:
        names = os.listdir(root)
        boot_time = psutil.boot_time()
    except OSError as error:
        raise UnknownError(f"{root} cannot be read: {error.strerror}", _PROC_CURE) from None
    ticks = os.sysconf("SC_CLK_TCK")
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
            yield Process(int(name), stat.ppid, stat.name, stat.state, started, stat.started)
    if not seen_self:
        raise UnknownError(f"{root} hides the process table", _PROC_CURE)


def _from_psutil() -> Iterator[Process]:
    zombie = psutil.STATUS_ZOMBIE
    for process in psutil.process_iter(["ppid", "name", "status", "create_time"]):
        info = process.info
        yield Process(
            process.pid,
            info["ppid"] or 0,
            info["name"] or "",
            "Z" if info["status"] == zombie else "R",
            info["create_time"] or 0.0,
        )
