"""Start a process that outlives us: in a process session of its own, with nothing of ours open.

Clients kill a slow end hook with its whole tree, and wait for whoever still holds its pipes. Standard library only, and
no `subprocess` (22 ms to import): this is on the silent path. Nor `fork`: a copy of this process takes five times as
long (1 ms), and copying one that has threads is not safe.
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

_OPEN = ("/proc/self/fd", "/dev/fd")
"""Where Linux and macOS list what a process has open."""


def detach(command: Sequence[str], environ: Mapping[str, str], keep: Sequence[int] = ()) -> bool:
    """Start `command` (absolute program first) detached; its descriptors are /dev/null and those in `keep`.

    When this returns True, the process is in its own session and runs the program, which calls `settle_down` first;
    False: it could not be started.
    """
    if not hasattr(os, "posix_spawn"):
        return _detach_on_windows(command, environ)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]
    actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in _open_descriptors() if fd > 2 and fd not in keep]
    try:
        for fd in keep:
            os.set_inheritable(fd, True)
        try:
            os.posix_spawn(command[0], list(command), environ, file_actions=actions, setsid=True)
        except NotImplementedError:  # a C library that cannot: `settle_down` does it
            os.posix_spawn(command[0], list(command), environ, file_actions=actions)
        for fd in keep:
            os.set_inheritable(fd, False)
    except (OSError, ValueError):
        return False
    return True


def settle_down() -> None:
    """What a detached process does first: it stands in nobody's way, and in nobody's directory."""
    os.chdir("/")
    if hasattr(os, "setsid") and os.getsid(0) != os.getpid():
        os.setsid()
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def _open_descriptors() -> Sequence[int]:
    for place in _OPEN:
        try:
            return [int(name) for name in os.listdir(place)]
        except OSError:
            continue
    return range(256)


def _detach_on_windows(command: Sequence[str], environ: Mapping[str, str]) -> bool:
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
