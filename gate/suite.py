"""The suite: runs the enabled checks side by side, each isolated and within its time.

pluggy would stop at the first check that raises, and give back generators that have not run; so isolation, limits,
order and naming are this module's work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from gate.check import Check, Context, Options
from gate.errors import SkipCheck, UnknownError
from gate.finding import CLEAN, DEBT, SKIPPED, UNKNOWN, Finding
from gate.quote import Phrase, say, short
from gate.soundness import FAULT, sound, told, words
from gate.waivers import matches

START = 2.0
BY_HAND = 30.0
FINISHER = 60.0
"""Seconds that a suite may take: at a session's start; typed by hand; with nobody waiting."""

TICK = 0.5
"""Seconds between two words on what still runs."""

MOST_FINDINGS = 1000
"""A check that finds more is not believed to have found anything that a person could use."""

MOST_SUBJECTS = 20_000
"""The same of what they are about, over all findings of a check: the marker remembers each, and one of more than 8 MiB
is not read (200,000 made 10 MiB, and the project's record was damaged from then on)."""


class Result(NamedTuple):
    """What became of one check in one run: its outcome, why, how long it took (seconds), and what it found."""

    check: Check
    outcome: str
    reason: str = ""
    duration: float = 0.0
    findings: Sequence[Finding] = ()


MakeContext = Callable[[Check, float], Context[Any]]
"""Makes the context of a check whose time is over at the given moment of `time.monotonic`."""


def run_suite(
    checks: Sequence[Check],
    make_context: MakeContext,
    limit: float,
    on_change: Callable[[Sequence[str]], None] | None = None,
) -> list[Result]:
    """Run checks in daemon threads for at most `limit` seconds; the results come in the order of `checks`.

    A check that hangs is unknown, and its thread is left behind: it cannot hold the exit, which must be `os._exit`.
    `on_change` is told the names of the checks that still run, each time one ends.
    """
    started = time.monotonic()
    results: dict[str, Result] = {}
    changed = threading.Condition()

    def work(check: Check) -> None:
        own_limit = min(limit, check.limit)
        result = run_check(check, lambda: make_context(check, started + own_limit * 0.9))
        with changed:
            results.setdefault(check.name, result._replace(duration=time.monotonic() - started))
            changed.notify()

    for check in checks:
        threading.Thread(target=work, args=(check,), daemon=True, name=f"check {check.name}").start()
    with changed:
        while waiting := [check for check in checks if check.name not in results]:
            if on_change is not None:
                on_change([check.name for check in waiting])
            nearest = min(min(limit, check.limit) for check in waiting)
            left = started + nearest - time.monotonic()
            if left <= 0:
                for check in waiting:
                    own_limit = min(limit, check.limit)
                    if own_limit == nearest:
                        reason = f"gave no answer in {own_limit:g} s"
                        # an outcome without a finding would pass for clean
                        late = [_could_not_check(reason, _more_time(check, own_limit))]
                        results[check.name] = Result(check, UNKNOWN, reason, time.monotonic() - started, late)
                continue
            changed.wait(min(left, TICK))
        return [results[check.name] for check in checks]


def run_check(check: Check, context: Callable[[], Context[Any]]) -> Result:
    """Run one check to its end in this thread; whatever it raises becomes the result."""
    findings: list[Finding] = []
    outcome, reason, cure = CLEAN, "", ""
    made: Context[Any] | None = None
    try:
        made = context()
        for finding in _collect(check.run(made), made.options):
            # one by one: what was found before the check raises is kept
            findings.append(finding if finding.remedy.template else _with_cure(check, finding))  # noqa: PERF401
    except SkipCheck as skip:
        outcome, reason = SKIPPED, words(skip)
    except UnknownError as unknown:
        outcome, reason = UNKNOWN, words(unknown) or "no reason was given"
        cure = unknown.cure or _ask_again(check)
    except BaseException as error:  # noqa: BLE001 - a check may do anything, even exit; it must not take others along
        outcome, reason = UNKNOWN, f"the check failed: {short(told(error), 250)}"  # it may have another's words
        cure = FAULT
    if outcome == UNKNOWN:
        findings.append(_could_not_check(reason, cure))
    if made is not None:
        findings += made.not_known()
    return Result(check, _outcome(outcome, findings), reason, findings=findings)


def _could_not_check(reason: str, cure: str) -> Finding:
    return Finding(
        key="", summary=say("could not check: {}", _words(reason[:300])), remedy=_words(cure[:300]), kind=UNKNOWN
    )


def _words(text: str) -> Phrase:
    return say(text.replace("{", "{{").replace("}", "}}"))


def _ask_again(check: Check) -> str:
    return f"gate run {check.name} asks again; gate explain {check.name} says what it looks at"


def _with_cure(check: Check, finding: Finding) -> Finding:
    return replace(finding, remedy=_words(_ask_again(check))) if finding.kind == UNKNOWN else finding


def _more_time(check: Check, limit: float) -> str:
    if limit < min(BY_HAND, check.limit):
        return f"gate run {check.name} gives it {min(BY_HAND, check.limit):g} s"
    return f"it looks at too much, or at a disk that does not answer: gate explain {check.name} says what it looks at"


def _outcome(outcome: str, findings: Sequence[Finding]) -> str:
    if any(finding.kind == DEBT for finding in findings):
        return DEBT
    if any(finding.kind == UNKNOWN for finding in findings):
        return UNKNOWN
    return outcome


def _collect(found: Iterable[Finding] | None, options: Options) -> Iterator[Finding]:
    if isinstance(found, Finding):
        raise UnknownError("the check returned a Finding instead of yielding it", FAULT)
    number, room = 0, MOST_SUBJECTS
    for finding in found or ():
        if not isinstance(finding, Finding):
            raise UnknownError(f"the check yielded a {type(finding).__name__} instead of a Finding", FAULT)
        if number >= MOST_FINDINGS:
            raise UnknownError(f"the check found more than {MOST_FINDINGS:,} things; only those are kept")
        kept = without_ignored(finding, options.ignore)
        if kept is None:
            continue
        number += 1
        subjects = tuple(islice(kept.subjects, room + 1))
        if room or not subjects:
            yield sound(replace(kept, subjects=subjects[:room]))
        if len(subjects) > room:
            cure = "what is to be ignored can be named in the check's option ignore; gate explain shows it"
            raise UnknownError(f"the check found more than {MOST_SUBJECTS:,} things; only those are kept", cure)
        room -= len(subjects)


def without_ignored(finding: Finding, patterns: Sequence[str]) -> Finding | None:
    """A finding without the subjects whose name matches a pattern; None where it had others and none is left."""
    if not patterns or not finding.subjects:
        return finding
    kept = [s for s in finding.subjects if not any(matches(s.name or s.key, pattern) for pattern in patterns)]
    if len(kept) == len(finding.subjects):
        return finding
    return replace(finding, subjects=kept) if kept else None
