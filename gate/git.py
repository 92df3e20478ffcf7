"""git, hardened: it runs in repositories that other people made, unasked, at every session's start.

It takes no locks, runs nothing that a repository's configuration names, asks nobody, and is ended gently: a git that is
killed hard leaves `index.lock` behind (incident: a hook's own `git` did, cut off by its Python time limit), and then
the gate would be the incident. GitPython's own time limit kills hard, and its import costs 150 ms: docs/decisions.md.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

from gate.errors import UnknownError

GRACE = 1.0
"""Seconds between the request to end and the kill."""

_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")

_SETTINGS = (
    "core.fsmonitor=false",
    "core.untrackedCache=keep",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.sshCommand=false",
    "core.quotePath=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=none",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "status.renames=true",
    "submodule.recurse=false",
)


class Git:
    """Runs read-only git commands. `environ` is the environment to clean and pass on."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = clean_environ(environ)
        self._program = find_program("git", self._environ.get("PATH", os.defpath))
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._filters: dict[str, tuple[str, ...]] = {}

    def run(self, directory: str, *arguments: str, timeout: float, ok: Sequence[int] = (0,)) -> bytes:
        """The output of `git -C directory arguments…`.

        Raises UnknownError, with the reason, where git is missing, fails or takes longer than `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        settings = [*_SETTINGS, *self._disarmed_filters(directory, deadline)]
        return self._run(directory, settings, arguments, deadline, ok)

    def _run(
        self, directory: str, settings: Sequence[str], arguments: Sequence[str], deadline: float, ok: Sequence[int]
    ) -> bytes:
        if self._program is None:
            raise UnknownError("git was not found in PATH")
        options = [word for setting in settings for word in ("-c", setting)]
        command = [self._program, "--no-optional-locks", *options, "-C", directory, *arguments]
        with self._lock:
            if self._closed:
                raise UnknownError("the time for git was over")
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self._environ,
                    cwd="/",
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise UnknownError(f"git could not be started: {error}") from None
            self._running.add(process)
        started = time.monotonic()
        try:
            output, errors = process.communicate(timeout=max(0.0, deadline - started))
        except subprocess.TimeoutExpired:
            end_group(process)
            raise UnknownError(f"git gave no answer in {max(0.0, deadline - started):.3g} s") from None
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode not in ok:
            raise UnknownError(f"git failed: {_first_line(errors) or f'exit status {process.returncode}'}")
        return output

    def _disarmed_filters(self, directory: str, deadline: float) -> tuple[str, ...]:
        """Settings that take the programs away which the repository's own configuration names as content filters.

        `git status` runs a filter to compare contents. The user's own, from the global configuration, stay: they are
        the user's programs, and without them every filtered file would look changed.
        """
        if directory not in self._filters:
            listed = self._run(
                directory, _SETTINGS, ("config", "--show-scope", "--name-only", "-z", "--list"), deadline, (0, 1)
            )
            fields = listed.decode("utf-8", "surrogateescape").split("\0")
            names = [
                name for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope in ("local", "worktree")
            ]
            drivers = {name.rpartition(".")[0] for name in names if name.startswith("filter.")}
            self._filters[directory] = tuple(
                f"{driver}.{key}"
                for driver in sorted(drivers)
                for key in ("clean=", "smudge=", "process=", "required=false")
            )
        return self._filters[directory]

    def close(self) -> None:
        """End whatever still runs, gently, with all it started; later calls are refused."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and all of its group to end, and kill what is left after `GRACE` seconds."""
    for sign, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        try:
            os.killpg(process.pid, sign)
        except (ProcessLookupError, PermissionError):
            return
        try:
            process.communicate(timeout=patience)
            return
        except (subprocess.TimeoutExpired, ValueError, OSError):
            continue


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for git: nothing that says where the repository is (a surrounding git hook sets it, see
    `git rev-parse --local-env-vars`), that traces, or that names a program; no prompt, no locks, English messages.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
    for name in ("SSH_ASKPASS", "PAGER", "LESSOPEN", "EDITOR", "VISUAL"):
        kept.pop(name, None)
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }


def find_program(name: str, path: str) -> str | None:
    """A program by PATH, its absolute directories only: nothing is ever run from the working directory."""
    absolute = os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))
    return shutil.which(name, path=absolute) if absolute else None


def _first_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
