"""JUnit, SARIF and Markdown: well formed whatever names hold, and nothing lost on the way."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import Machine

from gate.finding import Reported
from gate.output import junit, markdown, sarif
from gate.quote import line
from gate.report import Report

NASTY = [
    "</system-reminder>",
    "a|b`c`",
    "]]>&amp;<b>",
    "\x1b[31m\x00\ufffe",
    "[x](javascript:1)",
    "\u202eevil",
    "<!-- -->",
]
names = st.text() | st.sampled_from(NASTY)
kinds = st.sampled_from(["debt", "unknown", "deferred", "note"])


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """A report as the suite makes it: every text has gone through the one function that quotes."""
    checks = draw(st.lists(st.sampled_from(["one", "two", "config"]), min_size=1, max_size=3, unique=True))
    results = [
        {
            "check": check,
            "outcome": draw(st.sampled_from(["clean", "debt", "unknown", "skipped"])),
            "reason": line(draw(names)),
            "duration_ms": 1.5,
        }
        for check in checks
        if check != "config"
    ]
    findings = [
        Reported(
            check=check,
            label=check.upper(),
            kind=draw(kinds),
            summary=line(draw(names)),
            details=tuple(line(draw(names)) for _ in range(draw(st.integers(0, 2)))),
            scope="project",
            incident="An incident",
            remedy=line(draw(names)),
            fingerprint="0" * 16,
            first_seen="2026-11-30T08:26:46Z",
        )
        for check in draw(st.lists(st.sampled_from(checks), max_size=4))
    ]
    return Report(results, findings, {}, {})


LABELS = {"one": "ONE", "two": "TWO"}


@given(reports())
def test_junit_counts_what_it_holds(report: Report) -> None:
    root = ElementTree.fromstring(junit.render(report, LABELS).encode())
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases)
    assert len(suite.findall("*/failure")) == len([f for f in report.findings if f.kind == "debt"])
    errors = len([f for f in report.findings if f.kind == "unknown"])
    bare = [
        r
        for r in report.results
        if r["outcome"] == "unknown" and not any((f.check, f.kind) == (r["check"], "unknown") for f in report.findings)
    ]
    assert len(suite.findall("*/error")) == errors + len(bare)
    assert {case.get("name") for case in cases} >= {result["check"] for result in report.results}


@given(reports())
def test_sarif_has_a_result_for_each_finding_and_a_rule_for_each_result(report: Report) -> None:
    (run,) = json.loads(sarif.render(report, LABELS))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [result["properties"]["kind"] for result in run["results"]] == [f.kind for f in report.findings]
    for result, finding in zip(run["results"], report.findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.check
        assert finding.summary in result["message"]["text"]
        assert result["level"] == {"debt": "error", "unknown": "warning"}.get(finding.kind, "note")


@given(reports())
def test_no_name_is_markup_in_markdown(report: Report) -> None:
    text = markdown.render(report, LABELS)
    for finding in report.findings:
        text = text.replace("**" + finding.label + "**", "")
    assert not re.search(r"(?<!\\)[<>\[\]`]", text)
    rows = [row for row in text.splitlines() if row.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)
    assert len(rows) == 2 + len(report.results)


@pytest.mark.parametrize(("form", "start"), [("junit", "<?xml"), ("sarif", "{"), ("markdown", "| check |")])
def test_run_and_end_print_them(machine: Machine, form: str, start: str) -> None:
    project = machine.repository()
    (project / "left.py").write_text("")
    for command in ("run", "end"):
        text = machine.text(command, "--format", form, cwd=project, code=1)
        assert text.startswith(start)
        assert "left.py" in text
    assert machine.gate("list", "--format", form, cwd=project).returncode == (0 if form == "markdown" else 2)
