"""Attribution: whose is what was found? One pure function, subject by subject.

Checks report what is there and know nothing of sessions. Deciding by whole worktrees instead lost debt (2 of 40 races
between an end and another session's start); by subject, none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gate.finding import DEBT, DEFERRED, NOTE, Finding, Subject
from gate.ledger import safe_id
from gate.project import digest
from gate.waivers import Waiver, matches


@dataclass(frozen=True)
class Living:
    """Another session that is at work: since when, by the file system's clock, and in which worktree.

    `id` is the session's own, as a file name.
    """

    id: str
    written: float
    worktree: str


@dataclass(frozen=True)
class Evidence:
    """What is known beside the findings, for one check. Keys of subjects are digests, as `key_of` makes them.

    `debts` are the keys that stand as debt in the marker; `notes` those that were there before any session, each with
    its state; `baselines` has one entry for each session that ended since the check was last known: its subjects and
    their states at that session's start; where no baseline was taken, when the session began, by the file system's
    clock, or None where that tells nothing. `ended` tells whether the baselines are
    those of sessions that ended. `first` says that this is a first look and the check's subjects are such as people
    keep: then nobody is charged, unless a session ended. `worktrees` are those in which a session's record stands.
    `owner` gives the root of the other project that a subject belongs to, empty where it is not another's. `quiet` are
    two times between which nobody but a person can have worked (exclusive, inclusive). `waivers` are those in force.
    """

    debts: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)
    baselines: Sequence[Mapping[str, str] | float | None] = ()
    living: Sequence[Living] = ()
    ended: bool = False
    first: bool = False
    worktrees: frozenset[str] = frozenset()
    owner: Callable[[Subject], str] = lambda _: ""
    quiet: tuple[float, float] | None = None
    waivers: Sequence[Waiver] = ()


@dataclass(frozen=True)
class Part:
    """Some subjects of a finding that are of one kind; `before` is how many others were there before. `found` says that
    attribution found the kind, and not the check; `owner` is the root of the other project that they belong to,
    `waiver` what accepts them, though they are debt.
    """

    kind: str
    subjects: Sequence[Subject]
    before: int = 0
    found: bool = True
    owner: str = ""
    waiver: Waiver | None = None


def key_of(subject: Subject) -> str:
    """A subject's key as it is stored: a digest, so that state holds no names of other people's files."""
    return digest(subject.key.encode("utf-8", "surrogateescape"))


def attribute(finding: Finding, evidence: Evidence) -> list[Part]:
    """Divide a finding by whose its subjects are. One that is not debt by its check's own word stays as it is."""
    if finding.kind != DEBT:
        return [Part(finding.kind, finding.subjects, found=False)]
    if not finding.subjects:
        waiver = _accepted_by(finding.key, evidence)
        return [Part(DEBT if waiver is None else NOTE, (), found=False, waiver=waiver)]
    kinds: dict[str, list[Subject]] = {DEBT: [], DEFERRED: [], NOTE: []}
    others: dict[str, list[Subject]] = {}
    waived: dict[Waiver, list[Subject]] = {}
    for subject in finding.subjects:
        owner = "" if key_of(subject) in evidence.debts else evidence.owner(subject)
        if owner:
            others.setdefault(owner, []).append(subject)
        else:
            kind = kind_of(subject, evidence)
            waiver = _accepted_by(subject.name or subject.key, evidence) if kind == DEBT else None
            (kinds[kind] if waiver is None else waived.setdefault(waiver, [])).append(subject)
    if len(kinds[DEBT]) <= finding.tolerated:
        kinds[DEBT] = []
        if len(kinds[DEFERRED]) <= finding.tolerated:
            kinds[DEFERRED] = []
    before = len(kinds[NOTE])
    own = [Part(kind, subjects, before if kind == DEBT else 0) for kind, subjects in kinds.items() if subjects]
    own += [Part(NOTE, subjects, waiver=waiver) for waiver, subjects in waived.items()]
    return own + [Part(NOTE, subjects, owner=owner) for owner, subjects in others.items()]


def _accepted_by(name: object, evidence: Evidence) -> Waiver | None:
    return next((waiver for waiver in evidence.waivers if matches(name, waiver.pattern)), None)


def kind_of(subject: Subject, evidence: Evidence) -> str:
    """Whose one subject of this project is: debt, deferred (another living session works there) or note (it was there
    before).
    """
    key, state = key_of(subject), subject.fingerprint
    if key in evidence.debts:
        return DEBT
    if any(_is_at_work(session, subject, evidence.worktrees) for session in evidence.living):
        return DEFERRED
    was_there = [_was_there(subject, base) for base in evidence.baselines]
    if evidence.ended and False in was_there:
        return DEBT  # it came during that session, though another that began later found it there and noted it
    if was_there and all(was_there):
        return NOTE
    if evidence.notes.get(key) == state or (evidence.first and not evidence.baselines):
        return NOTE
    if evidence.quiet is not None and subject.changed is not None:
        after, until = evidence.quiet
        return NOTE if after < subject.changed <= until else DEBT
    return DEBT


def _was_there(subject: Subject, baseline: Mapping[str, str] | float | None) -> bool | None:
    """Whether a subject was there, as it is, when a session began; None where that is not known."""
    if baseline is None:
        return None
    if isinstance(baseline, float):
        return None if subject.changed is None else subject.changed <= baseline
    return baseline.get(key_of(subject)) == subject.fingerprint


def _is_at_work(session: Living, subject: Subject, worktrees: frozenset[str]) -> bool:
    if subject.tag is not None:
        return safe_id(subject.tag) == session.id
    if subject.worktree is None or subject.changed is None or subject.changed <= session.written:
        return False
    # Where nobody's record stands, a living session's helpers work: their starts are no sessions of their own.
    return subject.worktree == session.worktree or subject.worktree not in worktrees
