"""Results as text for a person: a line for each check, then the findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate.clock import local, local_day, parse_rfc3339
from gate.finding import DEBT, DEFERRED, NOTE, UNKNOWN, Reported
from gate.output.console import Console
from gate.output.wrap import wrap, wrap_clauses
from gate.quote import line, name
from gate.report import Report

_ORDER = (DEBT, UNKNOWN, DEFERRED, NOTE)
_COUNTED = {DEBT: "to clear", UNKNOWN: "not known", DEFERRED: "deferred", NOTE: "noted"}


def print_report(console: Console, report: Report, labels: Mapping[str, str], root: str) -> None:
    """A line for each check, the findings, what it comes to, and for which project."""
    wide = max((len(result["check"]) for result in report.results), default=0) + 2
    for result in report.results:
        reason = f"  {line(result['reason'])}" if result["outcome"] in ("skipped", "unknown") else ""
        label = labels.get(result["check"], "")
        console.print(f"{label:<10}{result['check']:<{wide}}{console.word(result['outcome'], 8)}{reason}".rstrip())
    print_findings(console, report.findings)
    counts = {kind: len(report.of_kind(kind)) for kind in _ORDER}
    words = ", ".join(f"{count} {_COUNTED[kind]}" for kind, count in counts.items() if count)
    console.print()
    console.print(f"{console.word(report.state)}: {words or 'nothing left behind'} (project {name(root, 1000)})")


def print_findings(console: Console, findings: Sequence[Reported]) -> None:
    """Each finding with its details, how to look, and what clears it."""
    for finding in sorted(findings, key=lambda finding: _ORDER.index(finding.kind)):
        console.print()
        kind = "" if finding.kind == DEBT else f" ({finding.kind})"
        first, *rest = wrap(f"{finding.label}{kind}: {line(finding.summary)}", console.width, hanging="    ")
        head = console.strong(finding.label) + kind.replace(finding.kind, console.word(finding.kind))
        console.print(head + first[len(finding.label + kind) :])
        for more in rest:
            console.print(more)
        for detail in finding.details:
            console.fill(f"    {line(detail)}", hanging="      ")
        if finding.remedy:
            for part in wrap_clauses(f"    To look and to clear: {line(finding.remedy)}", console.width, "      "):
                console.print(part)
        if finding.kind in (DEBT, UNKNOWN) and finding.incident:
            console.print(f"    Seen since {_day(finding.first_seen)}; gate explain {line(finding.check)}")


def findings_of(marker: Mapping[str, Any]) -> list[Reported]:
    """The findings of a marker, as they were reported."""
    fields = Reported.__dataclass_fields__
    return [
        Reported(
            **{
                name: value
                for name, value in {**finding, "details": tuple(finding["details"])}.items()
                if name in fields
            }
        )
        for finding in marker["findings"]
    ]


def moment(text: str | None) -> str:
    """An RFC 3339 time for a person, in local time; as it stands where it is none."""
    try:
        return local(parse_rfc3339(text or ""))
    except ValueError:
        return line(text or "")


def _day(text: str) -> str:
    try:
        return local_day(parse_rfc3339(text))
    except ValueError:
        return line(text)
