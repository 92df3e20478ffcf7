"""When hooks fired, as it is kept: read back as it was noted, and of anything else nothing is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import fired

TIMES = st.integers(0, 4_000_000_000)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["2026-11-30T08:26:46Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["claude", "start", "end", "x"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fired")


def clear(directory: Path) -> Path:
    place = directory / "fired.json"
    place.unlink(missing_ok=True)
    return place


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(fired.MOMENTS), TIMES), max_size=8))
def test_what_was_noted_last_is_read(directory: Path, notes: list[tuple[str, str, int]]) -> None:
    clear(directory)
    expected: dict[str, dict[str, float]] = {}
    for client, moment, now in notes:
        fired.note(str(directory), client, moment, now + 0.75)
        expected.setdefault(client, {})[moment] = float(now)
    assert fired.read(str(directory)) == expected


@given(st.binary() | JSON.map(json.dumps).map(str.encode))
def test_of_anything_else_nothing_is_believed_and_a_note_replaces_it(directory: Path, content: bytes) -> None:
    place = clear(directory)
    place.write_bytes(content)
    found = fired.read(str(directory))
    assert all(set(row) <= set(fired.MOMENTS) for row in found.values())
    fired.note(str(directory), "claude", fired.START, 1_796_000_000.0)
    assert fired.read(str(directory))["claude"][fired.START] == 1_796_000_000.0


def test_it_does_not_grow_with_the_clients(directory: Path) -> None:
    clear(directory)
    for number in range(3 * fired.MOST_CLIENTS):
        fired.note(str(directory), f"client-{number}", fired.END, 1.0)
    assert len(fired.read(str(directory))) == fired.MOST_CLIENTS


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -1e30, 1e30])
def test_a_time_that_is_none_is_not_noted(directory: Path, now: float) -> None:
    clear(directory)
    fired.note(str(directory), "claude", fired.START, now)
    assert fired.read(str(directory)) == {}
