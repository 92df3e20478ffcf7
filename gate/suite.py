"""The suite: runs the enabled checks side by side, each isolated and within its time.

pluggy would stop at the first check that raises, and give back generators that have not run; so isolation, limits,
order and naming are this module's work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gate.check import Check, Context, Options
from gate.errors import SkipCheck, UnknownError
from gate.finding import CLEAN, DEBT, SKIPPED, UNKNOWN, Finding
from gate.quote import say
from gate.waivers import matches

START = 2.0
BY_HAND = 30.0
FINISHER = 60.0
"""Seconds that a suite may take: at a session's start; typed by hand; with nobody waiting."""

TICK = 0.5
"""Seconds between two words on what still runs."""

MOST_FINDINGS = 1000
"""A check that finds more is not believed to have found anything that a person could use."""


@dataclass(frozen=True)
class Result:
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
            results.setdefault(check.name, replace(result, duration=time.monotonic() - started))
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
                        late = [_could_not_check(reason)]  # an outcome without a finding would pass for clean
                        results[check.name] = Result(check, UNKNOWN, reason, time.monotonic() - started, late)
                continue
            changed.wait(min(left, TICK))
        return [results[check.name] for check in checks]


def run_check(check: Check, context: Callable[[], Context[Any]]) -> Result:
    """Run one check to its end in this thread; whatever it raises becomes the result."""
    findings: list[Finding] = []
    outcome, reason = CLEAN, ""
    try:
        made = context()
        _collect(check.run(made), made.options, findings)
    except SkipCheck as skip:
        outcome, reason = SKIPPED, str(skip)
    except UnknownError as unknown:
        outcome, reason = UNKNOWN, str(unknown)
    except BaseException as error:  # noqa: BLE001 - a check may do anything, even exit; it must not take others along
        outcome, reason = UNKNOWN, f"the check failed: {type(error).__name__}: {error}"
    if reason and outcome == UNKNOWN:
        findings.append(_could_not_check(reason))
    return Result(check, _outcome(outcome, findings), reason, findings=findings)


def _could_not_check(reason: str) -> Finding:
    words = reason[:300].replace("{", "{{").replace("}", "}}")
    return Finding(key="", summary=say("could not check: {}", say(words)), kind=UNKNOWN)


def _outcome(outcome: str, findings: Sequence[Finding]) -> str:
    if any(finding.kind == DEBT for finding in findings):
        return DEBT
    if any(finding.kind == UNKNOWN for finding in findings):
        return UNKNOWN
    return outcome


def _collect(found: Iterable[Finding] | None, options: Options, findings: list[Finding]) -> None:
    for finding in found or ():
        if not isinstance(finding, Finding):
            raise UnknownError(f"the check yielded a {type(finding).__name__} instead of a Finding")
        if len(findings) >= MOST_FINDINGS:
            raise UnknownError(f"the check found more than {MOST_FINDINGS:,} things; only those are kept")
        kept = _without_ignored(finding, options.ignore)
        if kept is not None:
            findings.append(kept)


def _without_ignored(finding: Finding, patterns: Sequence[str]) -> Finding | None:
    if not patterns or not finding.subjects:
        return finding
    kept = [s for s in finding.subjects if not any(matches(s.name or s.key, pattern) for pattern in patterns)]
    if len(kept) == len(finding.subjects):
        return finding
    return replace(finding, subjects=kept) if kept else None
