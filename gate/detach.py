"""Start a process that outlives us: in a process session of its own, with nothing of ours open.

Clients kill a slow end hook with its whole tree, and wait for whoever still holds its pipes. Standard library only, and
no `subprocess` (22 ms to import): this is on the silent path.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


NICENESS = 10
"""Nobody waits for what is detached: it must not slow down a session that starts or ends meanwhile (50 ends at once on
two cores: the slowest hook took 7 s)."""


def detach(command: Sequence[str], environ: Mapping[str, str], keep: Sequence[int] = ()) -> bool:
    """Start `command` (absolute program first) detached; its descriptors are /dev/null and those in `keep`.

    When this returns True, the process is in its own session and runs the program; False: it could not be started.
    """
    if not hasattr(os, "fork"):
        return _detach_without_fork(command, environ)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(command, environ, keep, write_end)
    os.close(write_end)
    failed = os.read(read_end, 1)  # ends when exec closes the other end, or when the child is gone
    os.close(read_end)
    if failed:
        os.waitpid(pid, 0)
    return not failed


def _become(command: Sequence[str], environ: Mapping[str, str], keep: Sequence[int], write_end: int) -> None:
    try:
        os.setsid()
        os.nice(NICENESS)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        start = 3
        for fd in sorted({*keep, write_end}):
            os.closerange(start, fd)
            start = fd + 1
        os.closerange(start, 65536)
        for fd in keep:
            os.set_inheritable(fd, True)
        os.execve(command[0], list(command), dict(environ))  # noqa: S606
    except BaseException:  # noqa: BLE001 - in a forked child nothing may go on
        os.write(write_end, b"x")
    finally:
        os._exit(127)


def _detach_without_fork(command: Sequence[str], environ: Mapping[str, str]) -> bool:
    import subprocess

    try:
        subprocess.Popen(
            list(command),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
        )
    except OSError:
        return False
    return True


def own_command(script: str, *arguments: str) -> list[str]:
    """The command that runs one of our own files with this interpreter: isolated, so that nothing comes from the
    working directory or from PYTHONPATH, and without `site`, which the file itself calls when it needs more than the
    standard library.
    """
    return [sys.executable, "-I", "-S", script, *arguments]
