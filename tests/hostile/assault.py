"""A hostile surrounding for the installed command, and what must hold whatever it meets there."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from kit import TIMEOUT, Client, Machine
from tally import refuse, tried

COMMANDS = ("run", "status", "list", "config", "doctor", "start", "end")
CODES: Mapping[str, frozenset[int]] = {
    "run": frozenset((0, 1)),
    "end": frozenset((0, 1)),
    "doctor": frozenset((0, 1)),
}
"""Exit codes that the contract allows; 0 for all others."""

NOISY_TRACES = (b"Traceback", b"Error:", b"internal error")
LEAVE = """
import os, sys
pid = os.fork()
if not pid:
    os.setsid()
    os.dup2(2, 1)
    os.execv(sys.argv[1], sys.argv[2:])
print(pid)
"""
"""Starts a process with these arguments (program, then all its words) that is nobody's child, and prints its id."""

ON_A_TERMINAL = f'{sys.executable} -c "import pty, sys; pty.spawn(sys.argv[1:])"'


def template(directory: Path) -> Path:
    """A repository with one commit, made once in a test process."""
    if not _templates:
        above = next(path for path in (directory, *directory.parents) if path.name.startswith("test_")).parent
        machine = Machine(above / "hostile-template")
        made = machine.repository()
        shutil.rmtree(made / ".git" / "hooks")
        _templates.append(made)
    return _templates[0]


_templates: list[Path] = []


@dataclass
class Assault:
    """One machine with hostile repositories on it, and a file that anything that is run leaves behind."""

    directory: Path
    machine: Machine = field(init=False)
    traps: list[str] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    things: int = 0

    def __post_init__(self) -> None:
        self.machine = Machine(self.directory / "machine")
        self.pwned = self.directory / "pwned"

    def repository(self, name: str = "project") -> Path:
        """A repository with one commit."""
        path = self.machine.directory / name
        shutil.copytree(template(self.directory), path, symlinks=True)
        return path

    def git(self, cwd: Path, *arguments: str) -> str:
        """git, as whoever prepares the attack would use it."""
        settings = ("protocol.file.allow=always", "core.hooksPath=/dev/null", "core.fsmonitor=false")
        return self.machine.git(cwd, *[word for one in settings for word in ("-c", one)], *arguments)

    def trap(self, name: str, path: Path | None = None, code: int = 1, proven: bool = True) -> str:
        """A program that leaves its name behind when it is run; `proven` if the proof has to make it do so."""
        path = path or self.directory / "traps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{name}" >> "{self.pwned}"\nexit {code}\n')
        path.chmod(0o755)
        self.things += 1
        if proven:
            self.traps.append(name)
        return str(path)

    def module(self, path: Path, name: str, text: str = "") -> None:
        """Python that leaves its name behind when it is imported or run."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"import os\nos.write(os.open({str(self.pwned)!r}, 1089, 0o666), b'{name}\\n')\n{text}")
        self.things += 1

    def configure(self, repository: Path, settings: Mapping[str, str], file: str = ".git/config") -> None:
        """Append settings to a repository's configuration, or to another file."""
        with (repository / file).open("a") as config:
            for name, value in settings.items():
                section, _, rest = name.partition(".")
                middle, _, key = rest.rpartition(".")
                config.write(f"[{section}{f' {quoted(middle)}' if middle else ''}]\n\t{key} = {quoted(value)}\n")

    def sprung(self) -> set[str]:
        """The traps that were run."""
        return set(self.pwned.read_text().split("\n")) - {""} if self.pwned.exists() else set()

    def attack(
        self,
        cwd: Path,
        commands: Iterable[Sequence[str]] = [(name,) for name in COMMANDS],
        hooks: bool = True,
        watched: Sequence[Path] | None = None,
        codes: Mapping[str, Iterable[int]] = CODES,
    ) -> str:
        """Call commands and hooks in `cwd`; nothing runs, nothing changes, nothing stays. What they printed.

        `watched` are directories that must be byte for byte the same afterwards.
        """
        watched = [cwd] if watched is None else watched
        before = {path: snapshot(path) for path in watched}
        printed = []
        self.machine.environ |= self.environ
        client = Client(self.machine, cwd) if hooks else None
        if client is not None:
            printed.append(client.start())
        for words in commands:
            done = self.machine.gate(*words, cwd=cwd)
            output = done.stdout + done.stderr
            printed.append(output.decode("utf-8", "surrogateescape"))
            allowed = set(codes.get(words[0], {0}))
            refuse("crashes", done.returncode not in allowed and (words, done.returncode, output))
            refuse("crashes", any(trace in output for trace in NOISY_TRACES) and (words, output))
        if client is not None:
            printed.append(client.hook("end", reason="other"))
            client.exit()
        self.machine.settle()
        tried(max(1, self.things) * (len(printed)))
        refuse("executions", self.sprung(), cwd)
        for path, was in before.items():
            refuse("leftovers", differences(was, snapshot(path)), path)
        refuse("crashes", list(self.machine.state.rglob("crash.log")))
        refuse("leftovers", left_processes(self.machine))
        return "\n".join(printed)

    def prove(self, cwd: Path, *commands: str) -> None:
        """Every trap snaps where somebody uses git in the ordinary way: one that never does would prove nothing."""
        said = []
        for command in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=cwd,
                env=self.machine.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
            said.append((command, done.stdout[-300:], done.stderr[-300:]))
        assert set(self.traps) <= self.sprung(), f"never run: {set(self.traps) - self.sprung()}: {said}"


def quoted(text: str) -> str:
    """A word as git's configuration has it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def snapshot(directory: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a directory: kind, rights, owner, size, time of change, content."""
    found: dict[str, tuple[object, ...]] = {}
    for above, directories, files in os.walk(directory):
        for name in (*directories, *files, "."):
            path = os.path.join(above, name)
            status = os.lstat(path)
            content: object = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.blake2b(file.read()).digest()
            size = status.st_size if not stat.S_ISDIR(status.st_mode) else 0
            found[path] = (status.st_mode, status.st_uid, status.st_gid, size, status.st_mtime_ns, content)
    return found


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Paths that came, went or changed."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def left_processes(machine: Machine) -> list[str]:
    """Processes that carry this test's home, once those that are ending have had time to."""
    deadline = time.monotonic() + 10
    while found := list(_processes_of(machine.environ["SESSION_GATE_STATE_DIR"])):
        if time.monotonic() > deadline:
            return found
        time.sleep(0.02)
    return []


def _processes_of(state: str) -> Iterable[str]:
    for process in psutil.process_iter():
        try:
            if process.environ().get("SESSION_GATE_STATE_DIR") == state and process.status() != psutil.STATUS_ZOMBIE:
                yield f"{process.pid} {process.cmdline()}"
        except (psutil.Error, OSError):
            continue
