"""The rows of the table: what is timed, against what, on which load, and how much it may take."""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import loads
from kit import Client, Machine, green
from timing import Command, Pair, Row

from gate.clock import rfc3339
from gate.registry import BUILT_IN
from gate.world.processes import ProcessTable

FIVE = ("capture_streams", "temp_size", "stale_locks", "uncommitted_paths", "old_worktrees")
"""The checks that there were first."""

SCRIPT = r"""
pgrep -f 'arecord|parec|pw-record|avfoundation' | wc -l
du -sk "$TMPDIR/capture-live"
find "$TMPDIR/capture-live" -type f | wc -l
find .git -name '*.lock' -mmin +2880
git status --porcelain | wc -l
git worktree list --porcelain
true
"""
"""What a person would write into an end hook for the first five checks: a line each."""


class Place:
    """A directory in which loads are built once, and a regular installation of the gate."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._made: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[Machine], Any]) -> tuple[Machine, Any]:
        """A load by its name: the made-up user, and what `make` built for it the first time."""
        if name not in self._made:
            (self.directory / name).mkdir()
            machine = Machine(self.directory / name)
            self._made[name] = machine, make(machine)
        return self._made[name]

    @functools.cached_property
    def bin(self) -> Path:
        """The programs of an environment into which the gate was installed by pip, and pre-commit beside it."""
        root = self.directory / "venv"
        venv.create(root, with_pip=True)
        pip = [root / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, Path(__file__).parents[2], "pre-commit"], check=True, stdout=sys.stderr)
        return root / "bin"

    @property
    def bare(self) -> list[str | Path]:
        """The interpreter, as bare as the installed line starts it."""
        return [self.bin / "python", "-I", "-c", "pass"]


def git_version() -> str:
    """As git says it."""
    return subprocess.run(["git", "version"], check=True, capture_output=True, text=True).stdout.split()[2]


def configure(machine: Machine, text: str = "", only: Sequence[str] = BUILT_IN) -> None:
    """The user's configuration: all checks as they are, but those alone that are named."""
    off = [name for name in BUILT_IN if name not in only]
    machine.config.write_text(f"disable = {off}\n{text}")


def small(machine: Machine) -> Path:
    """A small repository where nothing is left behind."""
    return loads.repository(machine)


def busy(machine: Machine) -> Path:
    """A state that has seen a thousand projects, the hooks installed, and a small project that is green."""
    loads.projects(machine, 1000)
    root = loads.repository(machine)
    configure(machine)
    return root


def hook_line(place: Place, machine: Machine, event: str) -> str:
    """The line that the installation writes for an event."""
    subprocess.run([place.bin / "gate", "install", "claude"], env=machine.environ, check=True, capture_output=True)
    settings = json.loads((Path(machine.environ["HOME"]) / ".claude/settings.json").read_bytes())
    return str(settings["hooks"][event][0]["hooks"][0]["command"])


def payload(root: Path, session: str, event: str, **more: str) -> bytes:
    """What the client gives a hook."""
    return json.dumps({"session_id": session, "cwd": str(root), "hook_event_name": event} | more).encode()


@contextmanager
def hook_start(place: Place) -> Iterator[Pair]:
    """Green, with three other sessions that live."""
    machine, root = place.once("busy", busy)
    line = hook_line(place, machine, "SessionStart")
    green(machine, root)
    others = [Client(machine, root, f"other-{number}") for number in range(3)]
    for client in others:
        client.start()
    machine.settle()
    kept = set(machine.records())
    asking = Client(machine, root, "asking")
    environ = machine.environ | {"CLAUDE_PID": str(asking.process.pid), "CLAUDE_CODE_SESSION_ID": "asking"}
    ours = Command("sh", "-c", line, cwd=root, environ=environ, silent=True)
    ours.given = payload(root, "asking", "SessionStart", source="startup")

    def settle() -> None:
        machine.settle()
        (mine,) = set(machine.records()) - kept
        for path in mine.parent.glob(f"{mine.stem}*"):
            path.unlink()

    try:
        yield Pair(ours, Command(*place.bare, cwd=root, environ=machine.environ), settle=settle)
    finally:
        for client in [*others, asking]:
            client.kill()
        for path in machine.records():
            path.unlink()
        machine.settle()


@contextmanager
def gate_start(place: Place) -> Iterator[Pair]:
    """Green, as typed."""
    machine, root = place.once("busy", busy)
    green(machine, root)
    ours = Command(place.bin / "gate", "start", cwd=root, environ=machine.environ, silent=True)
    yield Pair(ours, Command(*place.bare, cwd=root, environ=machine.environ))


@contextmanager
def hook_end(place: Place) -> Iterator[Pair]:
    """Each a session of its own, that really started and whose finisher does all its work."""
    machine, root = place.once("busy", busy)
    line = hook_line(place, machine, "SessionEnd")
    green(machine, root)
    client = Client(machine, root)
    ours = Command("sh", "-c", line, cwd=root, environ=machine.environ, silent=True)

    def ready() -> None:
        nonlocal client
        client.kill()
        client = Client(machine, root, f"session-{time.monotonic_ns()}")
        client.start()
        machine.settle()
        ours.environ = machine.environ | {"CLAUDE_PID": str(client.process.pid)}
        ours.given = payload(root, client.session, "SessionEnd", reason="other")

    def settle() -> None:
        client.kill()
        machine.settle()
        assert machine.records() == []

    yield Pair(ours, Command(*place.bare, cwd=root, environ=machine.environ), ready, settle)


def run_against_pre_commit(only: Sequence[str]) -> Callable[[Place], Any]:
    """`gate run` of these checks, and pre-commit with a hook that does nothing, in the same repository."""

    @contextmanager
    def load(place: Place) -> Iterator[Pair]:
        machine, root = place.once("small", small)
        config = root / ".pre-commit-config.yaml"
        if not config.exists():
            hook = {"id": "nothing", "name": "nothing", "entry": "true", "language": "system", "always_run": True}
            config.write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
            machine.commit(root)
        configure(machine, only=only)
        environ = machine.environ | {"PRE_COMMIT_HOME": str(machine.directory / "pre-commit")}
        ours = Command(place.bin / "gate", "run", cwd=root, environ=environ, said="clean")
        yield Pair(ours, Command(place.bin / "pre-commit", "run", cwd=root, environ=environ, said="Passed"))

    return load


@contextmanager
def snapshot(place: Place) -> Iterator[Pair]:
    """In this process: the table alone."""

    def ours() -> float:
        started = time.perf_counter()
        assert len(list(ProcessTable())) > 5000
        return time.perf_counter() - started

    with loads.processes(5000):
        environ = {"PATH": os.environ["PATH"]}
        yield Pair(ours, Command("pgrep", "-f", "x", cwd=place.directory, environ=environ, codes=(0, 1)))


def million(machine: Machine) -> Path:
    """A million files in the capture directory."""
    capture = machine.temp / "capture-live"
    loads.files(capture, 1_000_000)
    return capture


def temp_size(text: str, codes: Sequence[int], said: str) -> Callable[[Place], Any]:
    """The check alone, with these options."""

    @contextmanager
    def load(place: Place) -> Iterator[Pair]:
        machine, capture = place.once("million", million)
        configure(machine, f"[checks.temp_size]\n{text}\n")
        run = (place.bin / "gate", "run", "temp_size")
        ours = Command(*run, cwd=machine.directory, environ=machine.environ, codes=codes, said=said)
        yield Pair(ours, Command("du", "-s", capture, cwd=machine.directory, environ=machine.environ))

    return load


def large(machine: Machine) -> Path:
    """100,000 tracked files, of which 1,000 have changed, and 200,000 files in the capture directory."""
    loads.files(machine.temp / "capture-live", 200_000)
    return loads.repository(machine, 100_000, 1000)


@contextmanager
def uncommitted_paths(place: Place) -> Iterator[Pair]:
    """The check alone, as a whole process."""
    machine, root = place.once("large", large)
    configure(machine)
    run = (place.bin / "gate", "run", "uncommitted_paths")
    ours = Command(*run, cwd=root, environ=machine.environ, codes=(1,), said="1000 uncommitted paths")
    yield Pair(ours, Command("git", "status", "--porcelain", cwd=root, environ=machine.environ))


def many_worktrees(machine: Machine) -> tuple[Path, list[Path]]:
    """300 worktrees of a small repository."""
    root = loads.repository(machine)
    return root, loads.worktrees(machine, root, 300)


def in_each(check: str, first: str, codes: Sequence[int], days: int, said: str) -> Callable[[Place], Any]:
    """A check on 300 worktrees, some days later, and git in each of them in a row."""

    @contextmanager
    def load(place: Place) -> Iterator[Pair]:
        machine, (root, made) = place.once("worktrees", many_worktrees)
        configure(machine)
        environ = machine.environ | {"SESSION_GATE_NOW": rfc3339(time.time() + days * 86400)}
        ours = Command(place.bin / "gate", "run", check, cwd=root, environ=environ, codes=codes, said=said)
        each = "; ".join(f"git -C {shlex.quote(str(path))} status --porcelain" for path in [root, *made])
        yield Pair(ours, Command("sh", "-c", f"{first}{each}", cwd=root, environ=machine.environ))

    return load


@contextmanager
def whole_suite(place: Place) -> Iterator[Pair]:
    """All checks on the large load, and that one alone which takes longest there."""
    machine, root = place.once("large", large)
    configure(machine)

    def run(*checks: str) -> Command:
        return Command(place.bin / "gate", "run", *checks, cwd=root, environ=machine.environ, codes=(0, 1), said=" ")

    with loads.processes(5000):
        slowest = max(BUILT_IN, key=lambda name: min(run(name)(), run(name)()))
        print(f"(the slowest check alone is {slowest})", file=sys.stderr)
        yield Pair(run(), run(slowest))


@contextmanager
def gate_end(place: Place) -> Iterator[Pair]:
    """The first five checks, which are what the script's lines are."""
    machine, root = place.once("large", large)
    configure(machine, only=FIVE)
    ours = Command(place.bin / "gate", "end", cwd=root, environ=machine.environ, codes=(1,), said="1000 uncommitted")
    with loads.processes(5000):
        yield Pair(ours, Command("sh", "-c", SCRIPT, cwd=root, environ=machine.environ))


def memory(name: str, build: Callable[[Machine], Any], processes: int) -> Callable[[Place], Any]:
    """The largest process of a suite, and the bare interpreter."""

    @contextmanager
    def load(place: Place) -> Iterator[Pair]:
        machine, root = place.once(name, build)
        configure(machine)
        run = (place.bin / "gate", "run")
        ours = Command(*run, cwd=root, environ=machine.environ, codes=(0, 1), said=" ")
        with loads.processes(processes):
            yield Pair(ours.peak, Command(*place.bare, cwd=root, environ=machine.environ).peak)

    return load


BARE = "`python -I -c pass`"
STATUSES = "`git status` in each, in a row"
FULL = 'max_files = 100_000_000\nmax_bytes = "1TiB"'
MEBIBYTES: dict[str, Any] = {"unit": "MiB", "adds": True, "runs": 3}

ROWS = [
    Row("hook_start", "green `hook start`, as installed; 1,000 projects, 3 other sessions", BARE, 1.35, hook_start),
    Row("gate_start", "green `gate start` as typed", BARE, 1.6, gate_start),
    Row("hook_end", "`hook end` until it returns", BARE, 1.5, hook_end),
    Row("run_five", "`gate run`, five checks, small repository", "`pre-commit run`, one hook that does nothing", 0.5,
        run_against_pre_commit(FIVE)),
    Row("run_all", "`gate run`, all checks, small repository", "the same", 0.8, run_against_pre_commit(BUILT_IN)),
    Row("snapshot", "the process table, 5,000 processes", "`pgrep -f x`", 0.5, snapshot),
    Row("temp_full", "`gate run temp_size`, 1,000,000 files, full count", "`du -s`", 1.2,
        temp_size(FULL, (0,), "clean"), 3),
    Row("temp_debt", "the same, until the debt is certain", "`du -s`", 0.5, temp_size("", (1,), " at least "), 3),
    Row("paths_large", "`gate run uncommitted_paths`, 100,000 tracked files, 1,000 changed",
        "`git status --porcelain`", 1.4, uncommitted_paths, 7),
    Row("paths_worktrees", "`gate run uncommitted_paths`, 300 worktrees", STATUSES, 0.6,
        in_each("uncommitted_paths", "", (0,), 0, "clean"), 5),
    Row("old_worktrees", "`gate run old_worktrees`, 300 worktrees, all old", f"`git worktree list`, {STATUSES}", 0.8,
        in_each("old_worktrees", "git worktree list --porcelain; ", (1,), 30, "debt"), 5),
    Row("whole_suite", "`gate run`, the load of the next line", "its slowest check alone", 1.3, whole_suite, 5),
    Row("gate_end", "`gate end`, 5,000 processes, 200,000 temp files, 100,000 tracked files",
        "a shell script: pgrep, du, find, git", 0.5, gate_end, 5),
    Row("memory_small", "peak memory of a suite's largest process, small repository", BARE, 25,
        memory("small", small, 0), **MEBIBYTES),
    Row("memory_large", "the same, the load of `gate end`", BARE, 25, memory("large", large, 5000), **MEBIBYTES),
]  # fmt: skip
