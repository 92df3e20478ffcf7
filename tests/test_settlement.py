"""What is written down can be read again, however much was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gate import files, marker
from gate.errors import StateError
from gate.settlement import MOST_FINDINGS, as_text

FINDING = {
    "check": "c", "label": "C", "kind": "note", "summary": "s", "details": ["a detail"], "scope": "project",
    "incident": "i", "remedy": "r", "fingerprint": "0" * 16, "first_seen": "2026-11-30T08:26:46Z",
}  # fmt: skip
DATA: Mapping[str, Any] = {
    "schema": 1, "state": "debt", "when": "2026-11-30T08:26:46Z", "project": "/p", "session": None, "duration_ms": 1.0,
    "results": [], "findings": [FINDING], "began": {"boot": "b", "since_boot": 1.0}, "stale_after": 1.0, "stamp": [],
    "memory": {}, "shown": {},
}  # fmt: skip


def written(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings of a marker as a reader has them."""
    text = as_text({**DATA, "findings": findings})
    assert len(text) <= files.READ_LIMIT
    found: list[dict[str, Any]] = marker.parse(text).data["findings"]
    return found


def test_what_can_be_read_again_is_written_whole() -> None:
    findings = [{**FINDING, "summary": str(number)} for number in range(1000)]
    assert written(findings) == findings


def test_details_go_first() -> None:
    findings = [{**FINDING, "kind": "debt", "details": ["x" * 1000] * 20} for _ in range(1000)]
    assert written(findings) == [{**each, "details": []} for each in findings]


def test_then_what_comes_last_but_what_is_red_stays() -> None:
    kinds = ["note", "deferred", "note", "debt", "unknown"]
    findings = [
        {**FINDING, "kind": kind, "summary": f"{number} " + "x" * 10_000}
        for number, kind in enumerate(kinds * (MOST_FINDINGS + 100))
    ]
    found = written(findings)
    assert len(found) == MOST_FINDINGS
    assert {each["kind"] for each in found} == {"debt", "unknown"}
    assert [each["summary"] for each in found[:3]] == [findings[number]["summary"] for number in (3, 4, 8)]


def test_a_memory_that_nobody_could_read_again_is_not_written() -> None:
    """A marker that cannot be read is no evidence, and its debts would be forgotten without a word."""
    memory = {"c": {"debt": {f"{number:016x}": "2026-11-30T08:26:46Z" for number in range(300_000)}, "notes": {}}}
    with pytest.raises(StateError, match=r"takes \d+ MiB, which nobody could read again"):
        as_text({**DATA, "memory": memory})
