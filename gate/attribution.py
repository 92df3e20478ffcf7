"""Attribution: whose is what was found? One pure function, subject by subject.

Checks report what is there and know nothing of sessions. Deciding by whole worktrees instead lost debt (2 of 40 races
between an end and another session's start); by subject, none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gate.finding import DEBT, DEFERRED, NOTE, Finding, Subject
from gate.project import digest


@dataclass(frozen=True)
class Living:
    """Another session that is at work: since when, by the file system's clock, and in which worktree."""

    id: str
    written: float
    worktree: str


@dataclass(frozen=True)
class Evidence:
    """What is known beside the findings, for one check. Keys of subjects are digests, as `key_of` makes them.

    `debts` are the keys that stand as debt in the marker; `notes` those that were there before any session, each with
    its state; `baselines` has one entry for each session that ended since the check was last known: its subjects and
    their states at that session's start, None where no baseline was taken. `first` says that this is a first look and
    the check's subjects are such as people keep: then nobody is charged, unless a session ended. `elsewhere` tells
    whether a subject belongs to another project, `ended` whether the baselines are those of sessions that ended.
    """

    debts: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)
    baselines: Sequence[Mapping[str, str] | None] = ()
    living: Sequence[Living] = ()
    first: bool = False
    elsewhere: Callable[[Subject], bool] = lambda _: False
    ended: bool = False


@dataclass(frozen=True)
class Part:
    """Some subjects of a finding that are of one kind; `before` is how many others were there before. `found` says that
    attribution found the kind, and not the check.
    """

    kind: str
    subjects: Sequence[Subject]
    before: int = 0
    found: bool = True


def key_of(subject: Subject) -> str:
    """A subject's key as it is stored: a digest, so that state holds no names of other people's files."""
    return digest(subject.key.encode("utf-8", "surrogateescape"))


def attribute(finding: Finding, evidence: Evidence) -> list[Part]:
    """Divide a finding by whose its subjects are. One that is not debt by its check's own word stays as it is."""
    if finding.kind != DEBT or not finding.subjects:
        return [Part(finding.kind, finding.subjects, found=False)]
    kinds: dict[str, list[Subject]] = {DEBT: [], DEFERRED: [], NOTE: []}
    for subject in finding.subjects:
        kinds[kind_of(subject, evidence)].append(subject)
    if len(kinds[DEBT]) <= finding.tolerated:
        kinds[DEBT] = []
        if len(kinds[DEFERRED]) <= finding.tolerated:
            kinds[DEFERRED] = []
    before = len(kinds[NOTE])
    return [Part(kind, subjects, before if kind == DEBT else 0) for kind, subjects in kinds.items() if subjects]


def kind_of(subject: Subject, evidence: Evidence) -> str:
    """Whose one subject is: debt, deferred (another living session works there) or note (it was there before)."""
    key, state = key_of(subject), subject.fingerprint
    if key in evidence.debts:
        return DEBT
    if evidence.elsewhere(subject):
        return NOTE
    if any(_is_at_work(session, subject) for session in evidence.living):
        return DEFERRED
    if evidence.ended and any(base is not None and base.get(key) != state for base in evidence.baselines):
        return DEBT  # it came during that session, though another that began later found it there and noted it
    if evidence.baselines and all(base is not None and base.get(key) == state for base in evidence.baselines):
        return NOTE
    if evidence.notes.get(key) == state or (evidence.first and not evidence.baselines):
        return NOTE
    return DEBT


def _is_at_work(session: Living, subject: Subject) -> bool:
    if subject.tag is not None:
        return subject.tag == session.id
    return (
        subject.worktree == session.worktree
        and subject.worktree is not None
        and subject.changed is not None
        and subject.changed > session.written
    )
