"""What a check finds: findings, and the subjects they are about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gate.quote import Phrase, say

NOTHING = say("")

DEBT = "debt"
UNKNOWN = "unknown"
DEFERRED = "deferred"
NOTE = "note"
KINDS = (DEBT, UNKNOWN, DEFERRED, NOTE)

CLEAN = "clean"
SKIPPED = "skipped"
OUTCOMES = (CLEAN, DEBT, UNKNOWN, SKIPPED)

PROJECT = "project"
MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about, one by one: a path, a process, a lock, a worktree.

    `key` stays the same while it is the same thing; `state` changes when the thing does (by default with `changed`).
    `changed` is the file system's time of its last change, in epoch seconds, None where it has none that tells.
    `worktree` is the working tree it lies in, `tag` the session named in a process's environment, `directory` a
    process's working directory: by these the engine attributes it. `within` are the keys of what it may have been a
    part of at an earlier look (a file: the directories above it). `at_work` says that the session named by the tag may
    still be going on, for all that the check could see. `detail` is a line about it alone.
    """

    key: str
    name: object = ""
    changed: float | None = None
    state: str = ""
    worktree: str | None = None
    tag: str | None = None
    directory: str | None = None
    within: tuple[str, ...] = ()
    at_work: bool = False
    detail: Phrase | None = None

    @property
    def fingerprint(self) -> str:
        """What is compared with a baseline: unchanged means that this is the same."""
        return self.state or repr(self.changed)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Those subjects of a finding that a summary is to speak of, with the engine's words about the others.

    `context` is empty or begins with a space: " since the claude session that ended … (7 more from before)".
    """

    subjects: Sequence[Subject]
    context: Phrase = NOTHING

    @property
    def count(self) -> int:
        """How many subjects the summary speaks of."""
        return len(self.subjects)

    @property
    def names(self) -> list[object]:
        """Their names, to be put into a phrase as one value."""
        return [subject.name for subject in self.subjects]


Summary = Phrase | Callable[[Chosen], Phrase]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check found.

    `key` names the thing within its check and stays the same whatever its count or size. `summary` says what, where,
    how much and how old: a phrase, or a function of the chosen subjects where there can be several. `remedy` is a
    read-only command to look with, and in words what clears it. `tolerated` is how many subjects are no debt yet.
    """

    key: str
    summary: Summary
    subjects: Sequence[Subject] = ()
    details: Sequence[Phrase] = ()
    remedy: Phrase = NOTHING
    kind: str = DEBT
    tolerated: int = 0

    def summarise(self, subjects: Sequence[Subject], context: Phrase = NOTHING) -> Phrase:
        """The summary that speaks of `subjects` alone."""
        if isinstance(self.summary, Phrase):
            return self.summary
        return self.summary(Chosen(subjects, context))


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding as the marker and the outputs have it: attributed, its texts rendered and so already quoted.

    `fingerprint` stands for the thing, whatever its count or size, and `subjects` for just these subjects; `worktree`
    is the one that all of them lie in, else empty; `once` says that a start shows it this time, though it is a note.
    """

    check: str
    label: str
    kind: str
    summary: str
    details: tuple[str, ...]
    scope: str
    incident: str
    remedy: str
    fingerprint: str
    first_seen: str
    worktree: str = ""
    subjects: str = ""
    once: bool = False
