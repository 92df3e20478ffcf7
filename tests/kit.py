"""What the tests share: the installed command, real repositories, a client process that one can talk to and kill."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from regular import Regular

from gate.registry import BUILT_IN

INSTALLATION = Regular()
GATE, SILENT, PYTHON = INSTALLATION.gate, INSTALLATION.silent, INSTALLATION.python
"""The command, and what an installed hook line runs: this interpreter with this file."""

TIMEOUT = 180

NO_PROCESSES = '[checks.left_processes]\nignore = ["*"]\n'


def only_processes(*names: str) -> str:
    """The same for all but those whose name begins so, each with a letter of its own: the process table is the whole
    machine's, and other tests run beside this one.
    """
    first = "".join(name[0] for name in names)
    others = [f"[!{first}]*"]
    others += [f"{name[:place]}[!{letter}]*" for name in names for place, letter in enumerate(name) if place]
    return f"[checks.left_processes]\nignore = {others}\n"


def clean_environ(home: Path) -> dict[str, str]:
    """An environment that reaches neither the real home nor the state, the clients and the git settings around us."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    for name in ("home", "tmp", "state"):
        (home / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    return kept | {
        "HOME": str(home / "home"),
        "TMPDIR": str(home / "tmp"),
        "CLAUDE_CODE_TMPDIR": str(home / "tmp"),  # else what real sessions have in /tmp is looked at too
        "SESSION_GATE_STATE_DIR": str(home / "state"),
        "SESSION_GATE_CONFIG": str(home / "config" / "config.toml"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "TZ": "UTC",
    }


class Machine:
    """A made-up user on this machine: a home, a state directory, and the installed command."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environ = clean_environ(directory)
        self.config = directory / "config" / "config.toml"
        self.config.parent.mkdir(mode=0o700)
        # What really records and runs on this machine is no business of the tests.
        self.config.write_text(f"[checks.capture_streams]\nmax_streams = 100000\n{NO_PROCESSES}")
        self.state = directory / "state"
        self.temp = directory / "tmp"

    def only(self, check: str) -> None:
        """Switch all checks off but this one: what is tried a hundred times is the boundary, whatever runs at it."""
        others = [name for name in BUILT_IN if name != check]
        self.config.write_text(f"disable = {others}\n")

    def gate(
        self, *arguments: str, cwd: Path | None = None, payload: bytes | None = None, **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the installed command. Without `payload` its standard input stays open and silent."""
        read_end, write_end = os.pipe()
        try:
            return subprocess.run(
                [GATE, *arguments],
                cwd=cwd or self.directory,
                env=self.environ | environ,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
                **({"stdin": read_end} if payload is None else {"input": payload}),
            )
        finally:
            os.close(read_end)
            os.close(write_end)

    def text(self, *arguments: str, cwd: Path, code: int = 0, **environ: str) -> str:
        """What a command prints, its exit code checked."""
        done = self.gate(*arguments, cwd=cwd, **environ)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout.decode()

    def json(self, *arguments: str, cwd: Path, code: int = 0, **environ: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.text(*arguments, "--format", "json", cwd=cwd, code=code, **environ))

    def verdict(self, cwd: Path, **environ: str) -> str:
        """The verdict on a project."""
        return str(self.json("status", cwd=cwd, **environ)["verdict"])

    def repository(self, name: str = "project") -> Path:
        """A real repository with one commit."""
        path = self.directory / name
        path.mkdir()
        self.git(path, "init", "--quiet", "--initial-branch=main")
        self.git(path, "config", "user.name", "A Person")
        self.git(path, "config", "user.email", "person@example.org")
        (path / "README").write_text("a project\n")
        self.commit(path)
        return path

    def git(self, cwd: Path, *arguments: str) -> str:
        """Run git."""
        command = ["git", "-c", "commit.gpgsign=false", *arguments]
        done = subprocess.run(command, cwd=cwd, env=self.environ, capture_output=True, check=True, timeout=TIMEOUT)
        return done.stdout.decode()

    def commit(self, cwd: Path) -> None:
        """Commit everything."""
        self.git(cwd, "add", "--all")
        self.git(cwd, "commit", "--quiet", "--message", "work")

    def project_dir(self) -> Path:
        """The state directory of the only project known."""
        (found,) = [path for path in self.state.iterdir() if path.is_dir()]
        return found

    def marker(self) -> Any:
        """The marker of the only project known."""
        return json.loads((self.project_dir() / "marker.json").read_bytes())

    def records(self) -> list[Path]:
        """Every record of every project."""
        return sorted(self.state.glob("*/sessions/*.json"))

    def kill_detached(self, task: str, session: str) -> None:
        """Kill the finisher (`finish`) or follower (`complete`) of a session, which must be at work."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if task in words and session in words and process.environ().get("HOME") == self.environ["HOME"]:
                found.append(process)
        assert len(found) == 1
        found[0].kill()

    def settle(self) -> None:
        """Wait until no finisher and no follower is at work: each holds a lock as long as it lives."""
        deadline = time.monotonic() + TIMEOUT
        while locks := [path for path in self.state.glob("*/sessions/*.lock") if _wait_for(path)]:
            assert time.monotonic() < deadline, f"still locked: {locks}"


@contextmanager
def child(*command: str | Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A real process that has printed its first line; it can be told something, and does not outlive the test."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), f"{command} ended at once"
            yield process
        finally:
            process.kill()


def python(code: str, *arguments: str | Path) -> list[str | Path]:
    """The command of a Python program that prints a line when it is ready."""
    return [sys.executable, "-c", code, *arguments]


def _wait_for(path: Path) -> bool:
    """Block until nobody holds the lock at `path`; whether it was held."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(fd, fcntl.LOCK_SH)
            return True
        return False
    finally:
        os.close(fd)


def wait_for_exit(process: psutil.Process) -> None:
    """Wait until a process that is not a child of ours has ended; its parent may take a while to ask for it."""
    if not hasattr(os, "pidfd_open"):
        process.wait(TIMEOUT)
        return
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], TIMEOUT)[0], f"{process} does not end"
    finally:
        os.close(fd)


class Client:
    """A process called `claude` that runs hooks as its children, as the real client does; and can be killed."""

    def __init__(self, machine: Machine, cwd: Path, session: str = "session-1") -> None:
        self.machine = machine
        self.cwd = cwd
        self.session = session
        program = machine.directory / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        if not program.exists():
            program.write_text('#!/bin/sh\nwhile read -r line; do eval "$line"; echo "<$?>"; done\n')
            program.chmod(0o755)
        self.process = subprocess.Popen(
            [program],
            cwd=cwd,
            env=machine.environ | {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def shell(self, command: str) -> str:
        """Run one line in the client, as its shell tool would; what it prints."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        printed = b""
        while not printed.rstrip(b"\n").endswith(b">"):
            line = self.process.stdout.readline()
            assert line, f"the client ended: {printed!r}"
            printed += line
        text = printed.decode().rstrip("\n")
        assert text.endswith("<0>"), text
        return text.removesuffix("<0>")

    def hook(self, boundary: str, **payload: str) -> str:
        """Let the client call a hook; what the hook prints."""
        event = {"start": "SessionStart", "end": "SessionEnd"}[boundary]
        value = {"session_id": self.session, "cwd": str(self.cwd), "hook_event_name": event} | payload
        file = self.machine.directory / f"payload-{os.getpid()}-{self.process.pid}.json"
        file.write_text(json.dumps(value))
        return self.shell(f"{PYTHON} -I -S {SILENT} {boundary} --client claude < {file}")

    def start(self, source: str = "startup") -> str:
        """A session start; the text that is injected, empty when the hook prints nothing."""
        return injected(self.hook("start", source=source))

    def end(self, reason: str = "other") -> None:
        """A session end: the hook prints nothing, the client goes, the finisher is waited for."""
        assert self.hook("end", reason=reason) == ""
        self.exit()
        self.machine.settle()

    def leave(self, name: str) -> None:
        """A whole session, which leaves a file that nobody committed."""
        self.start()
        self.machine.settle()
        self.shell(f"echo one > {name}")
        self.end()

    def exit(self) -> None:
        """The client goes in order."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(TIMEOUT)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def kill(self) -> None:
        """The client is killed: no end hook runs."""
        self.process.kill()
        self.process.wait(TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def injected(output: str) -> str:
    """The context in what a start hook prints for Claude Code, in just the envelope that the client takes."""
    if not output:
        return ""
    value: Mapping[str, Any] = json.loads(output)
    assert set(value) == {"hookSpecificOutput", "systemMessage"}
    assert set(value["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert value["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert value["systemMessage"]
    return str(value["hookSpecificOutput"]["additionalContext"])


def green(machine: Machine, project: Path) -> None:
    """Bring a project to where nothing is left behind."""
    machine.text("end", cwd=project)
    assert machine.verdict(project) == "green"
