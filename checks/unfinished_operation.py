"""GITOP: a rebase, merge, pick, revert, series of patches or bisection that somebody began and nobody ended.

A young one is said as well: at the end of the session that left it, it is seconds old. That a living session, or a
person between two sessions, is at work on it is for the engine to tell, by the worktree and by the time of its last
change; only what has stood still for long belongs to no worktree any more, so that all are told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gate.api import (
    UNKNOWN,
    Check,
    Chosen,
    Context,
    Duration,
    Finding,
    Operation,
    Options,
    Phrase,
    ShellWord,
    Subject,
    UnknownError,
    Worktree,
    duration,
    hookimpl,
    incident_text,
    option,
    plainly,
    read_operations,
    say,
    shown,
    what_waits,
)

MOMENT = 60.0
"""Seconds. What moved no later than this after it began has not moved."""


@dataclass(frozen=True)
class UnfinishedOperation(Options):
    """How long it may stand still as the business of one worktree."""

    max_age: Duration = option(
        Duration(4 * 3600), "having stood still for so long, it is said to all, whoever is at work in its worktree"
    )


def find(context: Context[UnfinishedOperation]) -> Iterator[Finding]:
    """One finding for each operation that waits in a worktree of the project."""
    project = context.project
    context.repository()
    waiting: list[tuple[Worktree, Operation]] = []
    for tree in context.worktrees:
        if tree.missing:
            continue  # nobody can go on with it; old_worktrees says what is lost with it
        try:
            waiting += [(tree, operation) for operation in read_operations(tree.git_dir)]
        except UnknownError as error:
            key, where = f"{tree.path}\0unread", shown(tree.path, project.root)
            text = say("could not check whether an operation waits in {}: {}", where, plainly(error))
            cure = say("ls -ld {} shows whose it is; {}", ShellWord(tree.git_dir), plainly(error.cure))
            yield Finding(key, text, [Subject(key)], remedy=cure, kind=UNKNOWN)
    until = time.monotonic() + 0.5 * context.time_left()
    for number, (tree, operation) in enumerate(waiting):
        seconds = (until - time.monotonic()) / (len(waiting) - number)
        yield finding(context, tree, operation, what_waits(context.git, tree, seconds))


def finding(
    context: Context[UnfinishedOperation], tree: Worktree, operation: Operation, behind: Sequence[Phrase]
) -> Finding:
    """What is to be said of one operation, and of what waits behind it; how it should end is not ours to say."""
    key, still = f"{tree.path}\0{operation.kind}", context.now - operation.moved
    where = say("" if tree.main else " in the worktree {}", shown(tree.path, context.project.root))
    ages = say("begun {} ago", duration(context.now - operation.begun))
    if operation.moved - operation.begun > MOMENT:
        ages = say("{}, unmoved for {}", ages, duration(still))

    def summary(chosen: Chosen) -> Phrase:
        return say("{} waits{}{}: {}", operation.title, where, chosen.context, [ages, *behind])

    name = f"{operation.words} in {shown(tree.path, context.project.root)}"
    details = [say("its message begins: {}", operation.message)] if operation.message else []
    if operation.stashed:
        details.append(say("uncommitted changes were put aside for it (autostash), and come back when it ends"))
    look = say("git -C {} status shows it", ShellWord(tree.path))
    return Finding(
        key=key,
        summary=summary,
        subjects=[
            Subject(
                key,
                name,
                operation.changed,
                operation.state,
                worktree=tree.path if still < context.options.max_age else None,
            )
        ],
        details=details,
        remedy=say("{}; it goes when it is brought to an end, and how is for whoever began it to decide", look),
    )


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="unfinished_operation",
        label="GITOP",
        incident=incident_text("unfinished_operation"),
        summary="a rebase, merge, pick, revert, series of patches or bisection waits in any of the project's worktrees",
        run=find,
        options=UnfinishedOperation,
        keeps=True,
    )
