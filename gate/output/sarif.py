"""Results as SARIF 2.1.0 (docs.oasis-open.org/sarif), which code hosts and editors show: a rule for each check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from gate import __version__
from gate.finding import DEBT, SKIPPED, UNKNOWN, Reported
from gate.report import Report

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {DEBT: "error", UNKNOWN: "warning"}


def render(report: Report, labels: Mapping[str, str]) -> str:
    """The whole document. `labels` are those of the checks that ran, by name."""
    rules = {name: _rule(name, label) for name, label in labels.items()}
    for finding in report.findings:
        rules.setdefault(finding.check, _rule(finding.check, finding.label))
        if finding.incident:
            rules[finding.check]["fullDescription"] = {"text": finding.incident}
    order = list(rules)
    run = {
        "tool": {"driver": {"name": "session-gate", "semanticVersion": __version__, "rules": list(rules.values())}},
        "invocations": [
            {
                "executionSuccessful": not any(result["outcome"] == UNKNOWN for result in report.results),
                "toolExecutionNotifications": [
                    {
                        "level": "warning" if result["outcome"] == UNKNOWN else "note",
                        "message": {"text": f"{result['check']}: {result['outcome']}: {result['reason']}"},
                    }
                    for result in report.results
                    if result["outcome"] in (UNKNOWN, SKIPPED)
                ],
            }
        ],
        "results": [_result(finding, order.index(finding.check)) for finding in report.findings],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def _rule(name: str, label: str) -> dict[str, Any]:
    return {"id": name, "name": label, "shortDescription": {"text": f"{label}: gate explain {name}"}}


def _result(finding: Reported, rule: int) -> dict[str, Any]:
    return {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": _LEVELS.get(finding.kind, "note"),
        "message": {
            "text": "\n".join([f"{finding.label}: {finding.summary}", *finding.details, finding.remedy]).strip()
        },
        # A leftover has no line: what shows results beside code is given the project's root.
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": ".", "uriBaseId": "%SRCROOT%"}}}],
        "partialFingerprints": {"sessionGate/v1": finding.fingerprint},
        "properties": {"kind": finding.kind, "scope": finding.scope, "firstSeen": finding.first_seen},
    }
