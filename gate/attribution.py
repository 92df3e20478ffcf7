"""Attribution: whose is what was found? One pure function, subject by subject.

Checks report what is there and know nothing of sessions. Deciding by whole worktrees instead lost debt (2 of 40 races
between an end and another session's start); by subject, none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gate.finding import DEBT, DEFERRED, NOTE, Finding, Subject
from gate.ledger import safe_id
from gate.project import digest
from gate.waivers import Waiver, matches


class Living(NamedTuple):
    """Another session that is at work: since when, by the file system's clock, and in which worktree.

    `id` is the session's own, as a file name. `shell` says that it is a plain shell: open for days, so what came during
    another session that ended is charged to that one.
    """

    id: str
    written: float
    worktree: str
    shell: bool = False


class Baseline(NamedTuple):
    """What was already so when a session started: subjects as digests, with their states (None: none was taken), and
    when its record was written, by the file system's clock (None: that is not known); `shell` as in `Living`.
    """

    states: Mapping[str, str] | None = None
    written: float | None = None
    shell: bool = False


class Evidence(NamedTuple):
    """What is known beside the findings, for one check. Keys of subjects are digests, as `key_of` makes them.

    `debts` are the keys that stand as debt in the marker, `notes` those that were there before any session, each with
    its state. `looked` is when the check last looked (0: never; None: what has come since cannot be told).

    `baselines` has one for each session that ended since then; where none did, those of living ones: `ended` tells
    which. `first` says that this is a first look and the check's subjects are such as people keep: then nobody is
    charged, unless a session ended. `worktrees` are those in which a session's record stands. `keeps` is the check's
    own word.

    `owner` gives the root of the other project that a subject belongs to (empty: not another's) and whether only that
    project's debt says so. `quiet` are two times between which nobody but a person can have worked (exclusive,
    inclusive). `waivers` are those in force, `over` the sessions that are known to have ended.
    """

    debts: frozenset[str] = frozenset()
    notes: Mapping[str, str] = {}
    looked: float | None = None
    baselines: Sequence[Baseline] = ()
    ended: bool = False
    living: Sequence[Living] = ()
    first: bool = False
    worktrees: frozenset[str] = frozenset()
    keeps: bool = True
    owner: Callable[[Subject], tuple[str, bool]] = lambda _: ("", False)
    quiet: tuple[float, float] | None = None
    waivers: Sequence[Waiver] = ()
    over: frozenset[str] = frozenset()

    @property
    def of_clients(self) -> Sequence[Baseline]:
        """The baselines of sessions that were no plain shells'."""
        return [baseline for baseline in self.baselines if not baseline.shell]


class Part(NamedTuple):
    """Some subjects of a finding that are of one kind; `before` is how many others were there before. `found` says that
    attribution found the kind, and not the check; `owner` is the root of the other project that they belong to,
    `waiver` what accepts them, though they are debt. `by_shell` says that only a plain shell defers them.
    """

    kind: str
    subjects: Sequence[Subject]
    before: int = 0
    found: bool = True
    owner: str = ""
    waiver: Waiver | None = None
    by_shell: bool = False


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
        owner = _owner(subject, evidence)
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
    clients = [session for session in evidence.living if not session.shell]
    by_shell = [s for s in kinds[DEFERRED] if not _at_work(clients, s, evidence)]
    kinds[DEFERRED] = [s for s in kinds[DEFERRED] if s not in by_shell]
    own = [Part(kind, subjects, before if kind == DEBT else 0) for kind, subjects in kinds.items() if subjects]
    own += [Part(DEFERRED, by_shell, by_shell=True)] if by_shell else []
    own += [Part(NOTE, subjects, waiver=waiver) for waiver, subjects in waived.items()]
    return own + [Part(NOTE, subjects, owner=owner) for owner, subjects in others.items()]


def _accepted_by(name: object, evidence: Evidence) -> Waiver | None:
    return next((waiver for waiver in evidence.waivers if matches(name, waiver.pattern)), None)


def _owner(subject: Subject, evidence: Evidence) -> str:
    if key_of(subject) in evidence.debts:
        return ""
    owner, by_debt = evidence.owner(subject)
    return "" if by_debt and _came_during_one_that_ended(subject, evidence) else owner


def kind_of(subject: Subject, evidence: Evidence) -> str:
    """Whose one subject of this project is: debt, deferred (another living session works there) or note (it was there
    before).
    """
    key = key_of(subject)
    if key in evidence.debts:
        return DEBT
    at_work = _at_work(evidence.living, subject, evidence)
    if any(not session.shell for session in at_work):
        return DEFERRED
    if at_work and not _came_during_one_that_ended(subject, evidence._replace(baselines=evidence.of_clients)):
        return DEFERRED
    if subject.at_work and safe_id(subject.tag or "") not in evidence.over:
        return DEFERRED
    if _is_quiet(subject, evidence):
        return NOTE
    if _came_during_one_that_ended(subject, evidence):
        return DEBT  # though another that began later may have found it there and noted it
    if evidence.baselines and all(_was_there(subject, baseline, evidence) for baseline in evidence.baselines):
        return NOTE
    if _is_noted(subject, evidence) or (evidence.first and not evidence.baselines):
        return NOTE
    return DEBT


def _came_during_one_that_ended(subject: Subject, evidence: Evidence) -> bool:
    """Whether a session that ended had not found it there."""
    return evidence.ended and any(_was_there(subject, baseline, evidence) is False for baseline in evidence.baselines)


def _is_quiet(subject: Subject, evidence: Evidence) -> bool:
    if evidence.quiet is None or subject.changed is None:
        return False
    after, until = evidence.quiet
    return after < subject.changed <= until


def _is_noted(subject: Subject, evidence: Evidence) -> bool:
    if evidence.notes.get(key_of(subject)) == subject.fingerprint:
        return True
    return _is_part_of(subject, evidence.notes, evidence.looked)


def _was_there(subject: Subject, baseline: Baseline, evidence: Evidence) -> bool | None:
    """Whether a subject was there, as it is, when a session began; None where that is not known."""
    if baseline.states is not None:
        same = baseline.states.get(key_of(subject)) == subject.fingerprint
        return same or _is_part_of(subject, baseline.states, baseline.written)
    # Only of what people keep: what fills a directory or holds a lock before a session is what another left. And what
    # the last look did not show, though it is older, may have been brought out by this very session.
    if baseline.written is None or subject.changed is None or not evidence.keeps or evidence.looked is None:
        return None
    if subject.changed > baseline.written:
        return False
    return True if subject.changed > evidence.looked else None


def _is_part_of(subject: Subject, states: Mapping[str, str], at: float | None) -> bool:
    """Whether it lies in something that was listed as a whole at that time, and has not changed since."""
    if at is None or subject.changed is None or subject.changed > at:
        return False
    return any(key_of(Subject(key)) in states for key in subject.within)


def _at_work(living: Sequence[Living], subject: Subject, evidence: Evidence) -> list[Living]:
    return [session for session in living if _is_at_work(session, subject, evidence.worktrees)]


def _is_at_work(session: Living, subject: Subject, worktrees: frozenset[str]) -> bool:
    if subject.tag is not None:
        return safe_id(subject.tag) == session.id
    if subject.worktree is None or subject.changed is None or subject.changed <= session.written:
        return False
    # Where nobody's record stands, a living session's helpers work: their starts are no sessions of their own.
    return subject.worktree == session.worktree or subject.worktree not in worktrees
