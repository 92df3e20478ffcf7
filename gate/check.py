"""What a check is: the `Check` that names it, the context it looks at, and the one hook through which it is found."""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pluggy

from gate.clock import Clock
from gate.config.configuration import expand
from gate.errors import SkipCheck, UnknownError
from gate.finding import PROJECT, UNKNOWN, Finding, Subject
from gate.project import Project
from gate.quote import say
from gate.world.git import Git
from gate.world.processes import ProcessTable
from gate.world.worktrees import Worktree, Worktrees

NAMESPACE = "session_gate"

hookspec = pluggy.HookspecMarker(NAMESPACE)
hookimpl = pluggy.HookimplMarker(NAMESPACE)


def option(default: Any, text: str) -> Any:
    """An option of a check: its default, and a line for `gate explain` and the README."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Options:
    """What every check can be told; a check's own options are a frozen dataclass that extends it."""

    ignore: tuple[str, ...] = option((), "glob patterns of names that are never reported")


MOST_SILENT = 3
"""Worktrees without an answer that are named one by one; more are said in one finding."""

_NO_ANSWER = say("its file system gives no answer")

OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass
class Context(Generic[OptionsT]):
    """Everything that a check may look at; so every check can be tested in a made-up world (`gate.testing`)."""

    options: OptionsT
    project: Project
    worktrees: Sequence[Worktree]
    clock: Clock
    environ: Mapping[str, str]
    processes: ProcessTable
    git: Git
    deadline: float
    """When this check's time is over, by `time.monotonic`."""

    last_outcome: str = ""
    """What became of this check when the marker was written; empty where it is not known."""

    @property
    def now(self) -> float:
        """Seconds since the epoch, by the clock that may be replaced."""
        return self.clock.now()

    def time_left(self) -> float:
        """Seconds until the suite stops waiting for this check; at least a hundredth."""
        return max(0.01, self.deadline - time.monotonic())

    def repository(self) -> str:
        """git's directory of the project, which all its worktrees share. Raises SkipCheck where there is no repository,
        and UnknownError where what leads to it is broken.
        """
        if self.project.common_dir is not None:
            return self.project.common_dir
        if not self.project.broken:
            raise SkipCheck("not a git repository")
        raise self._broken()

    def worktrees_that_are_there(self) -> list[Worktree]:
        """The worktrees whose directories can be looked into. Raises SkipCheck where there is no repository or it has
        none, and UnknownError where it is broken.
        """
        if self.project.broken:
            raise self._broken()
        self.repository()
        found = [worktree for worktree in self.worktrees if not worktree.missing]
        if not found:
            raise SkipCheck("a bare repository")
        return found

    def not_known(self) -> list[Finding]:
        """What this check wanted to look at and nobody can: worktrees whose file system gives no answer."""
        trees = self.worktrees
        silent = trees.silent if isinstance(trees, Worktrees) and trees.asked else ()
        remedy = say("it is known once what it lies on answers again; mount lists what is mounted")
        if len(silent) > MOST_SILENT:
            text = say("could not check {} worktrees, {} among them: {}", len(silent), silent[0], _NO_ANSWER)
            return [Finding("silent", text, [Subject("silent", silent[0])], remedy=remedy, kind=UNKNOWN)]
        return [
            Finding(
                key=f"{path}\0silent",
                summary=say("could not check the worktree {}: {}", path, _NO_ANSWER),
                subjects=[Subject(f"{path}\0silent", path)],
                remedy=remedy,
                kind=UNKNOWN,
            )
            for path in silent
        ]

    def _broken(self) -> UnknownError:
        return UnknownError(self.project.broken, "it is known once .git leads to a repository again, or is gone")

    def expand(self, path: str) -> str:
        """An option's path with `~` and `$NAME` replaced from this environment; TMPDIR unset is /tmp."""
        return expand(path, self.environ)


@dataclass(frozen=True)
class Check:
    """A check: how it is called, why it exists, and the function that finds.

    `incident` is the text of the post-mortem that justifies it, its first line the title; a check without one is
    refused. `summary` is a line that says when it is debt. `scope` is "project", or "machine" where what it looks at
    belongs to no one project. `options` is a frozen dataclass that extends `Options`. `keeps` says that people keep
    such things on purpose, so that what stood there on a first look is charged to nobody. `ripens` says that a thing
    becomes one by its age alone: what a look does not show may have been left before it. `limit` is in seconds.
    """

    name: str
    label: str
    incident: str
    summary: str
    run: Callable[[Context[Any]], Iterable[Finding]]
    scope: str = PROJECT
    options: type[Options] = Options
    keeps: bool = False
    ripens: bool = False
    limit: float = 60.0

    @property
    def incident_title(self) -> str:
        """The first line of the incident, without Markdown's heading mark."""
        return next(iter(self.incident.strip().splitlines()), "").lstrip("# ").strip()


def incident_text(name: str) -> str:
    """The post-mortem of a built-in check: `incidents/<name>.md`."""
    data = pkgutil.get_data("gate_incidents", name + ".md")
    return (data or b"").decode("utf-8")


class Specification:
    """The one hook."""

    @hookspec
    def gate_check(self) -> Check:  # type: ignore[empty-body]
        """Return the check of this plugin."""
