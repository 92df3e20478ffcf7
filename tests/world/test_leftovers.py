"""Whose a worktree is, what its lock means, what is gone and what is only not here."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worlds import repository

from gate.errors import UnknownError
from gate.project import find_project
from gate.quote import say
from gate.testing import World
from gate.world.git import Git
from gate.world.leftovers import (
    Hold,
    Leftover,
    Signs,
    Survey,
    is_reachable,
    lies_apart,
    matches_place,
    occupied,
    unregistered,
)
from gate.world.processes import ProcessTable
from gate.world.worktree_life import Life
from gate.world.worktrees import AGENT_ROOTS, Worktree, list_worktrees

TIMEOUT = 20.0
DAY = 86400.0
SIGNS = Signs(
    (".claude/worktrees/*", ".worktrees/*", "/agents/*"), ("*sweep*", "worktree-*"), ("claude session *",), ("/tmp/t",)
)
EMPTY = Life(0.0, uncommitted=0, commits=0)


@pytest.mark.parametrize(
    ("tree", "sign"),
    [
        (Worktree("/p/.claude/worktrees/x", ""), 'it lies in ".claude/worktrees/*"'),
        (Worktree("/p/.claude/worktrees/feature/x", ""), 'it lies in ".claude/worktrees/*"'),
        (Worktree("/home/me/other/.worktrees/x", ""), 'it lies in ".worktrees/*"'),
        (Worktree("/agents/x", ""), 'it lies in "/agents/*"'),
        (Worktree("/tmp/t/x", ""), "it lies in the temp directory"),
        (Worktree("/w/nightly-sweep-3", ""), "it is called nightly-sweep-3"),
        (Worktree("/w/worktree-x", ""), "it is called worktree-x"),
        (Worktree("/w/x", "", branch="worktree-x"), "it is called worktree-x"),
        (Worktree("/w/x", "", branch="agents/sweep/x"), "it is called agents/sweep/x"),
        (Worktree("/w/x", "", locked="claude session x (pid 4)"), "a client locked it"),
        (Worktree("/w/x", "", made_in_session=True), "it was made during a recorded session"),
        (Worktree("/w/x", "", branch="feature/worktree-list"), None),
        (Worktree("/w/x", "", locked="the claude session needs it"), None),
        (Worktree("/w/x", "", locked=""), None),
        (Worktree("/p/worktrees/x", ""), None),
        (Worktree("/p/.claude/worktrees", ""), None),
        (Worktree("/tmp/t", ""), None),
        (Worktree("/tmp/tx", ""), None),
        (Worktree("/other/agents/x", ""), None),
    ],
)
def test_what_shows_that_an_agent_made_it(tree: Worktree, sign: str | None) -> None:
    found = SIGNS.of(tree, "/p")
    assert (None if found is None else str(found)) == sign


def test_a_place_that_is_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk/one").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.worktrees").symlink_to(tmp_path / "disk")
    assert matches_place(str(tmp_path / "disk/one"), str(tmp_path / "project"), ".worktrees/*")
    assert not matches_place(str(tmp_path / "disk"), str(tmp_path / "project"), ".worktrees/*")


def test_beside_a_repository_in_the_temp_directory_is_no_sign() -> None:
    """Tests and trials have theirs there, and a person's worktree beside it is a person's."""
    assert lies_apart("/tmp/x", "/tmp", "/home/me/project")
    assert lies_apart("/tmp/x", "/tmp", "/tmp/trial/project")
    assert not lies_apart("/tmp/trial/x", "/tmp", "/tmp/trial/project")
    assert not lies_apart("/home/me/x", "/tmp", "/home/me/project")
    assert not lies_apart("/tmp", "/tmp", "/home/me/project")


def test_only_what_is_surely_gone_is_called_gone(tmp_path: Path) -> None:
    (tmp_path / "root/empty").mkdir(parents=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("")
    near = [str(tmp_path / "root"), str(tmp_path / "no-temp")]
    for path, expected in {
        "root/a": True,
        "root/no/parent/a": True,
        "full/a": True,
        "no-temp/a": False,
        "not/there/a": False,
        "root-disk/a": False,
    }.items():
        assert is_reachable(str(tmp_path / path), near) is expected, path
    (tmp_path / "mount").mkdir()
    assert not is_reachable(str(tmp_path / "mount/a"), near), "so an unmounted disk looks"
    assert not is_reachable("C:/code/a", near)


@pytest.mark.parametrize(
    ("hold", "away", "maker", "left"),
    [
        (Hold.NONE, False, True, True),
        (Hold.DEAD, False, True, True),
        (Hold.CUT_OFF, False, True, True),
        (Hold.PERSON, False, True, False),
        (Hold.ALIVE, False, True, False),
        (Hold.ELSEWHERE, False, True, False),
        (Hold.NONE, True, True, False),
        (Hold.NONE, False, False, False),
    ],
)
def test_what_is_left_and_what_is_removable(hold: Hold, away: bool, maker: bool, left: bool) -> None:
    tree = Worktree("/w/x", "", locked=None if hold is Hold.NONE else "a reason")
    sign = say("a sign") if maker else None
    leftover = Leftover("/w/x", "x", EMPTY, tree, sign, hold, away)
    assert leftover.is_left is left
    assert leftover.is_removable is (left and hold is Hold.NONE)
    assert not Leftover("/w/x", "x", EMPTY, None, sign).is_removable
    assert not Leftover("/w/x", "x", Life(0.0), tree, sign).is_removable


def test_words() -> None:
    def words(tree: Worktree | None, hold: Hold = Hold.NONE, away: bool = False, maker: bool = True) -> list[str]:
        leftover = Leftover("/w/x", "x", EMPTY, tree, say("a sign") if maker else None, hold, away)
        return [str(each) for each in leftover.state]

    assert words(Worktree("", "")) == []
    assert words(None) == ["git does not know it"]
    assert words(Worktree("", "", missing=True)) == ["its directory is gone (prunable)"]
    assert words(Worktree("", "", missing=True), away=True) == ["its directory cannot be reached from here"]
    assert words(Worktree("", "", locked=""), Hold.PERSON, maker=False) == [
        "no sign of an agent",
        "locked by hand (no reason given)",
    ]
    assert words(Worktree("", "", locked="a\nb"), Hold.DEAD) == ['locked, but the holder is gone ("a\\nb")']


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path / "world")


def test_where_a_process_works(world: World) -> None:
    table = world.processes
    table.add("vim", directory="/w/one/deep/below")
    table.add("claude", directory="/w/two")
    table.add("sh", directory="/w/three", state="Z")
    table.add("sh", directory="/w/four", hidden=True)
    table.vanish(table.add("sh", directory="/w/five"))
    table.add("sh", directory="/w/six-and-more")
    wanted = [f"/w/{name}" for name in ("one", "two", "three", "four", "five", "six")]
    assert occupied(table, wanted, time.monotonic() + TIMEOUT) == {"/w/one", "/w/two"}
    assert occupied(table, wanted, time.monotonic()) == set(), "out of time, nobody was seen"
    assert occupied(table, [], time.monotonic() + TIMEOUT) == set()


def test_where_a_real_process_works(tmp_path: Path) -> None:
    (tmp_path / "one/below").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=tmp_path / "one/below")
    try:
        found = occupied(ProcessTable(), [str(tmp_path / "one"), str(tmp_path / "two")], time.monotonic() + TIMEOUT)
    finally:
        process.communicate(b"\n", timeout=TIMEOUT)
    assert found == {str(tmp_path / "one")}


def test_where_this_process_itself_works_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path) not in occupied(ProcessTable(), [str(tmp_path)], time.monotonic() + TIMEOUT)


def test_where_no_processes_can_be_seen_nobody_is() -> None:
    class Hidden(ProcessTable):
        @property
        def snapshot(self) -> list[object]:  # type: ignore[override]
            raise UnknownError("/proc hides the process table")

    assert occupied(Hidden(), ["/"], time.monotonic() + TIMEOUT) == set()


def git(world: World, *arguments: str, cwd: str | Path | None = None) -> None:
    subprocess.run(
        ["git", *arguments], cwd=cwd or world.root, env=world.environ, check=True, capture_output=True, timeout=TIMEOUT
    )


def test_directories_that_git_does_not_know(world: World, tmp_path: Path) -> None:
    known, deep = world.root / ".worktrees/known", world.root / ".worktrees/feature/deep"
    for path in (known, deep):
        git(world, "worktree", "add", "--quiet", str(path))
    other = World(tmp_path / "other")
    other.repository()
    git(other, "worktree", "add", "--quiet", str(world.root / ".worktrees/others"))
    for name in ("plain", "torn"):
        world.file(f".worktrees/{name}/file")
    world.file(".worktrees/torn/.git", "gitdir: /no/where\n")
    git(world, "init", "--quiet", str(world.root / ".worktrees/clone"))
    world.file(".worktrees/a-file")
    (world.root / ".worktrees/link").symlink_to(known)
    (world.root / ".worktrees/.hidden").mkdir()
    trees = list_worktrees(find_project(str(world.root)))
    below = str(world.root / ".worktrees")
    expected = [f"{below}/{name}" for name in ("clone", "plain", "torn")]
    assert unregistered(str(world.root), [".worktrees/*", "*/plain", str(world.home)], trees) == expected
    assert unregistered(str(world.root), [f"{world.root}/.worktrees/*"], trees) == [], "elsewhere others keep theirs"
    (world.root / ".git/worktrees/known/gitdir").unlink()
    trees = list_worktrees(find_project(str(world.root)))
    assert unregistered(str(world.root), [".worktrees/k*"], trees) == [str(known)], "git forgot where it is"


def test_a_root_that_is_a_link_holds_the_worktrees_that_git_knows(world: World) -> None:
    (world.directory / "disk").mkdir()
    (world.root / ".worktrees").symlink_to(world.directory / "disk")
    git(world, "worktree", "add", "--quiet", str(world.root / ".worktrees/known"))
    trees = list_worktrees(find_project(str(world.root)))
    assert trees[1].path == str(world.directory / "disk/known")
    assert unregistered(str(world.root), [".worktrees/*"], trees) == []


@pytest.mark.parametrize("link", [".claude/worktrees", ".claude", ".worktrees", ".codex"])
def test_what_a_link_of_the_repositorys_leads_to_is_not_called_left(world: World, link: str) -> None:
    """Else whoever commits a link makes leftovers of the user's own directories, with words on how they go."""
    for name in ("Documents", "worktrees/Documents"):
        world.file(str(world.home / name / "letter.txt"))
    (world.root / link).parent.mkdir(exist_ok=True)
    (world.root / link).symlink_to(world.home)
    trees = list_worktrees(find_project(str(world.root)))
    assert unregistered(str(world.root), AGENT_ROOTS, trees) == []
    (world.root / link).unlink()
    (world.root / link).symlink_to(world.root / "kept")
    for name in ("Documents", "worktrees/Documents"):
        world.file(f"kept/{name}/letter.txt")
    assert unregistered(str(world.root), AGENT_ROOTS, trees), "what lies in the repository is seen"


def survey(world: World, *trees: Worktree, seconds: float = TIMEOUT) -> dict[str, Leftover]:
    project = find_project(str(world.root))
    everything = [*list_worktrees(project), *trees]
    since = world.clock.now() - 5 * DAY
    found = Survey(project, everything, Git(world.environ), world.processes, SIGNS, since, seconds).leftovers()
    return {leftover.name: leftover for leftover in found}


def test_a_survey_of_nothing_asks_nothing(world: World) -> None:
    world.environ["PATH"] = "/no/git"
    git_ = Git(world.environ)
    project = find_project(str(world.root))
    trees = list_worktrees(project)
    assert Survey(project, trees, git_, world.processes, SIGNS, 0.0, TIMEOUT).leftovers() == []


def test_without_git_the_ages_are_known_and_nothing_more(world: World) -> None:
    git(world, "worktree", "add", "--quiet", str(world.root / ".worktrees/old"))
    world.clock = type(world.clock)(now=world.clock.now() + 9 * DAY)
    world.environ["PATH"] = "/no/git"
    (old,) = survey(world).values()
    assert old.life.idle is True
    assert [str(each) for each in old.life.holds] == [
        "what it holds could not be established: git was not found in PATH"
    ]
    assert not old.is_removable


def test_many_are_looked_at_in_time_and_the_rest_is_said(world: World) -> None:
    for number in range(6):
        git(world, "worktree", "add", "--quiet", str(world.root / f".worktrees/{number}"))
    world.clock = type(world.clock)(now=world.clock.now() + 9 * DAY)
    started = time.monotonic()
    found = survey(world, seconds=0.0)
    assert time.monotonic() - started < 2.0
    assert [each.life.idle for each in found.values()] == [None] * 6
    assert [each.life.idle for each in survey(world).values()] == [True] * 6
    assert all(each.is_removable for each in survey(world).values())


def test_a_missing_one_still_has_its_commits(world: World) -> None:
    path = world.root / ".worktrees/gone"
    git(world, "worktree", "add", "--quiet", str(path))
    git(world, "checkout", "--quiet", "--detach", cwd=path)
    git(world, "commit", "--quiet", "--allow-empty", "--message", "x", cwd=path)
    world.clock = type(world.clock)(now=world.clock.now() + 9 * DAY)
    subprocess.run(["rm", "-r", path], check=True, timeout=TIMEOUT)
    (gone,) = survey(world).values()
    assert (gone.life.commits, gone.away, gone.is_removable) == (1, False, False)
    assert os.fspath(path) == gone.path
