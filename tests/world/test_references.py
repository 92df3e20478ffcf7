"""Branches here and elsewhere: how they are read, and which of them work is merged to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from answers import spoiled
from hypothesis import given
from hypothesis import strategies as st
from worlds import repository

from gate.errors import UnknownError
from gate.testing import World
from gate.world import references
from gate.world.git import Git
from gate.world.references import HEADS, STASH, References, parse_references, read_references

REMOTE = "refs/remotes/origin/"


def known(*names: str, symbolic: dict[str, str] | None = None, **dates: float) -> References:
    commits = {name: f"of {name}" for name in names}
    return References(commits, {name: dates.get(name.rpartition("/")[2], 0.0) for name in names}, symbolic or {})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path / "world")


def read(world: World) -> References:
    return read_references(Git(world.environ), str(world.root), 20.0)


def test_what_git_lists(world: World) -> None:
    world.git("update-ref", REMOTE + "trunk", "main")
    world.git("symbolic-ref", REMOTE + "HEAD", REMOTE + "trunk")
    world.git("branch", "a/b")
    world.git("tag", "v1")
    world.git("update-ref", HEADS + "odd\u2028\x85name", "main")
    world.file("README", "otherwise\n")
    world.git("stash", "--quiet")
    found = read(world)
    commit = world.git("rev-parse", "main").strip()
    assert found.branches == ["a/b", "main", "odd\u2028\x85name"]
    names = [HEADS + name for name in found.branches] + [REMOTE + "HEAD", REMOTE + "trunk"]
    assert {name: found.commits[name] for name in names} == dict.fromkeys(names, commit)
    assert found.commits.keys() == {*names, STASH}
    assert found.dates[HEADS + "main"] == float(world.git("log", "-1", "--format=%ct"))
    assert found.symbolic == {REMOTE + "HEAD": REMOTE + "trunk"}


def test_a_branch_that_is_a_tree_has_no_time(world: World) -> None:
    tree = world.git("rev-parse", "main^{tree}").strip()
    (world.root / ".git/refs/remotes/x").mkdir(parents=True)
    (world.root / ".git/refs/remotes/x/tree").write_text(tree + "\n")
    assert read(world).dates["refs/remotes/x/tree"] == 0.0


def test_a_repository_that_cannot_be_read(world: World) -> None:
    world.environ["PATH"] = "/no/where"
    with pytest.raises(UnknownError):
        read(world)
    with pytest.raises(UnknownError):
        read_references(Git(world.environ), str(world.root), 0.0)


def test_the_branches_that_work_is_merged_to() -> None:
    assert known(HEADS + "x").mains() == []
    assert known(HEADS + "x", HEADS + "master", REMOTE + "main").mains() == [REMOTE + "main", HEADS + "master"]
    default = {REMOTE + "HEAD": REMOTE + "production"}
    found = known(HEADS + "production", REMOTE + "HEAD", REMOTE + "production", REMOTE + "x", symbolic=default)
    assert found.mains() == [REMOTE + "production", HEADS + "production"]


def test_the_tips_in_which_a_copy_could_be(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (HEADS + "old", HEADS + "new", HEADS + "newer", HEADS + "main", STASH)
    found = known(*names, old=1.0, new=2.0, newer=3.0, main=0.0, stash=9.0)
    assert found.tips(2.0) == [f"of {HEADS}{name}" for name in ("main", "newer", "new")]
    assert found.tips(2.0, head=HEADS + "old") == [f"of {HEADS}{name}" for name in ("main", "old", "newer", "new")]
    assert found.tips(2.0, head=HEADS + "unborn", without={HEADS + "main", HEADS + "new"}) == [f"of {HEADS}newer"]
    monkeypatch.setattr(references, "MOST_TIPS", 2)
    assert found.tips(0.0) == [f"of {HEADS}main", f"of {HEADS}newer"]


def test_a_commit_of_several_branches_is_one() -> None:
    found = References({HEADS + "a": "x", HEADS + "b": "x"}, {HEADS + "a": 1.0, HEADS + "b": 1.0}, {})
    assert found.tips(0.0) == ["x"]


def test_a_symbolic_branch_that_leads_nowhere_is_not_listed(world: World) -> None:
    subprocess.run(["git", "symbolic-ref", REMOTE + "HEAD", REMOTE + "gone"], cwd=world.root, check=True)
    assert read(world).commits.keys() == {HEADS + "main"}


ANSWERS = (
    b"",
    b"1" * 40 + b" 1796000000 refs/heads/main \n" + b"2" * 40 + b" 1796000001 refs/heads/claude/x \n",
    b"1" * 40 + b" 1796000000 refs/remotes/origin/HEAD refs/remotes/origin/main\n" + b"3" * 40 + b"  refs/stash \n",
)


@given(spoiled(ANSWERS) | st.binary())
def test_an_answer_is_understood_or_unknown(answer: bytes) -> None:
    try:
        found = parse_references(answer)
    except UnknownError:
        return
    assert found.commits.keys() == found.dates.keys()
    assert len(found.commits) <= answer.count(b"\n"), "and no branch is made up"
    assert all(abs(date) <= 1e12 for date in found.dates.values())
    found.tips(0.0)
    found.mains()


@pytest.mark.parametrize("answer", ANSWERS[1:])
def test_a_part_of_an_answer_is_unknown_or_ends_with_a_line(answer: bytes) -> None:
    for length in range(1, len(answer)):
        if answer[length - 1 : length] != b"\n":
            with pytest.raises(UnknownError):
                parse_references(answer[:length])
