"""A made-up world to test checks in, for ours and for yours: a clock, an environment, a process table, a repository.

Nothing here touches the real home, the real process table or the real state. Needs no pytest.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import git as gitpython

from gate.check import Check, Context
from gate.clock import Clock
from gate.errors import UnknownError
from gate.finding import Finding
from gate.project import find_project
from gate.soundness import fit, sound
from gate.suite import without_ignored
from gate.world.git import Git
from gate.world.processes import Process, ProcessTable
from gate.world.worktrees import Worktree, list_worktrees

CLIENTS = {
    "claude": ("CLAUDE_CODE_SESSION_ID", {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}),
    "codex": ("CODEX_SESSION_ID", {"CODEX_THREAD_ID": "a-thread"}),
    "copilot": ("COPILOT_AGENT_SESSION_ID", {}),
    "gemini": ("", {"GEMINI_CLI": "1"}),
    "opencode": ("", {"OPENCODE": "1"}),
    "qwen": ("QWEN_CODE_SESSION_ID", {"QWEN_CODE": "1"}),
}
"""For each client the variable that names the session to what it starts (empty: it has none), and what else it sets.
As its shell tool was seen to: Claude Code 2.1.332, Codex 0.171.0, Copilot CLI 1.0.102, Gemini CLI 0.61.0, OpenCode
1.18.33, Qwen Code 0.24.4.
"""


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
        terminal: bool = False,
        group: int = 0,
        seconds: float = 0.0,
        memory: int = 0,
        ports: Sequence[int] = (),
        lost: Collection[str] = (),
    ) -> Process:
        """A process called `name` with the command line `name arguments…`, `age` seconds old. `hidden`: it may not be
        inspected. `holds` are files that it has open. `terminal`: it is at work in one; `lost` has what it has outlived
        ("terminal", "directory"). `group` is its process group; it took `seconds` of processor time, takes `memory`
        bytes, and listens on `ports`.
        """
        pid = pid or max(self._made, default=1000) + 1
        started = self._clock.now() - age
        process = Process(
            pid, ppid, name[:15], state, started, None, group or pid, group or pid, terminal, seconds, memory
        )
        self._made[pid] = process
        self._known[pid] = {
            "cmdline": [name, *arguments],
            "cwd": directory,
            "environ": dict(environ or {}),
            "holds": [os.fspath(path) for path in holds],
            "hidden": hidden,
            "ports": sorted(ports),
            "lost": frozenset(lost),
        }
        return process

    def vanish(self, process: Process) -> None:
        """The process ends after the table was read: it is listed, and gone when one asks."""
        self._known.pop(process.pid)

    def end(self, process: Process) -> None:
        """The process ends before the table is read: it is not there."""
        self._made.pop(process.pid)
        self._known.pop(process.pid, None)

    @property
    def snapshot(self) -> Sequence[Process]:
        """What the test put there."""
        return list(self._made.values())

    def exists(self, pid: int) -> bool:
        """Whether it was added and has not vanished."""
        return pid in self._known

    def is_own(self, pid: int) -> bool:
        """Whether it was added: all are the user's."""
        return pid in self._made

    def ports(self, pid: int) -> list[int]:
        """What the test said."""
        return list(self._known[pid]["ports"]) if pid in self._known else []

    def directory_is_gone(self, pid: int) -> bool:
        """What the test said."""
        return pid in self._known and "directory" in self._known[pid]["lost"]

    def has_lost_its_terminal(self, pid: int) -> bool:
        """What the test said."""
        return pid in self._known and "terminal" in self._known[pid]["lost"]

    def holders(self, path: str) -> list[int]:
        """The processes that were added as holding this file."""
        return [pid for pid, known in self._known.items() if os.fspath(path) in known["holds"]]

    def _ask(self, pid: int, question: str) -> object:
        known = self._known.get(pid)
        if known is not None and known["hidden"]:
            raise UnknownError(f"process {pid} may not be inspected")
        return None if known is None else known[question]


class World:
    """A made-up machine whose files are real and lie below `directory`.

    `root` is the project, `home` and `temp` are what HOME and TMPDIR name in `environ`, which is the environment that
    a check is given. `now` is in epoch seconds; without it the world begins at the real time. `last_outcome` is what
    became of the check at the last look.
    """

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
        self.last_outcome = ""
        self._sessions: dict[str, tuple[bool, bool]] = {}

    def _make(self, name: str) -> Path:
        path = self.directory / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def pass_time(self, seconds: float) -> None:
        """The clock goes on: everything that is there grows older."""
        self.clock = self.processes._clock = Clock(now=self.clock.now() + seconds, boot=self.clock.boot)

    def client(self, name: str = "claude", session: str = "session-1") -> dict[str, str]:
        """The environment of what a session of a client starts: `processes.add(…, environ=world.client())` is a process
        that one left, and `world.environ.update(world.client())` a check that runs within one.
        """
        variable, others = CLIENTS[name]
        return {"PATH": self.environ["PATH"], **others, **({variable: session} if variable else {})}

    def git(self, *arguments: str, cwd: str | os.PathLike[str] | None = None) -> str:
        """What a git command prints, in the project or in `cwd`; apart from the settings and hooks of whoever tests."""
        done = subprocess.run(
            ["git", *arguments], cwd=cwd or self.root, env=self.environ, capture_output=True, check=True, timeout=60
        )
        return done.stdout.decode("utf-8", "surrogateescape")

    def repository(self, commit: bool = True) -> gitpython.Repo:
        """Make the project a git repository, with one commit unless told otherwise."""
        self.git("init", "--quiet", "--initial-branch=main")
        repository = gitpython.Repo(self.root)
        repository.git.update_environment(**self.environ)
        with repository.config_writer() as config:
            config.set_value("user", "name", "A Person")
            config.set_value("user", "email", "person@example.org")
            config.set_value("commit", "gpgsign", "false")
        if commit:
            self.file("README", "a project\n")
            self.git("add", "--all")
            self.git("commit", "--quiet", "--message", "Begin")
        return repository

    def worktree(
        self,
        path: str | os.PathLike[str],
        branch: str = "",
        locked: str | None = None,
        in_use: bool = False,
        made_in_session: bool = False,
    ) -> Path:
        """Add a linked worktree at `path` (relative to the project), on a new branch (by default called like it), and
        lock it with a reason. `in_use` and `made_in_session` are what the engine tells a check of sessions.
        """
        place = self.root / path
        self.git("worktree", "add", "--quiet", "-b", branch or place.name, str(place))
        if locked is not None:
            self.git("worktree", "lock", "--reason", locked, str(place))
        self._sessions[str(place.resolve())] = (in_use, made_in_session)
        return place

    def file(self, name: str | bytes, text: str | bytes = "", age: float = 0.0) -> str:
        """A file of the project (or at an absolute path), last changed `age` seconds before the world's now."""
        path = os.path.join(os.fsencode(self.root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        self.age(path, age)
        return os.fsdecode(path)

    def fill(self, path: str | os.PathLike[str], files: int = 1, size: int = 0, age: float = 0.0) -> Path:
        """A directory in the temp directory (or at an absolute path) with so many files of `size` bytes each, really
        written, because checks count what is allocated; all last changed `age` seconds before the world's now.
        """
        place = self.temp / path
        place.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            self.file(os.fspath(place / f"file-{number}"), b"\1" * size, age)
        self.age(place, age)
        return place

    def age(self, path: str | bytes | os.PathLike[str], seconds: float) -> None:
        """Set a file's last change to `seconds` before the world's now."""
        then = self.clock.now() - seconds
        os.utime(path, (then, then), follow_symlinks=False)

    def context(self, check: Check, limit: float = 30.0, **options: Any) -> Context[Any]:
        """The context that the engine would give `check` here, with these options, for `limit` seconds."""
        project = find_project(str(self.root))
        return Context(
            options=check.options(**options),
            project=project,
            worktrees=[self._with_sessions(tree) for tree in list_worktrees(project)],
            clock=self.clock,
            environ=self.environ,
            processes=self.processes,
            git=Git(self.environ),
            deadline=time.monotonic() + limit,
            last_outcome=self.last_outcome,
        )

    def _with_sessions(self, tree: Worktree) -> Worktree:
        in_use, made = self._sessions.get(tree.path, (tree.in_use, tree.made_in_session))
        return tree._replace(in_use=in_use, made_in_session=made)


def run_check(check: Check, world: World, limit: float = 30.0, **options: Any) -> list[Finding]:
    """All findings of a check in a world, without what its option `ignore` takes out.

    What the check raises (UnknownError, SkipCheck) is raised. So is what the engine would hold against it: RefusedError
    for a check that would not be loaded (say, without an incident), UnknownError for what is no proper finding.
    """
    context = world.context(fit(check), limit=limit, **options)
    try:
        found = [sound(finding) and finding for finding in check.run(context) or ()]
    finally:
        context.git.close()
    kept = [without_ignored(finding, context.options.ignore) for finding in found]
    return [finding for finding in kept if finding is not None]


def said(finding: Finding) -> str:
    """The summary of a finding, as `gate run` prints it where all its subjects are debt."""
    return str(finding.summarise(finding.subjects))
