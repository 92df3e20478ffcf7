"""A made-up world to test checks in, for ours and for yours: a clock, an environment, a process table, a repository.

Nothing here touches the real home, the real process table or the real state. Needs no pytest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import git as gitpython

from gate.check import Check, Context
from gate.clock import Clock
from gate.errors import UnknownError
from gate.finding import Finding
from gate.project import find_project
from gate.world.git import Git
from gate.world.processes import Process, ProcessTable
from gate.world.worktrees import list_worktrees


class FakeProcessTable(ProcessTable):
    """A process table that holds what the test put there."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._made: dict[int, Process] = {}
        self._known: dict[int, dict[str, Any]] = {}

    def add(
        self,
        name: str,
        *arguments: str,
        pid: int | None = None,
        ppid: int = 1,
        state: str = "S",
        age: float = 60.0,
        directory: str = "/",
        environ: Mapping[str, str] | None = None,
        holds: Sequence[str | os.PathLike[str]] = (),
        hidden: bool = False,
    ) -> Process:
        """A process called `name` with the command line `name arguments…`, `age` seconds old. `hidden`: it may not be
        inspected. `holds` are files that it has open.
        """
        pid = pid or max(self._made, default=1000) + 1
        process = Process(pid, ppid, name[:15], state, self._clock.now() - age)
        self._made[pid] = process
        self._known[pid] = {
            "cmdline": [name, *arguments],
            "cwd": directory,
            "environ": dict(environ or {}),
            "holds": [os.fspath(path) for path in holds],
            "hidden": hidden,
        }
        return process

    def vanish(self, process: Process) -> None:
        """The process ends after the table was read: it is listed, and gone when one asks."""
        self._known.pop(process.pid)

    @property
    def snapshot(self) -> Sequence[Process]:
        """What the test put there."""
        return list(self._made.values())

    def exists(self, pid: int) -> bool:
        """Whether it was added and has not vanished."""
        return pid in self._known

    def holders(self, path: str) -> list[int]:
        """The processes that were added as holding this file."""
        return [pid for pid, known in self._known.items() if os.fspath(path) in known["holds"]]

    def _ask(self, pid: int, question: str) -> object:
        known = self._known.get(pid)
        if known is not None and known["hidden"]:
            raise UnknownError(f"process {pid} may not be inspected")
        return None if known is None else known[question]


class World:
    """A made-up machine whose files are real and lie below `directory`."""

    def __init__(self, directory: str | os.PathLike[str], now: float | None = None) -> None:
        self.directory = Path(directory).resolve()
        self.clock = Clock(now=time.time() if now is None else now, boot="a-boot")
        self.home = self._make("home")
        self.temp = self._make("tmp")
        self.root = self._make("project")
        self.environ = {
            "HOME": str(self.home),
            "TMPDIR": str(self.temp),
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        self.processes = FakeProcessTable(self.clock)

    def _make(self, name: str) -> Path:
        path = self.directory / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def repository(self, commit: bool = True) -> gitpython.Repo:
        """Make the project a git repository, with one commit unless told otherwise."""
        repository = gitpython.Repo.init(self.root, initial_branch="main")
        with repository.config_writer() as config:
            config.set_value("user", "name", "A Person")
            config.set_value("user", "email", "person@example.org")
            config.set_value("commit", "gpgsign", "false")
        if commit:
            self.file("README", "a project\n")
            repository.git.add("--all")
            repository.git.commit("--quiet", "--message", "Begin")
        return repository

    def file(self, name: str | bytes, text: str | bytes = "", age: float = 0.0) -> str:
        """A file of the project (or at an absolute path), last changed `age` seconds before the world's now."""
        path = os.path.join(os.fsencode(self.root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        self.age(path, age)
        return os.fsdecode(path)

    def age(self, path: str | bytes | os.PathLike[str], seconds: float) -> None:
        """Set a file's last change to `seconds` before the world's now."""
        then = self.clock.now() - seconds
        os.utime(path, (then, then), follow_symlinks=False)

    def context(self, check: Check, limit: float = 30.0, **options: Any) -> Context[Any]:
        """The context that the engine would give `check` here, with these options."""
        project = find_project(str(self.root))
        return Context(
            options=check.options(**options),
            project=project,
            worktrees=list_worktrees(project),
            clock=self.clock,
            environ=self.environ,
            processes=self.processes,
            git=Git(self.environ),
            deadline=time.monotonic() + limit,
        )


def run_check(check: Check, world: World, limit: float = 30.0, **options: Any) -> list[Finding]:
    """All findings of a check in a world. What the check raises (UnknownError, SkipCheck) is raised."""
    return list(check.run(world.context(check, limit=limit, **options)))
