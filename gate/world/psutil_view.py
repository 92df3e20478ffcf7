"""What psutil tells of processes: outside Linux everything, there what proc(5) has in no plain file.

Imported where it is asked for something: its import takes as long as that of all checks together, and most suites on
Linux ask it nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import psutil

from gate.errors import UnknownError
from gate.world.processes import Process

_ASKED = ("ppid", "name", "status", "create_time", "terminal", "cpu_times", "memory_info")


def list_processes() -> Iterator[Process]:
    """Every process that can be seen."""
    for process in psutil.process_iter(_ASKED):
        info = process.info
        yield Process(
            process.pid,
            info["ppid"] or 0,
            info["name"] or "",
            "Z" if info["status"] == psutil.STATUS_ZOMBIE else "R",
            info["create_time"] or 0.0,
            None,
            *_group_and_session(process.pid),
            info["terminal"] is not None,
            sum(info["cpu_times"][:2]) if info["cpu_times"] else 0.0,
            info["memory_info"].rss if info["memory_info"] else 0,
        )


def _group_and_session(pid: int) -> tuple[int, int]:
    try:
        return os.getpgid(pid), os.getsid(pid)
    except OSError:
        return 0, 0


def ask(pid: int, question: str) -> object:
    """The answer of psutil's Process to `question`, the name of a method; None where the process is gone. Raises
    UnknownError where it may not be read.
    """
    try:
        return getattr(psutil.Process(pid), question)()
    except psutil.NoSuchProcess:
        return None
    except (psutil.Error, OSError) as error:
        raise UnknownError(f"process {pid} may not be inspected ({type(error).__name__})") from None


def exists(pid: int) -> bool:
    """Whether a process, and not merely a thread of one, has this id."""
    return psutil.pid_exists(pid)


def is_own(pid: int) -> bool:
    """Whether a process belongs to the user who asks."""
    try:
        return bool(psutil.Process(pid).uids().effective == os.geteuid())
    except (psutil.Error, OSError):
        return False


def ports(pid: int) -> list[int]:
    """The TCP ports that a process listens on; none where it is gone or may not be asked."""
    try:
        process = psutil.Process(pid)
        # Called `connections` before psutil 6.
        connections = (getattr(process, "net_connections", None) or process.connections)("tcp")
    except (psutil.Error, OSError):
        return []
    return sorted({each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN and each.laddr})


def open_files(pid: int) -> list[str]:
    """Names of the files that a process has open; none where it may not be looked at."""
    try:
        return [file.path for file in psutil.Process(pid).open_files()]
    except psutil.Error:
        return []
