"""STRANDED: commits and stashes that are found nowhere else, and go when an agent's branch or worktree goes."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gate.api import (
    AGENT_BRANCHES,
    AGENT_LOCKS,
    AGENT_NAMES,
    AGENT_ROOTS,
    UNKNOWN,
    Check,
    Chosen,
    CommitSearch,
    Context,
    Finding,
    Options,
    Phrase,
    Signs,
    Stash,
    Stranded,
    Subject,
    UnknownError,
    duration,
    hookimpl,
    incident_text,
    list_stashes,
    option,
    plainly,
    read_references,
    say,
    stash_remedy,
    stranded_remedy,
)


@dataclass(frozen=True)
class StrandedWork(Options):
    """What tells an agent's branches and worktrees from a person's."""

    branches: tuple[str, ...] = option(AGENT_BRANCHES, "how agents call their branches")
    roots: tuple[str, ...] = option(AGENT_ROOTS, "directories where agents keep worktrees")
    names: tuple[str, ...] = option(AGENT_NAMES, "how agents' worktrees or the branches there are called")
    lock_reasons: tuple[str, ...] = option(AGENT_LOCKS, "the reasons with which clients lock worktrees")


def find(context: Context[StrandedWork]) -> Iterator[Finding]:
    """A finding for each place with commits that are found nowhere else, and one about all stashes."""
    project, options, trees = context.project, context.options, context.worktrees
    common = context.repository()
    here = next((tree.path for tree in trees if tree.main and not tree.missing), common)
    references = read_references(context.git, here, 0.85 * context.time_left())
    temps = [os.path.realpath(context.expand(path)) for path in ("$TMPDIR", "/tmp")]  # noqa: S108
    roots = [context.expand(root) for root in options.roots]
    signs = Signs(roots, options.names, options.lock_reasons, temps)
    search = CommitSearch(context.git, project, trees, references, signs, options.branches, here)
    try:
        found = search.find(0.7 * context.time_left())
        yield from [commits(context, stranded, here) for stranded in found if not stranded.doubt]
        yield from in_doubt(context, [stranded for stranded in found if stranded.doubt])
    except UnknownError as error:
        yield Finding("commits", say("could not check commits: {}", plainly(error)), kind=UNKNOWN)
    if left := list_stashes(context.git, here, references, 0.85 * context.time_left()):
        yield stashes(context, left, here)


def commits(context: Context[StrandedWork], stranded: Stranded, here: str) -> Finding:
    """What would be lost, and where."""
    head, tree, root = stranded.head, stranded.head.tree, context.project.root
    place, age = head.where(root), duration(context.now - stranded.newest)
    verb, newest = map(say, ("is", "") if stranded.total == 1 else ("are", "the newest "))

    def summary(chosen: Chosen) -> Phrase:
        text = "{} on {} {} found nowhere else{}, {}{} old"
        return say(text, stranded.commits, place, verb, chosen.context, newest, age)

    details = [say("taken for an agent's: {}", head.maker)] if head.maker is not None else []
    if stranded.was_pushed:
        details.append(say("another repository has had a branch for it, which is not seen here (any more)"))
    worktree = tree.path if tree is not None and not tree.missing else root
    subject = Subject(head.key, head.name(root), stranded.moved, head.commit, worktree)
    return Finding(head.key, summary, [subject], details, stranded_remedy(stranded, here))


def in_doubt(context: Context[StrandedWork], found: Sequence[Stranded]) -> Iterator[Finding]:
    """Those that may be kept in another form, which could not be told."""
    if found:
        names = [stranded.head.name(context.project.root) for stranded in found]
        text = "could not check whether commits are merged in another form: {} ({})"
        yield Finding("forms", say(text, plainly(found[0].doubt), names), [Subject("forms")], kind=UNKNOWN)


def stashes(context: Context[StrandedWork], left: Sequence[Stash], here: str) -> Finding:
    """All stashes, each a subject of its own."""
    trees, texts, subjects = {tree.branch: tree.path for tree in context.worktrees if not tree.missing}, {}, []
    for stash in left:
        branch, age = stash.branch or say("no branch"), duration(context.now - stash.made)
        texts[stash.commit] = say("{} (on {}, {} old)", stash.message, branch, age)
        worktree = trees.get(stash.branch, context.project.root)
        subjects.append(Subject(stash.commit, stash.message, stash.made, stash.commit, worktree))

    def summary(chosen: Chosen) -> Phrase:
        plural = say("stash" if chosen.count == 1 else "stashes")
        return say("{} {}{}: {}", chosen.count, plural, chosen.context, [texts[each.key] for each in chosen.subjects])

    return Finding("stashes", summary, subjects, remedy=stash_remedy(left, here))


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="stranded_work",
        label="STRANDED",
        incident=incident_text("stranded_work"),
        summary="commits on an agent's branch or a detached HEAD, or a stash, are found nowhere else",
        run=find,
        options=StrandedWork,
        keeps=True,
    )
