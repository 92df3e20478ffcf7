"""Results as Markdown, for a pull request's comment or a report."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gate.finding import DEBT, UNKNOWN
from gate.report import Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")


def render(report: Report, labels: Mapping[str, str]) -> str:
    """A table of the checks, then the findings. `labels` are those of the checks that ran, by name."""
    lines = ["| check | label | outcome | |", "|---|---|---|---|"]
    for result in report.results:
        reason = _text(result["reason"]) if result["outcome"] not in ("clean", DEBT) else ""
        label = labels.get(result["check"], "")
        lines.append(f"| {_text(result['check'])} | {_text(label)} | {_text(result['outcome'])} | {reason} |")
    for finding in sorted(report.findings, key=lambda finding: finding.kind not in (DEBT, UNKNOWN)):
        kind = "" if finding.kind == DEBT else f" ({finding.kind})"
        lines += ["", f"**{_text(finding.label)}**{kind}: {_text(finding.summary)}", ""]
        lines += [f"- {_text(detail)}" for detail in finding.details]
        lines += [f"- To look and to clear: {_text(finding.remedy)}"] if finding.remedy else []
    return "\n".join([*lines, "", f"**{report.state}**"])


def _text(text: str) -> str:
    """What Markdown would take for its own, escaped: names are other people's."""
    return _SPECIAL.sub(r"\\\1", text)
