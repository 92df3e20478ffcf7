"""A program of which an answer is wanted: started with bounds, listened to for a time, and ended with all it started.

It is ended gently: a git that is killed hard leaves `index.lock` behind (incident: a hook's own `git` did, cut off by
its Python time limit), and then the gate would be the incident.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from gate.errors import UnknownError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

GRACE = 1.0
"""Seconds between the request to end and the kill."""

CPU_LIMIT = 120
"""Seconds of processor time after which a git ends by itself. If the gate is killed nobody else would end it (incident:
a hook in a home directory with a stray repository; the host gave up, and its processes went on for 25 minutes of CPU).
"""

MEMORY_LIMIT = 1 << 30
"""Bytes that a program may take for itself; files that it maps to read (packs) do not count. git reads some files to
their end, whatever they are: with a link to /dev/zero as its list of alternates it took a gigabyte a second.
"""

ANSWER_LIMIT = 256 << 20
"""Bytes of an answer. A list of a million paths has some 100 MB."""

ERRORS_LIMIT = 64 << 10
"""Bytes that are kept of what a program says beside its answer."""


UNCLEAR = "git's answer could not be understood"
"""Why something is not known where an answer is none that it could be."""

_LATEST = 1e12
"""Epoch seconds. A commit can say that it is of any time (git takes eighteen digits); later ones are all alike."""


class TooLongError(Exception):
    """A program said more than `ANSWER_LIMIT`."""


def start(command: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program in a process session of its own, with nothing to read. Raises OSError and ValueError."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        cwd="/",
        start_new_session=True,
    )
    _limit(process.pid)
    return process


def listen(process: subprocess.Popen[bytes], patience: float) -> tuple[bytes, bytes]:
    """What a program prints until it ends, and the beginning of what it says beside. Its own end is waited for.

    Raises TimeoutExpired where that takes longer than `patience` seconds, and TooLongError.
    """
    deadline = time.monotonic() + patience
    said: dict[object, list[bytes]] = {process.stdout: [], process.stderr: []}
    length = dict.fromkeys(said, 0)
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout or length[key.fileobj] < ERRORS_LIMIT:
                    said[key.fileobj].append(chunk)
                    length[key.fileobj] += len(chunk)
            if length[process.stdout] > ANSWER_LIMIT:
                raise TooLongError
            if time.monotonic() >= deadline and selector.get_map():
                raise subprocess.TimeoutExpired(process.args, patience)
    process.wait(max(0.0, deadline - time.monotonic()))
    return b"".join(said[process.stdout]), b"".join(said[process.stderr])


def epoch(text: str) -> float:
    """A time as git prints it, in epoch seconds. Raises ValueError for anything else."""
    seconds = float(text)
    if math.isnan(seconds):
        raise ValueError(text)
    return max(-_LATEST, min(seconds, _LATEST))


def number_in(answer: str) -> int:
    """A count that git prints. Raises UnknownError for anything else."""
    text = answer.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UnknownError(UNCLEAR)
    return int(text)


def _limit(pid: int) -> None:
    if resource is None or not hasattr(resource, "prlimit"):
        return
    for what, soft, hard in (
        (resource.RLIMIT_CPU, CPU_LIMIT, CPU_LIMIT + 1),
        (resource.RLIMIT_DATA, MEMORY_LIMIT, MEMORY_LIMIT),
    ):
        try:
            resource.prlimit(pid, what, (soft, hard))
        except (OSError, ValueError):  # it is gone already, or may do even less
            pass


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and all of its group to end, and kill what is left after `GRACE` seconds."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except (ProcessLookupError, PermissionError):
            break
        if _has_ended(process, GRACE):
            break
    process.poll()


def _has_ended(process: subprocess.Popen[bytes], patience: float) -> bool:
    """Whether nobody is left in the group within `patience` seconds; a group can outlive its leader."""
    deadline, pause = time.monotonic() + patience, 0.001
    while True:
        if process.poll() is not None and not _lives(process.pid):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def _lives(group: int) -> bool:
    """Whether a process of this group lives. A zombie does not, and where pid 1 reaps nobody (in many containers it is
    just a program) it stays one.
    """
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    return any(_is_member(pid, group) for pid in pids) if pids else True


def _is_member(pid: str, group: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return int(its_group) == group and state not in (b"Z", b"X")
