from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.units import (
    Duration,
    Size,
    duration,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
    size,
)

NO_SIZE = ["", " ", "MiB", "-1", "-5MiB", "1e3", "1,5GB", "512 Mi B", "5 parsec", "0x10", "1_000", "½", "٣", "5\u212a",
           "1.", ".5", "1..5", "1.5.5", "5MiB5", "inf",
           "nan", True, False, math.inf, math.nan, -1, -0.5, 1e30, "9" * 400,
           "2EiB", "1048577TiB", None, [], "5\n5"]  # fmt: skip
NO_DURATION = ["", " ", "d", "-1", "-5d", "1e3", "1,5h", "5 parsec", "5y", "4 8h", "1 2", "1h30", "30 1h", "1.", ".5h",
               "1..5h", "1.5.5h", "٣d", "5ſ", "inf", "nan", True, False, math.inf, math.nan, -1, -0.5, 1e30, "9" * 400,
               "36601d", None, [], "h5", "1h\n30m"]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "count"),
    [("512MiB", 512 << 20), ("512 MiB", 512 << 20), ("2GB", 2 * 10**9), ("1.5 GB", 15 * 10**8), ("20k", 20 << 10),
     ("20kb", 20_000), ("20KiB", 20 << 10), ("1m", 1 << 20), ("3g", 3 << 30), ("1T", 1 << 40), ("1tb", 10**12),
     ("7", 7), ("7b", 7), (" 7 B ", 7), ("0", 0), (0, 0), (7, 7), (7.9, 7), (1.0, 1), ("0.5KiB", 512),
     ("1048576TiB", 1 << 60)],
)  # fmt: skip
def test_sizes(text: str | float, count: int) -> None:
    parsed = parse_size(text)
    assert parsed == count
    assert type(parsed) is Size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("48h", 172_800), ("7d", 604_800), ("1h30m", 5400), ("1h 30 min", 5400), ("30min", 1800), ("30m", 1800),
     ("90s", 90), ("2w", 1_209_600), ("7", 7), (" 7 ", 7), (7, 7), (0, 0), ("0", 0), (0.5, 0.5), ("1.5h", 5400),
     ("1D", 86_400),
     ("1d1d", 172_800), ("36600d", 36_600 * 86_400)],
)  # fmt: skip
def test_durations(text: str | float, seconds: float) -> None:
    parsed = parse_duration(text)
    assert parsed == seconds
    assert type(parsed) is Duration


@pytest.mark.parametrize("value", NO_SIZE)
def test_what_is_no_size_is_told_what_one_is(value: Any) -> None:
    with pytest.raises(ValueError, match=r'^a size such as "512MiB", "2GB" or a number of bytes'):
        parse_size(value)


@pytest.mark.parametrize("value", NO_DURATION)
def test_what_is_no_duration_is_told_what_one_is(value: Any) -> None:
    with pytest.raises(ValueError, match=r'^a duration such as "48h", "7d", "30min" or a number of seconds'):
        parse_duration(value)


@given(st.one_of(st.text(), st.text("0123456789. kKmMgGtTiIbBhdsw"), st.floats(), st.integers()))
def test_nothing_else_is_raised_and_nothing_absurd_comes_out(value: Any) -> None:
    for parse, most in ((parse_size, 1 << 60), (parse_duration, 36_600 * 86_400)):
        try:
            parsed: float = parse(value)
        except ValueError:
            continue
        assert 0 <= parsed <= most


@given(
    st.one_of(
        st.integers(0, 1 << 53),
        st.builds(lambda n, unit: n << unit, st.integers(0, 999), st.sampled_from([10, 20, 30, 40])),
    )
)
def test_a_size_survives_being_written(count: int) -> None:
    assert parse_size(format_size(count)) == count


@given(
    st.one_of(
        st.integers(0, 36_600 * 86_400),
        st.integers(0, 10**9).map(lambda ms: ms / 1000),
        st.integers(0, 3000).map(lambda h: h * 3600),
    )
)
def test_a_duration_survives_being_written(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


def test_how_configuration_is_written() -> None:
    assert [format_size(n) for n in (0, 1, 1023, 1024, 512 << 20, 37 << 30, 1 << 40, (1 << 40) + 1)] == [
        "0", "1", "1023", "1KiB", "512MiB", "37GiB", "1TiB", "1099511627777",
    ]  # fmt: skip
    assert [format_duration(n) for n in (0, 0.5, 90, 1234567, 1800, 172_800, 604_800, 30 * 86_400)] == [
        "0s", "0.5s", "90s", "1234567s", "30m", "48h", "7d", "30d",
    ]  # fmt: skip


def test_how_sizes_are_shown() -> None:
    counts = (0, 800, 1023, 1024, 1536, 200_000, 512 << 20, (512 << 20) + 1, 37 << 30, 39_728_447_488, 1 << 40, 5 << 50)
    assert [str(size(count)) for count in counts] == [
        "0 B", "800 B", "1023 B", "1 KiB", "1.5 KiB", "195 KiB", "512 MiB", "512 MiB", "37.0 GiB", "37.0 GiB", "1 TiB",
        "5120 TiB",
    ]  # fmt: skip


def test_how_durations_are_shown() -> None:
    hour, day = 3600, 86_400
    lengths = (
        -5,
        0,
        0.9,
        12,
        119,
        120,
        119 * 60,
        2 * hour,
        3 * hour,
        2 * day,
        3 * day - 1,
        3 * day,
        6.9 * day,
        400 * day,
    )
    assert [str(duration(length)) for length in lengths] == [
        "0 s", "0 s", "0 s", "12 s", "119 s", "2 min", "119 min", "2 h", "3 h", "48 h", "71 h", "3 d", "6 d", "400 d",
    ]  # fmt: skip


@given(st.floats(0, 1e12))
def test_a_shown_duration_is_never_longer_than_it_was(seconds: float) -> None:
    number, unit = str(duration(seconds)).split(" ")
    length = {"s": 1, "min": 60, "h": 3600, "d": 86_400}[unit]
    assert int(number.replace(",", "")) * length <= seconds < (int(number.replace(",", "")) + 1) * length
