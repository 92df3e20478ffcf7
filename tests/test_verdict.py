from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.ledger import ENDING, OPEN, Record
from gate.liveness import Owner, Place
from gate.marker import DOUBTED, STALE_AFTER, UNANSWERED, UNWRITTEN, Marker
from gate.verdict import FUTURE, VERDICTS, Verdict, is_gone, verdict

NOW = 1_796_200_000.0
WHEN = "2026-12-02T08:26:40Z"  # the same moment
STAMP = ("session-gate 0.1.0", "-", "1:2:3")
DAY = 86_400.0


def make_marker(age: float = 3600.0, *, retired: str = "", deferred: bool = False, **changes: Any) -> Marker:
    data = {
        "state": "ok", "when": WHEN, "stale_after": STALE_AFTER, "stamp": list(STAMP), "loosened": [],
        "began": {"boot": "a-boot", "since_boot": 5.0}, "findings": [{"kind": "deferred"}] if deferred else [],
    } | changes  # fmt: skip
    made = Marker(data, retired)
    made.when = NOW - age
    return made


def make_record(session: str = "other", alive: bool | None = True, state: str = OPEN, age: float = 3600.0) -> Record:
    made = Record(session, "claude", Owner(4242, 7), Place("h", "a-boot", ""), NOW - age, NOW - age, "/w", state=state)
    made.alive = alive
    return made


GREEN = make_marker()
LIVING, DEAD, UNTOLD = make_record("living"), make_record("dead", False), make_record("untold", None)
VANISHED = make_record("vanished", None, age=8 * DAY)
PENDING, FINISHED = make_record("ending", True, ENDING), make_record("finished", False, ENDING)


@dataclass(frozen=True)
class Case:
    """What a verdict is given; by default all is well."""

    marker: Marker | None = GREEN
    records: Sequence[Record] = ()
    me: str | None = "me"
    boot: str = "a-boot"
    stamp: Sequence[str] = STAMP
    damaged: Sequence[str] = ()

    def judge(self) -> Verdict:
        return verdict(self.marker, self.records, self.me, NOW, self.boot, self.stamp, self.damaged)


@pytest.mark.parametrize(
    ("case", "kind", "reason", "about"),
    [
        (Case(), "green", "", []),
        (Case(records=[LIVING]), "green", "", []),
        (Case(records=[make_record("me", None), LIVING]), "green", "", []),
        (Case(make_marker(STALE_AFTER)), "green", "", []),
        (Case(make_marker(-120)), "green", "", []),
        (Case(boot="", marker=make_marker(began={"boot": "", "since_boot": 5})), "green", "", []),
        (Case(None), "first", "", []),
        (Case(None, [make_record("me", False)]), "first", "", []),
        (Case(None, [LIVING]), "stale", "missing", ["living"]),
        (Case(make_marker(retired=UNWRITTEN)), "stale", "unwritten", []),
        (Case(make_marker(retired=UNANSWERED)), "stale", "unanswered", []),
        (Case(make_marker(retired=DOUBTED)), "stale", "doubted", []),
        (Case(make_marker(STALE_AFTER + 1)), "stale", "age", []),
        (Case(make_marker(DAY + 1, stale_after=DAY)), "stale", "age", []),
        (Case(boot="another-boot"), "stale", "boot", []),
        (Case(boot=""), "stale", "boot", []),
        (Case(stamp=("session-gate 0.2.0", *STAMP[1:])), "stale", "configuration", []),
        (Case(stamp=(*STAMP, "-")), "stale", "configuration", []),
        (Case(make_marker(loosened=["temp_size is disabled"])), "stale", "configuration", []),
        (Case(make_marker(deferred=True)), "stale", "deferred", []),
        (Case(records=[LIVING, UNTOLD]), "stale", "untold", ["untold"]),
        (Case(make_marker(state="debt")), "debt", "", []),
        (Case(make_marker(state="debt", retired=UNWRITTEN)), "debt", "", []),
        (Case(records=[PENDING]), "pending", "", ["ending"]),
        (Case(records=[FINISHED, PENDING]), "pending", "", ["finished", "ending"]),
        (Case(None, [PENDING]), "pending", "", ["ending"]),
        (Case(records=[make_record("me", False, ENDING)], me=None), "pending", "", ["me"]),
        (Case(records=[DEAD, LIVING]), "abandoned", "", ["dead"]),
        (Case(None, [DEAD]), "abandoned", "", ["dead"]),
        (Case(records=[VANISHED]), "abandoned", "", ["vanished"]),
        (Case(make_marker(stale_after=1800), [UNTOLD]), "abandoned", "", ["untold"]),
        (Case(None, [VANISHED, UNTOLD]), "abandoned", "", ["vanished"]),
        (Case(damaged=["marker.json"]), "damaged", "unreadable", []),
        (Case(None, damaged=["sessions/x.json"]), "damaged", "unreadable", []),
        (Case(make_marker(-121)), "damaged", "future", []),
        # the worse comes first
        (Case(make_marker(-DAY, state="debt"), [DEAD, PENDING], damaged=["x"]), "damaged", "unreadable", []),
        (Case(make_marker(-DAY), [DEAD, PENDING]), "damaged", "future", []),
        (Case(make_marker(state="debt"), [DEAD, PENDING]), "abandoned", "", ["dead"]),
        (Case(make_marker(state="debt"), [PENDING, UNTOLD]), "pending", "", ["ending"]),
        (Case(make_marker(30 * DAY, state="debt"), [UNTOLD], boot="another"), "debt", "", []),
    ],
)  # fmt: skip
def test_verdicts(case: Case, kind: str, reason: str, about: list[str]) -> None:
    found = case.judge()
    assert (found.kind, found.reason, [record.id for record in found.records]) == (kind, reason, about)


def mostly(good: Any, *bad: Any) -> st.SearchStrategy[Any]:
    """Usually what it should be: else no made-up case would be green."""
    return st.sampled_from([good] * 8 * len(bad) + list(bad))


AGES = mostly(DAY, -DAY, -FUTURE - 1, -FUTURE, 0.0, STALE_AFTER, STALE_AFTER + 1, 30 * DAY)
MARKERS = st.builds(
    make_marker,
    AGES,
    retired=mostly("", UNWRITTEN, UNANSWERED, DOUBTED),
    deferred=mostly(False, True),
    state=mostly("ok", "debt"),
    stale_after=mostly(STALE_AFTER, 0, DAY),
    loosened=mostly([], ["a limit is raised"]),
    stamp=mostly(list(STAMP), []),
    began=mostly("a-boot", "another-boot", "").map(lambda boot: {"boot": boot, "since_boot": 5.0}),
)
RECORDS = st.builds(
    make_record, st.sampled_from(["me", "you", "they"]), mostly(True, False, None), mostly(OPEN, ENDING), AGES
)
CASES = st.builds(
    Case,
    st.one_of(MARKERS, MARKERS, MARKERS, MARKERS, st.none()),
    st.lists(RECORDS, max_size=3, unique_by=lambda record: record.id),
    st.sampled_from(["me", None]),
    mostly("a-boot", "another-boot", ""),
    mostly(STAMP, ()),
    mostly((), ("x.json",)),
)


def others(case: Case) -> list[Record]:
    return [record for record in case.records if record.id != case.me]


def is_out_of_sight_too_long(record: Record, case: Case) -> bool:
    limit = case.marker.stale_after if case.marker is not None else STALE_AFTER
    return record.alive is None and NOW - record.since > limit


@given(CASES)
def test_the_worst_that_holds_is_the_verdict(case: Case) -> None:
    marker, records = case.marker, others(case)
    unfinished = [record for record in records if record.state == OPEN]
    holds = {
        "damaged": bool(case.damaged) or (marker is not None and marker.when - NOW > FUTURE),
        "first": marker is None and not records,
        "abandoned": any(one.alive is False or is_out_of_sight_too_long(one, case) for one in unfinished),
        "pending": any(record.state == ENDING for record in records),
        "debt": marker is not None and marker.state == "debt",
        "stale": marker is None or marker.retired or marker.deferred or marker.boot != case.boot
        or NOW - marker.when > marker.stale_after or list(case.stamp) != marker.data["stamp"]
        or bool(marker.data["loosened"]) or any(record.alive is None for record in records),
        "green": True,
    }  # fmt: skip
    found = case.judge()
    assert found.kind == next(kind for kind, so in holds.items() if so)
    assert found.kind in VERDICTS


@given(CASES)
def test_green_means_that_everything_is_as_it_should_be(case: Case) -> None:
    if case.judge().kind != "green":
        return
    marker = case.marker
    assert marker is not None
    assert (marker.state, marker.retired, marker.deferred, marker.data["loosened"]) == ("ok", "", False, [])
    assert -FUTURE <= NOW - marker.when <= marker.stale_after
    assert (marker.boot, marker.data["stamp"], case.damaged) == (case.boot, list(case.stamp), ())
    assert all(record.state == OPEN and record.alive is True for record in others(case))


@given(CASES, RECORDS)
def test_nothing_that_goes_wrong_makes_it_green(case: Case, more: Record) -> None:
    if case.judge().kind == "green":
        return
    worse = [replace(case, damaged=["x.json"])]
    if more.id not in {record.id for record in case.records}:
        worse.append(replace(case, records=[*case.records, more]))
    assert all(one.judge().kind != "green" for one in worse)


@given(CASES)
def test_the_order_of_the_records_does_not_matter(case: Case) -> None:
    there, back = case.judge(), replace(case, records=list(reversed(case.records))).judge()
    assert (there.kind, there.reason) == (back.kind, back.reason)
    assert {record.id for record in there.records} == {record.id for record in back.records}


@given(CASES)
def test_ones_own_record_counts_for_nothing(case: Case) -> None:
    without = replace(case, records=others(case))
    assert (case.judge().kind, case.judge().reason) == (without.judge().kind, without.judge().reason)


def test_a_session_is_over_when_its_owner_is_gone_or_long_out_of_sight() -> None:
    assert is_gone(DEAD, NOW)
    assert not is_gone(LIVING, NOW + 900 * DAY)
    assert not is_gone(UNTOLD, NOW)
    assert not is_gone(make_record(alive=None, age=STALE_AFTER), NOW)
    assert is_gone(make_record(alive=None, age=STALE_AFTER + 1), NOW)
    assert is_gone(VANISHED, NOW)
    assert is_gone(UNTOLD, NOW, make_marker(stale_after=60))
    assert not is_gone(VANISHED, NOW, make_marker(stale_after=9 * DAY))


def test_a_verdict_shows_what_it_rests_on() -> None:
    assert repr(Verdict("abandoned", "why", [DEAD])) == "Verdict('abandoned', 'why', ['dead'])"
