"""The list of stashes, as git logs it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import UnknownError
from gate.world.stashes import Stash, parse_stashes

A = "a" * 40


def record(message: str, committed: int = 1000, entry: str = "stash@{2000}") -> str:
    return f"{A}\n{committed}\n{entry}\n{message}"


@pytest.mark.parametrize(
    ("message", "branch", "said"),
    [
        ("WIP on main: 1a2b3c4 Begin: a project", "main", "1a2b3c4 Begin: a project"),
        ("On feature/x: half: done", "feature/x", "half: done"),
        ("WIP on (no branch): 1a2b3c4 Begin", "", "1a2b3c4 Begin"),
        ("On (no branch): epitaxy: pre-switch from HEAD", "", "epitaxy: pre-switch from HEAD"),
        ("lint-staged automatic backup", "", "lint-staged automatic backup"),
        ("On a whim", "", "On a whim"),
        ("", "", ""),
    ],
)
def test_the_message_tells_the_branch(message: str, branch: str, said: str) -> None:
    assert parse_stashes(record(message)) == [Stash(A, 2000.0, branch, said)]


def test_the_later_time_counts() -> None:
    assert parse_stashes(record("x", committed=3000)) == [Stash(A, 3000.0, "", "x")]
    assert parse_stashes(record("x", entry="stash@{0}")) == [Stash(A, 1000.0, "", "x")]
    assert parse_stashes(record("x", entry="refs/stash@{2000}")) == [Stash(A, 2000.0, "", "x")]
    assert parse_stashes(record("x", entry="")) == [Stash(A, 1000.0, "", "x")]


def test_several() -> None:
    assert [stash.message for stash in parse_stashes(f"{record('a')}\0{record('b')}\0")] == ["a", "b"]
    assert parse_stashes("") == []


@given(st.text())
def test_anything_else_is_unknown(text: str) -> None:
    with contextlib.suppress(UnknownError):
        parse_stashes(text)
    with pytest.raises(UnknownError, match="could not be understood"):
        parse_stashes(f"x{text}\n".replace("\0", "").replace("\n", "", 3))
