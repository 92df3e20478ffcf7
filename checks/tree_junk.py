"""JUNK: what git took in and nobody meant to keep. It hides from `git status`, and goes to everybody who clones."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gate.api import (  # isort: skip
    NOTE, UNKNOWN, Check, Chosen, Context, Finding, Junk, Options, Phrase, ShellWord, Subject, TakenIn,
    UnknownError, Worktree, all_taken_in, hookimpl, incident_text, option, plainly, say, shown, untracked_droppings,
)  # fmt: skip

HURRY = 5.0  # seconds; who has less is a session's start, which shows no notes
WORDS = {
    Junk.RESERVED: "names that no file has on Windows (no clone there can be checked out)",
    Junk.DROPPED: "droppings of clients (nothing reads them again)",
    Junk.WORKTREE: "the files of agents' worktrees",
    Junk.NAMELESS: "repositories that .gitmodules does not name (no submodule command gets past them)",
}
"""What each kind is, worst first."""


@dataclass(frozen=True)
class TreeJunk(Options):
    """What is test data and no junk."""

    fixtures: tuple[str, ...] = option(
        ("fixtures", "fixture", "__fixtures__", "testdata", "test-data", "test_data"),
        "names of directories whose files are test data, whatever they are called",
    )


def find(context: Context[TreeJunk]) -> Iterator[Finding]:
    """One finding for each kind, with a subject for each thing; one for each worktree that could not be looked at."""
    worktrees = context.worktrees_that_are_there()
    fixtures = frozenset(name.lower() for name in context.options.fixtures)
    things, failed = all_taken_in(context.git, worktrees, fixtures, 0.8 * context.time_left())
    for kind in WORDS:
        if found := [(thing, worktree) for thing, worktree in things if thing.kind is kind]:
            yield finding(context, kind, found)
    for reason, unseen in failed.items():
        places = [tree.path if tree.main else shown(tree.path, context.project.root) for tree in unseen]
        cure = say("git -C {} ls-files shows it; it is known when git can answer in time", ShellWord(unseen[0].path))
        text = say("could not check {}: {}", places, plainly(reason))
        yield Finding(reason, text, [Subject(tree.path) for tree in unseen], remedy=cure, kind=UNKNOWN)
    yield from untracked(context, worktrees)


def finding(context: Context[TreeJunk], kind: Junk, found: Sequence[tuple[TakenIn, Worktree]]) -> Finding:
    """The finding of one kind. Its subjects are of the repository, not of a worktree: a new one has them as well."""

    def summary(chosen: Chosen) -> Phrase:
        return say("git took in {}{}: {}", say(WORDS[kind]), chosen.context, chosen.names)

    subjects = []
    for thing, worktree in found:
        where = say("" if worktree.main else " in {}", shown(worktree.path, context.project.root))
        detail = say("{}{}{}", thing.path, say(" with {} files", thing.files) if thing.files > 1 else say(""), where)
        key, state = f"{kind.name}\0{thing.path}", kind.name
        subjects.append(Subject(key, thing.path, thing.changed, state, worktree.path, detail=detail))
    thing, worktree = found[0]
    look = say("git -C {} log --oneline -- {} shows what took it in", ShellWord(worktree.path), ShellWord(thing.path))
    cure = "it goes when it is out of the index and that is committed (.gitignore keeps it out); what is on disk stays"
    return Finding(kind.name, summary, subjects, remedy=say("{}; {}", look, say(cure)))


def untracked(context: Context[TreeJunk], worktrees: Sequence[Worktree]) -> Iterator[Finding]:
    """A note that says of uncommitted paths what they are: clients' droppings. That they are there is said as REPO."""
    too_large = {"/", os.path.realpath(context.expand("~"))}
    for worktree in worktrees if context.time_left() > HURRY else ():
        try:
            until = context.deadline - 0.5 * context.time_left()
            names = [] if worktree.path in too_large else untracked_droppings(context.git, worktree.path, until)
        except UnknownError:
            return  # there is no time for more; what is untracked is said as REPO anyway
        if names:
            text = say(
                "{} uncommitted files are droppings of clients, and nothing reads them again: {}", len(names), names
            )
            look = say("git -C {} status --untracked-files=all shows them", ShellWord(worktree.path))
            remedy = say("{}; whoever sees that they hold a path alone can remove them", look)
            yield Finding(f"untracked\0{worktree.path}", text, remedy=remedy, kind=NOTE)


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="tree_junk",
        label="JUNK",
        incident=incident_text("tree_junk"),
        summary="git has what nobody meant to keep: clients' droppings, names no Windows has, agents' worktrees",
        run=find,
        options=TreeJunk,
        keeps=True,
    )
