"""Results as JUnit XML, which CI systems show: a test case for each check.

The form is that of the Jenkins xunit plugin's schema, which pytest writes too: debt is a failure, unknown an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree as Tree

from gate.finding import DEBT, SKIPPED, UNKNOWN, Reported
from gate.report import Report

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, labels: Mapping[str, str]) -> str:
    """The whole document. `labels` are those of the checks that ran, by name."""
    suite = Tree.Element("testsuite", name="session-gate")
    for result in report.results:
        case = Tree.SubElement(suite, "testcase", classname="session-gate", name=result["check"])
        case.set("time", f"{result['duration_ms'] / 1000:.3f}")
        findings = [finding for finding in report.findings if finding.check == result["check"]]
        _add(case, findings)
        if result["outcome"] == SKIPPED:
            Tree.SubElement(case, "skipped", message=_text(result["reason"]))
        elif result["outcome"] == UNKNOWN and not any(finding.kind == UNKNOWN for finding in findings):
            Tree.SubElement(case, "error", type=UNKNOWN, message=_text(result["reason"]))
    for finding in report.findings:
        if finding.check not in labels:  # the gate's own: a wrong configuration, a broken plugin
            _add(Tree.SubElement(suite, "testcase", classname="session-gate", name=finding.check, time="0"), [finding])
    cases = suite.findall("testcase")
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    for key, count in counts.items():
        suite.set(key, str(count))
    root = Tree.Element("testsuites")
    root.append(suite)
    Tree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Tree.tostring(root, encoding="unicode")


def _add(case: Tree.Element, findings: list[Reported]) -> None:
    said = []
    for finding in findings:
        lines = [f"{finding.label}: {finding.summary}", *finding.details, finding.remedy]
        text = _text("\n".join(line for line in lines if line))
        if finding.kind in (DEBT, UNKNOWN):
            element = Tree.SubElement(case, "failure" if finding.kind == DEBT else "error", type=finding.kind)
            element.set("message", _text(finding.summary))
            element.text = text
        else:
            said.append(f"{finding.kind}: {text}")
    if said:
        Tree.SubElement(case, "system-out").text = "\n".join(said)


def _text(text: str) -> str:
    """Without the characters that XML cannot hold at all."""
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
