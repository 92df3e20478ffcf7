"""Real file systems that give no answer, for a command; the rest of the machine sees the directories as they are.

So what comes after a file system has come back is tried outside.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from kit import PYTHON, SILENT, TIMEOUT, Client, Machine

UNSERVED = Path(__file__).with_name("unserved.py")

SHORTLY = (
    "import os, sys; sys.path.append(sys.argv[1]); from gate import silent; "
    "silent.LIMIT = float(sys.argv[2]); os._exit(silent.main(sys.argv[3:]))"
)
"""What an installed hook line runs, under a watchdog with another limit (seconds)."""

SHORT = 1.5
"""Seconds. A hook needs some hundredths of one to come to where it hangs."""


def where_hangs(
    places: Sequence[Path], *command: str | Path, how: str = "hanging", before: Sequence[str | Path] = ()
) -> list[str]:
    """The command that runs `command` where these directories give no answer (or, `dead`, errors alone); `before` is
    the beginning of one that does something before they cease to answer.
    """
    own_mounts = ["unshare", "--map-root-user", "--mount", *before]
    return [str(word) for word in [*own_mounts, sys.executable, UNSERVED, how, len(places), *places, *command]]


def hook(boundary: str, limit: float | None = SHORT, client: str = "claude") -> list[str | Path]:
    """What an installed hook line runs, under a watchdog that waits for so many seconds (None: as it is installed)."""
    if limit is None:
        return [PYTHON, "-I", "-S", SILENT, boundary, "--client", client]
    return [PYTHON, "-I", "-S", "-c", SHORTLY, SILENT.parent.parent, str(limit), boundary, "--client", client]


def payload(boundary: str, cwd: Path, session: str = "session-1", **more: str) -> bytes:
    """What Claude Code tells its hooks."""
    event = {"start": "SessionStart", "end": "SessionEnd"}[boundary]
    return json.dumps({"session_id": session, "cwd": str(cwd), "hook_event_name": event} | more).encode()


class Begun:
    """A command that was started with a payload on its standard input, which stays open, as a client's may."""

    def __init__(self, machine: Machine, command: Sequence[str | Path], data: bytes = b"") -> None:
        self.process = subprocess.Popen(
            command, cwd=machine.directory, env=machine.environ, stdin=-1, stdout=-1, stderr=-1, start_new_session=True
        )
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ended(self) -> tuple[int, str, str]:
        """Wait for its end: its exit code, and what it printed and complained."""
        try:
            out, err = self.process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
            raise
        return self.process.returncode, out.decode(), err.decode()


def answer(machine: Machine, command: Sequence[str | Path], data: bytes) -> str:
    """What a hook prints; it complains of nothing."""
    code, out, err = Begun(machine, command, data).ended()
    assert (code, err) == (0, ""), out
    return out


def call(client: Client, boundary: str, places: Sequence[Path], limit: float | None = SHORT, **more: str) -> str:
    """Let a client call a hook where these directories give no answer; what the hook prints."""
    directory = client.machine.directory
    told, line = directory / f"payload-{client.process.pid}", directory / f"line-{client.process.pid}"
    told.write_bytes(payload(boundary, client.cwd, client.session, **more))
    line.write_text(f"{shlex.join(where_hangs(places, *hook(boundary, limit)))} < {shlex.quote(str(told))} 2>&1\n")
    return client.shell(f"sh {shlex.quote(str(line))}")


def need_mounts() -> None:
    """Skip, and say so, where no such file system can be mounted: that takes Linux, its FUSE, and namespaces."""
    if reason := _why_not():
        pytest.skip(reason)


@cache
def _why_not() -> str:
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None or not os.path.exists("/dev/fuse"):
        return "no hanging file system can be made here: that takes Linux, unshare and /dev/fuse"
    done = subprocess.run(where_hangs([UNSERVED.parent], "true"), capture_output=True, check=False)
    return (
        f"no hanging file system can be mounted here: {done.stderr.decode().strip()[-200:]}" if done.returncode else ""
    )
