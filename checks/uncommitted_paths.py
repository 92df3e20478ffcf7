"""REPO: paths that nobody committed, in any of the project's worktrees."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

from gate.api import (
    NOTE,
    UNKNOWN,
    Check,
    Chosen,
    Context,
    Entry,
    Finding,
    Options,
    Phrase,
    ShellWord,
    Subject,
    UnknownError,
    Worktree,
    gitlink_remedy,
    hookimpl,
    incident_text,
    operation,
    plainly,
    read_statuses,
    say,
    shown,
    trace,
)


def find(context: Context[Options]) -> Iterator[Finding]:
    """One finding for each worktree that `git status` lists something in; the subjects are the paths."""
    worktrees = context.worktrees_that_are_there()
    paths = [worktree.path for worktree in worktrees]
    # Incident: a stray `git init` in the home directory, and every session's start read all of it.
    too_large = {"/", os.path.realpath(context.expand("~"))}.intersection(paths)
    statuses = read_statuses(context.git, paths, 0.8 * context.time_left(), tracked_only=too_large)
    for worktree, status in zip(worktrees, statuses, strict=True):
        where = say("" if worktree.main else " in the worktree {}", shown(worktree.path, context.project.root))
        if isinstance(status, UnknownError):
            text = say("could not check{}: {}", where, plainly(status))
            yield unknown(worktree.path, text, status.cure, worktree.path)
            continue
        yield from uncommitted(context, worktree, where, status.entries)
        if status.taken_in:
            yield taken_in(worktree, where, status.taken_in)
        for name, reason in status.unknown:
            text = say("could not check the submodule {}{}: {}", name, where, plainly(reason))
            yield unknown(f"{worktree.path}\0{name}", text)
    for path in too_large:
        text = say("{} is a repository; of what lies in it, only paths that git knows are looked at", path)
        yield Finding(f"{path}\0unread", text, [Subject(f"{path}\0unread", path)], kind=NOTE)


def unknown(key: str, summary: Phrase, cure: str = "", worktree: str | None = None) -> Finding:
    """What could not be established, and is not clean; in a worktree as a whole."""
    remedy = say("{}; {}", look(key.partition("\0")[0]), plainly(cure or "it is known when git can answer"))
    return Finding(key, summary, [Subject(key, worktree=worktree)], remedy=remedy, kind=UNKNOWN)


def look(path: str) -> Phrase:
    """How to look at a worktree."""
    return say("git -C {} status shows it", ShellWord(path))


def uncommitted(
    context: Context[Options], worktree: Worktree, where: Phrase, entries: Sequence[Entry]
) -> Iterator[Finding]:
    """The finding of one worktree, with a subject for each path; and one for each whose last change is not known."""

    def summary(chosen: Chosen) -> Phrase:
        text = "{} uncommitted {}{}{}: {}. They may be a person's unfinished work."
        paths = say("path" if chosen.count == 1 else "paths")
        return say(text, chosen.count, paths, where, chosen.context, chosen.names)

    subjects, root = [], worktree.path
    for entry in entries:
        key = f"{root}\0{entry.path}"
        try:
            last = trace(root, entry, 0.5 * context.time_left())
        except UnknownError as error:
            yield unknown(key, say("could not check {}{}: {}", entry.path, where, plainly(error)))
            continue
        above = tuple(f"{root}\0{directory}/" for directory in entry.directories)
        subjects.append(
            Subject(key, entry.path, last.latest, last.state, worktree=root, within=above, detail=entry.detail)
        )
    waiting = operation(worktree.git_dir)
    details = [say("{} is in progress there", say(waiting))] if waiting else []
    remedy = say("{}; they go when they are committed, or whoever made them gives them up", look(root))
    if subjects:
        yield Finding(root, summary, subjects, details, remedy)


def taken_in(worktree: Worktree, where: Phrase, names: Sequence[str]) -> Finding:
    """Agents' worktrees that `git add --all` took for submodules; they are said until that is taken back."""
    key, text = f"{worktree.path}\0gitlinks", "the index{} has agents' worktrees as if they were submodules{}: {}"
    subjects = [Subject(f"{key}\0{name}", name, state="gitlink", worktree=worktree.path) for name in names]
    remedy = gitlink_remedy(worktree.path)
    return Finding(key, lambda chosen: say(text, where, chosen.context, chosen.names), subjects, remedy=remedy)


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="uncommitted_paths",
        label="REPO",
        incident=incident_text("uncommitted_paths"),
        summary="git status lists paths in any of the project's worktrees",
        run=find,
        keeps=True,
    )
