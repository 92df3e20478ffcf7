"""Where commits hang: what the files of a repository tell, and what they do not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from answers import Given, spoiled
from hypothesis import given
from hypothesis import strategies as st
from worlds import repository

from gate.project import find_project
from gate.testing import World
from gate.world.agent_heads import Head, Places, read_worktrees
from gate.world.forms import Ask
from gate.world.leftovers import Signs
from gate.world.references import HEADS, References
from gate.world.worktrees import Worktree

A, B = "a" * 40, "b" * 40
AGENTS = Signs(roots=(".claude/worktrees/*",), names=(), locks=(), temps=())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path / "world")


def heads(world: World, tree: Worktree, commits: dict[str, str] | None = None) -> list[Head]:
    references = References({HEADS + "main": A}, {HEADS + "main": 5.0}, {})
    return Places(find_project(str(world.root)), [tree], references, AGENTS, ("x/*",), commits or {}).heads()


def linked(world: World, head: str, branch: str | None = None) -> Worktree:
    git_dir = world.root / ".git/worktrees/task"
    git_dir.mkdir(parents=True)
    (git_dir / "HEAD").write_text(head + "\n")
    return Worktree(str(world.root / ".claude/worktrees/task"), str(git_dir), branch=branch)


def test_where_references_are_tables_git_tells_what_a_worktree_is_at(world: World) -> None:
    tree = linked(world, "ref: refs/heads/.invalid")
    assert heads(world, tree) == []
    tables = Path(tree.git_dir, "reftable/tables.list")
    tables.parent.mkdir()
    tables.write_text("")
    os.utime(Path(tree.git_dir, "HEAD"), (1000.0, 1000.0))
    os.utime(tables, (2000.0, 2000.0))
    (head,) = heads(world, tree, {tree.path: B})
    assert (head.commit, head.moved) == (B, 2000.0)


def test_a_head_that_is_neither_a_branch_nor_a_commit_is_none(world: World) -> None:
    assert heads(world, linked(world, "torn")) == []


def test_when_a_detached_head_moved(world: World) -> None:
    tree = linked(world, B)
    os.utime(Path(tree.git_dir, "HEAD"), (1000.0, 1000.0))
    (head,) = heads(world, tree)
    assert (head.key, head.commit, head.moved) == (f"{tree.path}\0HEAD", B, 1000.0)
    assert head.maker is None, "wherever it is, it is on no branch"


@pytest.mark.parametrize("logged", [True, False])
def test_a_branch_that_was_deleted(world: World, logged: bool) -> None:
    tree = linked(world, "ref: refs/heads/gone", branch="gone")
    if logged:
        (Path(tree.git_dir) / "logs").mkdir()
        (Path(tree.git_dir) / "logs/HEAD").write_text(f"{A} {B} A <a@b> 1000 +0000\tcommit: x\n")
    assert [(head.commit, head.gone) for head in heads(world, tree)] == ([(B, "gone")] if logged else [])


LISTED = (
    b"worktree /w\0HEAD "
    + b"1" * 40
    + b"\0branch refs/heads/main\0\0worktree /x\0HEAD "
    + b"2" * 40
    + b"\0detached\0\0"
)


@given(spoiled([LISTED]) | st.binary())
def test_any_list_of_worktrees_gives_each_a_commit_or_none(answer: bytes) -> None:
    trees = [Worktree("/w", "/w/.git", main=True), Worktree("/x", "/w/.git/worktrees/x")]
    found, commits = read_worktrees(Ask(Given(answer), "/w", time.monotonic() + 20), trees)
    assert [tree.path for tree in found] == ["/w", "/x"]
    assert all(os.fsencode(text) in answer for text in (*commits.values(), *(tree.branch or "" for tree in found)))
