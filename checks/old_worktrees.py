"""WORKTREE: worktrees that agents made and left; days later nobody can tell what they hold."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from dataclasses import dataclass

from gate.api import (
    AGENT_LOCKS,
    AGENT_NAMES,
    AGENT_ROOTS,
    CACHES,
    DEBT,
    NOTE,
    UNKNOWN,
    Check,
    Context,
    Duration,
    Finding,
    Held,
    Leftover,
    Options,
    Signs,
    Subject,
    Survey,
    duration,
    hookimpl,
    incident_text,
    measure_all,
    option,
    say,
    size,
    worktree_remedy,
)

MEASURING = 3.0
"""Seconds that looking at their size may take: what would be lost with them matters more, and has been looked at."""


@dataclass(frozen=True)
class OldWorktrees(Options):
    """How long is too long, and what tells an agent's worktree from a person's."""

    max_idle: Duration = option(Duration(5 * 86400), "how long an agent's worktree may lie idle")
    roots: tuple[str, ...] = option(AGENT_ROOTS, "directories where agents keep worktrees")
    names: tuple[str, ...] = option(AGENT_NAMES, "how agents' worktrees or their branches are called")
    lock_reasons: tuple[str, ...] = option(AGENT_LOCKS, "the reasons with which clients lock worktrees")
    caches: tuple[str, ...] = option(CACHES, "ignored names that hold nothing of value: a build makes them again")


def find(context: Context[OldWorktrees]) -> Iterator[Finding]:
    """One finding for each worktree in which nothing changed for too long; a note, where it is no agent's."""
    project, options = context.project, context.options
    context.repository()
    temps = [os.path.realpath(context.expand(path)) for path in ("$TMPDIR", "/tmp")]  # noqa: S108
    survey = Survey(
        project,
        context.worktrees,
        context.git,
        context.processes,
        Signs([context.expand(root) for root in options.roots], options.names, options.lock_reasons, temps),
        since=context.now - options.max_idle,
        seconds=0.85 * context.time_left(),
        caches=options.caches,
    )
    found = [leftover for leftover in survey.leftovers() if leftover.is_left or leftover.life.idle]
    sizes = measure_all(found, min(MEASURING, 0.25 * context.time_left()))
    for leftover in found:
        yield finding(context, leftover, sizes.get(leftover.path))


def finding(context: Context[OldWorktrees], leftover: Leftover, held: Held | None) -> Finding:
    """What is to be said of one worktree; "removable" only where nothing would be lost."""
    path, name, life = leftover.path, leftover.name, leftover.life
    text = "{} has been idle for {} (limit {}): {}"
    if life.idle is None:
        text = "could not check {}, where nothing is known to have changed for {} (limit {}): {}"
    said = [*leftover.state, *life.holds, *([say("removable")] if leftover.is_removable else [])]
    details = [say("taken for an agent's: {}", leftover.maker)] if leftover.maker else []
    if held is not None:
        least, plural = "" if held.complete else "at least ", "" if held.files == 1 else "s"
        details.append(say("it takes " + least + "{} in {} file" + plural, size(held.bytes), held.files))
    return Finding(
        key=path,
        summary=say(text, name, duration(context.now - life.newest), duration(context.options.max_idle), said),
        subjects=[Subject(path, name, life.newest)],  # of the project: nobody is in it, and all are to hear of it
        details=details,
        remedy=worktree_remedy(leftover, context.project.root),
        kind=NOTE if not leftover.is_left else UNKNOWN if life.idle is None else DEBT,
    )


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="old_worktrees",
        label="WORKTREE",
        incident=incident_text("old_worktrees"),
        summary="a worktree of an agent's making has been idle for over 5 days",
        run=find,
        options=OldWorktrees,
        keeps=True,
        ripens=True,
    )
