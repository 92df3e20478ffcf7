"""Which gitlinks are submodules, and which are agents' worktrees that somebody added with all the rest."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from answers import Given, spoiled
from hypothesis import given
from hypothesis import strategies as st
from worlds import repository

from gate.errors import UnknownError
from gate.testing import World
from gate.world.git import Git
from gate.world.gitlinks import list_gitlinks, named_submodules, without_a_name

TIMEOUT = 20.0
COMMIT = "1" * 40


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path)


def git(world: World, *arguments: str) -> None:
    subprocess.run(
        ["git", *arguments], cwd=world.root, env=world.environ, check=True, capture_output=True, timeout=TIMEOUT
    )


def link(world: World, *names: str) -> None:
    for name in names:
        git(world, "update-index", "--add", "--cacheinfo", f"160000,{COMMIT},{name}")


def listed(world: World) -> list[str]:
    return list_gitlinks(Git(world.environ), str(world.root), str(world.root / ".git"), time.monotonic() + TIMEOUT)


def nameless(world: World, *worktrees: str) -> tuple[str, ...]:
    places = [str(world.root / tree) for tree in worktrees]
    return without_a_name(
        Git(world.environ), str(world.root), listed(world), places, deadline=time.monotonic() + TIMEOUT
    )


def test_no_index_and_no_gitlink(world: World) -> None:
    world.environ["PATH"] = "/no/git"
    assert listed(world) == []
    (world.root / ".git/index").unlink()
    assert listed(world) == []


def test_they_are_listed_whatever_they_are_called(world: World) -> None:
    names = ["a b", 'odd\nname"', "deep/er/x", os.fsdecode(b"\xff")]
    link(world, *names)
    assert listed(world) == sorted(names, key=os.fsencode)


def test_an_index_that_cannot_be_searched_is_left_to_git(world: World) -> None:
    (world.root / ".git/index").unlink()
    (world.root / ".git/index").mkdir()
    assert listed(world) == []
    (world.root / ".git/index").rmdir()
    (world.root / ".git/index").write_bytes(b"nonsense\0\0\xe0\0")
    with pytest.raises(UnknownError, match="git failed"):
        listed(world)


def nothing(world: World) -> None:
    pass


def no_text(world: World) -> None:
    world.file(".gitmodules", b"\0[\xff")


def others_only(world: World) -> None:
    git(world, "config", "--file", ".gitmodules", "submodule.x.path", ".worktrees/a-longer-name")


@pytest.mark.parametrize("state", [nothing, others_only], ids=lambda state: state.__name__)
def test_what_lies_where_agents_keep_worktrees(state: Callable[[World], None], world: World) -> None:
    state(world)
    link(world, ".claude/worktrees/task", ".worktrees/a", "packages/app/.codex/worktrees/b", "theme", "worktrees/c")
    assert nameless(world) == (".claude/worktrees/task", ".worktrees/a", "packages/app/.codex/worktrees/b")


def test_where_a_worktree_stands_it_is_one_wherever_that_is(world: World) -> None:
    link(world, "anywhere", "theme")
    assert nameless(world, "anywhere", "elsewhere") == ("anywhere",)


def test_a_submodule_has_a_name(world: World) -> None:
    link(world, ".worktrees/lib", 'odd "name"')
    for number, name in enumerate((".worktrees/lib/", 'odd "name"')):
        git(world, "config", "--file", ".gitmodules", f"submodule.{number}.path", name)
    assert nameless(world, 'odd "name"') == ()


def test_names_that_cannot_be_read_are_unknown(world: World) -> None:
    link(world, ".worktrees/a")
    no_text(world)
    with pytest.raises(UnknownError, match="git failed"):
        nameless(world)


def test_names_that_are_not_checked_out_count(world: World) -> None:
    link(world, ".claude/worktrees/lib")
    assert nameless(world) == (".claude/worktrees/lib",)
    world.file(".gitmodules", '[submodule "lib"]\n\tpath = .claude/worktrees/lib\n\turl = ../lib\n')
    git(world, "add", ".gitmodules")
    (world.root / ".gitmodules").unlink()
    assert nameless(world) == ()


LISTED = f"100644 {COMMIT} 0\ta\0160000 {COMMIT} 0\tsub\0160000 {COMMIT} 1\t.claude/worktrees/x\0".encode()


@given(spoiled([LISTED, b"submodule.a.path\nsub\0submodule.b.path\nx/\0"]) | st.binary())
def test_any_answer_names_what_stands_in_it(answer: bytes) -> None:
    git, deadline = Given(answer), time.monotonic() + TIMEOUT
    for name in (*list_gitlinks(git, "/w", "/nowhere", deadline), *named_submodules(git, "/w", deadline)):
        assert os.fsencode(name) in answer
