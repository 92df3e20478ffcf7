"""The report of one run of the suite: results, attributed findings, and what is to be remembered. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from gate.attribution import Baseline, Evidence, Living, Part, attribute, key_of
from gate.check import Check
from gate.clock import local, local_day, parse_rfc3339, rfc3339
from gate.finding import CLEAN, DEBT, DEFERRED, MACHINE, NOTE, NOTHING, SKIPPED, UNKNOWN, Finding, Reported, Subject
from gate.project import digest
from gate.quote import Phrase, line, say
from gate.suite import Result
from gate.waivers import Waiver, matches

MOST_DETAILS = 20
States = Mapping[str, Mapping[str, str]]
"""For each check that was known at a session's start: its subjects, as digests, with their states."""

Seen = Mapping[str, Sequence[tuple[Subject, str]]]
"""For each check that was known in a run: its subjects, and of which kind each was."""


class Before(NamedTuple):
    """What was so at a session's start (None: no baseline was taken), and when its record was written, by the file
    system's clock (None: that is not known). `shell` says that it was a plain shell's.
    """

    states: States | None = None
    written: float | None = None
    shell: bool = False


class Known(NamedTuple):
    """What is known before the suite's results are judged.

    `now` is by the wall clock, `looked` by the file system's: when the suite began. `memory` and `first_seen` (by
    fingerprint) come from the previous marker, `before` are the baselines of the sessions that ended since then, or of
    the living ones where none did: `ended` tells which. `session` is what a marker keeps of the last one that ended.
    `first` says that for a check which was never known this is a first look.

    `owner` is the root of the other project that a check's subject belongs to, and whether only its debt says so.
    `quiet` are two times, by the file system's clock, between which nobody but a person can have worked; the first is
    None where that is since each check's last look. `worktrees` are those in which a session's record stands, `waivers`
    gives those of a check that are in force and those that are over; `over` are the sessions known to have ended.
    """

    now: float
    looked: float
    memory: Mapping[str, Any] = {}
    first_seen: Mapping[str, str] = {}
    before: Sequence[Before] = ()
    ended: bool = False
    living: Sequence[Living] = ()
    session: Mapping[str, Any] | None = None
    first: bool = False
    worktrees: frozenset[str] = frozenset()
    owner: Callable[[str, Subject], tuple[str, bool]] = lambda _check, _subject: ("", False)
    quiet: tuple[float | None, float] | None = None
    waivers: Callable[[str], tuple[Sequence[Waiver], Sequence[Waiver]]] = lambda _check: ((), ())
    over: frozenset[str] = frozenset()


class Report(NamedTuple):
    """What one run of the suite came to. `memory` and `seen` are for the next marker and for a session's baseline,
    `others` what it found of other projects and is more than tolerated, by their roots: checks and keys of subjects;
    `waived` the waivers that it took into account.
    """

    results: Sequence[Mapping[str, Any]]
    findings: Sequence[Reported]
    memory: Mapping[str, Any]
    seen: Seen
    others: Mapping[str, Sequence[tuple[str, str]]] = {}
    waived: Sequence[Waiver] = ()

    @property
    def state(self) -> str:
        """`ok` when no finding is debt or unknown, else `debt`."""
        return DEBT if any(finding.kind in (DEBT, UNKNOWN) for finding in self.findings) else "ok"

    def of_kind(self, *kinds: str) -> list[Reported]:
        """The findings of these kinds, in the order of the checks."""
        return [finding for finding in self.findings if finding.kind in kinds]

    def baseline(self, written: float, looked: Mapping[str, float] | None = None) -> States:
        """What was so when a session's record was `written`, by the file system's clock; what changed later is its own,
        and what is deferred is another's.

        Debt is not part of a baseline, or a lost marker would turn it into something kept. Only what came after the
        check's last look, which found nothing, is: a person's work between two sessions. `looked` has such looks, of
        checks of what people keep: their time; of one whose things do not ripen any time tells, as 0.
        """
        return {
            check: {
                key_of(subject): subject.fingerprint
                for subject, kind in subjects
                if (subject.changed is None or subject.changed <= written)
                and kind != DEFERRED
                and (kind != DEBT or _came_after(subject, (looked or {}).get(check)))
            }
            for check, subjects in self.seen.items()
        }

    def to_json(self) -> dict[str, Any]:
        """What `run` and `end` print as JSON."""
        return {
            "schema": 1,
            "state": self.state,
            "results": list(self.results),
            "findings": [asdict(finding) for finding in self.findings],
        }


def make_report(results: Sequence[Result], known: Known, extra: Sequence[Reported] = (), whole: bool = True) -> Report:
    """Judge the results of a suite. `extra` are findings of the engine's own (configuration, plugins), `whole` says
    that every check that may run did.
    """
    shown: list[Mapping[str, Any]] = []
    findings: list[Reported] = []
    memory = dict(known.memory)
    seen: dict[str, Sequence[tuple[Subject, str]]] = {}
    others: dict[str, list[tuple[str, str]]] = {}
    waived: list[Waiver] = []
    for result in results:
        check = result.check
        evidence = _evidence(check, known)
        parts = [(finding, part) for finding in result.findings for part in attribute(finding, evidence)]
        alone = len(result.findings) == 1
        reported = [_reported(check, finding, part, known, alone) for finding, part in parts]
        outcome = _outcome(result.outcome, reported)
        findings += reported
        shown.append(
            {
                "check": check.name,
                "outcome": outcome,
                "reason": line(result.reason),
                "duration_ms": round(result.duration * 1000, 1),
            }
        )
        memory[check.name] = _remember(check, result, outcome, parts, reported, known)
        if outcome in (CLEAN, DEBT) and not any(finding.kind == UNKNOWN for finding in result.findings):
            own = [part for _, part in parts if not part.owner and part.waiver is None]
            # What a plain shell defers was there before whatever session begins now.
            seen[check.name] = [(s, NOTE if part.by_shell else part.kind) for part in own for s in part.subjects]
        waived += [part.waiver for _, part in parts if part.waiver is not None]
        for finding, part in parts:
            if part.owner and len(part.subjects) > finding.tolerated:
                others.setdefault(part.owner, []).extend((check.name, key_of(subject)) for subject in part.subjects)
    if whole:
        for check_name in memory.keys() - {result.check.name for result in results}:
            # It did not look, so its last look does not tell what has come since.
            memory[check_name] = {**memory[check_name], "looked": None}
    return Report(shown, [*findings, *extra], memory, seen, others, waived)


def _came_after(subject: Subject, looked: float | None) -> bool:
    return looked is not None and subject.changed is not None and subject.changed > looked


def _evidence(check: Check, known: Known) -> Evidence:
    remembered = known.memory.get(check.name, {})
    baselines = [
        Baseline(None if before.states is None else before.states.get(check.name), before.written, before.shell)
        for before in known.before
    ]
    if "carried" in remembered:
        baselines.append(Baseline(remembered["carried"]))
    return Evidence(
        debts=frozenset(remembered.get("debt", ())),
        notes=remembered.get("notes", {}),
        looked=remembered.get("looked") if remembered.get("known") else 0.0,
        baselines=baselines,
        ended=known.ended or "carried" in remembered,
        living=known.living,
        first=known.first and check.keeps and not remembered.get("known"),
        worktrees=known.worktrees,
        keeps=check.keeps,
        owner=(lambda subject: known.owner(check.name, subject)) if check.scope == MACHINE else lambda _: ("", False),
        quiet=_quiet(check, known, remembered),
        waivers=known.waivers(check.name)[0],
        over=known.over,
    )


def _quiet(check: Check, known: Known, remembered: Mapping[str, Any]) -> tuple[float, float] | None:
    if known.quiet is None or not check.keeps or "carried" in remembered or not remembered.get("looked"):
        return None
    after, until = known.quiet
    # What a look does not show has come after it, however old it is, unless such things ripen: a person may bring out
    # old content by switching to another branch.
    return (after if after is not None else remembered["looked"] if check.ripens else 0.0), until


def _outcome(outcome: str, reported: Sequence[Reported]) -> str:
    kinds = {finding.kind for finding in reported}
    if DEBT in kinds:
        return DEBT
    if UNKNOWN in kinds:
        return UNKNOWN
    return SKIPPED if outcome == SKIPPED else CLEAN


def _remember(
    check: Check,
    result: Result,
    outcome: str,
    parts: Sequence[tuple[Finding, Part]],
    reported: Sequence[Reported],
    known: Known,
) -> dict[str, Any]:
    """What the next run has to know of this check. What is unknown now keeps what was known before."""
    before = known.memory.get(check.name, {})
    now = rfc3339(known.now)
    old_debt = before.get("debt", {})
    due = [part for _, part in parts if part.kind == DEBT or part.waiver is not None]
    debt = {key_of(subject): old_debt.get(key_of(subject), now) for part in due for subject in part.subjects}
    own = [part for _, part in parts if part.kind == NOTE and not part.owner and part.waiver is None]
    notes = {key_of(s): s.fingerprint for part in own for s in part.subjects}
    evidence = _evidence(check, known)
    if any(finding.kind == UNKNOWN for finding in result.findings):
        carried = _intersection(evidence.baselines)
        return {
            "known": before.get("known", ""),
            "looked": before.get("looked"),
            "last": before.get("last", ""),
            "debt": {**old_debt, **debt},
            "notes": {**before.get("notes", {}), **notes},
            "left_by": before.get("left_by") if old_debt else known.session,
            **({"carried": carried} if known.before or "carried" in before else {}),
        }
    last = next((finding.summary for finding in reported if finding.kind == DEBT), outcome)
    left_by = before.get("left_by") if old_debt.keys() & debt.keys() else known.session
    more = {"left_by": left_by} if debt else {}
    return {"known": now, "looked": known.looked, "last": last, "debt": debt, "notes": notes, **more}


def _intersection(baselines: Sequence[Baseline]) -> dict[str, str] | None:
    """What was there before every one of several sessions; None where one of them has no baseline."""
    whole = [baseline.states for baseline in baselines if baseline.states is not None]
    if not whole or len(whole) < len(baselines):
        return None
    first, *rest = whole
    return {key: state for key, state in first.items() if all(base.get(key) == state for base in rest)}


def _reported(check: Check, finding: Finding, part: Part, known: Known, alone: bool) -> Reported:
    """A finding as it is told. Only where it is `alone` is the check's last answer the answer to it."""
    fingerprint = digest(f"{check.name}\0{finding.key}".encode("utf-8", "surrogateescape"))
    worktrees = {subject.worktree for subject in part.subjects}
    context = _context(check, part, known)
    summary = finding.summarise(part.subjects, context)
    if isinstance(finding.summary, Phrase) and part.kind in (NOTE, DEFERRED) and part.subjects:
        summary = say("{}{}", summary, context)
    return Reported(
        check=check.name,
        label=check.label,
        kind=part.kind,
        summary=str(_with_last_answer(summary, check, known) if part.kind == UNKNOWN and alone else summary),
        details=_details(finding, part),
        scope=check.scope,
        incident=check.incident_title,
        remedy=str(finding.remedy),
        fingerprint=fingerprint,
        first_seen=known.first_seen.get(fingerprint, rfc3339(known.now)),
        worktree=line(worktrees.pop() or "") if len(worktrees) == 1 else "",
        once=part.kind == NOTE and _evidence(check, known).first,
        subjects=digest("\0".join(sorted(map(key_of, part.subjects))).encode()),
    )


def _details(finding: Finding, part: Part) -> tuple[str, ...]:
    texts = [*finding.details, *(subject.detail for subject in part.subjects if subject.detail is not None)]
    more = len(texts) - MOST_DETAILS
    return (*map(str, texts[:MOST_DETAILS]), *([f"… and {more} more"] if more > 0 else []))


def _context(check: Check, part: Part, known: Known) -> Phrase:
    if part.kind == DEFERRED:
        return say(", changed while another session is at work")
    if part.owner:
        return say(", which is a matter of {}", part.owner)
    if part.waiver is not None:
        return say(", accepted until {}: {}", say(part.waiver.until), part.waiver.reason)
    if part.kind == NOTE:
        return say(", from before") if part.found else NOTHING
    remembered = known.memory.get(check.name, {})
    is_old = any(key_of(subject) in remembered.get("debt", {}) for subject in part.subjects)
    # What tells its own age needs no session to tell it.
    dated = check.keeps and not check.ripens
    since = _since(remembered.get("left_by") if is_old else known.session) if dated else NOTHING
    since = say("{} ({} more from before)", since, part.before) if part.before else since
    expired = known.waivers(check.name)[1]
    over = [s for s in part.subjects if any(matches(s.name or s.key, waiver.pattern) for waiver in expired)]
    return say("{}, {} of which a waiver that is over accepted", since, len(over)) if over else since


def _since(session: object) -> Phrase:
    if not isinstance(session, dict) or not isinstance(session.get("client"), str):
        return NOTHING
    try:
        if session.get("ended"):
            return say(" since the {} session that ended {}", session["client"], _moment(session["ended"]))
        return say(" since the {} session that began {} and did not end", session["client"], _moment(session["since"]))
    except (ValueError, TypeError, KeyError):
        return NOTHING


def _moment(text: str) -> Phrase:
    return say(local(parse_rfc3339(text)))


def _with_last_answer(summary: Phrase, check: Check, known: Known) -> Phrase:
    remembered = known.memory.get(check.name, {})
    if not remembered.get("known"):
        return summary
    day = local_day(parse_rfc3339(remembered["known"]))
    return say("{} ({} on {})", summary, say(_literal(remembered.get("last", ""))), day)


def _literal(text: str) -> str:
    return line(text).replace("{", "{{").replace("}", "}}")
