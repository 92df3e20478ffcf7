"""JUNK on real repositories: what git took in along with an agent's work, and what people have had there for years."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gate_checks import tree_junk, uncommitted_paths

from gate.attribution import Baseline, Evidence, attribute, key_of
from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, NOTE, UNKNOWN
from gate.quote import ShellWord, say
from gate.testing import World, run_check, said

CHECK = tree_junk.gate_check()
NAMES = "git took in names that no file has on Windows (no clone there can be checked out)"
DROPPED = "git took in droppings of clients (nothing reads them again)"
TREES = "git took in the files of agents' worktrees"
NAMELESS = "git took in repositories that .gitmodules does not name (no submodule command gets past them)"


def commit(world: World, cwd: str | Path | None = None) -> None:
    world.git("-c", "advice.addEmbeddedRepo=false", "add", "--all", cwd=cwd)
    world.git("commit", "--quiet", "--message", "everything", cwd=cwd)


def clone_inside(world: World, path: str) -> None:
    """A repository of its own below the project, as a clone leaves one."""
    shutil.copytree(world.root / ".git", world.root / path / ".git")
    world.git("checkout", "--quiet", "--", ".", cwd=world.root / path)


def found(world: World, **options: object) -> list[tuple[str, str]]:
    return [(finding.kind, said(finding)) for finding in run_check(CHECK, world, **options)]


def show(path: Path) -> str:
    """As a finding shows it: quoted and cut where it is long."""
    return str(say("{}", path))


def clean(world: World) -> None:
    pass


def droppings(world: World) -> None:
    """Incident: 56 in one repository."""
    for number in range(56):
        world.file(f"tests/tmpclaude-{number:04x}-cwd", "/d/code/app")
    commit(world)


def one_with_a_path_before_it(world: World) -> None:
    """Where a Windows path lost its separators, all of it is the name."""
    world.file("cWINDOWSTEMPclaude-3f21-cwd", "/c/Users/me/app")
    commit(world)


def names_that_windows_has_no_file_for(world: World) -> None:
    """Incident: NUL in a commit, and every clone on Windows ended with `invalid path`."""
    for name in ("NUL", "src/nul", "src/Con", "a/prn", "a/AuX", "a/com1", "a/LPT9"):
        world.file(name)
    (world.root / "b").mkdir()
    (world.root / "b/aux").symlink_to("elsewhere")
    commit(world)


def the_copies_of_worktrees(world: World) -> None:
    """Incident: 255 files of three copies, whose own `.git` was gone."""
    for name in ("a/src/x.py", "a/y.py", "b/z.py"):
        world.file(f".worktrees/{name}")
    world.file("sub/.claude/worktrees/task/deep/er")
    commit(world)


def a_clone_inside(world: World) -> None:
    """Incident: a clone that lay in the tree, and no fresh one could update its submodules."""
    clone_inside(world, "third-party/bot")
    commit(world)


def not_yet_committed(world: World) -> None:
    """REPO says it."""
    the_copies_of_worktrees(world)
    world.git("reset", "--quiet", "--soft", "HEAD^")
    world.file("nul")
    world.file("tmpclaude-12ab-cwd")
    clone_inside(world, "bot")
    world.git("-c", "advice.addEmbeddedRepo=false", "add", "--all")


def taken_out_again(world: World) -> None:
    """REPO says that it is deleted, until that is committed too."""
    names_that_windows_has_no_file_for(world)
    world.git("rm", "--quiet", "--cached", "-r", "NUL", "src", "a", "b")


def no_commit(world: World) -> None:
    shutil.rmtree(world.root / ".git")
    world.repository(commit=False)
    world.file("nul")
    world.git("add", "--all")


def what_people_have(world: World) -> None:
    for name in (
        "aux.c",
        "src/con.h",
        "nul.rs",
        "aux/x",
        "com10",
        "com",
        "null",
        "console",
        "lpt0.txt",
        "acon",
        "-cwd",
    ):
        world.file(name)
    for name in ("claude-xyz0-cwd", "claude-12-cwd", "myclaude-12ab-cwd", "claude-12ab-cwd.txt", "claude-12ab-cwd/x"):
        world.file(name)
    world.file("large/claude-12ab-cwd", "x" * 1024)
    for name in (".worktrees/.gitkeep", ".claude/worktrees/README", "docs/worktrees/x/y"):
        world.file(name)
    commit(world)


def data_of_tests(world: World) -> None:
    for name in ("tests/fixtures/nul", "Testdata/deep/CON", "test_data/tmpclaude-12ab-cwd"):
        world.file(name)
    world.file("tests/fixtures/.worktrees/a/x")
    clone_inside(world, "fixtures/repo")
    commit(world)


def ignored_ones(world: World) -> None:
    world.file(".gitignore", "*-cwd\nnul\n.worktrees\n")
    commit(world)
    for name in (".worktrees/a/x.py", "tmpclaude-12ab-cwd", "nul"):
        world.file(name)


def a_submodule(world: World) -> None:
    clone_inside(world, "lib")
    world.file(".gitmodules", '[submodule "lib"]\n\tpath = lib\n\turl = ../lib\n')
    commit(world)


def a_submodule_whose_names_are_not_checked_out(world: World) -> None:
    a_submodule(world)
    world.git("update-index", "--skip-worktree", ".gitmodules")
    (world.root / ".gitmodules").unlink()


def an_agents_worktree_as_a_gitlink(world: World) -> None:
    """REPO says it."""
    world.git("worktree", "add", "--quiet", ".claude/worktrees/task")
    world.git("worktree", "add", "--quiet", "elsewhere")
    commit(world)


SILENT = (
    clean, not_yet_committed, taken_out_again, no_commit, what_people_have, data_of_tests, ignored_ones, a_submodule,
    a_submodule_whose_names_are_not_checked_out, an_agents_worktree_as_a_gitlink,
)  # fmt: skip
ROW: dict[Callable[[World], None], list[tuple[str, str]]] = {
    droppings: [(DEBT, f"{DROPPED}: tests/tmpclaude-0000-cwd, tests/tmpclaude-0001-cwd, ")],
    one_with_a_path_before_it: [(DEBT, f"{DROPPED}: cWINDOWSTEMPclaude-3f21-cwd")],
    names_that_windows_has_no_file_for: [
        (DEBT, f"{NAMES}: NUL, a/AuX, a/LPT9, a/com1, a/prn, b/aux, src/Con, src/nul")
    ],
    the_copies_of_worktrees: [(DEBT, f"{TREES}: .worktrees/a/, .worktrees/b/, sub/.claude/worktrees/task/")],
    a_clone_inside: [(DEBT, f"{NAMELESS}: third-party/bot")],
}


@pytest.mark.parametrize("state", ROW, ids=lambda state: state.__name__)
def test_what_is_debt(state: Callable[[World], None], world: World) -> None:
    state(world)
    ((kind, text),) = found(world)
    ((expected_kind, expected),) = ROW[state]
    assert kind == expected_kind
    assert text.startswith(expected)


@pytest.mark.parametrize("state", SILENT, ids=lambda state: state.__name__)
def test_what_is_not(state: Callable[[World], None], world: World) -> None:
    state(world)
    assert [each for each in found(world) if each[0] != NOTE] == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (an_agents_worktree_as_a_gitlink, "as if they were submodules: .claude/worktrees/task, elsewhere"),
        (not_yet_committed, "7 uncommitted paths: .worktrees/a/src/x.py, "),
        (taken_out_again, "11 uncommitted paths: NUL, "),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)  # fmt: skip
def test_what_is_left_to_the_check_of_uncommitted_paths_is_said_there(
    state: Callable[[World], None], words: str, world: World
) -> None:
    state(world)
    assert any(words in said(finding) for finding in run_check(uncommitted_paths.gate_check(), world))


def test_how_it_is_cleared(world: World) -> None:
    the_copies_of_worktrees(world)
    (finding,) = run_check(CHECK, world)
    assert [str(subject.detail) for subject in finding.subjects] == [
        ".worktrees/a/ with 2 files",
        ".worktrees/b/",
        "sub/.claude/worktrees/task/",
    ]
    assert str(finding.remedy) == (
        f"git -C {ShellWord(world.root)} log --oneline -- .worktrees/a/ shows what took it in; it goes when it is out "
        "of the index and that is committed (.gitignore keeps it out); what is on disk stays"
    )
    world.git("rm", "--quiet", "--cached", "-r", ".worktrees", "sub")
    assert found(world) == []
    world.git("commit", "--quiet", "--message", "out")
    assert found(world) == []
    assert (world.root / ".worktrees/a/src/x.py").exists()


def test_a_session_answers_for_what_came_during_it(world: World) -> None:
    names_that_windows_has_no_file_for(world)
    (before,) = run_check(CHECK, world)
    stood = Baseline({key_of(subject): subject.fingerprint for subject in before.subjects}, written=0.0)
    world.file("c/nul")
    commit(world)
    world.git("worktree", "add", "--quiet", "../new")  # a new worktree has the old ones as well
    (finding,) = run_check(CHECK, world)
    parts = {part.kind: part for part in attribute(finding, Evidence(baselines=[stood], ended=True))}
    assert [subject.name for subject in parts[DEBT].subjects] == ["c/nul"]
    assert len(parts[NOTE].subjects) == 8
    (part,) = attribute(finding, Evidence(first=CHECK.keeps))
    assert part.kind == NOTE, "on a first look nobody is charged"


def test_a_file_that_came_before_the_first_session_began_is_a_persons(world: World) -> None:
    names_that_windows_has_no_file_for(world)
    (finding,) = run_check(CHECK, world)
    came = os.lstat(world.root / "NUL").st_ctime
    assert finding.subjects[0].changed == came
    (part,) = attribute(replace(finding, subjects=finding.subjects[:1]), Evidence(quiet=(came - 1, came)))
    assert part.kind == NOTE


def test_every_worktree_is_looked_at_and_each_thing_said_once(world: World) -> None:
    world.git("worktree", "add", "--quiet", ".claude/worktrees/one")
    world.git("worktree", "add", "--quiet", "../two")
    world.file(".claude/worktrees/one/nul")
    commit(world, world.root / ".claude/worktrees/one")
    world.git("merge", "--quiet", "one", cwd=world.root / "../two")
    world.file("../two/prn")
    commit(world, world.root / "../two")
    world.git("worktree", "add", "--quiet", "--detach", "../gone", "two")
    shutil.rmtree(world.root / "../gone")
    (finding,) = run_check(CHECK, world)
    assert {str(subject.name): str(subject.detail) for subject in finding.subjects} == {
        "nul": "nul in .claude/worktrees/one",
        "prn": f"prn in {show(world.directory / 'two')}",
    }
    assert finding.subjects[0].worktree == str(world.root / ".claude/worktrees/one")


def test_what_the_main_worktree_has_deleted_is_cured_though_an_older_branch_has_it(world: World) -> None:
    names_that_windows_has_no_file_for(world)
    world.git("worktree", "add", "--quiet", "../old")
    world.git("rm", "--quiet", "-r", "NUL", "src", "a", "b")
    world.git("commit", "--quiet", "--message", "out")
    world.file("../old/README", "the branch goes on\n")
    commit(world, world.root / "../old")
    assert found(world) == []
    world.file("../old/prn")
    commit(world, world.root / "../old")
    assert found(world) == [(DEBT, f"{NAMES}: prn")]


def test_what_is_untracked_is_a_note_that_says_what_it_is(world: World) -> None:
    world.file(".gitignore", "*.log\n/out\n")
    commit(world)
    for name in ("tmpclaude-12ab-cwd", "new/deep/claude-9f3c-cwd", "out/tmpclaude-77aa-cwd"):
        world.file(name, "/home/you/app")
    world.file("claude-ffff-cwd", "x" * 2000)
    (world.root / "claude-dddd-cwd").symlink_to("tmpclaude-12ab-cwd")
    names = "new/deep/claude-9f3c-cwd, tmpclaude-12ab-cwd"
    text = f"2 uncommitted files are droppings of clients, and nothing reads them again: {names}"
    assert found(world) == [(NOTE, text)]
    assert found(world, limit=2.0) == [], "a start shows no notes, and looks for none"
    world.environ["HOME"] = str(world.root)
    assert found(world) == [], "a repository in the home directory is not walked"


def no_repository(world: World) -> None:
    shutil.rmtree(world.root / ".git")


def bare(world: World) -> None:
    world.git("config", "core.bare", "true")
    for path in world.root.iterdir():
        if path.name != ".git":
            path.unlink()
    (world.root / ".git/index").unlink()


@pytest.mark.parametrize(("state", "reason"), [(no_repository, "not a git repository"), (bare, "a bare repository")])
def test_where_there_is_nothing_to_look_at(state: Callable[[World], None], reason: str, world: World) -> None:
    state(world)
    with pytest.raises(SkipCheck, match=reason):
        run_check(CHECK, world)


def test_a_repository_that_is_broken_is_unknown(world: World) -> None:
    no_repository(world)
    (world.root / ".git").write_text("gitdir: /no/where\n")
    with pytest.raises(UnknownError, match="not there"):
        run_check(CHECK, world)


def test_one_worktree_without_an_answer_does_not_hide_the_others(world: World) -> None:
    world.file("nul")
    commit(world)
    for name in ("one", "two"):
        world.git("worktree", "add", "--quiet", f"../{name}")
        (world.root / f".git/worktrees/{name}/index").write_text("nonsense")
    debt, *unknown = run_check(CHECK, world, limit=3.0)
    assert (debt.kind, said(debt)) == (DEBT, f"{NAMES}: nul")
    assert [finding.kind for finding in unknown] == [UNKNOWN, UNKNOWN]
    for finding, name in zip(unknown, ("one", "two"), strict=True):
        assert said(finding).startswith(f"could not check {show(world.directory / name)}: git failed: ")


def test_many_worktrees_without_an_answer_are_one_finding(world: World) -> None:
    world.file("nul")
    commit(world)
    for name in ("one", "two"):
        world.git("worktree", "add", "--quiet", f"../{name}")
    world.environ["PATH"] = "/no/where"
    (finding,) = run_check(CHECK, world, limit=3.0)
    places = ", ".join(show(path) for path in (world.root, world.directory / "one", world.directory / "two"))
    assert (finding.kind, said(finding)) == (UNKNOWN, f"could not check {places}: git was not found in PATH")


def test_where_the_index_shows_nothing_no_git_is_started(world: World) -> None:
    world.environ["PATH"] = "/no/where"
    assert found(world, limit=2.0) == []


def test_a_git_that_hangs_is_unknown_in_time(world: World) -> None:
    world.file("nul")
    commit(world)
    fake = world.directory / "bin/git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 600\n")
    fake.chmod(0o755)
    world.environ["PATH"] = f"{fake.parent}:{world.environ['PATH']}"
    (finding,) = run_check(CHECK, world, limit=0.5)
    assert finding.kind == UNKNOWN
    assert said(finding).startswith(f"could not check {show(world.root)}: git gave no answer in ")
