"""The text that a new session is shown: facts on its first screen, short, worst first, no commands to follow.

Clients put it into the model's context, and their documentation asks for factual sentences there; text like "remaining
work" was once taken for a task and looped for hours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate.clock import local, local_day, parse_rfc3339
from gate.finding import DEBT, NOTE, UNKNOWN, Reported
from gate.marker import STALE_AFTER, Marker
from gate.project import digest
from gate.quote import line
from gate.report import Report
from gate.units import duration
from gate.verdict import ABANDONED, DAMAGED, FIRST, PENDING, REMOVED, STALE, Verdict

ONE_LINE_FROM = 3
"""The start from which unchanged findings take one line."""

_LAST = "Re-checked at every start and end and by `gate end`; a finding goes when the thing goes."
_STALE = {
    "age": "the last check is older than {age}",
    "boot": "the machine was restarted since the last check",
    "configuration": "the configuration changed since the last check",
    "deferred": "another session was at work at the last check",
    "untold": "it cannot be told whether another session still lives",
    "unwritten": "the last end could not write down what it found",
    "unanswered": "a file system gave a session no answer, and it left no record",
    "doubted": "a check of another project saw something that belongs here",
    "missing": "no check of this project is recorded",
    "waiver": "a waiver is over",
}


def shown_before(marker: Marker | None, report: Report, when: str) -> dict[str, Any]:
    """How often just these findings were shown, this time included, and since when."""
    standing = report.of_kind(DEBT, UNKNOWN)
    texts = sorted(f"{f.fingerprint} {f.kind} {f.subjects}" for f in standing)
    key = digest("\n".join(texts).encode()) if texts else ""
    before: Mapping[str, Any] = marker.data["shown"] if marker is not None else {}
    if key and before.get("key") == key and isinstance(before.get("since"), str):
        return {"key": key, "times": int(before.get("times", 0)) + 1, "since": before["since"]}
    return {"key": key, "times": 1 if key else 0, "since": when}


def compose(
    report: Report,
    verdict: Verdict,
    shown: Mapping[str, Any],
    loosened: Sequence[str],
    before: str,
    here: str,
    limit: int,
    stale_after: float = STALE_AFTER,
) -> tuple[str, str]:
    """The text for the model, at most `limit` characters, and the line for the user; both empty when all is well.

    `before` is what a person typed where one session of a client follows another.
    """
    standing = report.of_kind(DEBT, UNKNOWN) + [finding for finding in report.of_kind(NOTE) if finding.once]
    changes = [f"  - CONFIG: {line(text)}" for text in loosened]
    if not standing:
        loosening = "SESSION-GATE: the configuration was loosened since the last start; said once."
        heading = _heading(verdict, before, False, stale_after) if verdict.reason == REMOVED else loosening
        return (_fit(heading, changes, limit), heading) if changes or verdict.reason == REMOVED else ("", "")
    count = f"{len(standing)} finding{'' if len(standing) == 1 else 's'}"
    if shown["times"] >= ONE_LINE_FROM and not changes:
        text = f"SESSION-GATE DEBT: {count} unchanged since {_day(shown['since'])}: gate status"
        return text, text
    lines = [*changes, *_by_worktree(standing, here)]
    heading = _heading(verdict, before, any(f.kind == DEBT for f in standing), stale_after)
    return _fit(heading, lines, limit), f"session-gate: {count}: {', '.join(_labels(standing))} (gate status)"


def with_trouble(text: str, headline: str, trouble: str) -> tuple[str, str]:
    """The same with a line on the state that could not be kept."""
    said = f"  - STATE: could not be kept, so no silence can be relied on: {line(trouble)}"
    if not text:
        return f"SESSION-GATE: nothing was found.\n{said}", f"session-gate: {line(trouble)}"
    first, _, rest = text.partition("\n")
    return f"{first}\n{said}" + (f"\n{rest}" if rest else ""), headline


def _heading(verdict: Verdict, before: str, debt: bool, stale_after: float) -> str:
    name = "SESSION-GATE DEBT" if debt else "SESSION-GATE"
    record = verdict.records[-1] if verdict.records else None
    if before:
        return f"{name}: this stood before {before}."
    if verdict.reason == REMOVED:
        return f"{name}: the gate's state was removed since it was last used; what stands here is shown once."
    if verdict.kind == FIRST:
        return f"{name}: first look at this project; what stood here before is shown once."
    if verdict.kind == ABANDONED and record is not None:
        return f"{name}: no end recorded for the {line(record.client)} session opened at {local(record.since)}."
    if verdict.kind == PENDING and record is not None and all(each.finishing for each in verdict.records):
        when = local(record.since)
        return f"{name}: the end of the {line(record.client)} session opened at {when} is still being completed."
    if verdict.kind == PENDING and record is not None:
        return f"{name}: the end of the {line(record.client)} session opened at {local(record.since)} was cut off."
    if verdict.kind == DAMAGED:
        reason = "lies in the future" if verdict.reason == "future" else "was unreadable"
        return f"{name}: the record of this project {reason}; everything was checked anew."
    if verdict.kind == STALE:
        return f"{name}: {_STALE[verdict.reason].format(age=_length(stale_after))}."
    return f"{name}: the previous session left work." if debt else f"{name}: not everything could be established."


def _length(seconds: float) -> str:
    return "a week" if seconds == STALE_AFTER else str(duration(seconds))


def _by_worktree(findings: Sequence[Reported], here: str) -> list[str]:
    """A line for each finding of this worktree or of the project; those of other worktrees as a count by label."""
    lines: list[str] = []
    others: dict[tuple[str, str], set[str]] = {}
    for finding in sorted(findings, key=lambda f: (DEBT, UNKNOWN, NOTE).index(f.kind)):
        if finding.worktree and finding.worktree != line(here):
            others.setdefault((finding.label, finding.kind), set()).add(finding.worktree)
        else:
            lines.append(f"  - {finding.label}: {line(finding.summary)}")
    for (label, kind), worktrees in others.items():
        count = f"{len(worktrees)} other worktree{'' if len(worktrees) == 1 else 's'}"
        if kind == UNKNOWN:
            lines.append(f"  - {label}: could not check {count}: gate status")
            continue
        here_too = any(said.startswith(f"  - {label}: ") for said in lines)
        lines.append(f"  - {label}: {'the same' if here_too else 'something left'} in {count}: gate status")
    return lines


def _fit(heading: str, lines: Sequence[str], limit: int) -> str:
    more = "  … and {} more: gate status"
    room = limit - len(heading) - len(_LAST) - len(more) - 10
    kept: list[str] = []
    for text in lines:
        cut = text if len(text) <= room else text[: max(0, room - 2)] + "…"
        if kept and len(text) > room:
            break
        kept.append(cut)
        room -= len(cut) + 1
    left = len(lines) - len(kept)
    return "\n".join([heading, *kept, *([more.format(left)] if left else []), _LAST])[:limit]


def _labels(findings: Sequence[Reported]) -> list[str]:
    return list(dict.fromkeys(finding.label for finding in findings))


def _day(text: str) -> str:
    try:
        return local_day(parse_rfc3339(text))
    except ValueError:
        return text
