"""What the engine relies on is asked before it does: whatever a plugin gives, only the two errors come back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from gate.api import Check, Finding, Phrase, Subject, UnknownError, say
from gate.attribution import Living
from gate.finding import Chosen
from gate.registry import load_registry
from gate.report import Known, make_report
from gate.soundness import OPEN, RefusedError, fit, incident_fault, sound, told, words
from gate.suite import Result
from gate.waivers import Waiver

INCIDENT = "# Twelve lamps were left on"
CHECK = Check(name="lamps", label="LAMPS", incident=INCIDENT, summary="x", run=lambda _: [], keeps=True)


class Speechless:
    def __str__(self) -> str:
        raise ValueError


ODD: list[Any] = [
    None, True, 7, -1, float("nan"), "", "text", "\ud800", b"\xff", object(), Speechless(), [], ["a"], {"a": 1},
    "debt", "unknown", "note", "deferred", SystemExit, say("x"), say("{} {}", 1), say("{}", Speechless()),
    lambda _: say("lamps"), lambda _: "lamps", lambda: say("lamps"), lambda chosen: say("{}", chosen.names[7]),
]  # fmt: skip
SUBJECT = Subject("a lamp", "a lamp", 1.0)
FINDING = Finding("lamps", lambda chosen: say("{} are on", chosen.names), [SUBJECT], [say("hot")], say("look"))


def each_with_one_odd(good: Any) -> Iterator[Any]:
    """The same with each field in turn holding each odd thing: with several, the first would hide the others."""
    for field in fields(good):
        for value in ODD:
            yield replace(good, **{field.name: value})


EVERYTHING = Known(
    now=9.0,
    looked=9.0,
    living=[Living("session", 1.0, "/worktree")],
    ended=True,
    waivers=lambda _: ([Waiver("lamps", "a*", "2099-01-01", "mine")], []),
)


@pytest.mark.parametrize("known", [Known(now=9.0, looked=9.0, first=True), EVERYTHING], ids=["first", "everything"])
def test_a_finding_is_refused_or_can_be_reported(known: Known) -> None:
    """Nothing fails later, where it would take the other checks along."""
    odd = [*ODD, *each_with_one_odd(FINDING)]
    # Behind more of them than a list shows.
    others = [Subject(f"lamp {number}") for number in range(12)]
    odd += [replace(FINDING, subjects=[*others, subject]) for subject in each_with_one_odd(SUBJECT)]
    refused = 0
    for value in odd:
        try:
            finding = sound(value)
        except UnknownError as error:
            refused += bool(error.cure)
            continue
        report = make_report([Result(CHECK, "debt", findings=[finding])], known)
        assert orjson.dumps([report.memory, [asdict(reported) for reported in report.findings]])
        assert all(isinstance(text, Phrase) for text in (finding.remedy, *finding.details))
        assert all(isinstance(subject.detail, Phrase | None) for subject in finding.subjects)
        refused += 1
    assert refused == len(odd)


def test_a_check_is_refused_in_one_line_or_has_what_the_engine_needs() -> None:
    for check in each_with_one_odd(CHECK):
        try:
            fit(check)
        except RefusedError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017 - either is right
            continue
        assert check.name.isidentifier()
        assert min(5.0, check.limit) > 0
        assert callable(check.run)
        assert check.incident_title


def test_a_summary_that_fails_later_says_how_many_there_are() -> None:
    summary: Any = lambda chosen: say("{}", chosen.subjects[1].key)  # noqa: E731
    finding = sound(Finding("x", summary, [Subject("a"), Subject("b")]))
    assert str(finding.summarise(finding.subjects)) == "b"
    assert str(finding.summarise(finding.subjects[:1])) == (
        '1 found; what the check says of them failed: "IndexError: tuple index out of range"'
    )
    assert not isinstance(finding.summary, Phrase)
    assert str(sound(Finding("x", lambda _: say("a"), [Subject("a")])).summary(Chosen([]))) == "a"  # type: ignore[operator]


def test_a_state_that_is_made_of_a_files_name_is_kept_apart_and_can_be_stored() -> None:
    names = [b"\xff".decode("utf-8", "surrogateescape"), b"\xfe".decode("utf-8", "surrogateescape"), "é", "e"]
    made = sound(replace(FINDING, subjects=[Subject("a", state=name) for name in names]))
    assert len({subject.state.encode() for subject in made.subjects}) == len(names)
    assert [subject.state for subject in made.subjects][2:] == ["é", "e"]


def test_the_form_is_no_incident_until_each_question_is_answered() -> None:
    form = "# (to write: what)\n\n## What happened\n(to write: when)\n\n## What was left\n(to write: what)\n"
    assert "(to write: …)" in incident_fault(form)
    assert incident_fault(form).endswith(": the title, What happened, What was left")
    answered = form.replace("(to write: when)", "On a Monday, 12 lamps.").replace(
        "# (to write: what)", "# Twelve lamps"
    )
    assert incident_fault(answered).endswith(": What was left")
    assert incident_fault(answered.replace(OPEN + "what)", "Lamps.")) == ""
    assert incident_fault("# Lamps were left on") == ""
    assert incident_fault("# Lamps") != ""


def test_the_incidents_of_the_built_in_checks_are_written() -> None:
    for registered in load_registry().checks:
        assert incident_fault(registered.check.incident) == ""


def test_an_error_is_told_in_one_line_of_bounded_length() -> None:
    assert told(ValueError("no\n\n  lamps")) == "ValueError: no lamps"
    assert told(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert words(ValueError("x" * 10_000)) == "x" * 300

    class SpeechlessError(Exception):
        def __str__(self) -> str:
            raise SystemExit

    assert told(SpeechlessError()) == "SpeechlessError: (an error without words)"


def test_no_incident_of_ours_begins_a_line_as_the_form_does() -> None:
    paths = list((Path(__file__).parent.parent / "incidents").glob("*.md"))
    assert paths
    assert not [path for path in paths if OPEN in path.read_text()]


def test_a_long_state_is_kept_short_and_apart() -> None:
    long = "x" * 1_000_000
    made = sound(replace(FINDING, subjects=[Subject("a", state=long + end) for end in ("a", "b", "\ud800", "")]))
    states = [subject.state for subject in made.subjects]
    assert len(set(states)) == 4
    assert max(map(len, states)) < 400
