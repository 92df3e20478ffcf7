"""What git keeps of an operation that waits, read from real ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import stalled
from hypothesis import given, settings
from hypothesis import strategies as st
from stalled import Stalled
from worlds import copied

from gate.errors import UnknownError
from gate.project import find_project
from gate.world.git import Git
from gate.world.operations import OPERATIONS, Operation, operation, read_operations, what_waits
from gate.world.worktrees import Worktree, list_worktrees

TITLES = {
    stalled.rebase: "a rebase of side onto main (step 1 of 3)",
    stalled.rebase_by_patches: "a rebase of side onto main (step 1 of 3)",
    stalled.merge: "a merge on side",
    stalled.pick: "a cherry-pick on side",
    stalled.picks: "a cherry-pick on other (2 commits on its list)",
    stalled.picks_whose_conflict_was_committed: "a series of cherry-picks on other (2 commits on its list)",
    stalled.revert: "a revert on side",
    stalled.reverts: "a revert on side (2 commits on its list)",
    stalled.patches: "a series of patches on other (step 1 of 2)",
    stalled.bisection: "a bisection on side",
}


@pytest.fixture
def world(tmp_path: Path) -> Stalled:
    return copied(tmp_path / "world", Stalled, Stalled.build)


def only(world: Stalled) -> Operation:
    (found,) = read_operations(str(world.git_dir))
    return found


def tree(world: Stalled) -> Worktree:
    return next(each for each in list_worktrees(find_project(str(world.root))) if not each.main)


def waiting(world: Stalled, seconds: float = 20.0) -> list[str]:
    git = Git(world.environ)
    try:
        return [str(phrase) for phrase in what_waits(git, tree(world), seconds)]
    finally:
        git.close()


@pytest.mark.parametrize("begin", TITLES, ids=lambda begin: begin.__name__)
def test_an_operation_that_waits(begin: Callable[[Stalled], None], world: Stalled) -> None:
    assert operation(str(world.git_dir)) == ""
    assert read_operations(str(world.git_dir)) == []
    before = time.time()
    begin(world)
    found = only(world)
    assert str(found.title) == TITLES[begin]
    assert operation(str(world.git_dir)) == found.words
    assert before - 0.1 <= found.begun <= found.moved <= found.changed + 0.1 <= time.time() + 0.2
    assert read_operations(str(world.root / ".git")) == [], "of each worktree by itself"
    assert operation(str(world.root / ".git")) == ""


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_stops_the_next_one_is_said_though_nothing_is_in_it(name: str, tmp_path: Path) -> None:
    """git refuses to begin another one for an empty directory of these names, too."""
    (tmp_path / name).mkdir()
    assert operation(str(tmp_path)) == OPERATIONS[name]
    (found,) = read_operations(str(tmp_path))
    assert str(found.title) == OPERATIONS[name]
    assert found.begun == found.moved == os.lstat(tmp_path / name).st_mtime_ns / 1e9


def test_what_git_leaves_when_one_is_over(world: Stalled) -> None:
    stalled.rebase(world)
    (world.linked / "README").write_text("resolved\n")
    for _ in range(3):
        world.run("add", "README")
        world.run("rebase", "--continue")
    assert world.run("merge", "--squash", "main") == 0
    (world.git_dir / "REBASE_HEAD").write_text((world.git_dir / "ORIG_HEAD").read_text())
    (world.git_dir / "AUTO_MERGE").write_text((world.git_dir / "ORIG_HEAD").read_text())
    (world.git_dir / "SQUASH_MSG").write_text("Squashed commit\n")
    assert read_operations(str(world.git_dir)) == []


def test_a_merge_in_the_middle_of_a_bisection(world: Stalled) -> None:
    stalled.bisection(world)
    assert world.run("checkout", "--quiet", "-f", "side") == 0
    stalled.merge(world)
    assert [str(found.title) for found in read_operations(str(world.git_dir))] == [
        "a merge on side",
        "a bisection on side",
    ]
    assert operation(str(world.git_dir)) == "a merge"


def test_of_one_that_lies_in_several_files_it_is_one(world: Stalled) -> None:
    stalled.picks(world)
    (world.git_dir / "MERGE_HEAD").write_text((world.git_dir / "CHERRY_PICK_HEAD").read_text())
    assert [found.words for found in read_operations(str(world.git_dir))] == ["a merge"]


def test_what_it_is_about_and_what_was_put_aside(world: Stalled) -> None:
    stalled.merge(world)
    assert only(world).message == "Merge branch 'main' into side"
    assert not only(world).stashed
    world.run("merge", "--abort")
    world.commit(world.root, "main 2")
    (world.linked / "new").write_text("x")
    world.run("add", "new")
    assert world.run("rebase", "--autostash", "main") == 1
    assert only(world).stashed


def test_a_rebase_that_moves(world: Stalled) -> None:
    stalled.rebase(world)
    first = only(world)
    assert world.run("status") == 0
    assert only(world).state == first.state, "a look is no move"
    (world.linked / "README").write_text("resolved\n")
    assert world.run("add", "README") == 0
    assert only(world).state == first.state, "nor what is staged: that is uncommitted_paths' matter"
    todo = world.git_dir / "rebase-merge/git-rebase-todo"
    todo.write_text(todo.read_text())
    assert only(world).state != first.state, "somebody is at it"
    assert world.run("rebase", "--continue") == 1
    second = only(world)
    assert str(second.title) == "a rebase of side onto main (step 2 of 3)"
    assert second.state != first.state
    assert second.begun == first.begun
    assert second.moved > first.moved


def test_commits_on_its_head_are_a_change(world: Stalled) -> None:
    """Incident: 22 commits of several sessions on the detached HEAD of a rebase, and nobody noticed."""
    stalled.rebase(world)
    first = only(world)
    world.commit(world.linked, "of another session")
    assert only(world).state != first.state
    assert only(world).moved == first.moved


def test_what_it_goes_onto_is_named_as_it_was_begun_with(world: Stalled) -> None:
    assert world.run("rebase", "--onto", "main", "side~1") == 1
    assert only(world).onto == "main"
    log = world.git_dir / "logs/HEAD"
    text = log.read_text()
    log.write_text(text + f"{'1' * 40} {'2' * 40} A <a@b> 1 +0000\trebase (start): checkout another\n")
    assert only(world).onto == "main", "that was a rebase onto another commit"
    log.write_text(text.replace("(start)", "(other)"))
    commit = (world.git_dir / "rebase-merge/onto").read_text()
    assert only(world).onto == commit[:12], "or by its commit"


def test_a_rebase_of_no_branch(world: Stalled) -> None:
    assert world.run("checkout", "--quiet", "--detach") == 0
    stalled.rebase(world)
    assert str(only(world).title) == "a rebase onto main (step 1 of 3)"


def test_where_references_are_a_table_its_branch_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "HEAD").write_text("ref: refs/heads/.invalid\n")
    (tmp_path / "MERGE_HEAD").write_text("x")
    assert [str(found.title) for found in read_operations(str(tmp_path))] == ["a merge"]


def test_branches_are_named_with_their_directories(world: Stalled) -> None:
    assert world.run("checkout", "--quiet", "-b", "fix/a/b") == 0
    stalled.rebase(world)
    assert only(world).branch == "fix/a/b"


def test_what_waits_behind_it(world: Stalled) -> None:
    stalled.rebase(world)
    assert waiting(world) == ["1 path in conflict"]
    (world.linked / "README").write_text("resolved\n")
    (world.linked / "odd\nname").write_text("new\n")
    assert world.run("add", "--all") == 0
    assert waiting(world) == ["2 paths staged"]
    assert world.run("commit", "--quiet", "--message", "x") == 0
    world.commit(world.linked, "of another session")
    assert waiting(world) == ["2 commits on its HEAD that no branch has"]
    assert world.run("branch", "kept") == 0
    assert waiting(world) == []


def test_a_branch_keeps_its_commits(world: Stalled) -> None:
    stalled.merge(world)
    assert waiting(world) == ["1 path in conflict"]


def test_what_could_not_be_counted_is_said(world: Stalled) -> None:
    stalled.rebase(world)
    assert waiting(world, seconds=0.01) == ["there was no time to count what waits behind it"]
    (world.git_dir / "index").write_text("nonsense")
    (said,) = waiting(world)
    assert said.startswith("what waits behind it could not be counted: git failed: ")


def test_what_may_not_be_read_is_not_taken_for_nothing(world: Stalled, monkeypatch: pytest.MonkeyPatch) -> None:
    stalled.rebase(world)

    def refuse(_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UnknownError, match=r"^rebase-merge in git's own directory cannot be read: Permission denied$"):
        read_operations(str(world.git_dir))


def test_one_that_ends_while_one_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "MERGE_HEAD").write_text("x")
    real, looks = os.lstat, []

    def lstat(path: str) -> os.stat_result:
        if path.endswith("MERGE_HEAD"):
            looks.append(path)
        if len(looks) > 1:
            (tmp_path / "MERGE_HEAD").unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert read_operations(str(tmp_path)) == []
    assert len(looks) > 1


def test_nothing_is_waited_for(tmp_path: Path) -> None:
    """A FIFO that nobody writes to, where a file is expected: opening one waits."""
    (tmp_path / "rebase-merge").mkdir()
    for name in ("HEAD", "MERGE_MSG", "rebase-merge/head-name", "rebase-merge/msgnum", "rebase-merge/onto"):
        os.mkfifo(tmp_path / name)
    assert [str(found.title) for found in read_operations(str(tmp_path))] == ["a rebase"]


NAMES = ("HEAD", "MERGE_MSG", "head-name", "onto", "msgnum", "end", "next", "last", "todo", "BISECT_START", "HEAD.log")


@settings(max_examples=40)
@given(st.sampled_from(sorted(OPERATIONS)), st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=200)))
def test_whatever_stands_in_its_files(
    tmp_path_factory: pytest.TempPathFactory, kind: str, texts: dict[str, bytes]
) -> None:
    git_dir = tmp_path_factory.mktemp("git")
    (git_dir / "logs").mkdir()
    (git_dir / kind).mkdir()
    (git_dir / "sequencer").mkdir(exist_ok=True)
    for name, text in texts.items():
        for place in (git_dir, git_dir / kind, git_dir / "sequencer"):
            (place / name).write_bytes(text)
    (git_dir / "logs/HEAD").write_bytes(texts.get("HEAD.log", b""))
    for found in read_operations(str(git_dir)):
        assert "\n" not in str(found.title)
        assert found.step >= 0
        assert found.steps >= 0
