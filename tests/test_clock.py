from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.clock import Clock, local, local_day, parse_rfc3339, rfc3339
from gate.errors import GateError

OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=OFFSETS)


@given(TIMES)
def test_a_time_is_what_datetime_says_it_is(when: datetime) -> None:
    whole = when.replace(microsecond=0)
    assert parse_rfc3339(whole.isoformat()) == whole.timestamp()


@given(TIMES)
def test_a_fraction_of_a_second_is_dropped(when: datetime) -> None:
    assert parse_rfc3339(when.isoformat()) == when.replace(microsecond=0).timestamp()


@given(TIMES)
def test_a_time_survives_being_written(when: datetime) -> None:
    seconds = when.replace(microsecond=0).timestamp()
    assert parse_rfc3339(rfc3339(seconds)) == seconds
    assert rfc3339(seconds) == when.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def test_written_times_are_whole_seconds_that_have_begun() -> None:
    assert rfc3339(1_796_200_006.999) == "2026-12-02T08:26:46Z"
    assert rfc3339(0.0) == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "text",
    ["2026-11-30T08:26:46Z", "2026-11-30t08:26:46z", "2026-11-30 08:26:46Z", "2026-11-30T09:26:46+01:00",
     "2026-11-30T08:26:46.5Z", "2026-11-30T07:56:46.999999999-00:30"],
)  # fmt: skip
def test_the_forms_of_one_moment(text: str) -> None:
    assert parse_rfc3339(text) == datetime(2026, 11, 30, 8, 26, 46, tzinfo=UTC).timestamp()


def test_a_leap_second_is_the_next_second() -> None:
    assert rfc3339(parse_rfc3339("2016-12-31T23:59:60Z")) == "2017-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-11-30", "2026-11-30T08:26:46", "2026-11-30T08:26Z", "20261130T082646Z", "2026-W49-1T08:26:46Z",
     "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
     "2026-11-31T00:00:00Z", "2026-11-00T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T08:60:00Z",
     "2026-11-30T08:26:61Z", "2026-11-30T08:26:46+0100", "2026-11-30T08:26:46+01", "2026-11-30T08:26:46+24:00",
     "2026-11-30T08:26:46+01:60", "2026-11-30T08:26:46.Z", "2026-11-30T08:26:46.", "2026-11-30T08:26:46,5Z",
     "2026-11-30T08:26:46ZZ", " 2026-11-30T08:26:46Z", "2026-11-30T08:26:46Z\n", "-026-11-30T08:26:46Z",
     "2026-11-30T08:26: 6Z", "2026-11-30T08:26:+6Z", "２０２６-11-30T08:26:46Z", "2026-11-30T08:26:46.५Z",
     "2026/11/30T08:26:46Z", "2026-11-30X08:26:46Z", "tomorrow"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_rfc3339(text)


@given(st.one_of(st.text(), st.text("0123456789-:TtZz+. ", min_size=19, max_size=26)))
def test_whatever_is_taken_for_a_time_datetime_takes_too(text: str) -> None:
    try:
        seconds = parse_rfc3339(text)
    except ValueError:
        return
    if text[:4] != "0000" and text[17:19] != "60":
        head, _, fraction = text[19:].partition(".")
        assert datetime.fromisoformat(text[:19] + (fraction.lstrip("0123456789") or head)).timestamp() == seconds


def test_the_real_clock_is_the_systems() -> None:
    before = time.time()
    assert before <= Clock().now() <= time.time()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_the_boot_is_the_kernels_and_time_runs_from_it() -> None:
    clock = Clock()
    assert clock.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    before = float(Path("/proc/uptime").read_text().split()[0])
    assert before - 0.02 <= clock.since_boot() <= float(Path("/proc/uptime").read_text().split()[0]) + 0.02


def test_a_clock_can_be_told_its_time_and_boot() -> None:
    clock = Clock(now=12.5, boot="a-boot")
    assert (clock.now(), clock.boot) == (12.5, "a-boot")


def test_a_made_up_time_needs_a_state_directory_of_its_own() -> None:
    now = {"SESSION_GATE_NOW": "2026-11-30T08:26:46Z"}
    assert Clock.from_environ(now | {"SESSION_GATE_STATE_DIR": "/s"}).now() == parse_rfc3339(now["SESSION_GATE_NOW"])
    for environ in ({}, now, now | {"SESSION_GATE_STATE_DIR": ""}, {"SESSION_GATE_STATE_DIR": "/s"}):
        before = time.time()
        assert Clock.from_environ(environ).now() >= before


def test_a_made_up_time_that_is_none_is_an_error_of_one_line() -> None:
    with pytest.raises(GateError, match=r"^SESSION_GATE_NOW: 'noon\\n' is not a time like 2026-11-30T08:26:46Z$"):
        Clock.from_environ({"SESSION_GATE_NOW": "noon\n", "SESSION_GATE_STATE_DIR": "/s"})


def test_people_read_their_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = parse_rfc3339("2026-11-30T23:02:46Z")
    monkeypatch.setenv("TZ", "XXX-09")  # nine hours east of Greenwich
    time.tzset()
    try:
        assert (local(seconds), local_day(seconds)) == ("2026-12-01 08:02", "2026-12-01")
    finally:
        monkeypatch.undo()
        time.tzset()
