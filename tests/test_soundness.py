"""What the engine relies on is asked before it does: whatever a plugin gives, only the two errors come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gate.api import Check, Finding, Options, Phrase, Subject, UnknownError, say
from gate.attribution import Living
from gate.finding import Chosen
from gate.registry import load_registry
from gate.report import Known, make_report
from gate.soundness import OPEN, RefusedError, fit, incident_fault, sound, told, words
from gate.suite import Result
from gate.waivers import Waiver

CHECK = Check(name="lamps", label="LAMPS", incident="# Twelve lamps were left on", summary="x", run=lambda _: [])
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.just(say("x")),
    st.just(say("{} {}", 1)),
    st.just(lambda _: say("lamps")),
    st.just(lambda _: "lamps"),
    st.just(lambda chosen: say("{}", chosen.names[0])),
    st.just(object()),
    st.lists(st.text(max_size=2), max_size=2),
    st.sampled_from(["debt", "unknown", "note", "deferred"]),
)
subjects = st.builds(
    Subject,
    key=values,
    name=values,
    changed=values,
    state=values,
    worktree=values,
    tag=values,
    directory=values,
    detail=values,
)
good_subjects = st.builds(
    Subject, key=st.text("ab", max_size=2), name=st.text("ab", max_size=2), changed=st.floats(0, 9)
)
findings = st.builds(
    Finding,
    key=st.one_of(st.just("x"), values),
    summary=st.one_of(st.just(say("x")), values),
    subjects=st.one_of(st.lists(good_subjects, max_size=3), st.lists(subjects, max_size=2), values),
    details=st.one_of(st.just(()), st.lists(values, max_size=2), values),
    remedy=st.one_of(st.just(say("look")), values),
    kind=st.one_of(st.just("debt"), values),
    tolerated=st.one_of(st.just(0), values),
)


EVERYTHING = Known(
    now=9.0,
    looked=9.0,
    living=[Living("session", 1.0, "/worktree")],
    ended=True,
    waivers=lambda _: ([Waiver("lamps", "a*", "2099-01-01", "mine")], []),
)


@given(st.one_of(findings, values), st.sampled_from([Known(now=9.0, looked=9.0), EVERYTHING]))
def test_a_finding_is_refused_or_can_be_reported(value: Any, known: Known) -> None:
    """Nothing fails later, where it would take the other checks along."""
    try:
        finding = sound(value)
    except UnknownError as error:
        refused: Any = error
    else:
        report = make_report([Result(CHECK, "debt", findings=[finding])], known)
        assert all(isinstance(reported.summary, str) for reported in report.findings)
        assert report.memory["lamps"]
        refused = None
    assert refused is None or refused.cure


@given(
    st.builds(
        Check,
        name=st.one_of(st.just("lamps"), values),
        label=st.one_of(st.just("LAMPS"), values),
        incident=st.one_of(st.just(CHECK.incident), values),
        summary=st.one_of(st.just("x"), values),
        run=st.one_of(st.just(CHECK.run), values),
        scope=st.one_of(st.just("project"), values),
        options=st.one_of(st.just(Options), values, st.just(dict)),
        limit=st.one_of(st.just(1.0), values),
    )
)
def test_a_check_is_refused_in_one_line_or_has_what_the_engine_needs(check: Check) -> None:
    try:
        fit(check)
    except RefusedError as error:
        refused = str(error)
    else:
        assert check.name.isidentifier()
        assert min(5.0, check.limit) > 0
        assert callable(check.run)
        assert check.incident_title
        refused = ""
    assert len(refused.splitlines()) < 2


def test_a_summary_that_fails_later_says_how_many_there_are() -> None:
    summary: Any = lambda chosen: say("{}", chosen.subjects[1].key)  # noqa: E731
    finding = sound(Finding("x", summary, [Subject("a"), Subject("b")]))
    assert str(finding.summarise(finding.subjects)) == "b"
    assert str(finding.summarise(finding.subjects[:1])) == (
        '1 found; what the check says of them failed: "IndexError: tuple index out of range"'
    )
    assert not isinstance(finding.summary, Phrase)
    assert str(sound(Finding("x", lambda _: say("a"), [Subject("a")])).summary(Chosen([]))) == "a"  # type: ignore[operator]


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
