"""git's notes of moves: what is read of them, and which commits they prove to be elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.world import reflogs
from gate.world.reflogs import Move, fetched, first_move, last_moves

A, B, ZERO = "a" * 40, "b" * 40, "0" * 40
WHO = "A Person <person@example.org> 1800000000 +0100"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_the_entries(log: Path) -> None:
    log.write_text(f"{ZERO} {A} {WHO}\tbranch: Created from main\n{A} {B} {WHO}\tcommit: a > b\twith a tab\n")
    created = Move(ZERO, A, 1_800_000_000.0, "branch: Created from main")
    assert last_moves(str(log)) == [created, Move(A, B, 1_800_000_000.0, "commit: a > b\twith a tab")]
    assert first_move(str(log)) == created


def test_what_is_no_entry_is_left_out(log: Path) -> None:
    log.write_text(f"nonsense\n{A} {B} {WHO}\tone\n\n{A} --all x\n{A} {B} torn")
    assert [move.why for move in last_moves(str(log))] == ["one"]


def test_an_entry_without_a_name_or_a_reason(log: Path) -> None:
    log.write_text(f"{A} {B} \n{A} {B} {WHO}\n")
    assert last_moves(str(log)) == [Move(A, B, 0.0, ""), Move(A, B, 1_800_000_000.0, "")]


def test_of_a_long_log_both_ends_are_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflogs, "WINDOW", 400)
    log.write_text("".join(f"{A} {B} {WHO}\t{number}\n" for number in range(100)))
    first = first_move(str(log))
    assert first is not None
    assert first.why == "0"
    assert [move.why for move in last_moves(str(log))] == ["97", "98", "99"]


def test_no_log(tmp_path: Path) -> None:
    assert last_moves(str(tmp_path / "none")) == []
    assert first_move(str(tmp_path)) is None


@given(st.binary())
def test_whatever_stands_there_nothing_is_raised(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "reflog"
    path.write_bytes(content)
    for move in last_moves(str(path)):
        assert len(move.new) >= 40


ELSEWHERE = [
    "fetch origin pull/5/head:claude/x: storing head",
    "fetch https://example.org/fork refs/heads/x:x: fast-forward",
    "clone: from https://example.org/x",
    "pull: Fast-forward",
    "pull --ff-only origin main: Fast-forward",
    "merge FETCH_HEAD: Fast-forward",
    "merge origin/claude/x: Fast-forward",
    "branch: Created from refs/remotes/origin/claude/x",
    "branch: Created from origin/claude/x",
    "branch: Created from FETCH_HEAD",
    "branch: Reset to origin/claude/x",
    "checkout: moving from main to FETCH_HEAD",
    "checkout: moving from main to upstream/main",
    "reset: moving to origin/main",
]
HERE = [
    "commit: fetch origin",
    "commit (amend): clone: from x",
    "pull: Merge made by the 'ort' strategy.",
    "pull --rebase (finish): returning to refs/heads/x",
    "merge claude/y: Fast-forward",
    "merge origin/x: Merge made by the 'ort' strategy.",
    "branch: Created from HEAD",
    "branch: Created from claude/x",
    "checkout: moving from origin/x to main",
    "reset: moving to HEAD~1",
    "cherry-pick: x",
    "",
]


@pytest.mark.parametrize("why", ELSEWHERE)
def test_what_was_fetched_is_elsewhere(why: str) -> None:
    assert fetched([Move(A, B, 0.0, why)]) == {B}


@pytest.mark.parametrize("why", HERE)
def test_what_was_made_here_may_be_nowhere_else(why: str) -> None:
    assert fetched([Move(A, B, 0.0, why)]) == set()


def test_a_branch_that_was_deleted_proves_nothing() -> None:
    assert fetched([Move(A, ZERO, 0.0, "fetch --prune")]) == set()
