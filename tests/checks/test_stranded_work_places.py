"""STRANDED: where commits and stashes hang, whose that is, and what could not be established."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from forge import TASK, Forge, lost
from worlds import copied

from gate.finding import Subject
from gate.testing import said

HOUR = 3600.0


@pytest.fixture
def world(tmp_path: Path) -> Forge:
    return copied(tmp_path / "world", Forge, Forge.build)


def test_the_incident(world: Forge) -> None:
    """Two commits on a session's branch, which its end was going to delete."""
    assert world.found() == []
    world.work("one", "two")
    assert world.found() == [lost(2, TASK)]
    world.git("push", "--quiet", "origin", "worktree-task")
    assert world.found() == []


def test_what_is_said(world: Forge) -> None:
    world.work("one")
    world.pass_time(3 * HOUR + 60)
    (finding,) = world.findings()
    assert said(finding) == f"1 commit on {TASK} is found nowhere else, 3 h old"
    assert [str(detail) for detail in finding.details] == ["taken for an agent's: it is called worktree-task"]
    world.work("two", "three")
    (finding,) = world.findings()
    assert said(finding) == f"3 commits on {TASK} are found nowhere else, the newest 3 h old"


def subject(world: Forge, **options: object) -> Subject:
    (finding,) = world.findings(**options)
    (only,) = finding.subjects
    assert finding.key == only.key or finding.key == "stashes"
    return only


def test_the_subject_is_the_place_and_its_state_the_tip(world: Forge) -> None:
    world.work("one")
    first = subject(world)
    assert (first.key, first.name) == ("refs/heads/worktree-task", "worktree-task")
    assert first.worktree == str(world.task.resolve())
    assert first.state == world.git("rev-parse", "worktree-task").strip()
    world.work("two")
    second = subject(world)
    assert (second.key, second.state != first.state) == (first.key, True)


def test_when_it_changed_is_the_file_systems_word(world: Forge) -> None:
    """A rebase, or whoever likes, gives a commit any time; the branch came there just now."""
    before = time.time() - 60
    environ = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    world.environ.update(environ)
    world.work("one")
    for name in environ:
        del world.environ[name]
    assert before < (subject(world).changed or 0.0) < time.time() + 60
    assert said(world.findings()[0]).endswith(" d old"), "the age is the commit's own"
    packed = "refs/heads/worktree-task"
    world.git("pack-refs", "--all")
    assert not (world.root / ".git" / packed).exists()
    assert subject(world).changed == 1577836800.0, "of a packed one, its log tells"
    (world.root / ".git/logs" / packed).unlink()
    assert subject(world).changed == 1577836800.0, "and without that its commit"


class Places(Forge):
    """Many worktrees of agents' making, each with a history of its own; what is said of all of them together."""

    def build(self) -> None:
        super().build()
        for how in (*LOST, *KEPT):
            name = how.__name__
            self.git("worktree", "add", "--quiet", "-b", f"worktree-{name}", str(self.place(name)), "main")
            how(self, self.place(name), name)

    def work(self, *names: str, place: Path | None = None, text: str = "text\n") -> None:
        """With files of a worktree's own: else what is done in the same second in two of them is the same commit."""
        where = place or self.root
        super().work(*(name if name == "shared" else f"{where.name}.{name}" for name in names), place=where, text=text)

    def place(self, name: str) -> Path:
        return self.root / f".claude/worktrees/{name}"

    def begin(self, branch: str, place: Path) -> None:
        """Put a worktree on a new branch, and take away the one that it was made with."""
        old = self.git("symbolic-ref", "--short", "HEAD", cwd=place).strip()
        self.git("checkout", "--quiet", *(["-b", branch] if branch else ["--detach"]), cwd=place)
        self.git("branch", "--quiet", "--delete", "--force", old)


def a_branch_without_a_worktree(r: Places, place: Path, name: str) -> None:
    r.begin(f"claude/{name}", place)
    r.work("one", "two", place=place)
    r.git("checkout", "--quiet", "--detach", "main", cwd=place)


def a_branch_of_another_name(r: Places, place: Path, name: str) -> None:
    r.begin(f"feature/{name}", place)
    r.work("one", place=place)


def a_detached_head(r: Places, place: Path, name: str) -> None:
    r.begin("", place)
    r.work("one", "two", place=place)


def a_branch_that_began_on_a_detached_head(r: Places, place: Path, name: str) -> None:
    r.begin("", place)
    r.work("one", place=place)
    r.git("checkout", "--quiet", "-b", f"feature/{name}", cwd=place)
    r.work("two", place=place)


def a_worktree_that_is_gone(r: Places, place: Path, name: str) -> None:
    r.work("one", place=place)
    shutil.rmtree(place)


def a_detached_head_that_is_gone(r: Places, place: Path, name: str) -> None:
    r.begin("", place)
    r.work("one", place=place)
    shutil.rmtree(place)


def a_worktree_whose_branch_was_deleted(r: Places, place: Path, name: str) -> None:
    r.work("one", "two", place=place)
    r.git("update-ref", "-d", f"refs/heads/worktree-{name}")


def on_a_persons_branch(r: Places, place: Path, name: str) -> None:
    """The branch was there before the worktree, and so were its first two commits: only the third is the agent's."""
    r.begin("", place)
    r.work("one", "two", place=place)
    r.git("branch", f"feature/{name}", "HEAD", cwd=place)
    made_long_ago(r.root / f".git/logs/refs/heads/feature/{name}")
    r.git("checkout", "--quiet", f"feature/{name}", cwd=place)
    r.work("three", place=place)


def made_long_ago(log: Path) -> None:
    log.write_text(log.read_text().replace("> 1", "> 0"))


def a_bisection_that_began_on_a_detached_head(r: Places, place: Path, name: str) -> None:
    r.begin("", place)
    r.work(*"abcd", place=place)
    r.git("bisect", "start", "HEAD", "HEAD~4", cwd=place)


def a_bisection_on_a_branch_of_another_name(r: Places, place: Path, name: str) -> None:
    r.begin(f"feature/{name}", place)
    r.work(*"abcd", place=place)
    r.git("bisect", "start", "HEAD", "HEAD~4", cwd=place)


def stop(r: Places, place: Path, name: str, *arguments: str) -> None:
    """A rebase that stops at a conflict: the second commit of three."""
    r.work("a", place=place)
    r.work("shared", place=place, text=f"of {name}\n")
    r.work("c", place=place)
    r.edit(3, f"a person's {name}", r.root)
    with pytest.raises(subprocess.CalledProcessError):
        r.git("rebase", *arguments, "main", cwd=place)


def a_rebase_that_waits(r: Places, place: Path, name: str) -> None:
    stop(r, place, name)


def a_rebase_of_patches_that_waits(r: Places, place: Path, name: str) -> None:
    stop(r, place, name, "--apply")


def a_rebase_that_waits_on_a_detached_head(r: Places, place: Path, name: str) -> None:
    r.begin("", place)
    stop(r, place, name)


def a_rebase_with_commits_of_its_own(r: Places, place: Path, name: str) -> None:
    stop(r, place, name)
    (place / "shared").write_text("both\n")
    r.git("add", "--all", cwd=place)
    r.git("commit", "--quiet", "--message", "resolved", cwd=place)
    r.work("more", place=place)


def stacked(r: Places, place: Path, name: str) -> None:
    """Each commit counts once, at the branch that has had it longest; a HEAD that merely stands there has none."""
    r.work("one", "two", place=place)
    os.utime(r.root / f".git/refs/heads/worktree-{name}", (1.0, 1.0))
    r.git("checkout", "--quiet", "-b", f"claude/{name}", cwd=place)
    r.work("three", place=place)
    r.git("checkout", "--quiet", "--detach", "HEAD~1", cwd=place)
    os.utime(r.root / f".git/worktrees/{name}/HEAD", (0.5, 0.5))


def a_copy_on_another_agents_branch(r: Places, place: Path, name: str) -> None:
    r.work("one", place=place)
    os.utime(r.root / f".git/refs/heads/worktree-{name}", (1.0, 1.0))
    r.git("checkout", "--quiet", "-b", f"claude/{name}", "main", cwd=place)
    r.git("commit", "--quiet", "--allow-empty", "--message", "nothing", cwd=place)
    r.git("cherry-pick", f"worktree-{name}", cwd=place)


LOST = {
    a_branch_without_a_worktree: [(2, "claude/{}")],
    a_branch_of_another_name: [(1, "feature/{} (in .claude/worktrees/{})")],
    a_detached_head: [(2, "the detached HEAD of .claude/worktrees/{}")],
    a_branch_that_began_on_a_detached_head: [(2, "feature/{} (in .claude/worktrees/{})")],
    a_worktree_that_is_gone: [(1, "worktree-{} (in .claude/worktrees/{}, which is gone)")],
    a_detached_head_that_is_gone: [(1, "the detached HEAD of .claude/worktrees/{} (which is gone)")],
    a_worktree_whose_branch_was_deleted: [(2, ".claude/worktrees/{} (whose branch worktree-{} is gone)")],
    on_a_persons_branch: [(1, "feature/{} (in .claude/worktrees/{})")],
    a_bisection_that_began_on_a_detached_head: [(4, "the detached HEAD of .claude/worktrees/{}")],
    a_bisection_on_a_branch_of_another_name: [(4, "feature/{} (in .claude/worktrees/{})")],
    a_rebase_that_waits: [(3, "worktree-{} (in .claude/worktrees/{})")],
    a_rebase_of_patches_that_waits: [(3, "worktree-{} (in .claude/worktrees/{})")],
    a_rebase_that_waits_on_a_detached_head: [(3, "the detached HEAD of .claude/worktrees/{}")],
    a_rebase_with_commits_of_its_own: [
        (3, "worktree-{} (in .claude/worktrees/{})"),
        (2, "the detached HEAD of .claude/worktrees/{} (a rebase in progress)"),
    ],
    stacked: [(2, "worktree-{}"), (1, "claude/{}")],
    a_copy_on_another_agents_branch: [(1, "worktree-{}"), (2, "claude/{} (in .claude/worktrees/{})")],
}


def a_persons_branch(r: Places, place: Path, name: str) -> None:
    r.git("worktree", "add", "--quiet", "-b", f"feature/{name}", f"../{name}", "main")
    r.work("one", place=r.directory / name)


def work_on_what_the_remote_calls_head(r: Places, place: Path, name: str) -> None:
    """As those have it who keep all worktrees in one directory."""
    r.git("push", "--quiet", "origin", f"main:refs/heads/{name}")
    r.git("remote", "set-head", "origin", name)
    r.git("checkout", "--quiet", "-b", name, cwd=place)
    r.work("one", place=place)


def work_on_a_branch_that_work_is_merged_to(r: Places, place: Path, name: str) -> None:
    r.begin("develop", place)
    r.work("one", place=place)


def fetch(r: Places, place: Path, name: str) -> str:
    """A pull request that `git fetch` brings, without a branch for it; its commit."""
    r.work("one", "two", place=place)
    r.git("push", "--quiet", "origin", f"worktree-{name}:refs/pull/{name}/head")
    r.git("reset", "--quiet", "--hard", "HEAD~2", cwd=place)
    r.git("fetch", "--quiet", "origin", f"refs/pull/{name}/head", cwd=place)
    return r.git("rev-parse", "FETCH_HEAD", cwd=place).strip()


def head_at_what_was_fetched_last(r: Places, place: Path, name: str) -> None:
    r.git("checkout", "--quiet", fetch(r, place, name), cwd=place)


def head_before_what_was_fetched_last(r: Places, place: Path, name: str) -> None:
    r.git("checkout", "--quiet", f"{fetch(r, place, name)}~1", cwd=place)


def head_at_what_was_fetched_before(r: Places, place: Path, name: str) -> None:
    """The next fetch forgets it; the log of HEAD does not."""
    fetch(r, place, name)
    r.git("checkout", "--quiet", "FETCH_HEAD", cwd=place)
    (r.root / f".git/worktrees/{name}/FETCH_HEAD").unlink()


def a_bisection_in_what_is_kept(r: Places, place: Path, name: str) -> None:
    r.work("one", "two", place=r.root)
    r.git("checkout", "--quiet", "--detach", "main", cwd=place)
    r.git("bisect", "start", "HEAD", "HEAD~2", cwd=place)


def a_bisection_among_what_was_thrown_away(r: Places, place: Path, name: str) -> None:
    """HEAD is only there for a look."""
    r.work(*"abcd", place=place)
    tip = r.git("rev-parse", "HEAD", cwd=place).strip()
    r.git("reset", "--quiet", "--hard", "HEAD~4", cwd=place)
    r.git("bisect", "start", tip, "HEAD", cwd=place)


def a_persons_rebase_that_waits(r: Places, place: Path, name: str) -> None:
    """What it has copied is still on the branch."""
    r.git("worktree", "add", "--quiet", "-b", f"feature/{name}", f"../{name}", "main")
    stop(r, r.directory / name, name)


def a_new_branch_without_a_commit(r: Places, place: Path, name: str) -> None:
    r.git("checkout", "--quiet", "--orphan", f"claude/{name}", cwd=place)


KEPT = [
    a_persons_branch, work_on_what_the_remote_calls_head, work_on_a_branch_that_work_is_merged_to,
    head_at_what_was_fetched_last, head_at_what_was_fetched_before, a_bisection_in_what_is_kept,
    a_bisection_among_what_was_thrown_away, a_persons_rebase_that_waits, a_new_branch_without_a_commit,
    head_before_what_was_fetched_last,
]  # fmt: skip


def of(how: Callable[..., None], places: list[str]) -> list[str]:
    return [text for text in places if re.search(rf"[/-]{how.__name__}\b", text)]


def test_commits_are_found_where_they_are(tmp_path: Path) -> None:
    world = Places(tmp_path)
    world.build()
    found = world.found()
    assert {how.__name__: of(how, found) for how in LOST} == {
        how.__name__: [lost(count, where.replace("{}", how.__name__)) for count, where in wheres]
        for how, wheres in LOST.items()
    }
    assert {how.__name__: of(how, found) for how in KEPT} == {how.__name__: [] for how in KEPT}
    assert len(found) == sum(map(len, LOST.values()))


def test_in_the_main_worktree(world: Forge) -> None:
    world.git("checkout", "--quiet", "-b", "feature/x")
    world.work("one", place=world.root)
    assert world.found() == [], "a person's branch stays"
    assert world.found(names=("project",)) == [], "whatever the repository is called"
    world.git("checkout", "--quiet", "-b", "codex/x")
    world.work("two", place=world.root)
    assert world.found() == [lost(1, "codex/x")]
    world.git("checkout", "--quiet", "--detach")
    world.work("three", place=world.root)
    assert world.found() == [lost(1, "codex/x"), lost(1, "the detached HEAD")]
    world.git("checkout", "--quiet", "main")
    assert world.found() == [lost(1, "codex/x")]


def test_in_the_users_own_worktrees_of_codex(world: Forge) -> None:
    place = world.home / ".codex/worktrees/ab12/project"
    world.git("worktree", "add", "--quiet", "-b", "x", str(place))
    world.work("one", place=place)
    assert world.found() == [lost(1, f"x (in {place})")]
    assert world.found(roots=()) == []
    assert world.found(roots=("$HOME/.codex/worktrees/ab12/*",)) == [lost(1, f"x (in {place})")]


def test_a_shallow_clone_at_a_commit(world: Forge) -> None:
    """As continuous integration does it: no branch, and a commit whose parents are not there."""
    for place in (world.root, world.task):
        world.git("checkout", "--quiet", "--detach", cwd=place)
    for name in ("heads/main", "heads/worktree-task", "remotes/origin/main"):
        world.git("update-ref", "-d", f"refs/{name}")
    assert world.found() == [lost(2, "the detached HEAD")]
    (world.root / ".git/shallow").write_text(world.git("rev-parse", "HEAD"))
    assert world.found() == []
